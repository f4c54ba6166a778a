// Checks collections of documents: rows with each other, and what is derived of them (pages of codes, the index of metadata) with what it
// was derived from. Writers change a collection meanwhile: what was found counts only if the collection's change is still the same.
import type { CheckKind } from "../contracts/check.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { StoredPayload } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedCollectionRow } from "../contracts/storage/vector-queries.ts";
import { sameBytes, toHex, toRef } from "../core/bytes.ts";
import { fieldsOf } from "../core/metadata-fields.ts";
import { ROWS_AT_ONCE, requireFinite } from "../vectors/collection-codes.ts";
import {
  type CollectionState,
  DOCUMENTS,
  type Generation,
  generationOf,
  readCollection,
} from "../vectors/collections.ts";
import { readDocument } from "../vectors/documents.ts";
import { VectorCoder } from "../vectors/kernel/code.ts";
import { type CodePage, decodePage, readSlot } from "../vectors/kernel/pages.ts";
import { type PassageKind, passageKindOf } from "../vectors/reserved.ts";
import type { IssueReporter } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { BlobReader } from "./yielding-reads.ts";

/** Collections that are written to all the time are looked at so often. */
const ATTEMPTS = 3;
const DOCUMENTS_AT_ONCE = 200;

/** An issue that is reported if nothing has changed meanwhile. */
interface Finding {
  readonly kind: CheckKind;
  readonly details: JsonObject;
}

interface CollectionCheck {
  readonly storage: Storage;
  readonly payloads: { read(stored: StoredPayload): Promise<Uint8Array> };
  readonly reporter: IssueReporter;
  readonly found: Finding[];
}

export async function checkVectors(
  storage: Storage,
  blobs: BlobReader,
  reporter: IssueReporter,
  count: (what: string, n?: number) => void,
): Promise<void> {
  const payloads = { read: ({ sha256 }: StoredPayload) => readBlob(blobs, sha256) };
  for await (const row of rowsOf<CheckedCollectionRow>((last) =>
    storage.query("check.collections", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (row.counted > 0 && passageKindOf(row.name) === null) count("documents", row.counted);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found: Finding[] = [];
      const before = attempt === 1 ? row : (await storage.query("check.collection", { no: row.no }))[0];
      if (before === undefined) break;
      await checkCollection({ storage, payloads, reporter, found }, before);
      const [after] = await storage.query("check.collection", { no: row.no });
      if (after?.change !== before.change) continue;
      for (const { kind, details } of found) reporter.report(kind, [row.name], details);
      break;
    }
  }
  for (const { source, collection } of await storage.query("check.strayItems", {})) {
    reporter.report("collection-wrong", [], { table: source, collectionNumber: collection });
  }
}

async function readBlob(blobs: BlobReader, sha256: Uint8Array): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.stream(toRef(sha256))) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function checkCollection(check: CollectionCheck, row: CheckedCollectionRow): Promise<void> {
  const { storage, reporter, found } = check;
  const wrong = (details: JsonObject) => void found.push({ kind: "collection-wrong", details });
  if (row.documents !== row.counted) wrong({ column: "documents", stored: row.documents, counted: row.counted });
  if ((row.newest ?? 0) > row.last_item) wrong({ column: "last_item", stored: row.last_item, newest: row.newest });
  let state: CollectionState | null = null;
  try {
    state = await readCollection(storage, row.name);
  } catch (error) {
    if (!isDamage(error)) throw error;
    wrong({ reason: error.message });
  }
  for (const one of await storage.query("vectors.generations", { collection: row.no })) {
    const [counted] = await storage.query("check.embeddings", { collection: row.no, generation: one.generation });
    if (one.vectors !== (counted?.n ?? 0)) {
      wrong({ column: "vectors", generation: one.generation, stored: one.vectors, counted: counted?.n ?? 0 });
    }
    if (!reporter.isRequested("vector-page-wrong") || state === null) continue;
    await checkPages(check, state, generationOf(row.name, one));
  }
  for (const { generation, item } of await storage.query("check.strayEmbeddings", {
    collection: row.no,
    limit: PAGE,
  })) {
    wrong({ table: "vectors", generation, item });
  }
  await checkDocuments(check, row);
  const kind = passageKindOf(row.name);
  if (kind !== null) await checkPassages(check, row, kind);
}

/** Passages with their embeddings, and with the messages or memories that they are of. */
async function checkPassages(
  { storage, found }: CollectionCheck,
  { no: collection, generation }: CheckedCollectionRow,
  kind: PassageKind,
): Promise<void> {
  const wrong = (details: JsonObject) =>
    void found.push({ kind: "collection-wrong", details: { table: "passages", ...details } });
  for (const { item, pending } of await storage.query("check.passages", { collection, generation, limit: PAGE })) {
    wrong({ item, pending });
  }
  for (const { item } of await storage.query("check.strayPassages", { collection, kind, limit: PAGE })) {
    wrong({ item, reason: `it is of none of the ${kind}` });
  }
}

/** Documents with their embeddings; in deep mode also with the index of their metadata. */
async function checkDocuments(check: CollectionCheck, { no, name, generation }: CheckedCollectionRow): Promise<void> {
  const { storage, reporter, found } = check;
  for (let after = BEFORE_ALL; ; ) {
    const rows = await storage.query("check.documents", {
      collection: no,
      generation,
      after,
      limit: DOCUMENTS_AT_ONCE,
    });
    for (const { id, item, pending, blob_missing, embedded } of rows) {
      if ((pending === null) !== (embedded !== null)) {
        found.push({ kind: "collection-wrong", details: { table: "documents", document: id, item, pending } });
      }
      if (blob_missing === 1)
        reporter.report("blob-missing", [`${name}/${id}`], { table: "documents", payload: "content" });
    }
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) return;
    if (reporter.isRequested("metadata-index-wrong", "column-unreadable")) {
      await checkMetadata(check, { no, name, from: first.item, to: last.item });
    }
    if (rows.length < DOCUMENTS_AT_ONCE) return;
    after = last.item;
  }
}

interface ItemRange {
  readonly no: number;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

async function checkMetadata(check: CollectionCheck, { no, name, from, to }: ItemRange): Promise<void> {
  const { storage, payloads, reporter, found } = check;
  const fields = new Map<number, Set<string>>();
  for (const { item, path, value } of await storage.query("check.metadata", { kind: DOCUMENTS, scope: no, from, to })) {
    const known = fields.get(item) ?? new Set();
    known.add(`${toHex(path)}/${toHex(value)}`);
    fields.set(item, known);
  }
  for (const row of await storage.query("check.documentRows", { collection: no, from, to })) {
    // A missing blob is an issue of its own.
    if (row.words === null && row.form === null) continue;
    try {
      const { metadata } = await readDocument(payloads, name, row);
      const expected = fieldsOf(metadata).map(({ path, value }) => `${toHex(path)}/${toHex(value)}`);
      const indexed = fields.get(row.item) ?? new Set();
      fields.delete(row.item);
      if (expected.length === indexed.size && expected.every((field) => indexed.has(field))) continue;
      found.push({ kind: "metadata-index-wrong", details: { document: row.id, item: row.item } });
    } catch (error) {
      if (!isDamage(error)) throw error;
      fields.delete(row.item);
      // The bytes of blobs are checked as such.
      if (row.words !== null) {
        reporter.report("column-unreadable", [`${name}/${row.id}`], { table: "documents", column: "words" });
      }
    }
  }
  for (const item of fields.keys()) found.push({ kind: "metadata-index-wrong", details: { document: null, item } });
}

function isDamage(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && (error.code === "StoreCorrupted" || error.code === "BlobCorrupted");
}

/** Every packed embedding has its code in a page, and every code of a page its embedding. */
async function checkPages(check: CollectionCheck, state: CollectionState, generation: Generation): Promise<void> {
  const { storage, found } = check;
  const of = { collection: state.no, generation: generation.generation };
  const wrong = (details: JsonObject) => void found.push({ kind: "vector-page-wrong", details: { ...of, ...details } });
  const coder = new VectorCoder(generation.seed, generation.dimension);
  const starts = (await storage.query("vectors.pageStarts", of)).map(({ first_item }) => first_item);
  const firstPage = starts[0] ?? generation.packed + 1;
  for (const item of await embeddedItems(storage, of, 0, Math.min(firstPage - 1, generation.packed))) wrong({ item });
  for (const [i, start] of starts.entries()) {
    const last = Math.min((starts[i + 1] ?? Number.POSITIVE_INFINITY) - 1, generation.packed);
    const [row] = await storage.query("vectors.pagesAt", { ...of, starts: JSON.stringify([start]) });
    // Emptied by an erasure: its codes are made again with the next search.
    if (row === undefined || row.codes.length === 0) continue;
    try {
      const page = decodePage(row.codes, coder.codeBytes, `page ${start}`);
      for (const item of await wrongCodes(storage, state, generation, coder, { page, start, last })) {
        wrong({ page: start, item });
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      wrong({ page: start, reason: error.message });
    }
  }
}

async function embeddedItems(
  storage: Storage,
  of: { readonly collection: number; readonly generation: number },
  after: number,
  last: number,
): Promise<readonly number[]> {
  if (last <= after) return [];
  const rows = await storage.query("vectors.after", { ...of, after, limit: ROWS_AT_ONCE });
  return rows.map(({ item }) => item).filter((item) => item <= last);
}

interface PageRange {
  readonly page: CodePage;
  readonly start: number;
  readonly last: number;
}

async function wrongCodes(
  storage: Storage,
  { no: collection, name }: CollectionState,
  current: Generation,
  coder: VectorCoder,
  { page, start, last }: PageRange,
): Promise<readonly number[]> {
  const codes = new Map<number, NonNullable<ReturnType<typeof readSlot>>>();
  for (let slot = 0; slot < page.usedSlots; slot++) {
    const code = readSlot(page, slot);
    if (code !== null) codes.set(code.row, code);
  }
  const wrong: number[] = [];
  for (let after = start - 1; after < last; ) {
    const { generation } = current;
    const rows = await storage.query("vectors.after", { collection, generation, after, limit: ROWS_AT_ONCE });
    for (const { item, embedding } of rows) {
      if (item > last) break;
      const found = codes.get(item);
      codes.delete(item);
      const { bits, scale, norm } = coder.encode(requireFinite(embedding, current, name, item));
      if (found === undefined || !sameBytes(found.bits, bits) || found.scale !== scale || found.norm !== norm) {
        wrong.push(item);
      }
    }
    const newest = rows.at(-1);
    if (newest === undefined || rows.length < ROWS_AT_ONCE) break;
    after = newest.item;
  }
  return [...wrong, ...codes.keys()];
}
