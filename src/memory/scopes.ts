// Scopes of memories. A scope has a row, which commits lock to change its memories one after the other. The row is never removed or
// changed, so that its number can be remembered; a scope without memories is not shown.
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isExpired } from "./rows.ts";

export interface NamedScope {
  readonly namespace: string;
  /** "" for memories that belong to no agent. */
  readonly agent: string;
}

/** null: the scope has never been used. */
export async function findScope(storage: Storage, { namespace, agent }: NamedScope): Promise<number | null> {
  const [row] = await storage.query("memory.scope", { namespace, agent });
  return row?.no ?? null;
}

export async function ensureScope(storage: Storage, scope: NamedScope): Promise<number> {
  const known = await findScope(storage, scope);
  if (known !== null) return known;
  const { namespace, agent } = scope;
  await storage.commit({ writes: [{ op: "put", table: "memory_scopes", row: { namespace, agent } }] });
  const made = await findScope(storage, scope);
  if (made === null) throw new HoldfastError("Internal", "a scope of memories that was added is not there");
  return made;
}

/** Commits that change memories of a scope lock it first. */
export function scopeGuard(scope: number): Guard {
  return { check: "memory.scope", key: [scope], expect: scope };
}

/** null: the scope has no such memory, or it has expired. */
export async function findMemory(storage: Storage, scope: NamedScope, id: string): Promise<MemoryRow | null> {
  const no = await findScope(storage, scope);
  const [row] = no === null ? [] : await storage.query("memory.get", { id, scope: no });
  return row === undefined || isExpired(row, storage.environment.now()) ? null : row;
}

export async function needMemory(storage: Storage, scope: NamedScope, id: string): Promise<MemoryRow> {
  const row = await findMemory(storage, scope, id);
  if (row === null) throw noMemory(scope, id);
  return row;
}

export function noMemory({ namespace, agent }: NamedScope, id: string): HoldfastError {
  const owner = agent === "" ? "no agent" : `the agent ${JSON.stringify(agent)}`;
  const message = `there is no memory ${JSON.stringify(id)} of ${owner} in the namespace ${JSON.stringify(namespace)}`;
  return new HoldfastError("NotFound", message, {
    details: { kind: "memory", id, namespace, agent },
    hint: "Name the namespace and the agent that it was saved with, or list memories with memory.list().",
  });
}
