// Erasure (rule LG6): content is removed from the store, the chain stays verifiable, and the report says what was
// removed and what was kept because another row still refers to it.
import type { Erasure } from "../contracts/history.ts";
import type { FoundRows, NamedCells, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { CopyRow, DiscardedRow, ErasableRow } from "../contracts/storage/rows.ts";
import type {
  ErasedScope,
  EventScope,
  MessageScope,
  ScopeParams,
  StatementName,
} from "../contracts/storage/statement-names.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "./bytes.ts";

/** Scopes whose content may be inline in the rows of events. */
const IN_EVENTS: readonly ErasedScope[] = ["messages", "run", "allMessages", "journal", "saved"] satisfies EventScope[];

/**
 * The statements for the scopes, in an order that keeps every ref alive until its row has released it. Between the
 * writes they read what is removed and what stays. Released rows are locked, so that no other commit can pin or name
 * one in between, and a pin of inline content waits for its session. The report therefore describes what this commit
 * erases, and not an earlier moment.
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
    ...dropSegmentWrites(all.filter(isOfIndex), params),
    ...inEvents.map((scope) => run(`${scope}.unindex`)),
    ...all.map((scope) => run(`${scope}.release`)),
    ...all.map((scope) => read(`${scope}.named`)),
    // First remove the links from blobs that are removed: a blob that only they named is removed too.
    ...all.map((scope) => run(`${scope}.dropLinks`)),
    ...all.map((scope) => read(`${scope}.erasable`)),
    ...inEvents.map((scope) => read(`${scope}.copies`)),
    ...all.map((scope) => run(`${scope}.drop`)),
  ];
}

/**
 * Empties the payload columns of the rows whose payloads releaseWrites() has released. Rows that stay name the event
 * that erased them.
 */
export function forgetWrites<S extends ErasedScope>(scopes: readonly S[], where: ScopeParams[S]): readonly Write[] {
  const params: NamedCells = { ...(where as ScopeParams[ErasedScope]), erasedBy: { slot: "seq" } };
  return scopes.map((scope) => ({ op: "run", statement: `${scope}.erase`, params }));
}

const INDEXED: readonly ErasedScope[] = ["messages", "run", "allMessages"] satisfies MessageScope[];

function isOfIndex(scope: ErasedScope): scope is MessageScope {
  return INDEXED.includes(scope);
}

/**
 * Removes the scopes' messages from the text index. First the epoch: what is made of the index meanwhile by another commit was made of
 * the messages before, and is refused.
 */
export function dropSegmentWrites(scopes: readonly MessageScope[], params: NamedCells): readonly Write[] {
  if (scopes.length === 0) return [];
  const marks = scopes.map((scope): Write => ({ op: "run", statement: `${scope}.markPassages`, params }));
  return changeSegmentWrites(
    scopes.map((scope) => ({ op: "run", statement: `${scope}.dropSegments`, params })),
    marks,
  );
}

/** `marks`: see dropPassageWrites(). */
export function changeSegmentWrites(drops: readonly Write[], marks: readonly Write[]): readonly Write[] {
  return [
    { op: "run", statement: "index.bump", params: { kind: "messages" } },
    ...drops,
    { op: "run", statement: "index.removeDropped", params: {} },
    { op: "run", statement: "index.unmark", params: {} },
    ...dropPassageWrites(marks),
  ];
}

/**
 * Removes passages with their embeddings, codes and failures. `marks` say which; the epoch of their kind was counted before, so that no
 * other commit adds an embedding of them meanwhile.
 */
export function dropPassageWrites(marks: readonly Write[]): readonly Write[] {
  const statements = ["touch", "emptyPages", "countVectors", "dropVectors", "dropFailures", "drop"] as const;
  return [...marks, ...statements.map((name): Write => ({ op: "run", statement: `passages.${name}`, params: {} }))];
}

/** After rows of events were deleted: SQLite gives the highest numbers to other rows. */
export function shortenWrites(): readonly Write[] {
  const statements = [
    "inline.shorten",
    "index.removeBeyond",
    "index.dropBeyond",
    "index.shorten",
    "index.shortenKind",
  ] as const;
  return statements.map((statement) => ({ op: "run", statement, params: {} }));
}

function isOfMessages(scope: ErasedScope): scope is EventScope {
  return IN_EVENTS.includes(scope);
}

/** What an erasure removed and kept, as its commit read it. */
export interface Tally {
  readonly blobs: number;
  readonly bytes: number;
  readonly kept: number;
  /**
   * Blobs that the commit does not remove itself: they are stored in parts or outside the database, or other rows may
   * name them too.
   */
  readonly later: readonly DiscardedRow[];
}

export function tally(found: FoundRows, scopes: readonly ErasedScope[], now: number): Tally {
  const rows = scopes.flatMap((scope): readonly ErasableRow[] => found[`${scope}.erasable`] ?? []);
  const named = scopes.flatMap((scope): readonly DiscardedRow[] => found[`${scope}.named`] ?? []);
  const copies = scopes.filter(isOfMessages).flatMap((scope): readonly CopyRow[] => found[`${scope}.copies`] ?? []);
  const gone = distinct(rows.filter((row) => goes(row, now)));
  // A blob that one session still held may be removed with another session of the same commit.
  const left = new Set(gone.map((row) => toHex(row.sha256)));
  const stays = rows.filter((row) => !left.has(toHex(row.sha256)));
  const kept = distinct([...stays, ...copies.filter((copy) => copy.kept === 1)]);
  return {
    blobs: gone.length,
    // A blob in parts has no bytes of its own, so its size counts.
    bytes: gone.reduce((sum, row) => sum + (row.form < 2 ? row.stored : row.size), 0),
    kept: kept.length,
    later: distinct([...rows.filter((row) => row.form >= 2 || row.store !== ""), ...named, ...copies]),
  };
}

/** Whether no other row refers to the blob, it is neither pinned nor named, and it has expired. */
function goes(row: ErasableRow, now: number): boolean {
  if (row.refs !== 0 || row.pinned !== 0 || row.linked !== 0) return false;
  return row.expires_at !== null && row.expires_at <= now;
}

/** Counts a blob once, also if it is both the content of a message and a value of the state. */
function distinct<T extends DiscardedRow>(rows: readonly T[]): readonly T[] {
  return [...new Map(rows.map((row) => [toHex(row.sha256), row])).values()];
}

/** The number of rows of a scope; several rows with one blob are counted one by one. */
export function countRows(rows: readonly ErasableRow[] = []): number {
  return rows.reduce((sum, row) => sum + row.rows, 0);
}

export interface ErasureOutcome {
  readonly report: Erasure;
  readonly later: readonly DiscardedRow[];
}

/** The row that hides inherited messages: from this event on, the session does not show them. */
export function clearRow(agent: number | { readonly agent: string }, run: string | undefined): Write {
  return { op: "insert", table: "clears", row: { agent_no: agent, run: run ?? null } };
}

/**
 * Removes erased content from files too: from the database's free pages and WAL, and from storage outside the database.
 */
export async function discardErased(
  storage: Storage,
  payloads: Payloads,
  later: readonly DiscardedRow[],
): Promise<void> {
  await payloads.discard(later);
  await storage.reclaim();
}
