// An embedder for the suites: its vectors depend on the text and on the embedder's name, it counts what it embeds, and it can be held up
// and made to fail.
import type { Embedder } from "../../contracts/embedders.ts";

export interface TestEmbedder extends Embedder {
  /** Every text that was embedded, in order; the texts of failed calls are not in it. */
  readonly embedded: string[];
  /** Texts that it cannot embed: never, or not now. */
  readonly poison: Set<string>;
  /** Every call fails with this. */
  outage: Error | null;
  /** Calls wait until release(). */
  hold(): void;
  release(): void;
  /** Resolves when a call waits. */
  waiting(): Promise<void>;
}

export function createTestEmbedder(id = "test/a@4", dimensions = 4): TestEmbedder {
  let gate = Promise.withResolvers<void>();
  let arrival = Promise.withResolvers<void>();
  gate.resolve();
  const embedder: TestEmbedder = {
    id,
    dimensions,
    maxBatch: 8,
    embedded: [],
    poison: new Set(),
    outage: null,
    hold: () => {
      gate = Promise.withResolvers<void>();
      arrival = Promise.withResolvers<void>();
    },
    release: () => gate.resolve(),
    waiting: () => arrival.promise,
    embed: async (texts) => {
      arrival.resolve();
      await gate.promise;
      if (embedder.outage !== null) throw embedder.outage;
      if (texts.some((text) => embedder.poison.has(text))) throw textError();
      embedder.embedded.push(...texts);
      return texts.map((text) => vectorOf(id, text, dimensions));
    },
  };
  return embedder;
}

/** The message repeats a text, as those of servers do. */
function textError(): Error {
  return Object.assign(new Error("this text is too long: secret words"), { status: 400, retryable: false });
}

/** The same text has the same vector from one embedder, and another from another. */
export function vectorOf(id: string, text: string, dimensions: number): readonly number[] {
  let state = 2166136261;
  for (const letter of `${id} ${text}`) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 16777619);
  return Array.from({ length: dimensions }, () => {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9;
    return ((state >>> 0) / 2 ** 32 - 0.5) * 2;
  });
}

/** Words with the same meaning: each group is a direction. */
const MEANINGS = [
  ["dog", "puppy", "hound"],
  ["car", "automobile", "vehicle"],
  ["tea", "infusion", "brew"],
  ["rain", "drizzle", "storm"],
] as const;
const DIMENSIONS = MEANINGS.length + 1;

/** A text's vector has a part for each group of words that it has a word of, and a small one that all texts have. */
function meaningOf(text: string): readonly number[] {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
  return [...MEANINGS.map((group) => (group.some((word) => words.has(word)) ? 1 : 0)), 0.25];
}

/** As the test embedder, by meaning. */
export function createMeaningEmbedder(id = "test/meaning@5"): TestEmbedder {
  const base = createTestEmbedder(id, DIMENSIONS);
  const embed: Embedder["embed"] = async (texts, options) => {
    await base.embed(texts, options);
    return texts.map(meaningOf);
  };
  const setOutage = (error: Error | null) => {
    base.outage = error;
  };
  const outage = { get: () => base.outage, set: setOutage };
  return Object.defineProperties({ ...base, embed }, { outage }) as TestEmbedder;
}
