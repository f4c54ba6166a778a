// Exports a session as one file: first the blobs that its rows refer to, then the rows, so that an import never has a ref to bytes that
// have not arrived.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Sessions } from "../contracts/sessions.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { encodeText, toHex, toRef } from "../core/bytes.ts";
import { limitExceeded } from "../core/check.ts";
import { findAt } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { collectRequiredRanges, type RequiredRanges } from "../log/inherited.ts";
import { archiveFile, encodeFrame, FORMAT, FRAME_BYTES } from "./frames.ts";
import {
  type GatheredPart,
  type GatheredRows,
  type GatheredSession,
  gatherSession,
  gatherStretches,
} from "./gather.ts";
import type { BlobHeader, Manifest } from "./manifest.ts";
import type { OpenScratch } from "./scratch.ts";
import { checkParts, checkSound } from "./soundness.ts";

export async function* exportSession(
  storage: Storage,
  payloads: Payloads,
  scratch: OpenScratch,
  locator: Locator,
  { children, aliases }: Required<NonNullable<Parameters<Sessions["export"]>[1]>>,
): AsyncGenerator<Uint8Array> {
  if (locator.head !== undefined) {
    throw new HoldfastError("InvalidArgument", "only a whole session can be exported, not its state at a head", {
      details: { session: locator.session, head: locator.head },
      hint:
        "Fork it there first, which copies nothing, and export the fork: sessions.fork() and sessions.export(), or " +
        "`npx holdfast fork SESSION@HEAD NEW-ID` and `npx holdfast export NEW-ID`.",
    });
  }
  const { session } = await findAt(storage, locator);
  const whole = await gatherWhole(storage, session, children, aliases);
  const parts = await gatherInherited(storage, whole);
  if (parts.length > 0)
    await checkParts(scratch, session.id, [...parts, ...(await inheritedStretches(storage, whole, parts))]);
  yield* archiveFile(frames(storage, payloads, session.id, whole, parts));
}

async function gatherWhole(
  storage: Storage,
  first: SessionRow,
  children: boolean,
  aliases: boolean,
): Promise<readonly GatheredSession[]> {
  const found = new Map<string, GatheredSession>();
  const pending = [first.id];
  for (let id = pending.shift(); id !== undefined; id = pending.shift()) {
    if (found.has(id)) continue;
    const [row] = id === first.id ? [first] : await storage.query("session.get", { id });
    // A child that was deleted is named, and not exported.
    if (row === undefined || row.deleted_at !== null) continue;
    await checkSound(storage, id);
    const gathered = await gatherSession(storage, row.no, aliases);
    found.set(id, gathered);
    if (found.size > LIMITS.archiveSessions) {
      throw limitExceeded("archiveSessions", "the archive in sessions", found.size);
    }
    if (children) for (const invoked of gathered.rows.invoked) pending.push(invoked);
  }
  return [...found.values()];
}

/** The parts of other sessions that these sessions inherit. */
async function gatherInherited(storage: Storage, whole: readonly GatheredSession[]): Promise<readonly GatheredPart[]> {
  const own = new Set(whole.map(({ id }) => id));
  const stretches = whole.flatMap(({ rows }) => rows.inherits);
  const needed = await collectRequiredRanges(storage, stretches, (id) => own.has(id));
  return gatherAll(storage, needed);
}

/**
 * Inherited parts may continue a session of this archive. Also reads what they need of it, so that the parts can be verified without that
 * session.
 */
async function inheritedStretches(
  storage: Storage,
  whole: readonly GatheredSession[],
  parts: readonly GatheredPart[],
): Promise<readonly GatheredPart[]> {
  const own = new Set(whole.map(({ id }) => id));
  const stretches = parts.flatMap(({ rows }) => rows.inherits).filter(({ session }) => own.has(session));
  const needed = await collectRequiredRanges(storage, stretches, (id) => !own.has(id));
  return gatherAll(storage, needed);
}

async function gatherAll(storage: Storage, needed: RequiredRanges): Promise<readonly GatheredPart[]> {
  const gathered: GatheredPart[] = [];
  for (const [id, branches] of [...needed].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [row] = await storage.query("session.get", { id });
    if (row === undefined) throw new Error("bug: a lineage names a session that never was");
    gathered.push(await gatherStretches(storage, row, branches));
  }
  return gathered;
}

async function* frames(
  storage: Storage,
  payloads: Payloads,
  session: string,
  whole: readonly GatheredSession[],
  parts: readonly GatheredSession[],
): AsyncGenerator<Uint8Array> {
  const all = [...whole, ...parts];
  const blobs = await collectNamedBlobs(
    storage,
    all.map(({ rows }) => rows),
  );
  const manifest: Manifest = {
    format: FORMAT,
    session,
    sessions: all.map(({ id, seq, chain }, i) => ({ id, seq, chain: toHex(chain), whole: i < whole.length })),
    blobs: blobs.size,
    rows: all.reduce((sum, { rows }) => sum + rows.rows, 0),
  };
  yield encodeFrame("manifest", encodeText(JSON.stringify(manifest)));
  const inOrder = [...blobs].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, { digest, names }] of inOrder) yield* blobFrames(storage, payloads, digest, names);
  const slice = new TimeSlice(storage.environment);
  for (const { rows } of all) {
    for (const frame of rows.frames()) {
      if (slice.isSpent) await slice.pause();
      yield frame;
    }
  }
}

interface Blob {
  readonly digest: Uint8Array;
  readonly names: readonly Uint8Array[];
}

/** All blobs, including those that the contents of messages name. */
async function collectNamedBlobs(storage: Storage, all: readonly GatheredRows[]): Promise<ReadonlyMap<string, Blob>> {
  const blobs = new Map<string, Blob>();
  for (const { blobs: own, contents } of all) {
    for (const [hex, digest] of own) {
      if (blobs.get(hex)?.names.length) continue;
      const names = contents.has(hex)
        ? (await storage.query("blob.names", { sha256: digest })).map(({ sha256 }) => sha256)
        : [];
      for (const name of names) if (!blobs.has(toHex(name))) blobs.set(toHex(name), { digest: name, names: [] });
      blobs.delete(hex);
      blobs.set(hex, { digest, names });
    }
  }
  return blobs;
}

async function* blobFrames(
  storage: Storage,
  payloads: Payloads,
  digest: Uint8Array,
  names: readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  const [row] = await storage.query("blob.head", { sha256: digest });
  if (row === undefined) throw erasedMeanwhile(digest);
  const head: BlobHeader = {
    sha256: toHex(digest),
    size: row.size,
    media: row.media,
    utf8: row.utf8 === 1,
    at: row.created_at,
    ...(names.length === 0 ? {} : { names: names.map(toHex) }),
  };
  yield encodeFrame("blob", encodeText(JSON.stringify(head)));
  for await (const piece of bytesOf(payloads, digest)) {
    for (let at = 0; at < piece.length; at += FRAME_BYTES) {
      yield encodeFrame("data", piece.subarray(at, at + FRAME_BYTES));
    }
  }
}

async function* bytesOf(payloads: Payloads, digest: Uint8Array): AsyncGenerator<Uint8Array> {
  try {
    yield* payloads.stream(digest);
  } catch (error) {
    const isGone = error instanceof HoldfastError && (error.code === "BlobNotFound" || error.code === "BlobExpired");
    throw isGone ? erasedMeanwhile(digest) : error;
  }
}

function erasedMeanwhile(digest: Uint8Array): HoldfastError {
  return new HoldfastError("Conflict", "content was erased while the session was exported", {
    details: { ref: toRef(digest) },
    retryable: true,
    hint: "Export the session again: the file is incomplete.",
  });
}
