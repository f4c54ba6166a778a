// Which memories a fact takes the place of: those with another value of the same attribute of its subject, and those that the
// caller or a judge names. Never those that merely look alike. The values of an attribute are in the order of their validFrom, so
// that a fact about the past takes its place between others. A value that ends or expires sooner than another one never takes its
// place: when it is over, the other one still holds.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { limitExceeded } from "../core/check.ts";
import { decodeRow, optional, utf8 } from "../core/decode.ts";
import { comparedValue, type FactIdentity } from "./fact.ts";
import { expiryOf } from "./new-fact.ts";
import { insertChange, isExpired, putMemory, versionGuard, writable } from "./rows.ts";
import { type NamedScope, noMemory } from "./scopes.ts";

/** The memories whose place a fact takes, and the one that took its place already. */
export interface SupersessionPlan {
  readonly replaced: readonly MemoryRow[];
  readonly successor: MemoryRow | null;
  readonly guards: readonly Guard[];
}

interface SupersedingFact extends NamedScope, Pick<FactIdentity, "content" | "value"> {
  readonly validFrom: number | undefined;
  readonly validTo: number | undefined;
  readonly ttlMs: number | undefined;
  readonly supersedes: string | null | undefined;
  readonly factKey: Uint8Array | null;
}

interface SupersessionSearch {
  readonly fact: SupersedingFact;
  readonly scope: number;
  readonly now: number;
  /** What a judge named. */
  readonly judged: readonly MemoryRow[];
  /** The memory that says the same already. It has its place among the values of its attribute. */
  readonly kept: MemoryRow | null;
}

export async function planSupersession(
  storage: Storage,
  { fact, scope, now, judged, kept }: SupersessionSearch,
): Promise<SupersessionPlan> {
  const named = await findNamed(storage, fact, scope, now);
  const chosen = [...named, ...judged].filter(({ id }) => id !== kept?.id);
  const { supersedes, factKey } = fact;
  const values =
    kept === null && factKey !== null && supersedes !== null
      ? await findValues(storage, { fact, factKey, scope, now })
      : NO_VALUES;
  const replaced = [...new Map([...chosen, ...values.replaced].map((row) => [row.id, row])).values()];
  if (replaced.length > LIMITS.memoriesSuperseded) {
    throw limitExceeded("memoriesSuperseded", "the number of memories that one memory supersedes", replaced.length);
  }
  // A memory that was named is not its successor as well.
  const isReplaced = replaced.some(({ id }) => id === values.successor?.id);
  return {
    replaced,
    successor: isReplaced ? null : values.successor,
    guards: [...values.guards, ...replaced.map(versionGuard)],
  };
}

/** The memory that the caller names. */
async function findNamed(
  storage: Storage,
  fact: SupersedingFact,
  scope: number,
  now: number,
): Promise<readonly MemoryRow[]> {
  const { supersedes: id } = fact;
  if (id === null || id === undefined) return [];
  const [row] = await storage.query("memory.get", { id, scope });
  if (row === undefined || isExpired(row, now)) throw noMemory(fact, id);
  if (row.superseded_by !== null) throw alreadySuperseded(row);
  return [row];
}

function alreadySuperseded({ id, superseded_by }: MemoryRow): HoldfastError {
  return new HoldfastError("Conflict", `the memory ${id} was superseded by ${superseded_by} already`, {
    details: { kind: "memory", id, supersededBy: superseded_by },
    hint: `Supersede ${superseded_by} instead, or bring ${id} back with memory.undo() first.`,
  });
}

const NO_VALUES: SupersessionPlan = { replaced: [], successor: null, guards: [] };

interface ValueSearch {
  readonly fact: SupersedingFact;
  readonly factKey: Uint8Array;
  readonly scope: number;
  readonly now: number;
}

/** Other values of the attribute: those that held when the fact began to hold, and the first one after that. */
async function findValues(storage: Storage, { fact, factKey, scope, now }: ValueSearch): Promise<SupersessionPlan> {
  const [mark] = await storage.query("memory.newestOfFact", { fact: factKey, scope });
  const params = { scope, fact: factKey, at: fact.validFrom ?? now, now, limit: LIMITS.memoriesSuperseded + 1 };
  const [before, after] = await Promise.all([
    storage.query("memories.heldAt", params),
    storage.query("memories.heldAfter", params),
  ]);
  const value = comparedValue(fact);
  const isOther = (row: MemoryRow) => comparedValue(storedValue(row)) !== value;
  const span = { valid_to: fact.validTo ?? null, expires_at: expiryOf(fact, now) };
  const successor = after.find((row) => isOther(row) && outlasts(row, span)) ?? null;
  return {
    replaced: before.filter((row) => isOther(row) && outlasts(span, row)),
    successor,
    guards: [
      { check: "memory.fact", key: [factKey, scope], expect: mark?.value ?? null },
      ...(successor === null ? [] : [versionGuard(successor)]),
    ],
  };
}

type Span = Pick<MemoryRow, "valid_to" | "expires_at">;

/** Whether one fact neither ends nor expires before the other. null is never. */
function outlasts(one: Span, other: Span): boolean {
  const isLater = (a: number | null, b: number | null) => a === null || (b !== null && a >= b);
  return isLater(one.valid_to, other.valid_to) && isLater(one.expires_at, other.expires_at);
}

function storedValue(row: MemoryRow): Pick<FactIdentity, "content" | "value"> {
  return decodeRow({ kind: "memory", memory: row.id }, row, { content: utf8, value: optional(utf8) });
}

/** The next version of a memory that is superseded. One that was superseded later is superseded earlier now. */
export function replaceMemory(
  row: MemoryRow,
  { by, from, at }: { readonly by: string; readonly from: number; readonly at: number },
): readonly Write[] {
  const next = { ...writable(row), superseded_by: by, superseded_from: from, version: row.version + 1 };
  return [putMemory(next), insertChange(next, { change: "superseded", at, by })];
}
