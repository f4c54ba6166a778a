// Erasing (rule LG6): content leaves the store, the chain stays verifiable, and the report says what was removed and
// what was kept because something else still refers to it.
import type { Erasure } from "../contracts/history.ts";
import type { FoundRows, NamedCells, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { CopyRow, DiscardedRow, ErasableRow } from "../contracts/storage/rows.ts";
import type { ErasedScope, EventScope, ScopeParams, StatementName } from "../contracts/storage/statement-names.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "./bytes.ts";

/** Scopes whose content may be inline, in the rows of events. */
const IN_EVENTS: readonly ErasedScope[] = ["messages", "run", "allMessages", "journal", "saved"] satisfies EventScope[];

/**
 * The statements of some scopes in the order that keeps every ref alive until its row has released it. In the middle
 * they read what is removed and what stays: released rows are locked, so that no other commit pins or names one unseen,
 * and a pin of inline content waits for its session. So the report is about what this commit erases, and not about an
 * earlier moment.
 */
export function releaseWrites<S extends ErasedScope>(
  scopes: readonly S[],
  now: number,
  where: ScopeParams[S],
): readonly Write[] {
  const all: readonly ErasedScope[] = scopes;
  const inEvents = all.filter(isOfMessages);
  const params: NamedCells = { ...(where as ScopeParams[ErasedScope]), now };
  const run = (statement: StatementName): Write => ({ op: "run", statement, params });
  const read = (query: `${ErasedScope}.${"named" | "erasable"}` | `${EventScope}.copies`) =>
    ({ op: "read", query, params }) as Write;
  return [
    ...inEvents.map((scope) => run(`${scope}.unindex`)),
    ...all.map((scope) => run(`${scope}.release`)),
    ...all.map((scope) => read(`${scope}.named`)),
    // First of all links among those that go: what only they named does not stay.
    ...all.map((scope) => run(`${scope}.dropLinks`)),
    ...all.map((scope) => read(`${scope}.erasable`)),
    ...inEvents.map((scope) => read(`${scope}.copies`)),
    ...all.map((scope) => run(`${scope}.drop`)),
  ];
}

/** Empties the columns of the rows whose payloads releaseWrites() has released; rows that stay name the event that erased them. */
export function forgetWrites<S extends ErasedScope>(scopes: readonly S[], where: ScopeParams[S]): readonly Write[] {
  const params: NamedCells = { ...(where as ScopeParams[ErasedScope]), erasedBy: { slot: "seq" } };
  return scopes.map((scope) => ({ op: "run", statement: `${scope}.erase`, params }));
}

function isOfMessages(scope: ErasedScope): scope is EventScope {
  return IN_EVENTS.includes(scope);
}

/** What an erasure did, as it was read inside its commit. */
export interface Tally {
  readonly blobs: number;
  readonly bytes: number;
  readonly kept: number;
  /** Not removed by the commit itself: kept in parts, outside the database, or perhaps named by others, too. */
  readonly later: readonly DiscardedRow[];
}

export function tally(found: FoundRows, scopes: readonly ErasedScope[], now: number): Tally {
  const rows = scopes.flatMap((scope): readonly ErasableRow[] => found[`${scope}.erasable`] ?? []);
  const named = scopes.flatMap((scope): readonly DiscardedRow[] => found[`${scope}.named`] ?? []);
  const copies = scopes.filter(isOfMessages).flatMap((scope): readonly CopyRow[] => found[`${scope}.copies`] ?? []);
  const gone = distinct(rows.filter((row) => goes(row, now)));
  // What one session still held may have gone with another, in the same commit.
  const left = new Set(gone.map((row) => toHex(row.sha256)));
  const stays = rows.filter((row) => !left.has(toHex(row.sha256)));
  const kept = distinct([...stays, ...copies.filter((copy) => copy.kept === 1)]);
  return {
    blobs: gone.length,
    // What is kept in parts has no bytes of its own; its size says what goes.
    bytes: gone.reduce((sum, row) => sum + (row.form < 2 ? row.stored : row.size), 0),
    kept: kept.length,
    later: distinct([...rows.filter((row) => row.form >= 2 || row.store !== ""), ...named, ...copies]),
  };
}

/** No other row refers to it, it is not pinned or named, and its own time is over. */
function goes(row: ErasableRow, now: number): boolean {
  if (row.refs !== 0 || row.pinned !== 0 || row.linked !== 0) return false;
  return row.expires_at !== null && row.expires_at <= now;
}

/** A blob may be the content of a message and a value of the state at once. */
function distinct<T extends DiscardedRow>(rows: readonly T[]): readonly T[] {
  return [...new Map(rows.map((row) => [toHex(row.sha256), row])).values()];
}

/** Rows of a scope, those of one blob counted each. */
export function countRows(rows: readonly ErasableRow[] = []): number {
  return rows.reduce((sum, row) => sum + row.rows, 0);
}

export interface ErasureOutcome {
  readonly report: Erasure;
  readonly later: readonly DiscardedRow[];
}

/** For a session that inherits messages: from this event on it shows none of them. */
export function clearRow(agent: number | { readonly agent: string }, run: string | undefined): Write {
  return { op: "insert", table: "clears", row: { agent_no: agent, run: run ?? null } };
}

/** Removes erased content from the files as well: from the database's free pages and WAL, and from outside the database. */
export async function discardErased(
  storage: Storage,
  payloads: Payloads,
  later: readonly DiscardedRow[],
): Promise<void> {
  await payloads.discard(later);
  await storage.reclaim();
}
