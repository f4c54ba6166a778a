// Releases a held run, which came with an archive, together with its children, so that workers here can claim it.
import type { Write } from "../contracts/storage/commit.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHeldRun } from "../core/run-owner.ts";

/** Writes no event, so that the log stays the same as in the store that the run was exported from. */
export async function admitRun(storage: Storage, row: RunRow): Promise<void> {
  const writes = (await family(storage, row))
    .filter(isHeldRun)
    .map(({ id }): Write => ({ op: "run", statement: "run.admit", params: [id] }));
  if (writes.length > 0) await storage.commit({ writes, wakes: true });
}

async function family(storage: Storage, row: RunRow): Promise<readonly RunRow[]> {
  const all = [row];
  for (const child of await storage.query("runs.children", { parent: row.id })) {
    for (const below of await family(storage, child)) all.push(below);
  }
  return all;
}
