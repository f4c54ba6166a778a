// Documents as callers give them, as they are stored, and as callers get them back. A document's content, metadata and language
// are one JSON text: inline in its row, or in a blob if it is long or names blobs.

import type { Json, JsonObject } from "../contracts/json.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { RowOf } from "../contracts/storage/tables.ts";
import type { DocumentRow } from "../contracts/storage/vector-queries.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "../contracts/text-index.ts";
import { toHex } from "../core/bytes.ts";
import { checkId, checkPlain, checkRecord, copyJson, encodeCopy, invalid } from "../core/check.ts";
import { decodeRow, jsonObject, list, oneOf, optional, plainObject, withBlob } from "../core/decode.ts";
import { fieldsOf } from "../core/metadata-fields.ts";
import { type CarriedMedia, checkContent, prepareCarried } from "../history/append.ts";
import { toVector } from "./embedding.ts";
import { encodeHalves, readHalves } from "./kernel/half.ts";
import type { VectorPrecision } from "./kernel/rescore.ts";
import { encodeFloats, readFloats } from "./kernel/vector.ts";

/** A document of a caller, checked and copied. */
export interface ReadyDocument {
  /** null: the store makes one. */
  readonly id: string | null;
  /** As errors name the document. */
  readonly what: string;
  readonly bytes: Uint8Array;
  readonly metadata: JsonObject;
  readonly named: readonly Uint8Array[];
  readonly carried: readonly CarriedMedia[];
  readonly embedding: Float32Array | null;
}

export function readyDocument(input: unknown, what: string): ReadyDocument {
  if (input === undefined || typeof input === "string") {
    throw invalid(what, "a document", input, "documentFromText(text) makes a document of a text.");
  }
  const document = checkRecord(input, what, ["id", "content", "language", "embedding", "metadata"]);
  const id = document.id === undefined ? null : checkId(document.id, `${what}.id`);
  const { content, named, carried } = checkContent(document.content, `${what}.content`);
  if (document.metadata !== undefined) checkPlain(document.metadata, `${what}.metadata`);
  // A private copy: later changes of the caller's object affect nothing that is stored.
  const language = checkLanguage(document.language, `${what}.language`);
  const given = { content, metadata: document.metadata ?? {}, ...(language === null ? {} : { language }) };
  const stored = copyJson(given, what, "documentBytes") as {
    readonly metadata: JsonObject;
  };
  const bytes = encodeCopy(stored as unknown as Json, what, "documentBytes");
  // Counts the fields, so that too many are refused before anything is written.
  fieldsOf(stored.metadata);
  const embedding =
    document.embedding === undefined || document.embedding === null
      ? null
      : toVector(document.embedding, `${what}.embedding`);
  return { id, what, bytes, metadata: stored.metadata, named, carried, embedding };
}

/** null: that of the store. */
function checkLanguage(language: unknown, what: string): TextLanguage | null {
  if (language === undefined || language === null) return null;
  const known = TEXT_LANGUAGES.find((one) => one === language);
  if (known === undefined) throw invalid(what, `one of ${TEXT_LANGUAGES.join(", ")}`, language);
  return known;
}

/** Contents up to this size are in their document's row: most pieces of texts are shorter. */
const INLINE_BYTES = 16_384;

/** What a commit contains of one document's content. */
export interface PreparedContent extends Required<Pick<Commit, "blobs" | "writes" | "uses">> {
  readonly columns: Pick<RowOf<"documents">, "words" | "content">;
}

export async function prepareContent(
  { bytes, named, carried }: ReadyDocument,
  prepare: Prepare,
): Promise<PreparedContent> {
  const children = [...named, ...carried.map((one) => one.sha256)];
  if (children.length === 0 && bytes.length <= INLINE_BYTES) {
    return { blobs: [], writes: [], uses: [], columns: { words: bytes, content: null } };
  }
  const media = { media: "application/json", utf8: true, owned: true };
  const payload = await prepare(bytes, children.length === 0 ? media : { ...media, children });
  const parts = [payload];
  for (const one of carried) parts.unshift(await prepareCarried(one, prepare));
  const uses = new Map(parts.flatMap((one) => one.uses).map((use) => [toHex(use[0]), use]));
  for (const one of named) uses.set(toHex(one), [one, 0]);
  return {
    blobs: parts.flatMap((one) => one.blobs),
    writes: parts.flatMap((one): readonly Write[] => one.writes),
    uses: [...uses.values()],
    columns: { words: null, content: payload.sha256 },
  };
}

const STORED = { content: list, metadata: plainObject, language: optional(oneOf(TEXT_LANGUAGES)) };

export interface StoredDocument {
  readonly id: string;
  readonly item: number;
  readonly content: readonly ContentBlock[];
  readonly metadata: JsonObject;
  /** null: that of the store. */
  readonly language: TextLanguage | null;
}

export async function readDocument(
  payloads: Pick<Payloads, "read">,
  collection: string,
  row: DocumentRow,
): Promise<StoredDocument> {
  const name = { kind: "document", collection, document: row.id };
  const bytes = row.words ?? (await payloads.read(withBlob(name, "content", row)));
  const stored = decodeRow(name, { content: bytes }, { content: jsonObject });
  const { content, ...others } = decodeRow(name, stored.content, STORED);
  return { id: row.id, item: row.item, content: content as readonly ContentBlock[], ...others };
}

export function encodeEmbedding(vector: Float32Array, precision: VectorPrecision, what: string): Uint8Array {
  return precision === "f32" ? encodeFloats(vector) : encodeHalves(vector, what);
}

/** Into an array of the collection's dimension, whose length the bytes must fit. */
export function decodeEmbedding(bytes: Uint8Array, precision: VectorPrecision, into: Float32Array): Float32Array {
  if (precision === "f32") readFloats(bytes, into);
  else readHalves(bytes, into);
  return into;
}
