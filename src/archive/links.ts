// Sets the references of invocations to sessions and heads that may be missing from the archive. One rule holds for any order of imports:
// an invocation refers to the session that its event names, and to the head of that session that its event names, or to none while the
// head is missing. A session that was named and not imported gets a row with only its id, so that the id is not used again.
import type { Cell, Guard, SessionUse, Write } from "../contracts/storage/commit.ts";
import type { PortableCell, PortableRow, RestoredRow } from "../contracts/storage/portable-rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { refusalError } from "../core/decide.ts";
import { jsonObject, plainObject } from "../core/decode.ts";
import { genesis } from "../core/hashing.ts";
import { IN_PART } from "../core/session-lookup.ts";
import type { ArchivedSession } from "./restores.ts";

type Body = PortableCell | undefined;

/** Sessions and heads of others that an invocation names, by column. */
export interface LinkNames {
  readonly callee_session: string | null;
  readonly source_session: string | null;
  readonly source_head: string | null;
  readonly callee_head_before: string | null;
  readonly callee_head_after: string | null;
}

/** The names in its events: the event that began it and, if the version ended it, the event of the end. */
function linkNames(first: Body, end: Body): LinkNames {
  const { callee, mode, source: from } = dataOf(first);
  const source = plainObject.read(from) ?? {};
  return {
    callee_session: text(callee),
    source_session: text(source.session),
    source_head: text(source.head),
    // An invocation that continues a session begins at the head it had.
    callee_head_before: mode === "continue" ? text(source.head) : null,
    callee_head_after: end === undefined ? null : text(dataOf(end).calleeHead),
  };
}

function dataOf(body: Body) {
  return plainObject.read(jsonObject.read(body)?.data) ?? {};
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Bodies of a session's events, by seq. */
export type Bodies = ReadonlyMap<Body, Body>;

export function bodiesOf({ tables }: ArchivedSession): Bodies {
  return new Map((tables.get("events") ?? []).map(({ seq, body }) => [seq, body]));
}

export function namesOf({ first_seq, seq }: PortableRow, bodies: Bodies): LinkNames {
  return linkNames(bodies.get(first_seq), seq === first_seq ? undefined : bodies.get(seq));
}

export interface LinkedRows {
  /** The rows without references to heads of other sessions, and a row for each named session that the store lacks. */
  readonly restores: readonly RestoredRow[];
  readonly sessions: readonly SessionUse[];
  readonly guards: readonly Guard[];
  /** Writes after the rows are restored. */
  readonly writes: readonly Write[];
}

export interface Arrival {
  readonly contents: readonly ArchivedSession[];
  /** The rows of all tables that the import writes. */
  readonly restores: readonly RestoredRow[];
  /** Sessions that the import creates. */
  readonly created: ReadonlySet<string>;
  /** Sessions that the store has in part or by name, and that get more rows: invocations of others may name their heads. */
  readonly growing: readonly string[];
}

export async function linkRows(storage: Storage, arrival: Arrival, at: number): Promise<LinkedRows> {
  const { restores, created, growing } = arrival;
  const own = restores.filter(({ table }) => table === "invocations").map(({ row }) => row);
  const calling = new Set(own.map(({ session }) => session));
  // Bodies are read only of sessions with invocations, because a log may be long.
  const contents = arrival.contents.filter(({ id }) => calling.has(id));
  const bodies = new Map(contents.map((one) => [one.id, bodiesOf(one)]));
  const named = own.map((row) => namesOf(row, bodies.get(String(row.session)) ?? new Map()));
  const writes = named.map((names, i) => linkWrite(String(own[i]?.session), Number(own[i]?.seq), names));
  const waiting = await linkWaitingInvocations(storage, growing);
  const { unknown, sessions, guards } = await unknownSessions(storage, named, new Set([...created, ...growing]), at);
  return {
    restores: [...restores.map(withoutHeads), ...unknown.map((id) => nameOnly(id, at))],
    sessions: [...sessions, ...growing.map((id): SessionUse => ({ id, mode: "lock", at }))],
    guards: [...waiting.guards, ...guards],
    writes: [...writes, ...waiting.writes],
  };
}

/** Links for invocations of this store that name these sessions. The guards prevent that one is added before the commit. */
async function linkWaitingInvocations(
  storage: Storage,
  growing: readonly string[],
): Promise<Pick<LinkedRows, "guards" | "writes">> {
  const guards: Guard[] = [];
  const writes: Write[] = [];
  for (const id of growing) {
    const [found] = await storage.query("invocations.marked", { session: id });
    guards.push({ check: "session.named", key: [id], expect: found?.value ?? null });
    for (const { session, seq, first_seq, body, first } of await storage.query("invocations.naming", { session: id }))
      writes.push(linkWrite(session, seq, linkNames(first, seq === first_seq ? undefined : body)));
  }
  return { guards, writes };
}

/** Named sessions that the archive lacks: a session that the store lacks too gets a row; a partial one is not changed. */
async function unknownSessions(
  storage: Storage,
  named: readonly LinkNames[],
  here: ReadonlySet<string>,
  at: number,
): Promise<Pick<LinkedRows, "sessions" | "guards"> & { readonly unknown: readonly string[] }> {
  const ids = new Set(named.flatMap(({ callee_session, source_session }) => [callee_session, source_session]));
  const unknown: string[] = [];
  const sessions: SessionUse[] = [];
  const guards: Guard[] = [];
  for (const id of ids) {
    if (id === null || here.has(id)) continue;
    const [row] = await storage.query("session.get", { id });
    const [alias] = row === undefined ? await storage.query("session.byAlias", { name: id }) : [];
    if (alias !== undefined) throw refusalError({ reason: "session-alias", session: id });
    if (row === undefined) unknown.push(id);
    // A concurrent import of the session waits for this commit, and then finds these rows.
    if (row !== undefined && row.deleted_at !== null)
      // Its row was not removed with the last session that named it.
      guards.push({ check: "session.tombstone", key: [id], expect: row.version });
    if (row?.deleted_at !== null) sessions.push({ id, mode: row === undefined ? "restore" : "lock", at });
  }
  return { unknown, sessions, guards };
}

/** The row of a session of which only the id is known. */
function nameOnly(id: string, at: number): RestoredRow {
  const row: PortableRow = {
    id,
    status: "open",
    version: IN_PART,
    branch: 1,
    seq: 0,
    chain: genesis(id),
    messages: 0,
    state_seq: 0,
    kind: "entry",
    created_at: at,
    updated_at: at,
    deleted_at: at,
  };
  return { table: "sessions", row };
}

const HEADS = { callee_head_before: null, callee_head_after: null, source_head: null };

/** References to heads are set by id and session after all rows are restored. */
function withoutHeads(one: RestoredRow): RestoredRow {
  return one.table === "invocations" ? { table: one.table, row: { ...one.row, ...HEADS } } : one;
}

function linkWrite(session: string, seq: number, names: LinkNames): Write {
  const { callee_session, source_session, callee_head_before, callee_head_after, source_head } = names;
  const params: Cell[] = [
    callee_head_before,
    callee_session,
    callee_head_after,
    callee_session,
    source_head,
    source_session,
    session,
    seq,
  ];
  return { op: "run", statement: "invocation.link", params };
}
