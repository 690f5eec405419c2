#!/usr/bin/env python3
"""Write tests/data/pictures: small files of many kinds, and pictures.json with the pixels that Pillow reads. For each
colour of ImageOps.exif_transpose(image).convert("RGB"), as in transformers' load_image, it has the size, the sum,
and the sum weighted by position. Needs Pillow with WebP."""
import json
import pathlib
import random
import struct
import zlib

import PIL
from PIL import Image, ImageOps

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/data/pictures"
FOLDER.mkdir(exist_ok=True)
draw = random.Random(5)


def picture(width=12, height=8):
    image = Image.new("RGB", (width, height))
    image.putdata([(20 * x, 30 * y, (x * y * 7) % 256) for y in range(height) for x in range(width)])
    return image


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


def png(name, width, height, depth, colour, rows, chunks=()):
    """Return a PNG of the rows of bytes, in a format that Pillow cannot write."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    body = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    body += b"".join(chunk(kind, data) for kind, data in chunks)
    body += chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows)))
    (FOLDER / name).write_bytes(b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b""))


def deep(channels, width=9, height=5):
    return [struct.pack(f">{width * channels}H", *(draw.randrange(65536) for _ in range(width * channels))) for _ in range(height)]


for value in range(1, 9):
    picture().save(FOLDER / f"turned{value}.jpg", quality=95, subsampling=0, exif=exif(value))
picture().save(FOLDER / "turned.png", exif=exif(6))
picture().save(FOLDER / "turned.webp", lossless=True, exif=exif(8))
picture().save(FOLDER / "lossless.webp", lossless=True)
picture().save(FOLDER / "lossy.webp", quality=80)
alpha = picture().convert("RGBA")
alpha.putalpha(Image.linear_gradient("L").resize((12, 8)))
alpha.save(FOLDER / "alpha.webp", lossless=True, exact=True)
picture(17, 9).convert("CMYK").save(FOLDER / "cmyk.jpg", quality=95)
inks = Image.new("CMYK", (11, 7))
inks.putdata([tuple(draw.randrange(256) for _ in range(4)) for _ in range(77)])
inks.save(FOLDER / "inks.jpg", quality=100)
png("deep.png", 9, 5, 16, 2, deep(3))
png("deep-alpha.png", 9, 5, 16, 6, deep(4))
png("deep-grey-alpha.png", 9, 5, 16, 4, deep(2))
png("bits1.png", 10, 3, 1, 0, [bytes([0b10110011, 0b01000000])] * 3)
png("bits2.png", 7, 3, 2, 0, [bytes([0b00011011, 0b11100100])] * 3)
png("palette-alpha.png", 4, 2, 8, 3, [bytes([0, 1, 2, 1])] * 2,
    [(b"PLTE", bytes([255, 0, 0, 0, 255, 0, 10, 20, 30])), (b"tRNS", bytes([0, 128]))])
frames = [picture(), picture().transpose(Image.Transpose.ROTATE_180)]
frames[0].save(FOLDER / "animated.png", save_all=True, append_images=frames[1:], duration=100)
frames[0].save(FOLDER / "animated.webp", save_all=True, append_images=frames[1:], duration=100, lossless=True)
frames[0].save(FOLDER / "animated.gif", save_all=True, append_images=frames[1:], duration=100)
(FOLDER / "cut.webp").write_bytes((FOLDER / "lossy.webp").read_bytes()[:-20])

cases = []
for path in sorted(FOLDER.iterdir()):
    if path.name in ("animated.webp", "animated.gif", "cut.webp") or path.suffix == ".json":
        continue
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    data = list(image.getdata())
    cases.append({"file": path.name, "size": list(image.size),
                  "pixel_sum": [sum(pixel[c] for pixel in data) for c in range(3)],
                  "weighted_sum": [sum(pixel[c] * (i + 1) for i, pixel in enumerate(data)) for c in range(3)]})
(FOLDER / "pictures.json").write_text(json.dumps({"pillow": PIL.__version__, "cases": cases}, indent=0) + "\n")
