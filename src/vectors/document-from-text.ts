// Makes a document of a text.
import type { DocumentInput } from "../contracts/vectors.ts";

/** A document of one text, for vectors.add() and vectors.upsert(). */
export function documentFromText(
  text: string,
  options: Omit<DocumentInput<object>, "content"> = {},
): DocumentInput<object> {
  return { ...options, content: [{ type: "text", text }] };
}
