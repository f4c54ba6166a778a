// A random rotation of vectors. Codes keep two bits of every coordinate, which says much about a vector whose weight is spread
// over all of them and little about a sparse one; after a rotation every vector is of the first kind. Distances do not change.
// A round permutes the coordinates, flips signs and applies the Hadamard transform, block by block. Each step is one
// operation of IEEE 754 or a choice by integers, so a seed gives the same rotation on every machine.

/** One round leaves structure of sparse vectors, and blocks that have not met; a fourth changes no measured recall. */
const ROUNDS = 3;

/** Sizes are multiples of it: a code is a whole number of the 16 bytes that a vector instruction reads. */
const SIZE_STEP = 64;

interface RotationRound {
  /** The coordinate that comes to this place. */
  readonly from: Uint16Array;
  /** 1 or −1. */
  readonly signs: Float32Array;
}

/** How many coordinates a rotated vector of that dimension has: those beyond the dimension are zeros before the rotation. */
export function rotatedSize(dimension: number): number {
  return Math.ceil(dimension / SIZE_STEP) * SIZE_STEP;
}

export class Rotation {
  readonly size: number;
  readonly #rounds: readonly RotationRound[];
  readonly #blocks: readonly HadamardBlock[];
  readonly #permuted: Float32Array;

  /** The seed is a 32-bit number, chosen once for a collection and stored with it. */
  constructor(seed: number, dimension: number) {
    this.size = rotatedSize(dimension);
    this.#blocks = hadamardBlocks(this.size);
    const nextRandom = randomNumbers(seed);
    this.#rounds = Array.from({ length: ROUNDS }, () => createRound(this.size, nextRandom));
    this.#permuted = new Float32Array(this.size);
  }

  /** Rotates in place; the array has `size` numbers, zeros from the dimension on. */
  rotate(vector: Float32Array): void {
    if (vector.length !== this.size) throw new Error(`bug: ${vector.length} numbers for a rotation of ${this.size}`);
    const permuted = this.#permuted;
    for (const { from, signs } of this.#rounds) {
      for (let i = 0; i < permuted.length; i++) {
        permuted[i] = (vector[from[i] as number] as number) * (signs[i] as number);
      }
      for (const block of this.#blocks) transformBlock(permuted, block);
      vector.set(permuted);
    }
  }
}

interface HadamardBlock {
  readonly start: number;
  /** A power of two. */
  readonly length: number;
}

/** 384 is a block of 256 and one of 128: the permutations mix them. */
function hadamardBlocks(size: number): readonly HadamardBlock[] {
  const blocks: HadamardBlock[] = [];
  for (let start = 0; start < size; ) {
    const length = 2 ** (31 - Math.clz32(size - start));
    blocks.push({ start, length });
    start += length;
  }
  return blocks;
}

function createRound(size: number, nextRandom: () => number): RotationRound {
  const from = Uint16Array.from({ length: size }, (_, i) => i);
  for (let i = size - 1; i > 0; i--) {
    const other = nextRandom() % (i + 1);
    const swapped = from[i] as number;
    from[i] = from[other] as number;
    from[other] = swapped;
  }
  return { from, signs: Float32Array.from({ length: size }, () => (nextRandom() % 2 === 0 ? 1 : -1)) };
}

/** The fast Hadamard transform, scaled so that lengths stay. */
function transformBlock(values: Float32Array, { start, length }: HadamardBlock): void {
  const end = start + length;
  for (let half = 1; half < length; half *= 2) {
    for (let group = start; group < end; group += 2 * half) {
      for (let i = group; i < group + half; i++) {
        const a = values[i] as number;
        const b = values[i + half] as number;
        values[i] = a + b;
        values[i + half] = a - b;
      }
    }
  }
  const scale = 1 / Math.sqrt(length);
  for (let i = start; i < end; i++) values[i] = (values[i] as number) * scale;
}

/** SplitMix32: 32-bit numbers that a seed determines. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}
