// How far the embeddings of a store are, as rows of facts.
import type { EmbeddedKind, EmbeddingStatus } from "../contracts/embeddings.ts";
import { plural } from "./units.ts";

const KINDS: readonly (readonly [kind: EmbeddedKind, one: string])[] = [
  ["messages", "message"],
  ["memories", "memory"],
  ["documents", "document"],
];

/** Nothing of a store that never had an embedder. */
export function describeEmbeddings({ model, kinds, failure }: EmbeddingStatus): readonly (readonly [string, string])[] {
  if (model === null) return [];
  const count = (of: "pending" | "failing" | "parked") =>
    KINDS.filter(([kind]) => kinds[kind][of] > 0)
      .map(([kind, one]) => plural(kinds[kind][of], one, kind))
      .join(", ");
  return [
    ["embedder", model],
    ["wait for vectors", count("pending")],
    ["tried again", count("failing")],
    ["without vectors", count("parked")],
    ["embedder failed", failure === null ? "" : failure.reason],
  ];
}
