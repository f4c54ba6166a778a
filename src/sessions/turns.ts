// Turns: one exchange in a session, from its beginning to the head that ends it.
import { HoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { Turn, Turns } from "../contracts/lineage.ts";
import type { EventDraft, Write } from "../contracts/storage/commit.ts";
import type { TurnRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type HEAD_INPUT, TURN_VERBS } from "../contracts/verbs/lineage.ts";
import type { RowId, ValueOf } from "../contracts/verbs/vocabulary.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, oneOf, optional, text, whole } from "../core/decode.ts";
import { currentLineage } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import { branchGuard, headGuard } from "../core/session-guards.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession, findHead } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { type BranchPoint, branchEvent, positionOf } from "./branching.ts";
import { decideHead, type HeadPlan, prepareHead } from "./publish.ts";

const STATUSES: readonly Turn["status"][] = ["open", "done", "aborted"];
const TURN = {
  first_seq: whole,
  branch: whole,
  status: oneOf(STATUSES),
  agent: optional(text),
  run: optional(text),
  at: whole,
};

export function turnOf(row: TurnRow): Turn {
  const { session } = row;
  const found = decodeRow({ kind: "turn", session, seq: row.first_seq }, row, TURN);
  const { first_seq: seq, branch, status, agent, run, at } = found;
  return { id: rowId(session, seq), session, seq, branch, status, agent, run, at };
}

export function createTurns(storage: Storage, payloads: Payloads, lookup: SessionLookup): Turns {
  return bindVerbs(TURN_VERBS, lookup, {
    begin: (id, { agent, run }) => begin(storage, id, agent, run),
    finish: (turn, input) => payloads.preparing((prepare) => end(storage, prepare, turn, input, "done")),
    abort: (turn, input) => payloads.preparing((prepare) => end(storage, prepare, turn, input, "aborted")),
  });
}

async function begin(storage: Storage, id: string, agent: string | undefined, run: string | undefined): Promise<Turn> {
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const at = storage.environment.now();
    const event: EventDraft = {
      session: id,
      type: "turn/begun",
      at,
      ...(agent === undefined ? {} : { agent }),
      ...(run === undefined ? {} : { run }),
      writes: [
        {
          op: "insert",
          table: "turns",
          row: {
            first_seq: { slot: "seq" },
            status: "open",
            run: run ?? null,
            at,
            agent_no: agent === undefined ? null : { agent },
          },
        },
      ],
    };
    return {
      commit: {
        sessions: [{ id, mode: "existing", at }],
        agents: agent === undefined ? [] : [{ id: agent, at }],
        guards: [branchGuard(session)],
        events: [event],
      },
      answer: ({ events }) => {
        const seq = events[0]?.seq ?? 0;
        const by = { agent: agent ?? null, run: run ?? null };
        return { id: rowId(id, seq), session: id, seq, branch: session.branch, status: "open", ...by, at };
      },
    };
  });
}

async function end(
  storage: Storage,
  prepare: Prepare,
  { session: id, seq: first }: RowId,
  input: ValueOf<typeof HEAD_INPUT>,
  status: "done" | "aborted",
): Promise<Head> {
  const prepared = await prepareHead(storage, prepare, input);
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const open = await openTurn(storage, session, first);
    const at = storage.environment.now();
    const plan: HeadPlan = {
      session,
      prepared,
      at,
      turnSeq: first,
      status: status === "done" ? "complete" : "aborted",
      ends: [endRow(open, status, at)],
      agents: open.agent === null ? [] : [open.agent],
      guards: [{ check: "turn.version", key: [first, id], expect: open.seq }],
    };
    if (status === "done") return decideHead(storage, plan);
    const from = await findAbortTarget(storage, session, open);
    return decideHead(storage, {
      ...plan,
      after: [{ ...endOnNewLine(session, open, from, at), namesHead: true }],
      guards: [...(plan.guards ?? []), headGuard(session)],
    });
  });
}

/** The turn must be open and on the session's current line: a turn on a line that the session has left cannot end. */
async function openTurn(storage: Storage, session: SessionRow, first: number): Promise<TurnRow> {
  const [row] = await storage.query("turn.get", { session: session.id, first });
  if (row === undefined) {
    throw new HoldfastError("NotFound", `there is no turn ${rowId(session.id, first)}`, {
      details: { kind: "turn", id: rowId(session.id, first) },
      hint: "Begin it with turns.begin().",
    });
  }
  const lineage = await currentLineage(storage, session.id);
  const here = lineage.some(({ no, branch, upTo }) => no === session.no && branch === row.branch && row.seq <= upTo);
  if (row.status === "open" && here) return row;
  // Aborting a turn leaves its line, so the status "aborted" is reported first.
  const ended = row.status === "aborted" ? "was aborted" : `has the status ${row.status} already`;
  const why = row.status === "open" ? "is on a line that the session has left" : ended;
  throw new HoldfastError("InvalidTransition", `the turn ${rowId(session.id, first)} ${why}`, {
    details: { kind: "turn", id: rowId(session.id, first), status: row.status },
    hint: "Begin a new turn with turns.begin().",
  });
}

function endRow({ first_seq, agent, run }: TurnRow, status: "done" | "aborted", at: number): Write {
  const by = agent === null ? null : { agent };
  return { op: "insert", table: "turns", row: { first_seq, status, run, at, agent_no: by } };
}

/**
 * A line that continues from a head inside the turn would show the turn as open, so its end is written on that line
 * too.
 */
function endOnNewLine(session: SessionRow, turn: TurnRow, from: BranchPoint, at: number): EventDraft {
  const isInside = from.seq >= turn.first_seq;
  const said = { verb: "abort", ...(isInside ? { turn: turn.first_seq } : {}) };
  const begun = branchEvent(session, "branch/begun", from, at, said);
  return isInside ? { ...begun, writes: [...(begun.writes ?? []), endRow(turn, "aborted", at)] } : begun;
}

/**
 * Continues as if the turn had not happened: from before it, or from the current head if that was published since on
 * the same line.
 */
async function findAbortTarget(storage: Storage, session: SessionRow, turn: TurnRow): Promise<BranchPoint> {
  const before = { session: session.id, no: session.no, branch: turn.branch, seq: turn.first_seq - 1 };
  if (session.head === null) return before;
  const current = await findHead(storage, session.head);
  if (current.seq < turn.first_seq) return before;
  const lineage = await currentLineage(storage, session.id);
  const here = lineage.some(
    ({ no, branch, upTo }) => no === session.no && branch === current.branch && current.seq <= upTo,
  );
  return here ? positionOf(current) : before;
}

/** Checks the turn of a new row, and returns its seq. */
export async function checkTurn(
  storage: Storage,
  session: SessionRow,
  turn: RowId | undefined,
): Promise<number | null> {
  if (turn === undefined) return null;
  if (turn.session !== session.id) throw notOfSession("turn", turn, session.id);
  return (await openTurn(storage, session, turn.seq)).first_seq;
}

/** Checks a message of the session itself, and returns its seq. */
export async function checkMessage(
  storage: Storage,
  session: SessionRow,
  message: RowId | undefined,
): Promise<number | null> {
  if (message === undefined) return null;
  const { session: of, seq } = message;
  const [event] = of === session.id ? await storage.query("events.at", { session: of, seq }) : [];
  if (event?.type === "message/added") return seq;
  throw notOfSession("message", message, session.id);
}

function notOfSession(kind: string, row: RowId, session: string): HoldfastError {
  const id = rowId(row.session, row.seq);
  return new HoldfastError("InvalidArgument", `${id} is no ${kind} of the session ${JSON.stringify(session)}`, {
    details: { kind, id, session },
  });
}
