// Compares a row with the event that wrote it: the same columns, the same payloads. An erased payload proves nothing
// any more, and its absence is no damage.
import type { JsonObject } from "../contracts/json.ts";
import type { WithEvent } from "../contracts/storage/check-queries.ts";
import { sameBytes, toHex } from "../core/bytes.ts";
import { plainObject } from "../core/decode.ts";
import { commitment } from "../core/hashing.ts";
import { rowId } from "../core/row-id.ts";
import { dataOf, type EventTable } from "./ledger.ts";
import type { Subject } from "./subject.ts";

export const SALT = 16;

export interface EventContent {
  readonly body: JsonObject;
  readonly data: JsonObject;
  readonly commitments: JsonObject;
}

/** [column, its value in the row, its value in the event] */
export type ColumnPair = readonly [column: string, row: unknown, event: unknown];

export interface Comparison {
  readonly table: EventTable | "state";
  /** The seq of its event. */
  readonly seq: number;
  readonly id?: string;
  /** The row's branch, in tables that store one. */
  readonly branch?: number;
  readonly types: readonly string[];
  readonly pairs: (logged: EventContent) => readonly ColumnPair[];
}

/** The event's content, if the row has an event and every column agrees with it; otherwise null. */
export function compare(subject: Subject, row: WithEvent, wanted: Comparison): EventContent | null {
  const { ledger, reporter, session } = subject;
  const { table, seq, types } = wanted;
  if (ledger === null) return null;
  const id = wanted.id ?? rowId(session.id, seq);
  if (!ledger.keeps(wanted.branch ?? row.event_branch, seq)) reporter.report("remains-left", [id], { table, seq });
  if (!ledger.covers(seq)) {
    // Rows after the end were added a moment ago, with their events.
    if (ledger.expected !== null && row.event_type === null) {
      reporter.report("row-without-event", [id], { table, seq, event: null });
    }
    return null;
  }
  if (row.event_type === null || !types.includes(row.event_type)) {
    reporter.report("row-without-event", [id], { table, seq, event: row.event_type });
    return null;
  }
  if (table === "state") ledger.markValueFound(seq);
  else ledger.markRowFound(table, seq);
  const found = dataOf(row.event_body);
  if (found === null) return null;
  const logged = { ...found, commitments: plainObject.read(found.body.commitments) ?? {} };
  const wrong = wanted.pairs(logged).filter(([, ours, theirs]) => (ours ?? null) !== (theirs ?? null));
  for (const [column] of wrong) reporter.report("row-mismatch", [id], { table, seq, column });
  return wrong.length === 0 ? logged : null;
}

export interface Payload {
  readonly name: string;
  readonly no: number | null;
  readonly sha256: Uint8Array | null;
  readonly salt: Uint8Array | null;
}

/** The salt of the payload at this index; null if it was erased. */
export function saltAt(salts: Uint8Array | null, index: number): Uint8Array | null {
  const salt = salts?.subarray(index * SALT, (index + 1) * SALT);
  return salt?.byteLength === SALT ? salt : null;
}

/** Checks that the blob a payload column names is stored. */
export async function checkBlob(subject: Subject, table: string, id: string, payload: Payload): Promise<void> {
  const { no, sha256, name } = payload;
  if (no === null) return;
  if (sha256 === null) {
    const kind = table === "heads" ? "head-final-missing" : "blob-missing";
    subject.reporter.report(kind, [id], { table, payload: name });
  } else await subject.survey.checkBlobOnce?.(subject.reporter, id, sha256);
}

/**
 * The row names the payloads that its event committed to; a payload that the event does not mention is the previous
 * version's.
 */
export function checkCommitments(
  { reporter }: Subject,
  { table, id }: { readonly table: string; readonly id: string },
  { commitments }: EventContent,
  payloads: readonly Payload[],
  before: readonly Payload[] | null = null,
): void {
  for (const [i, { name, no, sha256, salt }] of payloads.entries()) {
    if (no !== null && sha256 === null) continue;
    const committed = commitments[name];
    const kept = before?.[i];
    const agrees =
      committed === undefined
        ? same(sha256, kept?.sha256 ?? null) && (sha256 === null ? isBlank(salt) : same(salt, kept?.salt ?? null))
        : sha256 !== null && salt?.byteLength === SALT && commitment(salt, sha256) === committed;
    if (!agrees) reporter.report("commitment-mismatch", [id], { table, payload: name });
  }
}

/** A row without the payload has no salt for it: NULL, or zeros among the salts of its other payloads. */
function isBlank(salt: Uint8Array | null): boolean {
  return salt === null || salt.every((byte) => byte === 0);
}

/** For tables without an erased_seq column: the session was deleted, and neither payload nor salt is left. */
export function isErased({ session }: Subject, { no, salt }: Payload): boolean {
  return session.deleted_at !== null && no === null && salt === null;
}

/**
 * Pairs for columns that a version repeats from the previous version; `named` maps a column to the key it is read
 * under.
 */
export function keptPairs<R extends { readonly first_seq: number }>(
  row: R,
  before: R | null,
  columns: readonly (keyof R & string)[],
  named: Readonly<Record<string, keyof R>> = {},
): readonly ColumnPair[] {
  if (before === null || before.first_seq !== row.first_seq) return [];
  const all = [...columns.map((column) => [column, column] as const), ...Object.entries(named)];
  return all.map(([column, key]): ColumnPair => [column, plain(row[key]), plain(before[key])]);
}

function plain(cell: unknown): unknown {
  return cell instanceof Uint8Array ? toHex(cell) : cell;
}

function same(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : sameBytes(a, b);
}
