import { expect, test } from "vitest";
import { continued, nodeAt, nodesOf, pathTo, placeName, placeNamed, resultsOf } from "../../src/beams";
import { sampleBeams, sampleCapture } from "../sample";

const capture = sampleCapture();
sampleBeams(capture);
const beams = capture.beams!;
const words = (name: string) =>
  pathTo(beams, placeNamed(beams, name)!).map((place) => nodeAt(beams, place).text);

test("a path leads from the first token to the node", () => {
  expect(words("2.finished.0")).toEqual(["a", "b", "."]);
  expect(words("1.finished.0")).toEqual(["d", "."]);
  expect(words("1.kept.1")).toEqual(["a", "c"]);
  expect(resultsOf(beams).map(placeName)).toEqual(["2.finished.0", "1.finished.0"]);
});

test("names of nodes that do not exist have no place", () => {
  for (const name of ["", "0", "9.kept.0", "0.kept.2", "0.finished.0", "0.other.0", "x.kept.0"])
    expect(placeNamed(beams, name)).toBeUndefined();
});

test("nodes that nothing continues were dropped", () => {
  expect([...continued(beams)].sort()).toEqual(["0.kept.0", "0.kept.1", "1.kept.0"]);
});

test("finished nodes are below the kept ones of their step", () => {
  expect(nodesOf(beams).map((place) => [placeName(place), place.row])).toEqual([
    ["0.kept.0", 0],
    ["0.kept.1", 1],
    ["1.kept.0", 0],
    ["1.kept.1", 1],
    ["1.finished.0", 2],
    ["2.kept.0", 0],
    ["2.finished.0", 1],
  ]);
});
