// The attention parameters of a checkpoint, read from its safetensors files under transformers' names.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Head } from "../../src/capture.gen";
import { namesOf, type Tensor, tensorsOf } from "./tensors";

export type Part = "query" | "key" | "value" | "output";

/** A projection of one head as a capture holds it: weight [in][out] and, if the checkpoint has one, bias [out]. */
export interface Projection {
  weight: number[][];
  bias: number[] | undefined;
}

const partNames: Record<Part, RegExp> = {
  query: /\.(query|q_proj|q_lin|q_attn|q)$/,
  key: /\.(key|k_proj|k_lin|k)$/,
  value: /\.(value|v_proj|v_lin|v)$/,
  output: /\.(output\.dense|out_proj|o_proj|out_lin|c_proj|o)$/,
};
const crossNames = /\.(encoder_attn|EncDecAttention|crossattention)\./;

/** The rows of a matrix [in][out] from a tensor: torch's Linear is [out, in], GPT-2's Conv1D is [in, out]. */
function matrixOf(tensor: Tensor, conv: boolean): number[][] {
  const [first, second] = tensor.shape as [number, number];
  const [rows, columns] = conv ? [first, second] : [second, first];
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => tensor.at(conv ? r * second + c : c * second + r)),
  );
}

export class Checkpoint {
  private readonly tensors = new Map<string, Tensor>();
  private readonly layers = new Map<string, Projection>();

  constructor(folder: string) {
    const files = readdirSync(folder).filter((each) => /^model.*\.safetensors$/.test(each));
    for (const file of files.map((each) => join(folder, each))) {
      const tensor = tensorsOf(file);
      for (const name of namesOf(file)) this.tensors.set(name, tensor(name)!);
    }
  }

  /** The whole projection of a layer, read once for all heads: columns of all heads, or the rows of W_O. */
  private layer(head: Head, part: Part, both: boolean): Projection {
    const key = `${head.kind}.${head.layer}.${part}`;
    let found = this.layers.get(key);
    if (!found) this.layers.set(key, (found = this.read(head, part, both)));
    return found;
  }

  private read(head: Head, part: Part, both: boolean): Projection {
    const side = head.kind === "encoder" ? "encoder" : "decoder";
    const names = [...this.tensors.keys()]
      .filter((name) => name.endsWith(".weight"))
      .map((name) => name.slice(0, -".weight".length))
      .filter(
        (name) =>
          /att/i.test(name) &&
          crossNames.test(name) === (head.kind === "cross") &&
          /\.(?:layers?|h|block)\.(\d+)\./.exec(`.${name}`)?.[1] === String(head.layer) &&
          (!both || /decoder/.test(name) === (side === "decoder")),
      );
    const own = names.find((name) => partNames[part].test(name));
    const name = own ?? names.find((each) => each.endsWith(".c_attn"))!;
    const conv = /\.(c_attn|c_proj|q_attn)$/.test(name);
    const weight = matrixOf(this.tensors.get(`${name}.weight`)!, conv);
    const offsets = this.tensors.get(`${name}.bias`);
    const bias = offsets && Array.from({ length: offsets.shape[0]! }, (_, i) => offsets.at(i));
    if (own) return { weight, bias };
    // GPT-2 stores Q, K and V in one matrix; its cross-attention stores K and V in one matrix.
    const parts = head.kind === "cross" ? ["key", "value"] : ["query", "key", "value"];
    const width = weight[0]!.length / parts.length;
    const range = [parts.indexOf(part) * width, (parts.indexOf(part) + 1) * width];
    return { weight: weight.map((row) => row.slice(...range)), bias: bias?.slice(...range) };
  }

  /** A part of one of `heads` heads. Several query heads may share a head of keys and values. */
  projection(head: Head, part: Part, heads: number, both: boolean): Projection {
    const { weight, bias } = this.layer(head, part, both);
    const size = this.layer(head, "query", both).weight[0]!.length / heads;
    if (part === "output") return { weight: weight.slice(head.head! * size, (head.head! + 1) * size), bias };
    const first = Math.floor((head.head! * (weight[0]!.length / size)) / heads) * size;
    return {
      weight: weight.map((row) => row.slice(first, first + size)),
      bias: bias?.slice(first, first + size),
    };
  }
}
