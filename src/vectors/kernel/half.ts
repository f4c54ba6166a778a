// Half precision: vectors stored with two bytes a number instead of four. A number keeps 11 significant bits, more than a model's output
// means. Numbers beyond ±65,504 do not fit, and those nearer to 0 than 2⁻²⁴ become 0.
import { invalid } from "../../core/check.ts";
import { once } from "../../core/memoize.ts";

const HALF_BYTES = 2;
const LARGEST = 65_504;

/** The nearest half, ties to even, as IEEE 754 says. */
function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  // Below 2⁻¹⁴ halves are multiples of 2⁻²⁴; above, of 2⁻¹⁰ of their power of two.
  const exponent = size < 2 ** -14 ? -14 : Math.floor(Math.log2(size));
  const exact = size * 2 ** (10 - exponent);
  const rounded = roundToEven(exact);
  return sign | (rounded + (size < 2 ** -14 ? 0 : (exponent + 14) * 1024));
}

function roundToEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

function fromHalf(half: number): number {
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return half & 0x8000 ? -size : size;
}

/** All of them: a look-up is faster than computing a number again for each coordinate of each candidate. */
const halves = once(() => Float32Array.from({ length: 65_536 }, (_, half) => fromHalf(half)));

export function encodeHalves(vector: Float32Array, what: string): Uint8Array {
  const bytes = new Uint8Array(vector.length * HALF_BYTES);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < vector.length; i++) {
    const value = vector[i] as number;
    if (!(Math.abs(value) <= LARGEST)) throw invalid(`${what}[${i}]`, `at most ${LARGEST} in half precision`, value);
    view.setUint16(i * HALF_BYTES, toHalf(value), true);
  }
  return bytes;
}

export function readHalves(bytes: Uint8Array, into: Float32Array): void {
  const values = halves();
  for (let i = 0; i < into.length; i++) {
    const half = (bytes[i * HALF_BYTES] as number) | ((bytes[i * HALF_BYTES + 1] as number) << 8);
    into[i] = values[half] as number;
  }
}
