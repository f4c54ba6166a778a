// The noun `embeddings` of an open store. Its code is loaded with the first call; at once only if the store has an embedder.
import type { Embedder } from "../contracts/embedders.ts";
import type { Embeddings } from "../contracts/embeddings.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { EMBEDDING_VERBS } from "../contracts/verbs/embeddings.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { LazyModule, type LazyPart, type LazyParts } from "../core/lifetime.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import type { QueryEmbedder } from "../vectors/query-text.ts";
import type { EmbeddingsPart } from "./embeddings.ts";

const EMBEDDINGS = new LazyModule(() => import("./embeddings.ts"));

/** Checked when the store is opened. */
export async function loadEmbedder(given: Embedder | undefined): Promise<CheckedEmbedder | null> {
  if (given === undefined) return null;
  const { checkEmbedder } = await import("../core/embed-texts.ts");
  return checkEmbedder(given);
}

export class BackgroundEmbeddings {
  readonly #embedder: CheckedEmbedder | null;
  readonly #closing = new AbortController();
  #part: LazyPart<EmbeddingsPart> | null = null;

  constructor(embedder: CheckedEmbedder | null) {
    this.#embedder = embedder;
  }

  /** Embeds the texts of searches; null without an embedder. */
  get queries(): QueryEmbedder | null {
    const embedder = this.#embedder;
    if (embedder === null) return null;
    return {
      model: embedder.id,
      embed: async (text) => {
        const { embedTexts } = await import("../core/embed-texts.ts");
        const [vector] = await embedTexts(embedder, [text], { kind: "query", signal: this.#closing.signal });
        if (vector === undefined) throw new Error("bug: an embedder's answer was not checked");
        return vector;
      },
    };
  }

  /** The same storage. Commits that add what may need an embedding wake the worker. */
  watch(storage: Storage): Storage {
    if (this.#embedder === null) return storage;
    return overrideStorage(storage, {
      commit: async (commit) => {
        const outcome = await storage.commit(commit);
        if (outcome.ok && addsTexts(commit)) this.#part?.loaded?.nudge();
        return outcome;
      },
    });
  }

  create(storage: Storage, payloads: Payloads, lazy: LazyParts): Embeddings {
    const part = lazy.part(EMBEDDINGS, ({ createEmbeddings }) => createEmbeddings(storage, payloads, this.#embedder));
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
    if (this.#part?.isNeeded !== true) return;
    const part = await this.#part.load().catch(() => null);
    await part?.close();
  }
}

function addsTexts({ writes = [] }: Commit): boolean {
  return writes.some((write) => write.op !== "run" && write.op !== "read" && write.table === "documents");
}
