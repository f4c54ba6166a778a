// Evals: code that an agent wrote and ran, with its results.
import type { Eval, Evals } from "../contracts/lineage.ts";
import type { EventDraft, Guard } from "../contracts/storage/commit.ts";
import type { EvalRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { EVAL_VERBS } from "../contracts/verbs/lineage.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { toRef } from "../core/bytes.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, oneOf, whole } from "../core/decode.ts";
import { lineOf } from "../core/lineage.ts";
import { optionalRowId, rowId } from "../core/row-id.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { type Columns, preparePayloads, writePayloads } from "./payload-columns.ts";
import { checkMessage, checkTurn } from "./turns.ts";
import { addFirstVersion, addNextVersion, facts, requireUnfinished } from "./versioned-rows.ts";

const NAMES = ["code", "result", "final", "error"] as const;
type PayloadName = (typeof NAMES)[number];
const STATUSES: readonly Eval["status"][] = ["running", "done", "failed"];

export function evalOf(row: EvalRow): Eval {
  const { session } = row;
  const found = decodeRow({ kind: "eval", session, seq: row.first_seq }, row, {
    first_seq: whole,
    branch: whole,
    status: oneOf(STATUSES),
    at: whole,
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

export function createEvals(storage: Storage, payloads: Payloads, lookup: SessionLookup): Evals {
  return bindVerbs(EVAL_VERBS, lookup, {
    start: (id, input) => payloads.preparing((prepare) => write(storage, prepare, id, input, undefined)),
    add: (id, { result, final, error, ...input }) => {
      const ended = outcomeOf({ result, final, error });
      return payloads.preparing((prepare) => write(storage, prepare, id, input, ended));
    },
    finish: (id, { result, final, error }) => {
      const ended = outcomeOf({ result, final, error });
      return payloads.preparing(async (prepare) =>
        finish(storage, id, ended, await preparePayloads(prepare, ended.payloads)),
      );
    },
    async get({ session, seq }) {
      const [row] = await storage.query("eval.get", { session, first: seq });
      return row === undefined ? null : evalOf(row);
    },
  });
}

type NewEval = ValuesOf<typeof EVAL_VERBS.start>[1];

interface CheckedEvalOutcome {
  readonly status: "done" | "failed";
  readonly payloads: Parameters<Evals["finish"]>[1];
}

function outcomeOf(payloads: { readonly [K in keyof Parameters<Evals["finish"]>[1]]: unknown }): CheckedEvalOutcome {
  return {
    status: payloads.error === undefined ? "done" : "failed",
    payloads: payloads as Parameters<Evals["finish"]>[1],
  };
}

async function write(
  storage: Storage,
  prepare: Prepare,
  id: string,
  { code, turn, message }: NewEval,
  ended: CheckedEvalOutcome | undefined,
): Promise<Eval> {
  const fresh: Columns<PayloadName> = await preparePayloads(prepare, { code, ...ended?.payloads });
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const turnSeq = await checkTurn(storage, session, turn);
    const messageSeq = await checkMessage(storage, session, message);
    const at = storage.environment.now();
    const { refs, salts, commit } = writePayloads(NAMES, fresh);
    const status: Eval["status"] = ended?.status ?? "running";
    const columns = { turn_seq: turnSeq, message_seq: messageSeq, status, ...refs, salts, at };
    const event: EventDraft = {
      session: id,
      type: ended === undefined ? "eval/started" : "eval/added",
      at,
      data: facts({ status, turn: turnSeq, message: messageSeq }),
      payloads: fresh as never,
      writes: [{ op: "insert", table: "evals", row: { first_seq: { slot: "seq" }, ...columns } }],
    };
    return addFirstVersion(session, { event, columns, commit, at }, evalOf);
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
    const [newest] = await storage.query("eval.get", { session: id, first });
    const row = requireUnfinished(newest, "eval", rowId(id, first), "running");
    const at = storage.environment.now();
    const branch = await lineOf(storage, session, row);
    const { refs, salts, commit } = writePayloads<PayloadName>(NAMES, fresh, { refs: row, salts: row.salts });
    const columns = { turn_seq: row.turn_seq, message_seq: row.message_seq, status: ended.status, ...refs, salts, at };
    const event: EventDraft = {
      session: id,
      type: "eval/added",
      at,
      data: facts({ eval: first, status: ended.status }),
      payloads: fresh as never,
      writes: [{ op: "insert", table: "evals", row: { first_seq: first, branch, ...columns } }],
    };
    const guard: Guard = { check: "eval.version", key: [first, id], expect: row.seq };
    return addNextVersion(session, { branch, first, guard }, { event, columns, commit, at }, evalOf);
  });
}
