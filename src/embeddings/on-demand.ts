// The noun `embeddings` of an open store. Its code is loaded with the first call; at once only if the store has an embedder.
import type { Embedder } from "../contracts/embedders.ts";
import type { Embeddings } from "../contracts/embeddings.ts";
import type { Environment } from "../contracts/environment.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { EMBEDDING_VERBS } from "../contracts/verbs/embeddings.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { LazyModule, type LazyPart, type LazyParts } from "../core/lifetime.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import type { PassageVectors } from "../vectors/passage-vectors.ts";
import type { QueryEmbedder } from "../vectors/query-text.ts";
import type { EmbeddingsPart } from "./embeddings.ts";
import type { MeaningSearch } from "./query-vector.ts";
import type { Questions } from "./questions.ts";
import type { EmbeddingSettings } from "./settings.ts";

const EMBEDDINGS = new LazyModule(() => import("./embeddings.ts"));

/** Checked when the store is opened. */
export async function loadEmbedder(given: Embedder | undefined): Promise<CheckedEmbedder | null> {
  if (given === undefined) return null;
  const { checkEmbedder } = await import("../core/embed-texts.ts");
  return checkEmbedder(given);
}

const QUESTIONS = new LazyModule(() => import("./questions.ts"));
const PASSAGES = new LazyModule(() => import("../vectors/passage-vectors.ts"));

export class BackgroundEmbeddings {
  readonly #embedder: CheckedEmbedder | null;
  readonly #settings: EmbeddingSettings;
  readonly #environment: Environment;
  #passages: LazyPart<PassageVectors> | null = null;
  readonly #closing = new AbortController();
  #part: LazyPart<EmbeddingsPart> | null = null;
  #questions: LazyPart<Questions> | null = null;

  constructor(
    embedder: CheckedEmbedder | null,
    { embeddings, environment }: { readonly embeddings: EmbeddingSettings; readonly environment: Environment },
  ) {
    this.#embedder = embedder;
    this.#settings = embeddings;
    this.#environment = environment;
  }

  /** Embeds the texts of searches; null without an embedder. */
  get queries(): QueryEmbedder | null {
    const questions = this.#questions;
    if (this.#embedder === null || questions === null) return null;
    return {
      model: this.#embedder.id,
      embed: async (text, signal) => (await questions.load()).embed(text, signal),
      knownFailure: async () => (await questions.load()).knownFailure(),
    };
  }

  /** Searches messages or memories by meaning; null if this handle does not embed them. */
  meaningOf(kind: "memories" | "messages"): MeaningSearch | null {
    const passages = this.#passages;
    const embedder = this.queries;
    const isOn = kind === "memories" ? this.#settings.memories : this.#settings.messages;
    return passages === null || embedder === null || !isOn ? null : { embedder, loadPassages: () => passages.load() };
  }

  /** The same storage. Commits that add what may need an embedding wake the worker. */
  watch(storage: Storage): Storage {
    if (this.#embedder === null) return storage;
    return overrideStorage(storage, {
      commit: async (commit) => {
        const outcome = await storage.commit(commit);
        if (outcome.ok && addsTexts(commit, this.#settings)) this.#part?.loaded?.nudge();
        return outcome;
      },
    });
  }

  create(storage: Storage, payloads: Payloads, lazy: LazyParts): Embeddings {
    const embedder = this.#embedder;
    const onRetry = () => this.#questions?.loaded?.forgetFailure();
    const part = lazy.part(EMBEDDINGS, ({ createEmbeddings }) =>
      createEmbeddings({ storage, payloads, embedder, settings: this.#settings, onRetry }),
    );
    if (embedder !== null) {
      this.#passages = lazy.part(PASSAGES, ({ PassageVectors }) => new PassageVectors(storage));
      const [environment, closing] = [this.#environment, this.#closing.signal];
      const questions = { embedder, storage, environment, closing, timeoutMs: this.#settings.queryTimeoutMs };
      this.#questions = lazy.part(QUESTIONS, ({ Questions }) => new Questions(questions));
    }
    this.#part = part;
    return lazy.members(part, ({ embeddings }) => embeddings, EMBEDDING_VERBS);
  }

  /** In a simulation the code is loaded already, and the work begins at once. */
  start(): void {
    if (this.#embedder === null || this.#part === null) return;
    const { loaded } = this.#part;
    if (loaded !== null) {
      loaded.start();
      return;
    }
    this.#part.load().then(
      (part) => part.start(),
      // The first call of a verb fails in the same way, and says why.
      () => {},
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#passages?.loaded?.close();
    if (this.#part?.isNeeded !== true) return;
    const part = await this.#part.load().catch(() => null);
    await part?.close();
  }
}

/** Plain loops, because every append of a store with an embedder runs this. */
function addsTexts(
  { writes = [], events = [] }: Commit,
  { documents, memories, messages }: EmbeddingSettings,
): boolean {
  if (messages) for (const { message } of events) if (message !== undefined) return true;
  for (const write of writes) {
    if (write.op === "run" || write.op === "read") continue;
    if ((documents && write.table === "documents") || (memories && write.table === "memories")) return true;
  }
  return false;
}
