// Makes the writes of a batch: gives every event its seq and chain hash, and every row its numbers. The result is plain
// data until the engine runs it.
import type {
  CarriedPayload,
  Cell,
  Commit,
  EventDraft,
  HeadDraft,
  MessageDraft,
  NamedCells,
  Outcome,
  PublishedHead,
  Write,
  WrittenEvent,
} from "../../contracts/storage/commit.ts";
import type { StatementName } from "../../contracts/storage/statement-names.ts";
import type { TableShape } from "../../contracts/storage/table-shape.ts";
import { type RowOf, type Slot, TABLES, type TableName } from "../../contracts/storage/tables.ts";
import { type CheckedTable, coveredBy, rowChecksum } from "../../core/checksum.ts";
import { envelope, nextHash } from "../../core/hashing.ts";
import { type CompleteHead, completeHead } from "../../core/head.ts";
import { memoize } from "../../core/memoize.ts";
import { mergeBlobs, mergeUses } from "./blob-merge.ts";
import type { BulkSpec, Param, Statement } from "./driver.ts";
import { branchPositionAfter, changesOnlyByEvents, type SessionPosition } from "./positions.ts";
import { restore } from "./restore.ts";
import {
  ADD_EVENT,
  ADD_INLINE_MESSAGE,
  ADD_LONG_EVENT,
  ADD_MESSAGE,
  insertSpec,
  PUBLISH_HEAD,
  PUT_BLOB,
  putSpec,
  removeSpec,
  USE_BLOB,
} from "./specs.ts";
import { type CompiledText, valuesInOrder } from "./statement-texts.ts";
import { QUERIES, STATEMENTS } from "./statements.ts";

export interface WritePlan {
  readonly statements: readonly Statement[];
  /** Sessions whose log grew, in the order of their numbers. */
  readonly changedSessions: readonly {
    readonly was: SessionPosition;
    readonly now: SessionPosition & { readonly at: number };
  }[];
  readonly outcomes: readonly Outcome[];
  /** Positions for the cache. Only of sessions that got events: a session that only lost rows may have been deleted. */
  readonly sessions: ReadonlyMap<string, SessionPosition>;
}

interface LiveSession {
  readonly was: SessionPosition;
  position: SessionPosition;
  touchedAt: number | null;
  /** The head that was published. */
  head?: CompleteHead;
}

/** `prepared`: statements for a large archive import, made before the transaction. The batch is then one commit. */
export function planWrites(
  accepted: readonly Commit[],
  position: (id: string) => SessionPosition,
  agents: ReadonlyMap<string, number>,
  created: ReadonlySet<string>,
  prepared?: readonly Statement[],
): WritePlan {
  const batch = new Batch(accepted, position, agents, prepared);
  const unannounced = new Set(created);
  const outcomes = accepted.map((commit) => batch.add(commit, unannounced));
  return { ...batch.changedPositions(), outcomes, statements: batch.script.statements() };
}

class Batch {
  readonly script = new Script();
  readonly #live = new Map<string, LiveSession>();
  readonly #position: (id: string) => SessionPosition;
  readonly #agents: ReadonlyMap<string, number>;
  readonly #messageSpec: BulkSpec;
  readonly #prepared: readonly Statement[] | undefined;

  constructor(
    accepted: readonly Commit[],
    position: (id: string) => SessionPosition,
    agents: ReadonlyMap<string, number>,
    prepared: readonly Statement[] | undefined,
  ) {
    this.#prepared = prepared;
    this.#position = position;
    this.#agents = agents;
    if (accepted.some(namesBlobs)) this.#blobs(accepted);
    // One statement for all messages, because they are numbered in the order in which they are written.
    const isInline = accepted.every(({ events }) => events?.every(({ message }) => message?.inline !== null) ?? true);
    this.#messageSpec = isInline ? ADD_INLINE_MESSAGE : ADD_MESSAGE;
  }

  #blobs(accepted: readonly Commit[]): void {
    for (const blob of mergeBlobs(accepted)) this.script.row(PUT_BLOB, blob);
    this.script.flush();
    for (const use of mergeUses(accepted)) this.script.row(USE_BLOB, use);
    this.script.flush();
  }

  add(commit: Commit, unannounced: Set<string>): Outcome {
    if (unannounced.size > 0) this.#announce(commit, unannounced);
    for (const one of commit.replaces ?? []) this.script.write(one, this.#context(commit));
    if (this.#prepared !== undefined) this.script.append(this.#prepared);
    else if (commit.restores !== undefined) restore(this.script, commit.restores);
    if (commit.writes !== undefined && commit.writes.length > 0) {
      const context = this.#context(commit);
      for (const one of commit.writes) this.script.write(one, context);
    }
    const events = commit.events?.map((draft) => this.#event(draft)) ?? [];
    if (!changesOnlyByEvents(commit)) for (const { id } of commit.sessions ?? []) this.#forgetBranchPosition(id);
    return { ok: true, events };
  }

  #forgetBranchPosition(id: string): void {
    const live = this.#live.get(id);
    if (live !== undefined) live.position = { ...live.position, branchPosition: undefined };
  }

  /**
   * If a rule creates a session explicitly, it writes the event itself; if it only ensures the session, the commit adds
   * the event.
   */
  #announce(commit: Commit, unannounced: Set<string>): void {
    for (const use of commit.sessions ?? []) {
      if (!unannounced.delete(use.id)) continue;
      const own = commit.events?.find((event) => event.session === use.id);
      if (own?.type === "session/created") continue;
      const by = use.agent === undefined ? {} : { agent: use.agent };
      this.#event({ session: use.id, type: "session/created", at: use.at, ...by });
    }
  }

  #context(commit: Commit): Context {
    const first = commit.sessions?.find(({ mode }) => mode !== "restore");
    if (first === undefined) return { agent: this.#agent, sessionNo: this.#sessionNo };
    const { no, branch } = this.#session(first.id).position;
    return { agent: this.#agent, sessionNo: this.#sessionNo, session: no, branch };
  }

  #session(id: string): LiveSession {
    const known = this.#live.get(id);
    if (known !== undefined) return known;
    const was = this.#position(id);
    const made: LiveSession = { was, position: was, touchedAt: null };
    this.#live.set(id, made);
    return made;
  }

  readonly #sessionNo = (id: string): number => this.#session(id).position.no;

  readonly #agent = (id: string): number => {
    const no = this.#agents.get(id);
    if (no === undefined) throw new Error(`bug: agent ${id} is used and not named in the commit`);
    return no;
  };

  #event(given: EventDraft): WrittenEvent {
    const session = this.#session(given.session);
    const before = session.position;
    const seq = before.seq + 1;
    const draft =
      given.head === undefined && given.namesHead === undefined ? given : this.#withHead(session, given, given.head);
    const body = envelope(draft, seq);
    const hash = nextHash(before.chain, body);
    const branch = draft.branches === true ? seq : before.branch;
    session.position = {
      no: before.no,
      branch,
      seq,
      chain: hash,
      messages: before.messages + (draft.messages ?? 0),
      stateSeq: draft.state === true ? seq : before.stateSeq,
      branchPosition: branchPositionAfter(before.branchPosition, draft, session.head?.newest),
    };
    session.touchedAt = draft.at;
    const row: Param[] = [before.no, seq, branch, draft.at, body, hash];
    if (draft.message !== undefined) this.#addMessage(row, draft, draft.message);
    else this.#addEvent(row, draft, draft.rowPayload);
    if (draft.head !== undefined && session.head !== undefined)
      this.script.row(PUBLISH_HEAD, headRow(session.head.row));
    if (draft.writes !== undefined) {
      const { no } = before;
      const context: Context = { agent: this.#agent, sessionNo: this.#sessionNo, session: no, branch, seq };
      for (const one of draft.writes) this.script.write(one, context);
    }
    const written = { session: draft.session, seq, hash };
    return given.head === undefined || session.head === undefined ? written : { ...written, head: session.head.row };
  }

  /** The event with the head that it publishes or names; that head is at the position of the event. */
  #withHead(live: LiveSession, draft: EventDraft, head: HeadDraft | undefined): EventDraft {
    if (head !== undefined) live.head = this.#completeHead(live, draft, head);
    if (live.head === undefined) throw new Error("bug: an event names a head that its commit has not published");
    const { id, status } = live.head.row;
    const data = draft.data === undefined ? { head: id } : { ...draft.data, head: id };
    if (status !== "complete") return { ...draft, data };
    const move: Write = { op: "run", statement: "session.headTo", params: [id, { slot: "session" }] };
    return { ...draft, data, writes: draft.writes === undefined ? [move] : [...draft.writes, move] };
  }

  #completeHead(live: LiveSession, { session, at }: EventDraft, head: HeadDraft): CompleteHead {
    // The position as the commit read it; the rule that made the head has counted what its own events add.
    const { branchPosition } = live.was;
    if (branchPosition === undefined || live.head !== undefined) {
      throw new Error("bug: a head whose branch was not read, or a second one in one commit");
    }
    const { no, branch, seq, chain } = live.position;
    return completeHead(head, { session, no, branch, seq: seq + 1, chain, at }, branchPosition);
  }

  #addMessage(row: Param[], { agent, run, type }: EventDraft, message: MessageDraft): void {
    if (agent === undefined || type !== "message/added") throw new Error("bug: a message has no agent or another type");
    const { role, key, sha256, salt, chars, inline } = message;
    row.push(this.#agent(agent), role, run ?? null, key ?? null, sha256, salt, chars, inline);
    if (this.#messageSpec === ADD_MESSAGE) row.push(inline === null ? sha256 : null);
    this.script.row(this.#messageSpec, row);
  }

  /** Adds any other event. An event of a run names the run, and may have a payload. */
  #addEvent(row: Param[], { run, type }: EventDraft, carried: CarriedPayload | null | undefined): void {
    const named = carried === undefined ? null : (run ?? null);
    row.push(type, named, carried?.sha256 ?? null, carried?.salt ?? null, carried?.inline ?? null);
    if (carried === null || carried === undefined || carried.inline !== null) this.script.row(ADD_EVENT, row);
    else {
      row.push(carried.sha256);
      this.script.row(ADD_LONG_EVENT, row);
    }
  }

  changedPositions(): Pick<WritePlan, "changedSessions" | "sessions"> {
    const changedSessions: { was: SessionPosition; now: SessionPosition & { at: number } }[] = [];
    const sessions = new Map<string, SessionPosition>();
    for (const [id, { was, position, touchedAt }] of this.#live) {
      if (touchedAt === null) continue;
      changedSessions.push({ was, now: { ...position, at: touchedAt } });
      sessions.set(id, position);
    }
    if (changedSessions.length > 1) changedSessions.sort((a, b) => a.now.no - b.now.no);
    return { changedSessions, sessions };
  }
}

function namesBlobs({ blobs, uses }: Commit): boolean {
  return (blobs !== undefined && blobs.length > 0) || (uses !== undefined && uses.length > 0);
}

/** A column of `heads` without a cell does not compile. The cell of `basis_no` is the id of that head. */
type HeadCells = Readonly<Record<Exclude<keyof (typeof TABLES)["heads"]["columns"], "no">, Param>>;

/** The cells in the order of the table's columns. */
function headRow(head: PublishedHead): readonly Param[] {
  const cells: HeadCells = { ...head, basis_no: head.basis };
  return (columnsOf("heads") as readonly (keyof HeadCells)[]).map((column) => cells[column]);
}

/** Numbers that stand for the slots of a write. */
interface Context {
  readonly session?: number;
  readonly branch?: number;
  readonly seq?: number;
  agent(id: string): number;
  sessionNo(id: string): number;
}

/** All but those that the database numbers. */
const columnsOf = memoize((table: TableName): readonly string[] => {
  const { columns }: TableShape = TABLES[table];
  return Object.keys(columns).filter((name) => columns[name] !== "serial");
});

/** Statements that change nothing that an insert reads, and no unique index: later inserts may run before them. */
const DEFERRED_STATEMENTS: ReadonlySet<StatementName> = new Set<StatementName>(["run.progress", "session.headTo"]);

/**
 * Collects the statements of a transaction. Inserts into one table are collected and written with one statement. Any other statement keeps
 * its place, because it may read rows inserted before it.
 */
export class Script {
  readonly #statements: Statement[] = [];
  #pending = new Map<BulkSpec, (readonly Param[])[]>();
  /** After the pending rows, in their own order. */
  #deferred: Statement[] = [];

  row(spec: BulkSpec, params: readonly Param[]): void {
    const rows = this.#pending.get(spec);
    if (rows === undefined) this.#pending.set(spec, [params]);
    else rows.push(params);
  }

  write(write: Write, context: Context): void {
    switch (write.op) {
      case "insert":
        this.row(insertSpec(write.table), values(write.table, columnsOf(write.table), write.row, context));
        return;
      case "put":
        this.flush();
        this.row(putSpec(write.table), values(write.table, columnsOf(write.table), write.row, context));
        return;
      case "remove":
        this.flush();
        this.row(removeSpec(write.table), values(write.table, TABLES[write.table].key, write.row, context));
        return;
      case "run": {
        const isDeferred = DEFERRED_STATEMENTS.has(write.statement);
        if (!isDeferred) this.flush();
        (isDeferred ? this.#deferred : this.#statements).push({
          kind: "query",
          ...bind(STATEMENTS.get(write.statement), write.params, context),
        });
        return;
      }
      case "read":
        this.flush();
        this.#statements.push({
          kind: "query",
          ...bind(QUERIES.get(write.query), write.params as NamedCells, context),
          answers: write.query,
        });
    }
  }

  flush(): void {
    if (this.#pending.size > 0) {
      for (const [spec, rows] of this.#pending) this.#statements.push({ kind: "bulk", spec, rows });
      this.#pending = new Map();
    }
    if (this.#deferred.length === 0) return;
    for (const statement of this.#deferred) this.#statements.push(statement);
    this.#deferred = [];
  }

  /** Adds statements that were made before. */
  append(statements: readonly Statement[]): void {
    this.flush();
    for (const statement of statements) this.#statements.push(statement);
  }

  statements(): readonly Statement[] {
    this.flush();
    return this.#statements;
  }
}

function values<T extends TableName>(table: T, columns: readonly string[], row: RowOf<T>, context: Context): Param[] {
  const given = row as Readonly<Record<string, Cell | undefined>>;
  const params = columns.map((column) => {
    const cell = given[column];
    if (cell !== undefined) return param(cell, context);
    if (column === "session_no") return requireKnown(context.session, table, column);
    if (column === "branch") return requireKnown(context.branch, table, column);
    if (column === "seq") return requireKnown(context.seq, table, column);
    return null;
  });
  const at = coveredBy(table) === null ? -1 : columns.indexOf("checksum");
  if (at !== -1) {
    const cells = Object.fromEntries(columns.map((column, i) => [column, params[i]]));
    params[at] = rowChecksum(table as CheckedTable, cells);
  }
  return params;
}

function bind(text: CompiledText, given: readonly Cell[] | NamedCells, context: Context) {
  const cells = isList(given) ? given : valuesInOrder(text, given);
  return { sql: text.sql, params: cells.map((cell) => param(cell, context)) };
}

function isList(given: readonly Cell[] | NamedCells): given is readonly Cell[] {
  return Array.isArray(given);
}

function param(cell: Cell, context: Context): Param {
  if (cell === null || typeof cell !== "object" || cell instanceof Uint8Array) return cell;
  return slot(cell, context);
}

function slot(cell: Slot, context: Context): number {
  if ("agent" in cell) return context.agent(cell.agent);
  if ("session" in cell) return context.sessionNo(cell.session);
  return requireKnown(context[cell.slot], "a statement", cell.slot);
}

function requireKnown(value: number | undefined, table: string, column: string): number {
  if (value === undefined)
    throw new Error(`bug: ${table} needs ${column} and the commit names no session or event for it`);
  return value;
}
