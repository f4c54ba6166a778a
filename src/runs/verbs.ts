// Changes of a run by callers without its lease: signal, answer, cancel, pause. Each is one transaction, which is
// retried if anything it read has changed.
import { HoldfastError } from "../contracts/errors.ts";
import type { Run } from "../contracts/run-record.ts";
import type { Step } from "../contracts/steps.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { encodeJson } from "../core/check.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { isHeldRun, isOwnerGone } from "../core/run-owner.ts";
import { waitsFor } from "../core/run-waits.ts";
import { admitRun } from "./admit.ts";
import { cancelChange, endEvents, type RunEnding } from "./ending.ts";
import { buildStepRecords, readJournal, stepOf } from "./journal.ts";
import { existingRun, isAtWork, isOver, refuseEnded, runOf } from "./rows.ts";
import { serializePerRun } from "./serialize-per-run.ts";
import { withContent } from "./step-content.ts";
import { atVersion, type CommitExtras, type Move, moveRun, payloadExtras, payloadFields } from "./writer.ts";

export type CallerChange = (Move & Partial<RunEnding> & { readonly extras?: CommitExtras }) | null;

/** Changes the run's row for a caller without its lease. */
export async function changeRun(
  storage: Storage,
  payloads: Payloads,
  id: string,
  make: (row: RunRow, at: number) => CallerChange | Promise<CallerChange>,
): Promise<Run> {
  type Answer = { readonly run: Run; readonly later?: () => Promise<void> };
  const rule = async (): Promise<Decision<Answer> | FinalAnswer<Answer>> => {
    const row = await existingRun(storage, id);
    const at = storage.environment.now();
    const move = await make(row, at);
    if (move === null) return { answer: { run: runOf(row) } };
    const change = moveRun(row, move);
    const { before = [], after = [], afterwards } = move;
    const { guards = [], sessions = [], wakes = false, ...rest } = move.extras ?? {};
    return {
      commit: {
        sessions: [{ id: row.session, mode: "existing", at }, ...sessions],
        ...rest,
        wakes: wakes || change.row(0).wake_at === 0,
        guards: [atVersion(row), ...guards],
        events: [...before, change.event, ...after],
      },
      answer: ({ events, found = {} }) => ({
        run: runOf(change.row(events[before.length]?.seq ?? 0)),
        later: async () => afterwards?.(payloads, found),
      }),
    };
  };
  const { run, later } = await serializePerRun(storage, id, () => decide(storage, rule));
  await later?.();
  return run;
}

export async function signalRun(
  storage: Storage,
  payloads: Payloads,
  id: string,
  signal: string,
  payload: unknown,
): Promise<Run> {
  const bytes = encodeJson(payload ?? null, "payload", "payloadBytes");
  return payloads.preparing(async (prepare) => {
    const kept = await prepare(bytes, { media: "application/json", utf8: true, inline: true, owned: true });
    return changeRun(storage, payloads, id, (row, at) => {
      refuseEnded(row, "it accepts no signals any more");
      const wakes = waitsFor(row, { kind: "signal", name: signal });
      return {
        type: "run/signalled",
        at,
        data: { name: signal },
        payload: ["payload", kept],
        changes: wakes ? { status: "running", wake_at: 0, waits: null } : {},
        writes: [{ op: "insert", table: "signals", row: { run: id, name: signal } }],
        extras: payloadExtras([kept]),
      };
    });
  });
}

/**
 * If a worker has the run, it notices with its next heartbeat. Otherwise, also if the worker's process is gone, the run
 * ends now.
 */
export async function cancelRun(storage: Storage, payloads: Payloads, id: string): Promise<Run> {
  return changeRun(storage, payloads, id, async (row, at) => {
    refuseEnded(row, "there is nothing to cancel");
    const isGone = isOwnerGone(storage.environment, row);
    if (isAtWork(row) && !isGone) {
      return row.cancel === 1 ? null : { type: "run/cancelling", at, changes: { cancel: 1 } };
    }
    const { changes, ...end } = cancelChange(at);
    // Fences off the old owner, in case it is alive after all.
    const fenced = isGone ? { ...changes, epoch: row.epoch + 1 } : changes;
    return { ...end, changes: fenced, ...(await endEvents(storage, row, at)) };
  });
}

/** Ends a cancelled run when its worker releases it. */
export async function endCancelled(storage: Storage, payloads: Payloads, { id, epoch }: RunRow): Promise<void> {
  await changeRun(storage, payloads, id, async (row, at) => {
    if (row.epoch !== epoch || isOver(row)) return null;
    const end = cancelChange(at);
    const changes = { ...end.changes, epoch: epoch + 1 };
    return { ...end, changes, ...(await endEvents(storage, row, at)) };
  });
}

const MINUTE = 60_000;

/** If a worker has the run, the pause begins when the iteration ends. */
export async function pauseRun(storage: Storage, payloads: Payloads, id: string, minutes: number): Promise<Run> {
  const length = minutes * MINUTE;
  return changeRun(storage, payloads, id, (row, at) => {
    refuseEnded(row, "there is nothing to pause");
    if (row.cancel === 1) throw cancellingError(row);
    if (isAtWork(row)) return { type: "run/pausing", at, changes: { pause_at: at + length } };
    const changes = { status: "paused", owner: null, wake_at: at + length, waits: null };
    return { type: "run/paused", at, data: { asked: true }, changes };
  });
}

export async function unpauseRun(storage: Storage, payloads: Payloads, id: string): Promise<Run> {
  const known = await existingRun(storage, id);
  const wasHeld = isHeldRun(known) && !isOver(known);
  if (wasHeld) await admitRun(storage, known);
  return changeRun(storage, payloads, id, async (row, at) => {
    if (row.owner !== null && row.pause_at !== null) return { type: "run/unpaused", at, changes: { pause_at: null } };
    if (row.status === "paused") return unpauseChange(storage, row, at);
    // What the run waits for may be missing in this store, so it checks again.
    if (wasHeld && row.status === "waiting") {
      return { type: "run/unpaused", at, changes: { status: "running", wake_at: 0, waits: null } };
    }
    if (wasHeld) return null;
    throw new HoldfastError(
      "InvalidTransition",
      `the run ${JSON.stringify(row.id)} is not paused: it is ${row.status}`,
      { details: { kind: "run", id: row.id, status: row.status } },
    );
  });
}

/**
 * Ends the present sleep too, because the run would sleep again at once otherwise. If a caller paused the run, only
 * that pause ends: earlier sleeps and waits keep their own end.
 */
async function unpauseChange(storage: Storage, row: RunRow, at: number): Promise<NonNullable<CallerChange>> {
  const journal = await readJournal(storage, row, row.checkpoint_seq ?? row.first_seq);
  const isAsked = journal.findLast(({ type }) => type === "run/paused")?.data.asked === true;
  const asleep = [...buildStepRecords(row.session, journal).values()].filter(
    ({ kind, status }) => kind === "sleep" && status === "started" && !isAsked,
  );
  const draft = { session: row.session, at, run: row.id, type: "step/done", ...payloadFields(undefined) };
  return {
    type: "run/unpaused",
    at,
    changes: { status: "running", wake_at: 0 },
    after: asleep.map(({ seq }): EventDraft => ({ ...draft, data: { step: seq } })),
  };
}

export async function steps(
  storage: Storage,
  payloads: Payloads,
  id: string,
  { iteration, io }: { readonly iteration?: number; readonly io: boolean },
): Promise<readonly Step[]> {
  const row = await existingRun(storage, id);
  const journal = await readJournal(storage, row, row.first_seq);
  const records = [...buildStepRecords(row.session, journal).values()].filter(
    (one) => iteration === undefined || one.iteration === iteration,
  );
  if (io) return withContent(payloads, row, journal, records);
  return records.map((one) => stepOf(row.session, row.id, one));
}

function cancellingError({ id, status }: RunRow): HoldfastError {
  return new HoldfastError("InvalidTransition", `the run ${JSON.stringify(id)} is being cancelled`, {
    details: { kind: "run", id, status },
    hint: "It ends with the next heartbeat of its worker.",
  });
}
