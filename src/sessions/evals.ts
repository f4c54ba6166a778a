// Evals: code an agent wrote and had evaluated, with its results.
import type { Eval, EvalInput, EvalOutcome, EvalStatus, Evals } from "../contracts/lineage.ts";
import type { EvalRow } from "../contracts/lineage-queries.ts";
import type { Payloads, Prepare } from "../contracts/payloads.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { toRef } from "../core/bytes.ts";
import { checkId, checkOptionalId, checkRecord, checkText } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, oneOf, whole } from "../core/decode.ts";
import { existingSession } from "../core/existing.ts";
import { lineOf } from "../core/lineage.ts";
import { optionalRowId, parseRowId, rowId } from "../core/row-id.ts";
import { facts, isOver, noRow } from "./calls.ts";
import { onBranch } from "./guards.ts";
import { type Columns, preparePayloads, writePayloads } from "./payload-columns.ts";
import { checkMessage, checkTurn } from "./turns.ts";

const NAMES = ["code", "result", "final", "error"] as const;
type PayloadName = (typeof NAMES)[number];
const STATUSES: readonly EvalStatus[] = ["running", "done", "failed"];
const INPUT = ["code", "turn", "message"] as const;
const OUTCOME = ["result", "final", "error"] as const;

export function evalOf(row: EvalRow): Eval {
  const { session } = row;
  const found = decodeRow({ kind: "eval", session, seq: row.first_seq }, row, {
    ...{ first_seq: whole, branch: whole, status: oneOf(STATUSES), at: whole },
  });
  const ref = (name: PayloadName) => (row[name] === null ? null : toRef(row[name]));
  return {
    id: rowId(session, found.first_seq),
    session,
    seq: found.first_seq,
    branch: found.branch,
    turn: optionalRowId(session, row.turn_seq),
    message: optionalRowId(session, row.message_seq),
    status: found.status,
    codeRef: ref("code"),
    resultRef: ref("result"),
    finalRef: ref("final"),
    errorRef: ref("error"),
    at: found.at,
    erased: row.erased_seq !== null,
  };
}

export function createEvals(storage: Storage, payloads: Payloads): Evals {
  return {
    async start(session, input) {
      const id = checkId(session, "session");
      const given = checkRecord(input, "eval", INPUT);
      return payloads.preparing((prepare) => write(storage, prepare, id, given, undefined));
    },
    async add(session, input) {
      const id = checkId(session, "session");
      const given = checkRecord(input, "eval", [...INPUT, ...OUTCOME]);
      return payloads.preparing((prepare) => write(storage, prepare, id, given, outcomeOf(given)));
    },
    async finish(id, outcome) {
      const found = parseRowId(id, "eval");
      const ended = outcomeOf(checkRecord(outcome, "outcome", OUTCOME));
      return payloads.preparing(async (prepare) =>
        finish(storage, found, ended, await preparePayloads(prepare, ended.payloads)),
      );
    },
    async get(id) {
      const { session, seq } = parseRowId(id, "eval");
      const [row] = await storage.query("eval.get", session, seq);
      return row === undefined ? null : evalOf(row);
    },
  };
}

type EvalArguments = Readonly<Record<string, unknown>>;

interface CheckedEvalOutcome {
  readonly status: "done" | "failed";
  readonly payloads: EvalOutcome;
}

function outcomeOf(given: EvalArguments): CheckedEvalOutcome {
  const { result, final, error } = given as EvalOutcome;
  return { status: error === undefined ? "done" : "failed", payloads: { result, final, error } as EvalOutcome };
}

async function write(
  storage: Storage,
  prepare: Prepare,
  id: string,
  given: EvalArguments,
  ended: CheckedEvalOutcome | undefined,
): Promise<Eval> {
  const code = checkText(given.code, "eval.code", "payloadBytes");
  const asked: Omit<EvalInput, "code"> = {
    turn: checkOptionalId(given.turn, "eval.turn"),
    message: checkOptionalId(given.message, "eval.message"),
  } as never;
  const fresh: Columns<PayloadName> = await preparePayloads(prepare, { code, ...ended?.payloads });
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const turnSeq = await checkTurn(storage, session, asked.turn);
    const messageSeq = await checkMessage(storage, session, asked.message);
    const at = storage.environment.now();
    const { refs, salts, commit } = writePayloads(NAMES, fresh);
    const status: EvalStatus = ended?.status ?? "running";
    const columns = { turn_seq: turnSeq, message_seq: messageSeq, status, ...refs, salts, at };
    const event: EventDraft = {
      ...{ session: id, type: ended === undefined ? "eval/started" : "eval/added", at },
      data: facts({ status, turn: turnSeq, message: messageSeq }),
      payloads: fresh as never,
      writes: [{ op: "insert", table: "evals", row: { first_seq: { slot: "seq" }, ...columns } }],
    };
    return {
      commit: { sessions: [{ id, mode: "existing", at }], guards: [onBranch(session)], ...commit, events: [event] },
      answer: ({ events }) => {
        const seq = events[0]?.seq ?? 0;
        return evalOf({ session: id, branch: session.branch, first_seq: seq, seq, ...columns, erased_seq: null });
      },
    };
  });
}

async function finish(
  storage: Storage,
  { session: id, seq: first }: { readonly session: string; readonly seq: number },
  ended: CheckedEvalOutcome,
  fresh: Columns<Exclude<PayloadName, "code">>,
): Promise<Eval> {
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const [row] = await storage.query("eval.get", id, first);
    if (row === undefined) throw noRow("eval", rowId(id, first));
    if (row.status !== "running") throw isOver("eval", rowId(id, first), row.status);
    const at = storage.environment.now();
    const branch = await lineOf(storage, session, row);
    const { refs, salts, commit } = writePayloads<PayloadName>(NAMES, fresh, { refs: row, salts: row.salts });
    const columns = { turn_seq: row.turn_seq, message_seq: row.message_seq, status: ended.status, ...refs, salts, at };
    const event: EventDraft = {
      ...{ session: id, type: "eval/added", at },
      data: facts({ eval: first, status: ended.status }),
      payloads: fresh as never,
      writes: [{ op: "insert", table: "evals", row: { first_seq: first, branch, ...columns } }],
    };
    return {
      commit: {
        ...{ sessions: [{ id, mode: "existing", at }], ...commit, events: [event] },
        guards: [{ check: "eval.version", key: [first, id], expect: row.seq }, onBranch(session)],
      },
      answer: ({ events }) =>
        evalOf({
          session: id,
          branch,
          first_seq: first,
          seq: events[0]?.seq ?? 0,
          ...columns,
          erased_seq: null,
        }),
    };
  });
}
