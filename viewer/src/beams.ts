// A beam search: paths through its steps, and its layout.
import type { BeamNode, Beams } from "./capture.gen";

/** A node of the tree: a hypothesis that a step keeps or finishes. */
export interface Place {
  step: number;
  kind: "kept" | "finished";
  index: number;
}

/** Return the name of a node in URLs: "3.kept.0". */
export function placeName({ step, kind, index }: Place): string {
  return `${step}.${kind}.${index}`;
}

/** Return the node with this name, or undefined. */
export function placeNamed(beams: Beams, name: string): Place | undefined {
  const [step, kind, index] = name.split(".");
  if (kind !== "kept" && kind !== "finished") return undefined;
  const place: Place = { step: Number(step), kind, index: Number(index) };
  return beams.steps[place.step]?.[kind][place.index] && place;
}

export function nodeAt(beams: Beams, { step, kind, index }: Place): BeamNode {
  return beams.steps[step]![kind][index]!;
}

/** Return the nodes of a hypothesis from its first token to `end`. */
export function pathTo(beams: Beams, end: Place): Place[] {
  const path = [end];
  for (let place = end; place.step > 0; path.unshift(place))
    place = { step: place.step - 1, kind: "kept", index: nodeAt(beams, place).parent };
  return path;
}

/** Return the results of the search, best first. */
export function resultsOf(beams: Beams): Place[] {
  return beams.ranking.map(({ step, finished }) => ({ step, kind: "finished", index: finished }));
}

/** Return the names of the nodes that a kept or finished node continues. The others were dropped. */
export function continued(beams: Beams): Set<string> {
  const names = new Set<string>();
  beams.steps.forEach(({ kept, finished }, step) => {
    for (const { parent } of [...kept, ...finished])
      if (step > 0) names.add(placeName({ step: step - 1, kind: "kept", index: parent }));
  });
  return names;
}

/** Return all nodes: step by step, in each step the kept ones first. The row is the rank in its step. */
export function nodesOf(beams: Beams): (Place & { row: number })[] {
  return beams.steps.flatMap(({ kept, finished }, step) => [
    ...kept.map((_, index) => ({ step, kind: "kept" as const, index, row: index })),
    ...finished.map((_, index) => ({ step, kind: "finished" as const, index, row: kept.length + index })),
  ]);
}
