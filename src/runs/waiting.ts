// Steps that wait: sleeps, pauses, waits for a signal or for a person.
import type { Json } from "../contracts/json.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";
import { rowId } from "../core/row-id.ts";
import { ValidationError, validateValue } from "./agents.ts";
import { errorOf, StepFailed } from "./errors.ts";
import type { IterationHost } from "./iteration-host.ts";
import { decodeEntry, payloadOf, type StepRecord } from "./journal.ts";
import { recordRefusal } from "./refusals.ts";
import type { StepIdentity, StepRequest, StepsHost } from "./steps.ts";
import { type CommitExtras, insertDecision } from "./writer.ts";

/** A sleep of up to this long does not release the worker. */
const SHORT_MS = 5000;

/** `releasesWorker`: release the worker even if the sleep is short. */
export async function sleepFor(
  host: IterationHost,
  request: StepRequest,
  ms: number,
  releasesWorker: boolean,
): Promise<void> {
  const { steps, life, signal, storage } = host;
  const { environment } = storage;
  const identity = steps.identify(request);
  const { action, record } = await steps.decide(identity);
  if (action === "reuse") return;
  const now = environment.now();
  const until = record === undefined ? now + ms : Number(record.data.until);
  if (until > now && (releasesWorker || until - now > SHORT_MS)) {
    await waitAt(host, { identity, record, until, signal: null }, async () =>
      environment.now() >= until ? null : undefined,
    );
    return;
  }
  await life.during(() =>
    life.guard(async () => {
      if (until > now) await environment.sleep(until - now, signal);
      if (signal.aborted) throw life.leave();
      await steps.finish(identity, null, { intent: record?.seq });
    }),
  );
}

/** A signal that its validator refuses is consumed, and the step fails. A run that retries this one waits for another signal. */
export async function waitForSignal(
  host: IterationHost,
  request: StepRequest,
  name: string,
  timeoutMs: number | undefined,
  schema: StandardSchema | undefined,
): Promise<unknown> {
  const { steps, storage } = host;
  const { environment } = storage;
  const identity = steps.identify(request);
  const decision = await steps.decide(identity);
  if (decision.action === "reuse") return reuseSignal(host, decision.record, name, schema);
  // A failure of the retried run does not count: the wait begins again.
  const record = decision.action === "intend" ? undefined : decision.record;
  const first = timeoutMs === undefined ? null : environment.now() + timeoutMs;
  const until = record === undefined ? first : ((record.data.until ?? null) as number | null);
  let received: unknown = null;
  const validate = async (payload: Json) => {
    received = await validateValue(schema, payload, "InvalidSignal", `signal ${name}`);
  };
  await waitAt(host, { identity, record, until, signal: name }, async () => {
    const taken = await takeSignal(host, identity, record, name, validate);
    return taken === undefined && until !== null && environment.now() >= until ? null : taken;
  });
  return received;
}

/** null if the time was over and no signal was received. */
async function reuseSignal(
  { steps }: IterationHost,
  record: StepRecord,
  name: string,
  schema: StandardSchema | undefined,
): Promise<unknown> {
  if (record.status === "failed") throw steps.failure(record);
  const payload = await steps.payload(record);
  const isTaken = record.end?.data.signal !== undefined;
  return isTaken ? validateValue(schema, payload, "InvalidSignal", `signal ${name}`) : payload;
}

/** What a wait ends with: a signal of this name, or only the time. */
interface WaitTarget {
  readonly identity: StepIdentity;
  readonly record: StepRecord | undefined;
  readonly until: number | null;
  readonly signal: string | null;
}

/**
 * `look` returns null if the time is over, "taken" if it has received a signal and recorded that, undefined otherwise.
 */
function waitAt(
  { steps, life }: IterationHost,
  { identity, record, until, signal }: WaitTarget,
  look: () => Promise<"taken" | null | undefined>,
): Promise<void> {
  const data = { ...steps.describe(identity, 1), ...(until === null ? {} : { until }) };
  return life.wait<void>({
    ready: async (resume, fail) => {
      let found: "taken" | null | undefined;
      try {
        found = await look();
      } catch (error) {
        // A signal that the validator refuses is consumed too: it wakes the iteration, which gets the failure.
        if (!(error instanceof StepFailed)) throw error;
        fail(error);
        return true;
      }
      if (found === undefined) return false;
      if (found === null) await steps.finish(identity, null, { intent: record?.seq });
      resume();
      return true;
    },
    waits: signal === null ? null : { kind: "signal", name: signal },
    until,
    events: () => (record === undefined ? [steps.draft("step/started", data)] : []),
  });
}

/** Receives the oldest signal of the name and records that; undefined if there is none. */
async function takeSignal(
  host: IterationHost,
  identity: StepIdentity,
  record: StepRecord | undefined,
  name: string,
  validate: (payload: Json) => Promise<void>,
): Promise<"taken" | undefined> {
  const { storage, payloads, writer, steps } = host;
  const { row } = writer;
  const [signal] = await storage.query("signal.next", { run: row.id, name });
  if (signal === undefined) return undefined;
  const payload = await payloadOf(payloads, row.session, decodeEntry(row.session, signal));
  const extras: CommitExtras = {
    guards: [{ check: "signal.taken", key: [signal.seq, row.session], expect: null }],
    writes: [{ op: "run", statement: "signal.take", params: [{ slot: "seq" }, { slot: "session" }, signal.seq] }],
  };
  const data = { signal: signal.seq };
  try {
    await validate(payload);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return recordRefusal(host, identity, errorOf(error), record, { data, extras });
  }
  await steps.finish(identity, payload, { intent: record?.seq, data, extras });
  return "taken";
}

/**
 * Asks a person whether the step may begin, or whether it has happened. The question is asked once, even if the run
 * wakes for other reasons. `reread` reads the step again after the answer. Other branches of the iteration continue
 * meanwhile.
 */
export function askPerson(
  { writer, life }: Pick<StepsHost, "writer" | "life">,
  record: StepRecord,
  reread: () => Promise<StepRecord | undefined>,
): Promise<StepRecord> {
  const { storage } = writer;
  const { id, session } = writer.row;
  const { seq, isAsked } = record;
  return life.wait<StepRecord>({
    ready: async (resume) => {
      if (!isAsked) return false;
      const [decision] = await storage.query("decision.get", { session, step: seq });
      if (decision === undefined || decision.answered_seq === null) return false;
      const now = await reread();
      if (now === undefined) throw new Error("bug: the step of a question is gone");
      resume(now);
      return true;
    },
    waits: { kind: "decision", decision: rowId(session, seq) },
    until: null,
    events: () => {
      if (isAsked) return [];
      const at = storage.environment.now();
      const writes = [insertDecision(id, seq)];
      return [{ session, type: "step/asked", at, run: id, data: { step: seq }, rowPayload: null, writes }];
    },
  });
}
