// A person's decisions about steps. Each question is asked once and answered once, and both can be read from the log
// afterwards.
import type { Answer, Decision } from "../contracts/decisions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Run } from "../contracts/run-record.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { DecisionRow, RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { ANSWER_INPUT } from "../contracts/verbs/runs.ts";
import type { RowId, ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeJson, invalid } from "../core/check.ts";
import type { ListOrder } from "../core/cursor.ts";
import { decodeRow, oneOf, optional, text, whole } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { waitsFor } from "../core/run-waits.ts";
import { buildStepRecords, decodeEntry, eventOf, type JournalEntry, lastSeqOf, payloadOf, stepOf } from "./journal.ts";
import { decisionReason, refuseEnded } from "./rows.ts";
import { changeRun } from "./verbs.ts";
import { payloadExtras, payloadFields } from "./writer.ts";

const VERDICTS = ["retry", "result", "fail"] as const;
const DENIED: Readonly<Record<Decision["reason"], string>> = {
  "in-doubt": "a person decided that it did not happen and must not happen",
  approval: "a person refused it",
};
const PAGE = 100;

export async function answerDecision(
  storage: Storage,
  payloads: Payloads,
  { session, seq }: RowId,
  { verdict, result, by, note, reason }: ValueOf<typeof ANSWER_INPUT>,
): Promise<Run> {
  // An answer is final, so a result that was left out by mistake must not count as null.
  if ((verdict === "result") !== (result !== undefined)) {
    const what =
      verdict === "result" ? "given: the step's result, or null if it returned nothing" : `left out with ${verdict}`;
    throw invalid("answer.result", what, result);
  }
  const decision = rowId(session, seq);
  const bytes = encodeJson(result ?? null, "answer.result", "payloadBytes");
  return payloads.preparing(async (prepare) => {
    const payload =
      verdict === "result"
        ? await prepare(bytes, { media: "application/json", utf8: true, inline: true, owned: true })
        : null;
    const [known] = await storage.query("decision.get", { session, step: seq });
    if (known === undefined) throw noDecision(decision);
    return changeRun(storage, payloads, known.run, async (row, at) => {
      const [asked = known] = await storage.query("decision.get", { session, step: seq });
      refuseEnded(row, "there is no open question");
      if (asked.answered_seq !== null) throw answered(decision);
      if (reason !== undefined && reason !== decisionReason(asked))
        throw otherQuestion(decision, reason, decisionReason(asked));
      const wakes = waitsFor(row, { kind: "decision", decision });
      return {
        type: "run/answered",
        at,
        data: { step: seq, verdict, ...(by === undefined ? {} : { by }), ...(note === undefined ? {} : { note }) },
        changes: wakes ? { status: "running", wake_at: 0, waits: null } : {},
        writes: [
          { op: "run", statement: "decision.answer", params: [{ slot: "seq" }, { slot: "session" }, asked.seq] },
        ],
        extras: {
          ...(payload === null ? {} : payloadExtras([payload])),
          guards: [{ check: "decision.answered", key: [asked.seq, session], expect: null }],
        },
        after: endOf(row, asked, { verdict, note: note ?? null }, payload, at),
      };
    });
  });
}

/** The end of the step, if the answer ends it. */
function endOf(
  { session, id }: RunRow,
  asked: DecisionRow,
  { verdict, note }: Pick<Answer, "verdict" | "note">,
  payload: PreparedPayload | null,
  at: number,
): readonly EventDraft[] {
  const draft = { session, at, run: id };
  const step = asked.step_seq;
  if (payload !== null) return [{ ...draft, type: "step/done", data: { step }, ...payloadFields(["result", payload]) }];
  if (verdict === "retry") return [];
  const said = DENIED[decisionReason(asked)];
  const error = { code: "Denied", message: note === null ? said : `${said}: ${note}` };
  return [{ ...draft, type: "step/failed", data: { step, error, final: true }, ...payloadFields(undefined) }];
}

function otherQuestion(id: string, answered: Decision["reason"], open: Decision["reason"]): HoldfastError {
  return new HoldfastError("Conflict", `the open question of the run ${id} is ${open}, not ${answered}`, {
    details: { kind: "decision", id, reason: open },
    hint: "Read the question again with runs.pending(), then answer it.",
  });
}

function noDecision(id: string): HoldfastError {
  return new HoldfastError("NotFound", `there is no question ${id}`, {
    details: { kind: "decision", id },
    hint: "runs.pending() lists the open questions.",
  });
}

function answered(id: string): HoldfastError {
  return new HoldfastError("Conflict", `the question ${id} was answered already`, {
    details: { kind: "decision", id },
    hint: "runs.decisions() shows the answer and who gave it.",
  });
}

interface DecisionFilter {
  readonly run: string | undefined;
  readonly answered: boolean | undefined;
  readonly order: ListOrder;
  /** The last one of the page before, or decisionsStart(). */
  readonly last: readonly [session: number, seq: number];
  readonly limit: number;
}

/** Reads one page of decisions. */
export async function readDecisions(
  storage: Storage,
  { run, answered, order, last, limit }: DecisionFilter,
): Promise<readonly DecisionRow[]> {
  const which = answered === undefined ? "list" : answered ? "answered" : "open";
  const suffix = order === "oldest" ? ".oldest" : "";
  const [session, seq] = last;
  const page = { session, seq, limit };
  if (run === undefined) return storage.query(`decisions.${which}${suffix}`, page);
  const ofRun = ({ list: "byRun", answered: "answeredByRun", open: "openByRun" } as const)[which];
  return storage.query(`decisions.${ofRun}${suffix}`, { ...page, run });
}

/** The position before the first decision: a number of a session, and a seq. */
export function decisionsStart(order: ListOrder): readonly [number, number] {
  return [order === "oldest" ? 0 : Number.MAX_SAFE_INTEGER, 0];
}

/** null if the run was deleted meanwhile. */
export async function decisionOf(storage: Storage, payloads: Payloads, asked: DecisionRow): Promise<Decision | null> {
  const [row] = await storage.query("run.get", { id: asked.run });
  if (row === undefined) return null;
  // Read by its seq, because the intent may belong to a run that this one retries.
  const intent = await eventOf(storage, row.session, asked.step_seq);
  const [answer, later] = await answerOf(storage, payloads, row, asked);
  const record = buildStepRecords(row.session, [intent, ...later]).get(asked.step_seq);
  if (record === undefined) throw contradictsLog(asked);
  // In doubt: the step was permitted and begun after its intent and before this question.
  if (record.status === "asked" && decisionReason(asked) === "in-doubt") record.status = "started";
  return {
    id: rowId(asked.session, asked.step_seq),
    run: row.id,
    session: row.session,
    reason: decisionReason(asked),
    step: stepOf(row.session, row.id, record),
    input: await payloadOf(payloads, row.session, intent),
    askedAt: (await eventOf(storage, row.session, asked.seq)).at,
    answer,
  };
}

const ANSWER = { step: whole, verdict: oneOf(VERDICTS), by: optional(text), note: optional(text) };

/** The answer, and the step's events after it. */
async function answerOf(
  storage: Storage,
  payloads: Payloads,
  row: RunRow,
  asked: DecisionRow,
): Promise<readonly [Answer | null, readonly JournalEntry[]]> {
  if (asked.answered_seq === null) return [null, []];
  const event = await eventOf(storage, row.session, asked.answered_seq);
  const name = { kind: "event", session: row.session, seq: event.seq };
  const { step, verdict, by, note } = decodeRow(name, event.data, ANSWER);
  if (event.type !== "run/answered" || step !== asked.step_seq) throw contradictsLog(asked);
  const since = await eventsAfter(storage, row, asked.step_seq, event.seq);
  const answer = { verdict, by, note, at: event.at };
  if (verdict !== "result") return [answer, since];
  const end = since.at(-1);
  if (end === undefined || !ENDS.has(end.type)) throw contradictsLog(asked);
  return [{ ...answer, result: await payloadOf(payloads, row.session, end) }, since];
}

const ENDS: ReadonlySet<string> = new Set(["step/done", "step/failed"]);

/** The step's events after the answer, up to its end or the next question. */
async function eventsAfter(
  storage: Storage,
  row: RunRow,
  step: number,
  after: number,
): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (let last = after; ; ) {
    const page = await storage.query("run.journal", {
      session: row.session_no,
      run: row.id,
      after: last,
      upTo: lastSeqOf(row),
      limit: PAGE,
    });
    for (const one of page.map((event) => decodeEntry(row.session, event))) {
      if (one.data.step !== step) continue;
      if (one.type === "step/asked") return found;
      found.push(one);
      if (ENDS.has(one.type)) return found;
    }
    last = page.at(-1)?.seq ?? last;
    if (page.length < PAGE) return found;
  }
}

function contradictsLog({ session, seq }: DecisionRow): HoldfastError {
  return new HoldfastError("StoreCorrupted", `the question ${rowId(session, seq)} does not agree with the log`, {
    details: { kind: "decision", session, seq },
    hint: "Run `npx holdfast check` to list the damage, and restore the store from a backup.",
  });
}
