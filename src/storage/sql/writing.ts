// The writing half of a batch: every event gets its seq and chain hash, every row its numbers. All of it is plain data
// until the engine runs it.
import type {
  CarriedPayload,
  Commit,
  EventDraft,
  HeadDraft,
  MessageDraft,
  Outcome,
  PublishedHead,
  Write,
  WrittenEvent,
} from "../../contracts/storage/commit.ts";
import { envelope, nextHash } from "../../core/chain.ts";
import { type BranchPosition, type CompleteHead, completeHead } from "../../core/head.ts";
import { restore } from "./archive.ts";
import { branchPositionAfter, changesOnlyByEvents } from "./branch-position.ts";
import type { BulkSpec, Param, Step } from "./driver.ts";
import { mergeBlobs, mergeUses } from "./merge.ts";
import { type Context, Script } from "./script.ts";
import {
  ADD_EVENT,
  ADD_INLINE_CONTENT,
  ADD_LONG_EVENT,
  ADD_MESSAGE,
  PUBLISH_HEAD,
  PUT_BLOB,
  USE_BLOB,
} from "./specs.ts";

/** Where a session's log stands: read inside the transaction, or remembered and fenced. */
export interface SessionPosition {
  readonly no: number;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly branch: number;
  readonly messages: number;
  readonly stateSeq: number;
  /** How its branch stands, where that is known: a head counts what came after the one before it. */
  readonly branchPosition: BranchPosition | undefined;
}

export interface Writing {
  readonly steps: readonly Step[];
  /** Sessions whose log grew, in the order of their numbers. */
  readonly moved: readonly { readonly was: SessionPosition; readonly now: SessionPosition & { readonly at: number } }[];
  readonly outcomes: readonly Outcome[];
  /** Only a session that moved is worth remembering; one that merely lost rows may have been deleted. */
  readonly sessions: ReadonlyMap<string, SessionPosition>;
}

interface LiveSession {
  readonly was: SessionPosition;
  position: SessionPosition;
  touchedAt: number | null;
  /** The head that was published. */
  head?: CompleteHead;
}

/** `prepared`: the steps of the rows that the only commit restores, where there are very many. */
export function write(
  accepted: readonly Commit[],
  position: (id: string) => SessionPosition,
  agents: ReadonlyMap<string, number>,
  created: ReadonlySet<string>,
  prepared?: readonly Step[],
): Writing {
  const batch = new Batch(accepted, position, agents, prepared);
  const fresh = new Set(created);
  const outcomes = accepted.map((commit) => batch.add(commit, fresh));
  return { ...batch.moved(), outcomes, steps: batch.script.steps() };
}

class Batch {
  readonly script = new Script();
  readonly #live = new Map<string, LiveSession>();
  readonly #position: (id: string) => SessionPosition;
  readonly #agents: ReadonlyMap<string, number>;
  readonly #messageSpec: BulkSpec;
  readonly #prepared: readonly Step[] | undefined;

  constructor(
    accepted: readonly Commit[],
    position: (id: string) => SessionPosition,
    agents: ReadonlyMap<string, number>,
    prepared: readonly Step[] | undefined,
  ) {
    this.#prepared = prepared;
    this.#position = position;
    this.#agents = agents;
    for (const blob of mergeBlobs(accepted)) this.script.row(PUT_BLOB, blob);
    this.script.flush();
    for (const use of mergeUses(accepted)) this.script.row(USE_BLOB, use);
    this.script.flush();
    // One statement for all messages, because they are numbered in the order in which they are written.
    const short = accepted.every(({ events }) => events?.every(({ message }) => message?.inline !== null) ?? true);
    this.#messageSpec = short ? ADD_INLINE_CONTENT : ADD_MESSAGE;
  }

  add(commit: Commit, fresh: Set<string>): Outcome {
    if (fresh.size > 0) this.#announce(commit, fresh);
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

  /** A rule that creates a session on purpose says so itself; one that only ensures it leaves that to the commit. */
  #announce(commit: Commit, fresh: Set<string>): void {
    for (const use of commit.sessions ?? []) {
      if (!fresh.delete(use.id)) continue;
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
      given.head === undefined && given.namesHead === undefined ? given : this.#headed(session, given, given.head);
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
    if (draft.message !== undefined) this.#message(row, draft, draft.message);
    else this.#journal(row, draft, draft.journal);
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

  /** The event with the head it publishes, or names, which stands where the event does. */
  #headed(live: LiveSession, draft: EventDraft, head: HeadDraft | undefined): EventDraft {
    if (head !== undefined) live.head = this.#published(live, draft, head);
    if (live.head === undefined) throw new Error("bug: an event names a head that its commit has not published");
    const { id, status } = live.head.row;
    const data = draft.data === undefined ? { head: id } : { ...draft.data, head: id };
    if (status !== "complete") return { ...draft, data };
    const move: Write = { op: "run", statement: "session.headTo", params: [id, { slot: "session" }] };
    return { ...draft, data, writes: draft.writes === undefined ? [move] : [...draft.writes, move] };
  }

  #published(live: LiveSession, { session, at }: EventDraft, head: HeadDraft): CompleteHead {
    // As the commit found it: the code that made the head has counted what its own events add.
    const { branchPosition } = live.was;
    if (branchPosition === undefined || live.head !== undefined) {
      throw new Error("bug: a head whose branch was not looked at, or a second one in one commit");
    }
    const { no, branch, seq, chain } = live.position;
    return completeHead(head, { session, no, branch, seq: seq + 1, chain, at }, branchPosition);
  }

  #message(row: Param[], { agent, run, type }: EventDraft, message: MessageDraft): void {
    if (agent === undefined || type !== "message/added") throw new Error("bug: a message has no agent or another type");
    const { role, key, sha256, salt, chars, inline } = message;
    row.push(this.#agent(agent), role, run ?? null, key ?? null, sha256, salt, chars, inline);
    if (this.#messageSpec === ADD_MESSAGE) row.push(inline === null ? sha256 : null);
    this.script.row(this.#messageSpec, row);
  }

  /** Any other event; those of a run name it, and may carry something. */
  #journal(row: Param[], { run, type }: EventDraft, carried: CarriedPayload | null | undefined): void {
    const named = carried === undefined ? null : (run ?? null);
    row.push(type, named, carried?.sha256 ?? null, carried?.salt ?? null, carried?.inline ?? null);
    if (carried === null || carried === undefined || carried.inline !== null) this.script.row(ADD_EVENT, row);
    else {
      row.push(carried.sha256);
      this.script.row(ADD_LONG_EVENT, row);
    }
  }

  moved(): Pick<Writing, "moved" | "sessions"> {
    const moved: { was: SessionPosition; now: SessionPosition & { at: number } }[] = [];
    const sessions = new Map<string, SessionPosition>();
    for (const [id, { was, position, touchedAt }] of this.#live) {
      if (touchedAt === null) continue;
      moved.push({ was, now: { ...position, at: touchedAt } });
      sessions.set(id, position);
    }
    if (moved.length > 1) moved.sort((a, b) => a.now.no - b.now.no);
    return { moved, sessions };
  }
}

/** In the order of the table's columns. */
function headRow(head: PublishedHead): readonly Param[] {
  const { id, session_no, branch, seq, basis, status, chain, root, final, salt, final_summary } = head;
  const { snapshot_seq, fingerprint, turn_seq, cache_id, at } = head;
  return [
    ...[id, session_no, branch, seq, basis, status, chain, root, final, salt, final_summary],
    ...[snapshot_seq, fingerprint, turn_seq, cache_id, at],
  ];
}
