// What an archive must be before a row of it is believed: chains that hash as they say, heads whose ids are theirs,
// payloads that open the commitments in the log, and no row that refers to something that did not come along.
import type { HeadRow } from "../contracts/lineage-queries.ts";
import { type ArchivedTable, PORTABLE, type PortableRow, type RestoredRow } from "../contracts/portable.ts";
import type { SessionRow, WholeEventRow } from "../contracts/queries.ts";
import { TABLES, type TableShape } from "../contracts/rows.ts";
import { sameBytes, toHex } from "../core/bytes.ts";
import { commitment, genesis, nextHash } from "../core/chain.ts";
import { agreesWithRoot, headId, headOf } from "../core/head.ts";
import { BEGINS_BRANCH, checkEvent, FIRST_BRANCH } from "../log/verify.ts";
import { sessionOf } from "../sessions/describe.ts";
import type { Manifest } from "./export.ts";
import { corrupted } from "./frames.ts";

/** Rows of one session. */
export interface Contents {
  readonly id: string;
  readonly whole: boolean;
  readonly tables: ReadonlyMap<ArchivedTable, readonly PortableRow[]>;
}

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  "sessions.status": ["open", "closed"],
  "turns.status": ["open", "done", "aborted"],
  "evals.status": ["running", "done", "failed"],
  "calls.type": ["root", "leaf"],
  "calls.status": ["started", "done", "failed", "cancelled"],
  "invocations.type": ["spawn", "attach"],
  "invocations.status": ["running", "done", "failed"],
  "derivations.type": ["fork", "attach"],
  "tasks.status": ["planned", "in_progress", "blocked", "succeeded", "failed", "abandoned"],
};

/** Rows by session, each checked by itself and against what it refers to. */
export function verifyArchive(
  manifest: Manifest,
  rows: readonly RestoredRow[],
  blobs: ReadonlySet<string>,
): readonly Contents[] {
  if (rows.length !== manifest.rows) throw corrupted("it has another number of rows than it says");
  checkRows(rows, blobs);
  const boards = new Map(rows.flatMap(({ table, row }) => (table === "boards" ? [[row.id, row.session]] : [])));
  const owner = ({ table, row }: RestoredRow) =>
    table === "sessions" ? row.id : table === "tasks" ? boards.get(row.board_id ?? "") : row.session;
  const bySession = Map.groupBy(rows, owner);
  if (manifest.sessions.length !== bySession.size) throw corrupted("it holds rows of other sessions than it says");
  const contents = manifest.sessions.map(({ id, whole }): Contents => {
    const own = Map.groupBy(bySession.get(id) ?? [], ({ table }) => table);
    return { id, whole, tables: new Map([...own].map(([table, found]) => [table, found.map(({ row }) => row)])) };
  });
  const parents = parentsOf(contents);
  for (const [i, one] of contents.entries()) {
    const said = manifest.sessions[i];
    if (said !== undefined) verifySession(one, said, parents);
  }
  return contents;
}

function checkRows(rows: readonly RestoredRow[], blobs: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const { table, row } of rows) {
    for (const { name, type } of PORTABLE[table]) {
      const cell = row[name];
      if (type === "blob" && cell instanceof Uint8Array && !blobs.has(toHex(cell))) {
        throw corrupted(`a row of ${table} refers to a blob that is not in it`);
      }
      const allowed = CHOICES[`${table}.${name}`];
      if (allowed !== undefined && !allowed.includes(String(cell)))
        throw corrupted(`a row of ${table} has no such ${name}`);
    }
    for (const key of keysOf(table, row)) {
      if (seen.has(key)) throw corrupted(`a row of ${table} is there twice`);
      seen.add(key);
    }
  }
}

/** What no two rows may share. */
function keysOf(table: ArchivedTable, row: PortableRow): readonly string[] {
  const of = (what: string, cells: readonly unknown[]) => JSON.stringify([what, ...cells]);
  if (table === "events") {
    const log = of("events", [row.session, row.seq]);
    return row.key === null ? [log] : [log, of("keys", [row.session, row.key, row.branch])];
  }
  const { key }: TableShape = TABLES[table];
  const main = of(
    table,
    key.map((column) => row[column.replace(/_no$/, "")]),
  );
  return table === "boards" ? [main, of("board of", [row.session, row.agent])] : [main];
}

/** Where each branch of each session goes on from. */
function parentsOf(contents: readonly Contents[]): ReadonlyMap<string, PortableRow> {
  const rows = contents.flatMap(({ tables }) => tables.get("branches") ?? []);
  const parents = new Map(rows.map((row) => [place(row.session, row.branch), row]));
  const known = new Set(contents.map(({ id }) => id));
  for (const { parent_session } of rows) {
    if (!known.has(String(parent_session))) throw corrupted("a branch continues a session that is not in it");
  }
  return parents;
}

function place(session: unknown, branch: unknown): string {
  return JSON.stringify([session, branch]);
}

type Envelope = Readonly<Record<string, unknown>>;

interface Known {
  readonly hash: Uint8Array;
  readonly bytes: Uint8Array;
  readonly body: Envelope;
}

function verifySession(
  one: Contents,
  said: Manifest["sessions"][number],
  parents: ReadonlyMap<string, PortableRow>,
): void {
  const [session, ...more] = one.tables.get("sessions") ?? [];
  if (session === undefined || more.length > 0) throw corrupted("a session has no row of its own");
  const chain = session.chain as Uint8Array;
  if (session.seq !== said.seq || toHex(chain) !== said.chain) throw corrupted("a session ends elsewhere than it says");
  const isPart = session.deleted_at !== null;
  if (isPart === one.whole) throw corrupted("a session is not as complete as it says");
  if (one.whole) readable("a session", () => sessionOf({ ...session, head: null } as unknown as SessionRow, []));
  const events = verifyEvents(one, Number(session.seq), chain);
  for (const [table, rows] of one.tables) {
    if (["sessions", "boards", "tasks", "session_tags", "aliases", "remains"].includes(table)) continue;
    for (const row of rows) {
      if (!events.has(Number(row.seq))) throw corrupted(`a row of ${table} belongs to no event`);
    }
  }
  verifyPayloads(one, events);
  const heads = new Set((one.tables.get("heads") ?? []).map(({ id }) => id));
  if (session.head !== null && !heads.has(session.head ?? "")) throw corrupted("the current head is not in it");
  for (const head of one.tables.get("heads") ?? []) verifyHead(head, heads, events, parents);
}

/** Of a whole session the chain from its beginning; of stretches as much of it as is there. */
function verifyEvents(one: Contents, end: number, chain: Uint8Array): ReadonlyMap<number, Known> {
  const known = new Map<number, Known>();
  let previous = { seq: 0, hash: genesis(one.id), branch: FIRST_BRANCH };
  for (const row of one.tables.get("events") ?? []) {
    const event = row as unknown as WholeEventRow;
    const follows = event.seq === previous.seq + 1;
    if (event.seq <= previous.seq || (one.whole && !follows)) throw corrupted("an event is missing or out of order");
    // Only where a branch begins may the one before be missing: it is on a line that was left. Its hash is taken as it is.
    if (!follows && !BEGINS_BRANCH.has(event.type)) throw corrupted("an event is missing");
    const branch = BEGINS_BRANCH.has(event.type) ? event.seq : follows ? previous.branch : event.branch;
    const wrong = follows ? checkEvent(event, { ...previous, branch }) : null;
    if (wrong !== null) throw corrupted(`event ${wrong.seq} is not what was written: ${wrong.reason}`);
    const body = readable("an event", () => JSON.parse(Buffer.from(event.body).toString("utf8"))) as Envelope;
    if (body.seq !== event.seq || event.hash.byteLength !== 32) throw corrupted("an event is not what was written");
    known.set(event.seq, { hash: event.hash, bytes: event.body, body });
    previous = { seq: event.seq, hash: event.hash, branch };
  }
  if (previous.seq !== end || !sameBytes(previous.hash, chain)) throw corrupted("a log ends elsewhere than it says");
  if (one.whole) for (const row of one.tables.get("events") ?? []) verifyErased(row, known);
  return known;
}

/** A message is gone because a clear of its agent, or of its run, says so. */
function verifyErased({ erased_seq, agent, run }: PortableRow, events: ReadonlyMap<number, Known>): void {
  if (erased_seq === null) return;
  const clear = events.get(Number(erased_seq))?.body;
  const covers = clear?.type === "messages/cleared" && clear.agent === agent;
  if (!covers || (clear.run !== undefined && clear.run !== run))
    throw corrupted("a message is gone that nobody cleared");
}

const SALT = 16;
const COLUMNS = {
  evals: ["code", "result", "final", "error"],
  calls: ["request", "response", "result", "error"],
} as const;

/** Every payload opens a commitment that stands in the log. */
function verifyPayloads(one: Contents, events: ReadonlyMap<number, Known>): void {
  const opens = (seqs: readonly number[], name: string, salt: unknown, digest: unknown): boolean => {
    if (!(salt instanceof Uint8Array) || salt.byteLength !== SALT || !(digest instanceof Uint8Array)) return false;
    const made = commitment(salt, digest);
    return seqs.some((seq) => (events.get(seq)?.body.commitments as Envelope | undefined)?.[name] === made);
  };
  const check = (table: ArchivedTable, sound: boolean) => {
    if (!sound) throw corrupted(`a payload of ${table} is not what the log commits to`);
  };
  for (const { seq, payload, salt } of one.tables.get("annotations") ?? []) {
    check("annotations", payload === null || opens([Number(seq)], "note", salt, payload));
  }
  for (const { seq, vars, salt } of one.tables.get("snapshots") ?? []) {
    check("snapshots", vars === null || opens([Number(seq)], "vars", salt, vars));
  }
  for (const { seq, key, value, salt } of one.tables.get("state") ?? []) {
    check("state", value === null || opens([Number(seq)], String(key), salt, value));
  }
  for (const table of ["evals", "calls"] as const) {
    for (const row of one.tables.get(table) ?? []) {
      const salts = row.salts instanceof Uint8Array ? row.salts : new Uint8Array(0);
      for (const [i, name] of COLUMNS[table].entries()) {
        const salt = salts.slice(i * SALT, (i + 1) * SALT);
        // What an earlier version of the row brought stands in that one's event.
        check(table, row[name] === null || opens([Number(row.seq), Number(row.first_seq)], name, salt, row[name]));
      }
    }
  }
}

function verifyHead(
  row: PortableRow,
  heads: ReadonlySet<unknown>,
  events: ReadonlyMap<number, Known>,
  parents: ReadonlyMap<string, PortableRow>,
): void {
  const head = row as unknown as HeadRow;
  readable("a head", () => headOf(head));
  const { chain, seq } = head;
  const { final, salt } = row;
  // The chain is the one before its own event, which may be of a branch that did not come along.
  const own = events.get(seq);
  if (own === undefined || !sameBytes(nextHash(chain, own.bytes), own.hash))
    throw corrupted("a head is not of this log");
  if (head.basis !== null && !heads.has(head.basis)) throw corrupted("a head is made on one that is not in it");
  const source = head.basis === null ? sourceOf(head, parents) : null;
  const { session, branch, basis, root } = head;
  const id = headId({ ...{ session, branch, seq, chain, basis, source, root }, status: headOf(head).status });
  if (id !== head.id) throw corrupted("a head has another id than its own");
  const turn = (own.body.data as Envelope | undefined)?.turn ?? null;
  if (!agreesWithRoot(head) || head.turn_seq !== turn) throw corrupted("a head is not what it commits to");
  const committed = (JSON.parse(Buffer.from(root).toString("utf8")) as { final?: unknown }).final;
  const opens = salt instanceof Uint8Array && final instanceof Uint8Array && commitment(salt, final) === committed;
  if (final !== null && !opens) throw corrupted("a head's final value is not what it commits to");
}

/** The first point of another session behind a head. */
function sourceOf(
  { session, branch }: HeadRow,
  parents: ReadonlyMap<string, PortableRow>,
): { readonly session: string; readonly branch: number; readonly seq: number } | null {
  let at: { session: unknown; branch: unknown } = { session, branch };
  for (let steps = 0; steps <= parents.size; steps++) {
    const row = parents.get(place(at.session, at.branch));
    if (row === undefined) return null;
    if (row.parent_session !== session) {
      return { session: String(row.parent_session), branch: Number(row.parent_branch), seq: Number(row.cut_seq) };
    }
    at = { session: row.parent_session, branch: row.parent_branch };
  }
  throw corrupted("its branches go round in a circle");
}

/** Decoders of stored rows say StoreCorrupted; here it is the file that is wrong. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw corrupted(`${what} cannot be read`, cause);
  }
}
