// Which kinds of texts a handle embeds: the option `embeddings` of open().

import type { TextLanguage } from "../contracts/text-index.ts";
import { checkFields, checkRecord, invalid } from "../core/check.ts";

export interface EmbeddedKinds {
  readonly documents: boolean;
  readonly memories: boolean;
  readonly messages: boolean;
  /** In which texts are cut while the store has no index. */
  readonly language: TextLanguage;
}

/** `search` is null without a text index: then messages are not searched, and not embedded. */
export function checkEmbeddedKinds(given: unknown, search: { readonly language: TextLanguage } | null): EmbeddedKinds {
  const kinds = given === undefined ? {} : checkRecord(given, "embeddings");
  checkFields(kinds, "embeddings", ["documents", "memories", "messages"]);
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
  };
}
