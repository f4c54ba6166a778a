// Changes of a memory that is there: a confirmation, and the end of its being superseded.
import { HoldfastError } from "../contracts/errors.ts";
import type { Memory, MemorySource } from "../contracts/memory.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import {
  type ChangeDraft,
  insertChange,
  isExpired,
  isOpen,
  type MemoryColumns,
  memoryOf,
  putMemory,
  versionGuard,
  writable,
} from "./rows.ts";
import { type NamedScope, needMemory, scopeGuard } from "./scopes.ts";

export function touchMemory(
  storage: Storage,
  id: string,
  { source, ...scope }: NamedScope & { readonly source?: MemorySource | undefined },
): Promise<Memory> {
  return changeMemory(storage, scope, id, async (row, at) => ({
    next: { ...row, confirmations: row.confirmations + 1, confirmed_at: at },
    change: { change: "touched", at, source },
    guards: [],
  }));
}

export function undoSupersession(storage: Storage, id: string, scope: NamedScope): Promise<Memory> {
  return changeMemory(storage, scope, id, async (row, at) => {
    const by = row.superseded_by;
    if (by === null) {
      throw new HoldfastError("Conflict", `the memory ${id} is not superseded, so there is nothing to undo`, {
        details: { kind: "memory", id },
        hint: "memory.history() lists what happened to it.",
      });
    }
    const key = { digest: row.digest, scope: row.scope_no };
    const [mark] = await storage.query("memory.newestSame", key);
    const same = await storage.query("memories.same", key);
    const again = same.find((one) => one.id !== id && !isExpired(one, at) && isOpen(one, at));
    if (again !== undefined) throw savedAgain(id, again.id);
    return {
      next: { ...row, superseded_by: null, superseded_from: null },
      change: { change: "restored", at, by },
      guards: [{ check: "memory.same", key: [row.digest, row.scope_no], expect: mark?.value ?? null }],
    };
  });
}

function savedAgain(id: string, again: string): HoldfastError {
  return new HoldfastError("Conflict", `the fact of the memory ${id} was saved again since, as ${again}`, {
    details: { kind: "memory", id, savedAgainAs: again },
    hint: `Use ${again}: it holds now.`,
  });
}

interface MemoryChangeDecision {
  readonly next: MemoryRow;
  readonly change: ChangeDraft;
  readonly guards: readonly Guard[];
}

async function changeMemory(
  storage: Storage,
  scope: NamedScope,
  id: string,
  change: (row: MemoryRow, at: number) => Promise<MemoryChangeDecision>,
): Promise<Memory> {
  return decide(storage, async () => {
    const row = await needMemory(storage, scope, id);
    const decision = await change(row, storage.environment.now());
    const next: MemoryColumns = { ...writable(decision.next), version: row.version + 1 };
    const guards = [scopeGuard(row.scope_no), versionGuard(row), ...decision.guards];
    const memory = memoryOf(next);
    return {
      commit: { guards, writes: [putMemory(next), insertChange(next, decision.change)] },
      answer: () => memory,
    };
  });
}
