// Matrices of a capture: rows of numbers, or packed in base64 (Packed).
import type { Packed } from "./capture.gen";

export type Matrix = readonly (readonly number[])[];

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Decode a packed matrix, row by row. */
function unpacked({ rows, columns, bits, scale, data }: Packed): number[][] {
  const bytes = bytesOf(data);
  const view = new DataView(bytes.buffer);
  const scaleOf = (row: number) => (scale?.length === 1 ? scale[0]! : (scale?.[row] ?? 0));
  const value = (index: number, row: number) => {
    if (bits === 32) return view.getFloat32(4 * index, true);
    if (bits === 16) return (scaleOf(row) * view.getInt16(2 * index, true)) / 32767;
    return (scaleOf(row) * bytes[index]!) / 255;
  };
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => value(r * columns + c, r)),
  );
}

const known = new WeakMap<object, Matrix>();

/** Return a matrix in any form as rows of numbers. Results are cached. */
export function rowsOf(matrix: Packed | number[][]): Matrix {
  if (Array.isArray(matrix)) return matrix;
  let rows = known.get(matrix);
  if (!rows) known.set(matrix, (rows = unpacked(matrix)));
  return rows;
}

/** Return the number of rows and columns of a matrix in any form. */
export function shapeOf(matrix: Packed | number[][]): [number, number] {
  return Array.isArray(matrix) ? [matrix.length, matrix[0]?.length ?? 0] : [matrix.rows, matrix.columns];
}

/** Whether all rows have the same length, or the data of a packed matrix is base64 with as many bytes as its shape says. */
export function isComplete(matrix: Packed | number[][]): boolean {
  if (Array.isArray(matrix)) return matrix.every((row) => row.length === matrix[0]!.length);
  const sizes = [matrix.rows, matrix.columns];
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) return false;
  if (matrix.rows > 0 && matrix.columns === 0) return false;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(matrix.data) || matrix.data.length % 4 !== 0) return false;
  const padding = matrix.data.endsWith("==") ? 2 : matrix.data.endsWith("=") ? 1 : 0;
  return (matrix.data.length / 4) * 3 - padding === (matrix.rows * matrix.columns * matrix.bits) / 8;
}
