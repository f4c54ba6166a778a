// What a session's log says about its rows: which events wrote one, where the session must stand by now. Only the part of
// the log that verifies is believed.
import type { CheckedEventRow, CheckedSessionRow } from "../contracts/check-queries.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Storage } from "../contracts/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { genesis, nextHash } from "../core/chain.ts";
import { jsonObject, plainObject } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { verifyChain } from "../log/verify.ts";
import type { Look } from "./findings.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Survey } from "./subject.ts";

export type EventTable =
  | "turns"
  | "evals"
  | "calls"
  | "snapshots"
  | "heads"
  | "branches"
  | "derivations"
  | "invocations"
  | "annotations";

const TABLES: readonly EventTable[] = [
  "turns",
  "evals",
  "calls",
  "snapshots",
  "heads",
  "branches",
  "derivations",
  "invocations",
  "annotations",
];

/** The table an event wrote a row to, one row each. */
const TABLE_OF: Readonly<Record<string, EventTable>> = {
  "turn/begun": "turns",
  "eval/started": "evals",
  "eval/added": "evals",
  "call/started": "calls",
  "call/put": "calls",
  "snapshot/added": "snapshots",
  "head/created": "heads",
  "head/moved": "branches",
  "branch/begun": "branches",
  "derivation/added": "derivations",
  "invocation/started": "invocations",
  "invocation/finished": "invocations",
  annotation: "annotations",
};

const STATE: ReadonlySet<string> = new Set(["state/set", "state/patched", "state/cleared"]);
const BRANCHING: ReadonlySet<string> = new Set(["branch/begun", "head/moved"]);

export function dataOf(body: Uint8Array | null): { readonly body: JsonObject; readonly data: JsonObject } | null {
  const found = jsonObject.read(body);
  return found === undefined ? null : { body: found, data: plainObject.read(found.data) ?? {} };
}

/** What the session row must say at the end of the log. */
export interface Standing {
  readonly messages: number;
  readonly stateSeq: number;
  readonly branch: number;
  readonly head: string | null;
  readonly described: JsonObject;
}

export class Ledger {
  /** Up to here the log is what was written, and rows can be compared with it. */
  readonly end: number;
  /** null when the log is damaged. */
  readonly standing: Standing | null;
  /** For each seq the table that has yet to show its row, as its place in TABLES from 1. */
  readonly #awaited: Uint8Array;
  /** For each seq how many values of the state have yet to show. */
  readonly #values: Uint16Array | null;

  constructor(end: number, standing: Standing | null, awaited: Uint8Array, values: Uint16Array | null) {
    this.end = end;
    this.standing = standing;
    this.#awaited = awaited;
    this.#values = values;
  }

  shows(table: EventTable, seq: number): void {
    if (this.#awaited[seq] === TABLES.indexOf(table) + 1) this.#awaited[seq] = 0;
  }

  showsValue(seq: number): void {
    const left = this.#values?.[seq] ?? 0;
    if (this.#values !== null && left > 0) this.#values[seq] = left - 1;
  }

  /** What never showed, in order. */
  *missing(): Generator<{ readonly seq: number; readonly table: EventTable | "state" }> {
    for (let seq = 1; seq <= this.end; seq++) {
      const table = TABLES[(this.#awaited[seq] ?? 0) - 1];
      if (table !== undefined) yield { seq, table };
      else if ((this.#values?.[seq] ?? 0) > 0) yield { seq, table: "state" };
    }
  }
}

export async function readLedger(survey: Survey, look: Look, session: CheckedSessionRow): Promise<Ledger> {
  const { storage, count } = survey;
  const { ok, end } = await verified(storage, look, session);
  const awaited = new Uint8Array(end + 1);
  let values: Uint16Array | null = null;
  let before: string | null = null;
  const now = { messages: 0, stateSeq: 0, branch: 1, head: null as string | null, described: {} as JsonObject };
  for await (const event of eventsOf(storage, session)) {
    if (event.seq > end) break;
    count("events");
    const { seq, type } = event;
    const table = TABLE_OF[type];
    if (table !== undefined) awaited[seq] = TABLES.indexOf(table) + 1;
    if (BRANCHING.has(type)) now.branch = seq;
    if (event.branch !== now.branch) {
      look.report("branch-wrong", [rowId(session.id, seq)], { branch: event.branch, expected: now.branch });
    }
    if (BRANCHING.has(type) || STATE.has(type)) now.stateSeq = seq;
    if (event.message === 1) {
      count("messages");
      if (event.erased_seq === null || event.erased_seq > session.seq) now.messages++;
      checkContent(look, session, event);
      if (event.content !== null) await survey.blob?.(look, rowId(session.id, seq), event.content);
    }
    const data = readsData(type) ? (dataOf(event.body)?.data ?? {}) : {};
    if (STATE.has(type)) {
      values ??= new Uint16Array(end + 1);
      values[seq] = Array.isArray(data.keys) ? data.keys.length : 0;
    }
    if (type.startsWith("head/")) [before, now.head] = [now.head, String(data.head)];
    // An aborted head was never the current one.
    else if (data.verb === "abort" && data.head === now.head) now.head = before;
    if (type.startsWith("session/")) now.described = { ...now.described, ...data };
  }
  return new Ledger(end, ok ? now : null, awaited, values);
}

function readsData(type: string): boolean {
  return STATE.has(type) || BRANCHING.has(type) || type.startsWith("head/") || type.startsWith("session/");
}

function eventsOf(storage: Storage, session: CheckedSessionRow): AsyncGenerator<CheckedEventRow> {
  return rowsOf((last) => storage.query("check.events", session.no, last?.seq ?? 0, PAGE));
}

/** Content that is a blob: the event's row says its hash twice, and the chain commits to one of them. */
function checkContent(look: Look, session: CheckedSessionRow, event: CheckedEventRow): void {
  const { content, sha256, erased_seq, seq } = event;
  if (erased_seq !== null || content === null || (sha256 !== null && sameBytes(content, sha256))) return;
  look.report("commitment-mismatch", [rowId(session.id, seq)], { table: "events", payload: "content" });
}

/** The chain, and of what kind its first damage is. */
async function verified(
  storage: Storage,
  look: Look,
  session: CheckedSessionRow,
): Promise<{ readonly ok: boolean; readonly end: number }> {
  const { id, no, seq: end, chain } = session;
  const report = await verifyChain(storage, id, undefined, undefined).catch((error: unknown) => {
    // Erased a moment ago: there is nothing left to check.
    if (error instanceof HoldfastError && (error.code === "SessionDeleted" || error.code === "NotFound")) return null;
    throw error;
  });
  if (report === null) return { ok: false, end: 0 };
  if (report.ok) return { ok: true, end };
  const { badSeq: bad, reason } = report;
  const rows = [rowId(id, bad)];
  const details = { seq: bad, reason };
  const [event] = await storage.query("events.at", id, bad);
  if (event === undefined) {
    const [next] = await storage.query("check.beyond", no, bad);
    look.report(next?.seq == null ? "log-truncated" : "seq-gap", rows, details);
  } else if (bad > end) look.report("log-beyond-end", rows, details);
  else {
    const [before] = bad === 1 ? [{ hash: genesis(id) }] : await storage.query("events.at", id, bad - 1);
    const follows = before !== undefined && sameBytes(nextHash(before.hash, event.body), event.hash);
    const isEnd = bad === end && !sameBytes(event.hash, chain);
    const kind = reason.endsWith("on another branch") ? "branch-wrong" : "event-mismatch";
    look.report(follows && !isEnd ? kind : "chain-broken", rows, details);
  }
  return { ok: false, end: Math.min(end, bad - 1) };
}
