// The space of deleted rows: overwritten and returned to the file system after an erasure, or dropped by rewriting the
// whole file.
import type { DatabaseSync } from "node:sqlite";
import type { Environment } from "../../../contracts/environment.ts";
import { busyError } from "./errors.ts";

export interface Space {
  /** The connection that writes. */
  readonly db: DatabaseSync;
  readonly path: string;
  readonly environment: Environment;
  readonly busyMs: number;
  /** Runs it once the write lock is free. */
  whenFree<T>(run: () => T): Promise<T>;
}

const VACUUM_PAGES = 1000;

/** How long an erasure waits for readers of other processes. */
const PATIENCE_MS = 2000;

/** What was deleted is overwritten (secure_delete), leaves the WAL, and its pages go back to the file system. */
export async function reclaim(space: Space): Promise<void> {
  if (space.path === ":memory:") return;
  const { db, environment, busyMs } = space;
  // A bounded piece at a time: giving back hundreds of megabytes in one go would hold up the event loop.
  const free = () => number(space, "freelist_count", "freelist_count");
  for (let before = Number.POSITIVE_INFINITY, now = free(); now > 0 && now < before; before = now, now = free()) {
    await space.whenFree(() => db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`));
    await new Promise<void>((next) => environment.defer(next));
  }
  // A reader of another process may still look at the old pages; the next checkpoint takes them.
  if (!(await truncateWal(space, Math.min(busyMs, PATIENCE_MS)))) environment.log("info", "sqlite.reclaim.later", {});
}

/**
 * SQLite moves rows between pages, and leaves in the gap of a page what moved away: secure_delete does not reach those
 * copies when the row is deleted later. A file written anew has none. Until the WAL is in it, the old pages still are.
 */
export async function rewrite(space: Space): Promise<void> {
  if (space.path === ":memory:") return;
  await space.whenFree(() => space.db.exec("VACUUM"));
  if (!(await truncateWal(space, space.busyMs))) throw busyError(space.path, new Error("a reader keeps the old pages"));
}

/** False when a reader kept the WAL in use for so long. */
async function truncateWal(space: Space, patienceMs: number): Promise<boolean> {
  const { environment } = space;
  const deadline = environment.monotonic() + patienceMs;
  while (number(space, "wal_checkpoint(TRUNCATE)", "busy") !== 0) {
    if (environment.monotonic() >= deadline) return false;
    await environment.sleep(5);
  }
  return true;
}

function number({ db }: Space, pragma: string, column: string): number {
  return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[column]);
}
