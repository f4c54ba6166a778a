// A row beside the event that wrote it: the same columns, the same payloads. What was erased says nothing any more, and
// that is no damage.

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

/** [column, what the row says, what the event says] */
export type Pair = readonly [column: string, row: unknown, event: unknown];

export interface Comparison {
  readonly table: EventTable | "state";
  /** The seq of its event. */
  readonly seq: number;
  readonly id?: string;
  /** Where the table has one of its own. */
  readonly branch?: number;
  readonly types: readonly string[];
  readonly pairs: (said: EventContent) => readonly Pair[];
}

/** What the event says, when there is one to compare with and every column agrees. */
export function compare(subject: Subject, row: WithEvent, wanted: Comparison): EventContent | null {
  const { ledger, look, session } = subject;
  const { table, seq, types } = wanted;
  if (ledger === null) return null;
  const id = wanted.id ?? rowId(session.id, seq);
  if (!ledger.keeps(wanted.branch ?? row.event_branch, seq)) look.report("remains-left", [id], { table, seq });
  if (!ledger.covers(seq)) {
    // After the end there are only rows that were just added, with their events.
    if (ledger.expected !== null && row.event_type === null) {
      look.report("row-without-event", [id], { table, seq, event: null });
    }
    return null;
  }
  if (row.event_type === null || !types.includes(row.event_type)) {
    look.report("row-without-event", [id], { table, seq, event: row.event_type });
    return null;
  }
  if (table === "state") ledger.showsValue(seq);
  else ledger.shows(table, seq);
  const found = dataOf(row.event_body);
  if (found === null) return null;
  const said = { ...found, commitments: plainObject.read(found.body.commitments) ?? {} };
  const wrong = wanted.pairs(said).filter(([, ours, theirs]) => (ours ?? null) !== (theirs ?? null));
  for (const [column] of wrong) look.report("row-mismatch", [id], { table, seq, column });
  return wrong.length === 0 ? said : null;
}

export interface Payload {
  readonly name: string;
  readonly no: number | null;
  readonly sha256: Uint8Array | null;
  readonly salt: Uint8Array | null;
}

export function salted(salts: Uint8Array | null, place: number): Uint8Array | null {
  const salt = salts?.subarray(place * SALT, (place + 1) * SALT);
  return salt?.byteLength === SALT ? salt : null;
}

/** A payload column names a blob that is there. */
export async function checkBlob(subject: Subject, table: string, id: string, payload: Payload): Promise<void> {
  const { no, sha256, name } = payload;
  if (no === null) return;
  if (sha256 === null) {
    const kind = table === "heads" ? "head-final-missing" : "blob-missing";
    subject.look.report(kind, [id], { table, payload: name });
  } else await subject.survey.blob?.(subject.look, id, sha256);
}

/** What the event committed to is what the row names; what a version only kept is what the one before it named. */
export function checkCommitments(
  { look }: Subject,
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
    if (!agrees) look.report("commitment-mismatch", [id], { table, payload: name });
  }
}

/** Where there is no payload there is no salt, or nothing in its place among others. */
function isBlank(salt: Uint8Array | null): boolean {
  return salt === null || salt.every((byte) => byte === 0);
}

/** Tables without a column that says so: neither payload nor salt is left, and the session was deleted everywhere. */
export function isErased({ session }: Subject, { no, salt }: Payload): boolean {
  return session.deleted_at !== null && no === null && salt === null;
}

/** Columns that a version keeps of the one before it, some read under another name; of the first there is none. */
export function keptPairs<R extends { readonly first_seq: number }>(
  row: R,
  before: R | null,
  columns: readonly (keyof R & string)[],
  named: Readonly<Record<string, keyof R>> = {},
): readonly Pair[] {
  if (before === null || before.first_seq !== row.first_seq) return [];
  const all = [...columns.map((column) => [column, column] as const), ...Object.entries(named)];
  return all.map(([column, key]): Pair => [column, plain(row[key]), plain(before[key])]);
}

function plain(cell: unknown): unknown {
  return cell instanceof Uint8Array ? toHex(cell) : cell;
}

function same(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : sameBytes(a, b);
}
