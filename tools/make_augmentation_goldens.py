#!/usr/bin/env python3
"""Write tests/data/pictures/warp.json: pictures sampled at affine maps by torch.nn.functional.affine_grid and grid_sample
(bilinear, zeros outside, align_corners=False), the reference of src/data/augment.h. Needs torch."""
import json
import math
import pathlib

import torch

FILE = pathlib.Path(__file__).resolve().parent.parent / "tests/data/pictures/warp.json"


def main():
    torch.manual_seed(5)
    picture = torch.randn(1, 2, 5, 7)
    turn = 0.4
    maps = {"identity": [1, 0, 0, 0, 1, 0], "flip": [-1, 0, 0, 0, 1, 0], "shift": [1, 0, 0.3, 0, 1, -0.25],
            "crop": [0.5, 0, 0.2, 0, 0.6, 0.1],
            "turn": [math.cos(turn), -math.sin(turn) * 5 / 7, 0, math.sin(turn) * 7 / 5, math.cos(turn), 0],
            "all": [-0.9, 0.2, 0.1, 0.3, 1.2, -0.4], "outside": [1, 0, 40, 0, 1, 0]}
    cases = []
    for name, values in maps.items():
        grid = torch.nn.functional.affine_grid(torch.tensor(values, dtype=torch.float).reshape(1, 2, 3), picture.shape, align_corners=False)
        sampled = torch.nn.functional.grid_sample(picture, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        cases.append({"name": name, "map": values, "sampled": sampled.flatten().tolist()})
    FILE.write_text(json.dumps({"channels": 2, "height": 5, "width": 7, "picture": picture.flatten().tolist(), "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
