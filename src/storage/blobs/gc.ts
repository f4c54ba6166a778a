// Collection (BL4). A run begins a new epoch. It deletes what an earlier run condemned and what was not put, pinned or
// named since; and it condemns what is unreferenced, expired and was last put two epochs ago. So three runs free a
// blob, and neither a slow writer nor a clock that jumps can lose one. Everything is done in short pages.
import type { BlobBackend, GcReport } from "../../contracts/blobs.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import { decide } from "../../core/decide.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import { type BlobContext, isKeyReferenced } from "./byte-store.ts";
import { isExpired } from "./claims.ts";
import { dropBlobs, dropSegments } from "./drop.ts";
import { commitOrThrow } from "./put.ts";
import { sealSegment } from "./seal.ts";

const HOUR_MS = 3600 * 1000;

/** Rows per read, and bytes deleted per commit. */
const PAGE = 500;
const SWEEP_BYTES = 8 * 1024 * 1024;

export interface GcSettings {
  readonly backend: BlobBackend | undefined;
  /** A segment that did not grow for this long is sealed. */
  readonly sealAfterMs?: number;
  /** Bytes outside the database that no row names are removed at this age. */
  readonly orphanMs?: number;
}

export async function collectGarbage(context: BlobContext, settings: GcSettings): Promise<GcReport> {
  const epoch = await beginEpoch(context);
  const swept = await sweep(context, epoch);
  await dropStrays(context);
  const sealed = await sealIdle(context, settings.sealAfterMs ?? HOUR_MS);
  const segmentBytes = await dropUnusedSegments(context);
  const condemned = await condemn(context, epoch);
  const orphans = await dropOrphans(context, settings, false);
  await context.storage.reclaim();
  return {
    dryRun: false,
    epoch,
    condemned,
    deleted: swept.blobs,
    bytes: swept.bytes + segmentBytes + orphans.bytes,
    sealed,
    orphans: orphans.count,
  };
}

/** What collections would free of the present rows after further epochs. */
export async function foreseeGarbage(context: BlobContext, settings: GcSettings): Promise<GcReport> {
  const { storage } = context;
  const now = storage.environment.now();
  const [counter] = await storage.query("gc.epoch", {});
  let [condemned, deleted, bytes] = [0, 0, 0];
  const blobs = pages(
    context,
    0,
    (after) => storage.query("gc.freeable", { now, after, limit: PAGE }),
    (row) => row.no,
  );
  for await (const page of blobs) {
    for (const row of page.filter((one) => one.free === 1)) {
      bytes += row.stored;
      if (row.chunk === 0) deleted += 1;
      if (row.chunk === 0 && row.condemned === null) condemned += 1;
    }
  }
  const segments = pages(
    context,
    "",
    (after) => storage.query("gc.freeableSegments", { now, after, limit: PAGE }),
    (row) => row.id,
  );
  for await (const page of segments) for (const row of page) if (row.free === 1) bytes += row.stored;
  const orphans = await dropOrphans(context, settings, true);
  bytes += orphans.bytes;
  return { dryRun: true, epoch: counter?.n ?? 0, condemned, deleted, bytes, sealed: 0, orphans: orphans.count };
}

/** Reads pages in the order of a key until one is not full, and lets the event loop run between them. */
async function* pages<T, K>(
  context: BlobContext,
  first: K,
  read: (after: K) => Promise<readonly T[]>,
  keyOf: (row: T) => K,
): AsyncGenerator<readonly T[]> {
  let after = first;
  for (;;) {
    const page = await read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < PAGE) return;
    after = keyOf(last);
    await yieldToEventLoop(context.storage.environment);
  }
}

function beginEpoch({ storage }: BlobContext): Promise<number> {
  return decide(storage, async () => {
    const epoch = (await storage.query("gc.epoch", {}))[0]?.n ?? 0;
    return {
      commit: {
        guards: [{ check: "gc.epoch", key: [], expect: epoch }],
        writes: [{ op: "run", statement: "gc.advance", params: [] }],
      },
      answer: () => epoch + 1,
    };
  });
}

function unreferenced(context: BlobContext): AsyncGenerator<readonly BlobRow[]> {
  return pages(
    context,
    0,
    (after) => context.storage.query("gc.unreferenced", { after, limit: PAGE }),
    (row) => row.no,
  );
}

/** Checks the expiry again: a blob that was condemned while the clock was ahead stays if the clock is set back. */
async function sweep(context: BlobContext, epoch: number): Promise<{ blobs: number; bytes: number }> {
  const now = context.storage.environment.now();
  let [blobs, bytes] = [0, 0];
  for await (const page of unreferenced(context)) {
    const due = page.filter((row) => row.condemned !== null && row.condemned < epoch && isExpired(row, now));
    for (const some of portions(due)) {
      const dropped = await dropBlobs(context, some);
      blobs += dropped.blobs;
      bytes += dropped.bytes;
      await yieldToEventLoop(context.storage.environment);
    }
  }
  return { blobs, bytes };
}

function* portions(rows: readonly BlobRow[]): Generator<readonly BlobRow[]> {
  let portion: BlobRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    portion.push(row);
    bytes += row.stored;
    if (bytes < SWEEP_BYTES) continue;
    yield portion;
    [portion, bytes] = [[], 0];
  }
  if (portion.length > 0) yield portion;
}

/** Includes blobs that this run's sweep released because only deleted blobs named them. */
async function condemn(context: BlobContext, epoch: number): Promise<number> {
  const now = context.storage.environment.now();
  let count = 0;
  let from = 0;
  for await (const page of unreferenced(context)) {
    const due = page.filter((row) => row.condemned === null && row.epoch <= epoch - 2 && isExpired(row, now));
    const to = page.at(-1)?.no ?? from;
    if (due.length > 0) {
      const params = [epoch, from, to, now, epoch - 2];
      await commitOrThrow(context, { writes: [{ op: "run", statement: "blobs.condemn", params }] });
    }
    count += due.length;
    from = to;
  }
  return count;
}

/** Links and segments whose blob was deleted without them: they would keep their parts for ever. */
async function dropStrays(context: BlobContext): Promise<void> {
  const { storage } = context;
  for (const [query, statement] of [
    ["gc.parents", "links.drop"],
    ["gc.grown", "segments.drop"],
  ] as const) {
    for await (const page of pages(
      context,
      0,
      (after) => storage.query(query, { after, limit: PAGE }),
      (row) => row.no,
    )) {
      const strays = page.filter((row) => row.there === 0);
      if (strays.length === 0) continue;
      const writes = strays.map(({ no }) => ({ op: "run", statement, params: [no, no] }) as const);
      await commitOrThrow(context, { solo: true, writes });
    }
  }
}

/** Segments that stopped growing, and those that are longer than any blob in them. */
async function sealIdle(context: BlobContext, sealAfterMs: number): Promise<number> {
  const { storage } = context;
  const before = storage.environment.now() - sealAfterMs;
  let sealed = 0;
  for (const read of [
    (after: string) => storage.query("segments.unsealed", { touchedBefore: before, after, limit: PAGE }),
    (after: string) => storage.query("segments.overlong", { after, limit: PAGE }),
  ]) {
    for await (const page of pages(context, "", read, (row) => row.id)) {
      for (const { id } of page) {
        const done = await sealSegment(context, id).catch((error) => {
          storage.environment.log("warn", "blobs.segment.skipped", { segment: id, error: String(error) });
          return false;
        });
        if (done) sealed += 1;
        await yieldToEventLoop(storage.environment);
      }
    }
  }
  return sealed;
}

async function dropUnusedSegments(context: BlobContext): Promise<number> {
  let bytes = 0;
  const unused = pages(
    context,
    "",
    (after) => context.storage.query("segments.unused", { after, limit: PAGE }),
    (row) => row.id,
  );
  for await (const page of unused) {
    for (const { id } of page) {
      bytes += await dropSegments(context, [id]);
      await yieldToEventLoop(context.storage.environment);
    }
  }
  return bytes;
}

const KEYS_AT_ONCE = 64;

/** Removes bytes that a crash left outside the database. Younger bytes may belong to a commit under way. */
async function dropOrphans(
  context: BlobContext,
  { backend, orphanMs = HOUR_MS }: GcSettings,
  dryRun: boolean,
): Promise<{ count: number; bytes: number }> {
  let [count, bytes] = [0, 0];
  if (backend === undefined) return { count, bytes };
  const look = async (old: readonly { key: string; bytes: number }[]) => {
    const named = await Promise.all(old.map(({ key }) => isKeyReferenced(context.storage, key)));
    for (const [i, { key, bytes: size }] of old.entries()) {
      if (named[i]) continue;
      if (!dryRun) await backend.delete(key);
      count += 1;
      bytes += size;
    }
    await yieldToEventLoop(context.storage.environment);
  };
  const old: { key: string; bytes: number }[] = [];
  for await (const entry of backend.list()) {
    if (entry.ageMs < orphanMs) continue;
    old.push(entry);
    if (old.length === KEYS_AT_ONCE) await look(old.splice(0));
  }
  await look(old);
  return { count, bytes };
}
