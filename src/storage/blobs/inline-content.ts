// Short contents are stored inline in the rows of their messages, but their refs can be resolved like those of blobs.
// An index finds them by hash. Only a lookup updates the index, so that appends do not pay for it.
import type { BlobWrite, Guard, Write } from "../../contracts/storage/commit.ts";
import type { Queries } from "../../contracts/storage/queries.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import { decide } from "../../core/decide.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext } from "./byte-store.ts";
import { type BlobClaim, FORM, NO_TIME } from "./claims.ts";
import { commitOrThrow, placePlain } from "./put.ts";

/** Rows that one statement scans, or that one commit indexes while all appends wait for it. */
const ROWS_PER_SCAN = 5000;
const MOST_UNINDEXED = 2000;
const MOST_COUNTED = 1000;

/** As in storage/sql/inline-content.ts. */
export const PREFIX_BYTES = 8;

/** A number that no row of blobs has. */
export const INLINE_NO = -1;

/** Inline content, with the session of its row and the guard that the row still has the content. */
type InlineBlob = BlobRow & { readonly body: Uint8Array; readonly session: string; readonly guard: Guard };

export async function findInlineContent(context: BlobContext, digest: Uint8Array): Promise<InlineBlob | null> {
  const found = (await findIndexed(context, digest)) ?? (await findUnindexed(context, digest));
  if (found === null) return null;
  return {
    no: INLINE_NO,
    sha256: found.sha256,
    size: found.size,
    media: "application/json",
    utf8: 1,
    form: FORM.plain,
    stored: found.size,
    store: "",
    key: null,
    refs: 1,
    pinned: 0,
    expires_at: null,
    epoch: 0,
    condemned: null,
    created_at: found.created_at,
    linked: 0,
    body: found.body,
    session: found.session,
    guard: { check: "inline.there", key: [found.no, found.sha256], expect: found.no },
  };
}

type InlineContentRecord = Queries["inline.get"]["row"];

async function findIndexed(context: BlobContext, digest: Uint8Array): Promise<InlineContentRecord | null> {
  const [found] = await context.storage.query("inline.get", { prefix: digest.slice(0, PREFIX_BYTES), sha256: digest });
  return found ?? null;
}

/** Scans row by row, without a lock; if there are many rows, it indexes them for the next lookup. */
async function findUnindexed(context: BlobContext, digest: Uint8Array): Promise<InlineContentRecord | null> {
  const { storage } = context;
  const [lag] = await storage.query("inline.lag", {});
  // Another handle may have added it to the index after the first lookup.
  if (lag === undefined || lag.upto >= lag.newest) return findIndexed(context, digest);
  if (lag.newest - lag.upto > MOST_UNINDEXED) {
    catchUp(context, lag.newest).catch((error) => {
      storage.environment.log("info", "blobs.inline.index", { error: String(error) });
    });
  }
  for (let after = lag.upto; after < lag.newest; after += ROWS_PER_SCAN) {
    const [found] = await storage.query("inline.scan", {
      after,
      upTo: Math.min(after + ROWS_PER_SCAN, lag.newest),
      sha256: digest,
    });
    if (found !== undefined) return found;
    await yieldToEventLoop(storage.environment);
  }
  return findIndexed(context, digest);
}

/** How many messages have this content, counted up to a limit. */
export async function countInlineContent(context: BlobContext, digest: Uint8Array): Promise<number> {
  const { storage } = context;
  const [{ upto, newest } = { upto: 0, newest: 0 }] = await storage.query("inline.lag", {});
  const [known] = await storage.query("inline.count", {
    prefix: digest.slice(0, PREFIX_BYTES),
    upTo: upto,
    sha256: digest,
    most: MOST_COUNTED,
  });
  let count = known?.n ?? 0;
  for (let after = upto; after < newest && count < MOST_COUNTED; after += ROWS_PER_SCAN) {
    const [more] = await storage.query("inline.countUnindexed", {
      after,
      upTo: Math.min(after + ROWS_PER_SCAN, newest),
      sha256: digest,
    });
    count += more?.n ?? 0;
    await yieldToEventLoop(storage.environment);
  }
  return Math.min(count, MOST_COUNTED);
}

/** Indexes the rows up to a row number; later rows are left to the next lookup. */
async function catchUp(context: BlobContext, newest: number): Promise<void> {
  for (;;) {
    const [lag] = await context.storage.query("inline.lag", {});
    if (lag === undefined || lag.upto >= Math.min(newest, lag.newest)) return;
    const to = Math.min(newest, lag.newest, lag.upto + ROWS_PER_SCAN);
    await commitOrThrow(context, {
      solo: true,
      settled: true,
      writes: [
        { op: "run", statement: "inline.index", params: [to] },
        { op: "run", statement: "inline.indexed", params: [to, to] },
      ],
    });
  }
}

/**
 * Makes a pinned blob of inline content, because the pin may outlive the message; false if there is no such content.
 * The commit is guarded: a concurrent clear either sees the pin, or removes the content before it can be pinned.
 */
export async function pinInlineContent(context: BlobContext, digest: Uint8Array, pin: Write): Promise<boolean> {
  const { storage, byteStore } = context;
  const made: BlobWrite[] = [];
  const pinned = await decide(storage, async () => {
    const found = await findInlineContent(context, digest);
    if (found === null) return { answer: false };
    const at = storage.environment.now();
    const claim: BlobClaim = { media: found.media, utf8: true, refs: 0, expiresAt: NO_TIME, at };
    const blob = await placePlain(context, digest, found.body, claim);
    made.push(blob);
    const sessions = [{ id: found.session, mode: "lock", at }] as const;
    return { commit: { sessions, guards: [found.guard], blobs: [blob], writes: [pin] }, answer: () => true };
  });
  await byteStore.drop(made);
  return pinned;
}
