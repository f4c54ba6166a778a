// The Blobs contract over a Storage: checks arguments, and calls the other files of this folder.
import type { BlobBackend, BlobStat, Blobs } from "../../contracts/blobs.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Write } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { BLOB_VERBS } from "../../contracts/verbs/blobs.ts";
import type { ValuesOf } from "../../contracts/verbs/vocabulary.ts";
import { decodeText, encodeText, isBytes, toRef } from "../../core/bytes.ts";
import { encodeJson, invalid, limitExceeded, reading } from "../../core/check.ts";
import { bindVerbs } from "../../core/verbs.ts";
import { type BlobContext, createByteStore } from "./byte-store.ts";
import { type BlobClaim, FORM, isExpired } from "./claims.ts";
import { deleteBlob } from "./drop.ts";
import { collectGarbage, foreseeGarbage, type GcSettings } from "./gc.ts";
import { storeGrown } from "./grow.ts";
import { findInlineContent, INLINE_NO, pinInlineContent } from "./inline-content.ts";
import { listBlobs, statOf } from "./list.ts";
import { commitOrThrow } from "./put.ts";
import { expired, notFound, readBlob, streamBlob } from "./read.ts";
import { findReferrers } from "./referrers.ts";
import { sealBlob } from "./seal.ts";
import { type Source, storeBytes, storeSource } from "./write.ts";

export interface BlobsOptions {
  readonly backend?: BlobBackend;
  /** Time to live of a ref when store() names none; null: for ever. */
  readonly ttlMs: number | null;
  /** A segment that did not grow for so long is sealed by gc; an hour when not given. */
  readonly sealAfterMs?: number;
  /** Frees other data at the beginning of a collection, and returns the bytes. */
  freeBefore?(): Promise<number>;
}

const BYTES = "application/octet-stream";
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";

export function createBlobs(storage: Storage, options: BlobsOptions): Blobs {
  const context: BlobContext = { storage, byteStore: createByteStore(storage, options.backend) };
  const settings: GcSettings = {
    backend: options.backend,
    ...(options.sealAfterMs === undefined ? {} : { sealAfterMs: options.sealAfterMs }),
  };
  return bindVerbs(BLOB_VERBS, null, {
    store: (data, given) => store(context, options.ttlMs, data, given),
    storeJson: async (value, given) => {
      const bytes = encodeJson(value, "value", "blobInMemoryBytes");
      const asked = readOptions(context, options.ttlMs, given, JSON_TYPE, true);
      return toRef(await storeWhole(context, bytes, asked));
    },
    resolve: (digest) => readBlob(context, digest),
    resolveText: (digest) => readText(context, digest),
    resolveJson: async (digest) => parseJson(toRef(digest), await readText(context, digest)),
    stream: (digest) => streamBlob(context, digest),
    exists: async (digest) => {
      const row = await find(context, digest);
      return row !== null && !isExpired(row, storage.environment.now());
    },
    stat: (digest) => stat(context, digest),
    list: (range) => listBlobs(context, range),
    referrers: (digest, { limit }) => findReferrers(context, digest, limit),
    pin: (digest) => setPinned(context, digest, 1),
    unpin: (digest) => setPinned(context, digest, 0),
    delete: (digest) => deleteBlob(context, digest),
    verify: (digest) => verify(context, digest),
    seal: async (digest) => {
      const row = await findLiveRow(context, digest);
      if (row.form === FORM.segments) await sealBlob(context, row);
    },
    gc: async ({ dryRun, vacuum }) => {
      if (dryRun && vacuum) throw new HoldfastError("InvalidArgument", "a dry run changes nothing: it cannot vacuum");
      if (dryRun) return foreseeGarbage(context, settings);
      // Runs before the collection's vacuum, which removes all traces of freed data.
      const freed = (await options.freeBefore?.()) ?? 0;
      const report = await collectGarbage(context, settings);
      if (vacuum) await storage.rewrite();
      return { ...report, bytes: report.bytes + freed };
    },
  });
}

interface CheckedStoreOptions {
  readonly claim: BlobClaim;
  readonly growsFrom: Uint8Array | null;
  readonly owned: boolean;
}

type StoreValues = Omit<ValuesOf<typeof BLOB_VERBS.store>[1], "mediaType"> & { readonly mediaType?: string };

function readOptions(
  context: BlobContext,
  ttlMs: number | null,
  given: StoreValues,
  media: string,
  utf8: boolean,
): CheckedStoreOptions {
  const { mediaType = media, ttlMs: ttl = ttlMs, growsFrom = null, owned } = given;
  const at = context.storage.environment.now();
  const claim = { media: mediaType, utf8, refs: 0, expiresAt: ttl === null ? null : at + ttl, at };
  return { claim, growsFrom, owned };
}

async function store(context: BlobContext, ttlMs: number | null, data: unknown, given: StoreValues): Promise<string> {
  if (typeof data === "string") {
    const asked = readOptions(context, ttlMs, given, TEXT, true);
    return toRef(await storeWhole(context, encodeChecked(data), asked));
  }
  const asked = readOptions(context, ttlMs, given, BYTES, false);
  if (isBytes(data)) return toRef(await storeWhole(context, data, asked));
  const source = checkSource(data);
  if (asked.growsFrom === null) return toRef(await storeSource(context, source, asked.claim));
  return toRef(await storeWhole(context, await gather(source), asked));
}

async function storeWhole(
  context: BlobContext,
  bytes: Uint8Array,
  { claim, growsFrom, owned }: CheckedStoreOptions,
): Promise<Uint8Array> {
  if (bytes.length > LIMITS.blobInMemoryBytes) {
    throw limitExceeded("blobInMemoryBytes", "the blob in bytes", bytes.length);
  }
  // A copy, because the bytes are read more than once and later, and the caller may change its array.
  const ours = owned ? bytes : new Uint8Array(bytes);
  const grown = growsFrom === null ? null : await storeGrown(context, ours, growsFrom, claim);
  return grown ?? storeBytes(context, ours, claim);
}

function encodeChecked(text: string): Uint8Array {
  if (!text.isWellFormed()) {
    throw new HoldfastError("InvalidText", "the text holds a lone surrogate, which is not Unicode", {
      hint: "Store the bytes instead, or replace it with toWellFormed().",
    });
  }
  return encodeText(text);
}

function checkSource(data: unknown): Source {
  const isSource = reading("data", () => {
    if (typeof data !== "object" || data === null || data instanceof Uint8Array) return false;
    const given = data as { [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown };
    return typeof (given[Symbol.asyncIterator] ?? given[Symbol.iterator]) === "function";
  });
  if (isSource) return data as Source;
  throw invalid("data", "a string, a Uint8Array or a stream of them", data);
}

/** With `growsFrom` the bytes are compared with the base, so they must be in memory. */
async function gather(source: Source): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    if (!isBytes(piece)) throw invalid("every piece of the source", "a Uint8Array", piece);
    size += piece.length;
    if (size > LIMITS.blobInMemoryBytes) throw limitExceeded("blobInMemoryBytes", "the blob in bytes", size);
    pieces.push(new Uint8Array(piece));
  }
  return Buffer.concat(pieces, size);
}

async function find(context: BlobContext, digest: Uint8Array): Promise<BlobRow | null> {
  const [row] = await context.storage.query("blob.head", { sha256: digest });
  const there = row !== undefined && row.form !== FORM.holder;
  if (there && !isExpired(row, context.storage.environment.now())) return row;
  return (await findInlineContent(context, digest)) ?? (there ? row : null);
}

async function findLiveRow(context: BlobContext, digest: Uint8Array): Promise<BlobRow> {
  const row = await find(context, digest);
  if (row === null) throw notFound(digest);
  if (isExpired(row, context.storage.environment.now())) throw expired(digest);
  return row;
}

async function setPinned(context: BlobContext, digest: Uint8Array, pinned: 0 | 1): Promise<void> {
  const row = pinned === 1 ? await findLiveRow(context, digest) : await find(context, digest);
  if (row === null) throw notFound(digest);
  const pin: Write = { op: "run", statement: "blob.pin", params: [pinned, pinned, digest] };
  if (row.no !== INLINE_NO) return commitOrThrow(context, { uses: [[digest, 0]], writes: [pin] });
  if (pinned === 1 && !(await pinInlineContent(context, digest, pin))) throw notFound(digest);
}

async function stat(context: BlobContext, digest: Uint8Array): Promise<BlobStat | null> {
  const row = await find(context, digest);
  return row === null ? null : statOf(context, row);
}

async function readText(context: BlobContext, digest: Uint8Array): Promise<string> {
  const bytes = await readBlob(context, digest);
  try {
    return decodeText(bytes);
  } catch (cause) {
    throw new HoldfastError("InvalidText", `the blob ${toRef(digest)} is not UTF-8 text`, {
      details: { ref: toRef(digest) },
      hint: "Read it with resolve().",
      cause,
    });
  }
}

function parseJson(ref: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new HoldfastError("InvalidJson", `the blob ${ref} is not JSON`, {
      details: { ref },
      hint: "Read it with resolveText().",
      cause,
    });
  }
}

async function verify(context: BlobContext, digest: Uint8Array): ReturnType<Blobs["verify"]> {
  let size = 0;
  try {
    for await (const piece of streamBlob(context, digest)) size += piece.length;
    return { ok: true, size };
  } catch (error) {
    const expected = ["BlobNotFound", "BlobExpired", "BlobCorrupted"];
    if (!(error instanceof HoldfastError) || !expected.includes(error.code)) throw error;
    return { ok: false, reason: error.message };
  }
}
