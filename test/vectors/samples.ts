// Vectors of the kinds that make a search hard in different ways, the same ones for the same seed.

export const SAMPLE_KINDS = ["clustered", "sparse", "uniform", "spectrum"] as const;
export type SampleKind = (typeof SAMPLE_KINDS)[number];

export interface RandomNumbers {
  /** From 0 to below 1. */
  uniform(): number;
  /** Of the standard normal distribution. */
  normal(): number;
}

export function randomNumbers(seed: number): RandomNumbers {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

/** Makes one vector after the other; the lengths of vectors differ. */
export function sampleVectors(kind: SampleKind, dimension: number, seed: number): () => Float32Array {
  const random = randomNumbers(seed);
  const direction = DIRECTIONS[kind](dimension, random);
  return () => {
    const length = 0.5 + random.uniform();
    return direction().map((value) => value * length);
  };
}

type Directions = (dimension: number, random: RandomNumbers) => () => Float32Array;

function normalVector(dimension: number, { normal }: RandomNumbers): Float32Array {
  return Float32Array.from({ length: dimension }, normal);
}

const CLUSTERS = 100;

const DIRECTIONS: Readonly<Record<SampleKind, Directions>> = {
  uniform: (dimension, random) => () => normalVector(dimension, random),

  clustered(dimension, random) {
    const centres = Array.from({ length: CLUSTERS }, () => normalVector(dimension, random));
    return () => {
      const centre = centres[Math.floor(random.uniform() * CLUSTERS)] ?? new Float32Array(dimension);
      return centre.map((value) => value + 0.6 * random.normal());
    };
  },

  /** Counts of hashed words: about 12 numbers that are not 0, some of them in most vectors. */
  sparse: (dimension, random) => () => {
    const vector = new Float32Array(dimension);
    for (let words = 8 + Math.floor(random.uniform() * 10); words > 0; words--) {
      const at = Math.floor(dimension * random.uniform() ** 1.5);
      vector[at] = (vector[at] ?? 0) + (at % 2 === 0 ? 1 : -1) * (1 + random.uniform());
    }
    return vector;
  },

  /** As models give them: topics, a common mean, and few directions that have most of the weight. */
  spectrum(dimension, random) {
    const weighted = () => normalVector(dimension, random).map((value, i) => value / Math.sqrt(i + 1));
    const topics = Array.from({ length: CLUSTERS }, weighted);
    const mean = normalVector(dimension, random).map((value) => value * 0.12);
    return () => {
      const topic = topics[Math.floor(CLUSTERS * random.uniform() ** 2)] ?? mean;
      const share = 0.4 + 0.6 * random.uniform();
      return weighted().map((value, i) => 0.8 * value + share * (topic[i] ?? 0) + (mean[i] ?? 0));
    };
  },
};
