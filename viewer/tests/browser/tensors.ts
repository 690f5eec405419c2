// Tensors of a safetensors file: f32 and i64.
import { readFileSync } from "node:fs";

export interface Tensor {
  shape: number[];
  at: (index: number) => number;
}

export function tensorsOf(file: string): (name: string) => Tensor | undefined {
  const bytes = readFileSync(file);
  const header = Number(bytes.readBigUInt64LE(0));
  const entries = JSON.parse(bytes.subarray(8, 8 + header).toString()) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  return (name) => {
    const entry = entries[name];
    if (!entry) return undefined;
    const begin = 8 + header + entry.data_offsets[0];
    return {
      shape: entry.shape,
      at: (index) =>
        entry.dtype === "I64"
          ? Number(bytes.readBigInt64LE(begin + 8 * index))
          : bytes.readFloatLE(begin + 4 * index),
    };
  };
}
