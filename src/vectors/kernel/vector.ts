// What a vector may be, and the numbers that are computed of one: its norm and its bytes. Vectors are stored as 32-bit numbers,
// little endian.
import type { VectorMetric } from "../../contracts/vectors.ts";
import { invalid } from "../../core/check.ts";

/** Tables of queries add up to 16-bit numbers; with more coordinates their entries would be too coarse. */
export const MAX_DIMENSION = 4096;

const NUMBER_BYTES = Float32Array.BYTES_PER_ELEMENT;
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** In 64-bit numbers: no sum of 32-bit squares overflows there. */
export function normOf(vector: Float32Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}

/**
 * The norm of a vector that may be stored or asked with. NaN and infinite numbers are refused. So is the zero vector under cosine, where it
 * has no direction; dot and euclidean accept it. So is a vector so long that its norm is no 32-bit number.
 */
export function checkVector(vector: Float32Array, dimension: number, metric: VectorMetric, what: string): number {
  if (vector.length !== dimension) {
    throw invalid(what, `a vector of ${dimension} numbers, as the collection says`, vector.length);
  }
  const norm = normOf(vector);
  if (!Number.isFinite(norm)) {
    const at = vector.findIndex((value) => !Number.isFinite(value));
    throw invalid(`${what}[${at}]`, "a finite 32-bit number", vector[at]);
  }
  if (!Number.isFinite(Math.fround(norm))) throw invalid(what, "a vector whose length is a 32-bit number", norm);
  if (norm === 0 && metric === "cosine") {
    const hint = "The zero vector has no direction to compare. A model that returns one has failed.";
    throw invalid(what, "a vector with a number that is not 0", 0, hint);
  }
  return norm;
}

export function encodeFloats(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * NUMBER_BYTES);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < vector.length; i++) view.setFloat32(i * NUMBER_BYTES, vector[i] as number, true);
  return bytes;
}

/** Reads stored numbers into an array of the caller. The bytes may begin at any address, as those of a socket's buffer do. */
export function readFloats(bytes: Uint8Array, into: Float32Array): void {
  if (isLittleEndian) {
    new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
    return;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < into.length; i++) into[i] = view.getFloat32(i * NUMBER_BYTES, true);
}
