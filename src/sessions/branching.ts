// Continuing from an earlier position: resume and rewind inside a session, fork into a new one. Each is one commit, and
// deletes nothing.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Moved } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Session } from "../contracts/session.ts";
import type { EventDraft, Write } from "../contracts/storage/commit.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { SESSION_VERBS } from "../contracts/verbs/sessions.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { type Decision, decide } from "../core/decide.ts";
import { headOf, rootOf } from "../core/head.ts";
import { currentLineage, type LineageStretch, lineageAt, readLineageAt } from "../core/lineage.ts";
import { newId } from "../core/new-id.ts";
import { headGuard, whileIdle } from "../core/session-guards.ts";
import { findAt, findHead } from "../core/session-lookup.ts";
import { countLineage, countMessages } from "./counts.ts";
import { createCommit, createdSession, describeSession, type SessionColumns, type SessionOrigin } from "./describe.ts";

/** A position in a log. */
export interface BranchPoint {
  readonly session: string;
  readonly no: number;
  readonly branch: number;
  readonly seq: number;
}

export function positionOf({ session, session_no: no, branch, seq }: HeadRow): BranchPoint {
  return { session, no, branch, seq };
}

/** The event with which a session continues from a position, on a new branch. */
export function branchEvent(
  session: SessionRow,
  type: "branch/begun" | "head/moved",
  from: BranchPoint,
  at: number,
  data: JsonObject,
): EventDraft {
  const row: Write = {
    op: "insert",
    table: "branches",
    row: { parent_session_no: from.no, parent_branch: from.branch, cut_seq: from.seq, at },
  };
  return {
    session: session.id,
    type,
    at,
    data: { ...data, from: { branch: from.branch, seq: from.seq } },
    branches: true,
    // Decisions on the state of the old branch must be made again.
    state: true,
    writes: [row, { op: "run", statement: "session.branchTo", params: [{ slot: "seq" }, { slot: "session" }] }],
  };
}

/** Whether no event came after the head. */
export async function isAtPoint(storage: Storage, session: SessionRow, head: HeadRow): Promise<boolean> {
  if (session.branch !== head.branch || session.state_seq > head.seq) return false;
  const { head: newest, since } = await countLineage(storage, session);
  if (newest?.id !== head.id || Object.values(since).some((n) => n > 0)) return false;
  const clears = await storage.query("lineage.clears", {
    session: session.no,
    branch: session.branch,
    upTo: session.seq,
  });
  return clears.every(({ seq }) => seq <= head.seq);
}

export async function resume(storage: Storage, locator: Locator): Promise<Moved> {
  return decide<Moved>(storage, async () => {
    const { session, head: named } = await findAt(storage, locator);
    const head = named ?? (session.head === null ? null : await findHead(storage, session.head));
    const stay = {
      session: session.id,
      head: head === null ? null : headOf(head),
      branch: session.branch,
      branched: false,
    };
    if (head === null || (await isAtPoint(storage, session, head))) return { answer: stay };
    const at = storage.environment.now();
    const begun = branchEvent(session, "branch/begun", positionOf(head), at, { verb: "resume", head: head.id });
    return {
      commit: {
        sessions: [{ id: session.id, mode: "existing", at }],
        // Events after a head stay there, so a named head needs no guard.
        guards: [await whileIdle(storage, session.id), ...(named === null ? [headGuard(session)] : [])],
        events: [begun],
      },
      answer: ({ events }) => ({ ...stay, branch: events[0]?.seq ?? 0, branched: true }),
    };
  });
}

export async function rewind(storage: Storage, locator: Locator): Promise<Moved> {
  const target = locator.head;
  if (target === undefined) {
    throw new HoldfastError("InvalidArgument", "rewind needs a head to go back to", {
      hint: "Name it as session@head; heads.list() shows them.",
    });
  }
  return decide<Moved>(storage, async () => {
    const { session, head } = await findAt(storage, locator);
    if (head === null || !(await isAncestor(storage, session, head))) throw notAncestor(session, target);
    const at = storage.environment.now();
    const moved = branchEvent(session, "head/moved", positionOf(head), at, { head: head.id, was: session.head });
    const point: Write = { op: "run", statement: "session.headTo", params: [head.id, { slot: "session" }] };
    return {
      commit: {
        sessions: [{ id: session.id, mode: "existing", at }],
        guards: [await whileIdle(storage, session.id), headGuard(session)],
        events: [{ ...moved, writes: [...(moved.writes ?? []), point] }],
      },
      answer: ({ events }) => ({
        session: session.id,
        head: headOf(head),
        branch: events[0]?.seq ?? 0,
        branched: true,
      }),
    };
  });
}

export async function isAncestor(storage: Storage, session: SessionRow, head: HeadRow): Promise<boolean> {
  if (session.head === null || head.status !== "complete") return false;
  if (session.head === head.id) return true;
  const current = await findHead(storage, session.head);
  const lineage = await lineageAt(storage, positionOf(current));
  return lineage.some(({ no, branch, upTo }) => no === head.session_no && branch === head.branch && head.seq <= upTo);
}

export function notAncestor(session: SessionRow, head: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the head ${head} is not an ancestor of the current head of the session ${JSON.stringify(session.id)}`,
    {
      details: { session: session.id, head, current: session.head },
      hint: "rewind only goes back to an ancestor. Use resume or fork to continue from any head.",
    },
  );
}

type ForkValues = ValuesOf<typeof SESSION_VERBS.fork>[1];

export async function fork(storage: Storage, locator: Locator, input: ForkValues): Promise<Session> {
  const { message, ...described } = input;
  const id = input.id ?? newId(storage.environment, "ses");
  if (message !== undefined && locator.head !== undefined) {
    throw new HoldfastError("InvalidArgument", "a fork is made at a head or at a message, not both");
  }
  const columns = describeSession(described);
  return decide(storage, async () => {
    const { session, head: named } = await findAt(storage, locator);
    const head =
      named ?? (message === undefined && session.head !== null ? await findHead(storage, session.head) : null);
    const from =
      message !== undefined
        ? await positionOfMessage(storage, session, message)
        : head === null
          ? { session: session.id, no: session.no, branch: session.branch, seq: session.seq }
          : positionOf(head);
    return forkAt(storage, { session, from, head, id, described: columns });
  });
}

export interface ForkPlan {
  /** The source. */
  readonly session: SessionRow;
  readonly from: BranchPoint;
  /** The head at that position, if there is one. */
  readonly head: HeadRow | null;
  /** The id of the new session. */
  readonly id: string;
  readonly described: SessionColumns;
}

/** A new session that continues from a position in the log of another. */
export async function forkAt(
  storage: Storage,
  { session, from, head, id, described }: ForkPlan,
): Promise<Decision<Session>> {
  const at = storage.environment.now();
  const inherited = { ...described, agent: described.agent ?? session.agent };
  const birth: SessionOrigin = { kind: "entry", origin: "fork", cacheId: session.cache_id ?? session.id };
  const messages = head === null ? await countShort(storage, from) : rootOf(head).counts.messages;
  const derived = derivation("fork", id, from, head, at);
  const created = createCommit(id, inherited, birth, at, derived);
  return {
    commit: {
      ...created,
      // The source is there, and stays until this is done.
      guards: [{ check: "session.version", key: [session.id], expect: session.version }],
      events: [...(created.events ?? []), derived.event],
    },
    answer: ({ events }) => ({ ...createdSession(id, inherited, birth, at, events), messages }),
  };
}

/**
 * If no head has counted the past, at most this many of its events are counted: more would make a fork as slow as its
 * past is long.
 */
const SHORT = 1000;

async function countShort(storage: Storage, from: BranchPoint): Promise<number> {
  if (from.seq > SHORT) return 0;
  const reader = readLineageAt(storage, from);
  const lineage: LineageStretch[] = [];
  let events = 0;
  for (let next = await reader.take(1); next.length > 0; next = await reader.take(1)) {
    lineage.push(...next);
    for (const { upTo } of next) events += upTo;
    if (events > SHORT) return 0;
  }
  return countMessages(storage, lineage);
}

/** The edge to the source of a session: the row of its first branch, and an event with a derivation row. */
export function derivation(
  type: "fork" | "attach",
  target: string,
  from: BranchPoint,
  head: HeadRow | null,
  at: number,
): { readonly data: JsonObject; readonly branch: readonly Write[]; readonly event: EventDraft } {
  const source = { session: from.session, branch: from.branch, seq: from.seq, head: head?.id ?? null };
  return {
    data: { from: { session: from.session, branch: from.branch, seq: from.seq } },
    branch: [
      {
        op: "insert",
        table: "branches",
        row: { parent_session_no: from.no, parent_branch: from.branch, cut_seq: from.seq, at },
      },
    ],
    event: {
      session: target,
      type: "derivation/added",
      at,
      data: { type, source },
      writes: [
        {
          op: "insert",
          table: "derivations",
          row: {
            type,
            source_session_no: from.no,
            source_head: head?.no ?? null,
            source_branch: from.branch,
            source_seq: from.seq,
            at,
          },
        },
      ],
    },
  };
}

async function positionOfMessage(
  storage: Storage,
  session: SessionRow,
  message: { readonly session: string; readonly seq: number },
): Promise<BranchPoint> {
  for (const stretch of await currentLineage(storage, session.id)) {
    if (stretch.session !== message.session || message.seq > stretch.upTo) continue;
    const { no, branch, horizon } = stretch;
    const [found] = await storage.query("messages.at", {
      session: no,
      branch,
      after: message.seq - 1,
      upTo: message.seq,
      erasedAfter: horizon,
      limit: 1,
    });
    if (found !== undefined) return { session: message.session, no, branch, seq: message.seq };
  }
  throw new HoldfastError(
    "NotFound",
    `the session ${JSON.stringify(session.id)} does not show a message ${message.session}#${message.seq}`,
    {
      details: { kind: "message", session: session.id, id: `${message.session}#${message.seq}` },
      hint: "Pass the id of a message in the session's history.",
    },
  );
}
