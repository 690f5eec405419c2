// The view "Common errors": frequent claims about attention beside numbers of this run, with links to the views.
import { activation, type Capture, type Head, headName, type Matrix, weightsOf } from "../capture";
import { addsPositions } from "../blocks";
import { chainOf, chosenVectors, vectorsOf } from "../chain";
import { fixed, h, share } from "../dom";
import {
  columnSums,
  cosine,
  diagonalRows,
  isSymmetric,
  largestDifference,
  length,
  normals,
  rankCorrelation,
  scores,
} from "../math";
import { modelWeights } from "../projections";
import type { State, Store } from "../store";
import { shownTokens } from "../tokens";
import { statesOf } from "./meaning";

export interface Proof {
  claim: string; // the wrong claim
  finding: string; // what this run's numbers show
  see?: { label: string; change: Partial<State>; head?: Head };
}

/** Return a head whose vectors are known: the shown one, else one of self-attention. */
function headWithVectors(store: Store): Head | undefined {
  const usable = (head: Head) => vectorsOf(head) !== undefined && vectorsOf(head)!.query.length <= 64;
  const shown = store.current();
  if (usable(shown) && shown.kind !== "cross") return shown;
  return store.capture.attention.find((head) => usable(head) && head.kind !== "cross");
}

function symmetry(head: Head): Proof {
  const { query, key } = vectorsOf(head)!;
  const raw = scores(query, key);
  const largest = Math.max(...raw.flat().map(Math.abs));
  const asymmetry = Math.max(...raw.flatMap((row, i) => row.map((x, j) => Math.abs(x - (raw[j]?.[i] ?? x)))));
  return {
    claim: "“The matrix of scores is symmetric, because similarity is.”",
    finding: isSymmetric(raw)
      ? `In ${named(head)} it is, as an exception.`
      : `Queries and keys are made by different matrices. In ${named(head)}, q(i)·k(j) and q(j)·k(i) differ by up to ${fixed(asymmetry, 2)}; the largest score is ${fixed(largest, 2)}. Only with K = Q is it symmetric.`,
    see: { label: "Switch K = Q on and off", change: { view: "steps", step: 2 }, head },
  };
}

function diagonal(capture: Capture): Proof | undefined {
  let [rows, own] = [0, 0];
  for (const head of capture.attention) {
    const weights = head.kind === "cross" ? undefined : weightsOf(head);
    if (!weights) continue;
    rows += weights.length;
    own += diagonalRows(weights);
  }
  if (rows === 0) return undefined;
  return {
    claim: "“A token attends most to itself.”",
    finding: `In the self-attention of this run, ${own} of ${rows} rows (${share(own / rows)}) have their largest weight on the token itself.`,
    see: { label: "See the heads", change: { view: "map" } },
  };
}

function columns(store: Store): Proof | undefined {
  const head = store.current();
  const weights = weightsOf(head);
  if (!weights) return undefined;
  const sums = columnSums(weights);
  return {
    claim: "“The weights that a token receives sum to 1.”",
    finding: `Each row sums to 1, because softmax runs over the keys. The weights that a token receives are a column: in ${named(head)} the columns sum to between ${fixed(Math.min(...sums), 2)} and ${fixed(Math.max(...sums), 2)}.`,
    see: {
      label: "Sum over tokens",
      change: { view: "map", chosen: [sums.indexOf(Math.max(...sums))] },
      head,
    },
  };
}

export function contributions(head: Head, capture: Capture): Proof {
  const vectors = vectorsOf(head)!;
  const { weights } = modelWeights(head, vectors);
  const sizes = vectors.value.map(length);
  const best = (row: readonly number[]) => row.indexOf(Math.max(...row));
  const moved = weights.filter((row) => best(row) !== best(row.map((w, i) => w * sizes[i]!)));
  const names = shownTokens(head.kind === "encoder" ? capture.tokens.source : capture.tokens.target);
  const most = sizes.indexOf(Math.max(...sizes));
  const least = sizes.indexOf(Math.min(...sizes));
  return {
    claim: "“The largest weight shows where the output comes from.”",
    finding: `The output is the sum of weight × value. In ${named(head)} the value of “${names[most]}” is ${fixed(sizes[most]! / Math.max(1e-9, sizes[least]!), 1)} times as long as that of “${names[least]}”; in ${moved.length} of ${weights.length} rows the largest contribution comes from another token than the largest weight.`,
    see: { label: "See the values", change: { view: "steps", step: vectors.causal ? 7 : 6 }, head },
  };
}

function order(store: Store, head: Head): Proof {
  const settings = { scaling: true, mask: false, sameQueryKey: false };
  const known = chosenVectors(store.capture, head, { vectors: "random", positions: false });
  const count = 6;
  const input: Matrix = Array.from({ length: count }, (_, t) => normals(12, 40 + t));
  const vectors = (rows: Matrix) => ({
    query: rows,
    key: rows,
    value: rows,
    scale: 12 ** -0.5,
    causal: false,
  });
  const forward = chainOf(vectors(input), settings).output;
  const backward = chainOf(vectors([...input].reverse()), settings).output.reverse();
  return {
    claim: "“Attention knows the order of the words.”",
    finding: `It does not. Six random vectors without positions, read forwards and backwards: the six outputs differ by ${largestDifference(forward, backward).toExponential(0)}, which is rounding. Order comes only from what is added to the inputs or scores: positions, or a mask.`,
    ...(known
      ? {
          see: {
            label: "Compute this head without trained parameters",
            change: { view: "steps", vectors: "random" },
            head,
          },
        }
      : {}),
  };
}

function meanings(capture: Capture): Proof | undefined {
  const states = statesOf(capture, capture.tokens.source ? "encoder" : "decoder");
  if (!states || !activation(capture, `${states.side}.embedding`)) return undefined;
  const lower = states.tokens.map((token) => token.toLowerCase());
  const first = lower.findIndex((token, i) => /\p{L}{2}/u.test(token) && lower.indexOf(token, i + 1) > 0);
  if (first < 0) return undefined;
  const second = lower.indexOf(lower[first]!, first + 1);
  const at = (layer: Matrix) => fixed(cosine(layer[first]!, layer[second]!), 3);
  return {
    claim: "“The embedding of a word holds its meaning in the sentence.”",
    finding: `“${states.tokens[first]}” occurs twice in this text. Its two vectors have a cosine of ${at(states.states[0]!)} before the first layer${addsPositions(capture) ? " (the difference is their positions)" : ""} and ${at(states.states.at(-1)!)} after the last one.`,
    see: { label: "See their paths", change: { view: "meaning" } },
  };
}

/** Return a head's name for use within a sentence. */
function named(head: Head): string {
  const name = headName(head);
  return name[0]!.toLowerCase() + name.slice(1);
}

function importance(capture: Capture): Proof | undefined {
  const measured = (capture.what_if ?? []).filter(({ lost }) => lost !== undefined);
  if (measured.length < 4) return undefined;
  const telling = measured.map(
    ({ off }) =>
      capture.attention.find((head) => `${head.kind}.${head.layer}.${head.head}` === off)?.telling ?? 0,
  );
  const lost = measured.map((each) => each.lost!);
  const correlation = rankCorrelation(telling, lost);
  if (Number.isNaN(correlation)) return undefined;
  return {
    claim: "“The head with the clearest pattern matters most.”",
    finding: `Of the ${measured.length} clearest heads of this run, the clearness of the pattern and what is lost without the head have a rank correlation of ${fixed(correlation, 2)} (1: the same order, 0: none). To measure the effect of a head, switch it off.`,
    see: { label: "Switch heads off", change: { view: "whatif" } },
  };
}

function proofs(store: Store): Proof[] {
  const head = headWithVectors(store);
  return [
    head && symmetry(head),
    diagonal(store.capture),
    columns(store),
    head && contributions(head, store.capture),
    head && order(store, head),
    meanings(store.capture),
    importance(store.capture),
  ].filter((each) => each !== undefined);
}

export function errorsView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "errors" });
  let built = "";
  const draw = () => {
    if (store.state.view !== "errors" || built === store.state.head) return;
    built = store.state.head;
    node.replaceChildren(
      h("p", {}, "Frequent claims about attention, and the numbers of this run."),
      ...proofs(store).map(({ claim, finding, see }) => {
        const button = see && h("button", { type: "button" }, see.label);
        button?.addEventListener("click", () =>
          see!.head ? store.show(see!.head, see!.change) : store.update(see!.change),
        );
        return h("section", {}, h("h3", {}, claim), h("p", {}, finding), ...(button ? [button] : []));
      }),
    );
  };
  return { node, draw };
}
