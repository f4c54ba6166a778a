// Which kinds of texts a handle embeds, and how long a call of the embedder may take: the option `embeddings` of open().

import type { TextLanguage } from "../contracts/text-index.ts";
import { checkFields, checkInt, checkRecord, invalid } from "../core/check.ts";

/** A local model may be loaded by its first call; a server that answers later than this is as good as gone. */
const TIMEOUT_MS = 120_000;
/** A search can be answered by words, and a caller waits for it. */
const QUERY_TIMEOUT_MS = 3000;
const TIMEOUT_MAX_MS = 86_400_000;

export interface EmbeddingSettings {
  readonly documents: boolean;
  readonly memories: boolean;
  readonly messages: boolean;
  /** In which texts are cut while the store has no index. */
  readonly language: TextLanguage;
  /** A call of the embedder that takes longer is ended, and has failed. */
  readonly timeoutMs: number;
  /** The same of the text of a search. */
  readonly queryTimeoutMs: number;
}

/** `search` is null without a text index: then messages are not searched, and not embedded. */
export function checkEmbeddingSettings(
  given: unknown,
  search: { readonly language: TextLanguage } | null,
): EmbeddingSettings {
  const kinds = given === undefined ? {} : checkRecord(given, "embeddings");
  checkFields(kinds, "embeddings", ["documents", "memories", "messages", "timeoutMs", "queryTimeoutMs"]);
  const time = (name: "timeoutMs" | "queryTimeoutMs", fallback: number) =>
    kinds[name] === undefined ? fallback : checkInt(kinds[name], `embeddings.${name}`, 1, TIMEOUT_MAX_MS);
  const timeoutMs = time("timeoutMs", TIMEOUT_MS);
  const isOn = (kind: "documents" | "memories" | "messages") => {
    const value = kinds[kind];
    if (value !== undefined && typeof value !== "boolean") throw invalid(`embeddings.${kind}`, "true or false", value);
    return value !== false;
  };
  return {
    documents: isOn("documents"),
    memories: isOn("memories"),
    messages: search !== null && isOn("messages"),
    language: search?.language ?? "english",
    timeoutMs,
    queryTimeoutMs: time("queryTimeoutMs", Math.min(QUERY_TIMEOUT_MS, timeoutMs)),
  };
}
