// Removes the rows of claims that no process needs, a page at a time.
import type { Environment } from "../contracts/environment.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { ownerLiveness } from "../core/run-owner.ts";
import { decodeClaim, orphanOf } from "./claim.ts";

const DAY_MS = 24 * 3_600_000;
/** A claim without a heartbeat for this time is removed. */
const FORGOTTEN_MS = 7 * DAY_MS;
/** A worker of another machine may still run, and only that machine knows. */
const FORGOTTEN_WORKER_MS = 30 * DAY_MS;
const PAGE = 500;

export async function sweepClaims(storage: Storage): Promise<void> {
  for (let after = "claim:"; ; ) {
    const rows = await storage.query("claims.list", { after, limit: PAGE });
    const writes = rows
      .filter(({ value }) => isForgotten(storage.environment, value))
      .map(({ name, value }) => ({ op: "run", statement: "claim.sweep", params: [name, value] }) as const);
    if (writes.length > 0) await storage.commit({ writes });
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.name;
  }
}

/** True also for a row with a time in the far future, which a wrong clock wrote. */
function isForgotten(environment: Environment, value: string): boolean {
  const record = decodeClaim(value);
  if (record === null) return true;
  const ageMs = Math.abs(environment.now() - record.at);
  if (ageMs <= FORGOTTEN_MS) return false;
  if (record.isReleased) return orphanOf(environment, record) === null;
  if (ownerLiveness(environment, record.owner) === "alive" || orphanOf(environment, record) !== null) return false;
  const isKnown = record.worker === null || environment.processes?.liveness(record.worker) === "gone";
  return isKnown || ageMs > FORGOTTEN_WORKER_MS;
}
