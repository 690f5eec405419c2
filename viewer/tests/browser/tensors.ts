// Tensors of a safetensors file: f32, bf16 and i64.
import { readFileSync } from "node:fs";

export interface Tensor {
  shape: number[];
  at: (index: number) => number;
}

type Entries = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

function headerOf(bytes: Buffer): { size: number; entries: Entries } {
  const size = Number(bytes.readBigUInt64LE(0));
  return { size, entries: JSON.parse(bytes.subarray(8, 8 + size).toString()) as Entries };
}

/** The names of the tensors in a file. */
export function namesOf(file: string): string[] {
  return Object.keys(headerOf(readFileSync(file)).entries).filter((name) => name !== "__metadata__");
}

export function tensorsOf(file: string): (name: string) => Tensor | undefined {
  const bytes = readFileSync(file);
  const { size, entries } = headerOf(bytes);
  return (name) => {
    const entry = entries[name];
    if (!entry) return undefined;
    const begin = 8 + size + entry.data_offsets[0];
    return {
      shape: entry.shape,
      at: (index) => {
        if (entry.dtype === "I64") return Number(bytes.readBigInt64LE(begin + 8 * index));
        if (entry.dtype === "BF16") return widened(bytes.readUInt16LE(begin + 2 * index));
        return bytes.readFloatLE(begin + 4 * index);
      },
    };
  };
}

const word = new DataView(new ArrayBuffer(4));

/** The f32 of a bf16: its upper half. */
function widened(bits: number): number {
  word.setUint16(0, bits);
  word.setUint16(2, 0);
  return word.getFloat32(0);
}
