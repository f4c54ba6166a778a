// Steps that take their time: sleeping, pausing, waiting for a signal or for a person.
import type { Json } from "../contracts/json.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { rowId } from "../core/row-id.ts";
import { insertDecision } from "./approval.ts";
import { errorOf, StepFailed } from "./errors.ts";
import { decodeEntry, payloadOf, type StepRecord } from "./journal.ts";
import { recordRefusal, refusedBefore } from "./refusals.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension, Waiter } from "./suspension.ts";
import { ValidationError, validateValue } from "./validation.ts";
import type { Beside, Writer } from "./writer.ts";

/** A sleep up to this long keeps its worker. */
const SHORT_MS = 5000;

export class Waiting {
  readonly #writer: Writer;
  readonly #steps: Steps;
  readonly #suspension: Suspension;
  readonly #leave: (error?: unknown) => Promise<never>;
  readonly #signal: AbortSignal;

  constructor(
    writer: Writer,
    steps: Steps,
    suspension: Suspension,
    leave: (error?: unknown) => Promise<never>,
    signal: AbortSignal,
  ) {
    this.#writer = writer;
    this.#steps = steps;
    this.#suspension = suspension;
    this.#leave = leave;
    this.#signal = signal;
  }

  async until(asked: Asked, ms: number, letsGo: boolean): Promise<void> {
    const { environment } = this.#writer.storage;
    const identity = this.#steps.identify(asked);
    const found = await this.#steps.recorded(identity);
    if (found?.status === "done") return;
    const now = environment.now();
    const until = found === undefined ? now + ms : Number(found.data.until);
    if (until > now && (letsGo || until - now > SHORT_MS)) {
      await this.#wait(identity, found, until, null, async () => (environment.now() >= until ? null : undefined));
      return;
    }
    await this.#suspension.during(() =>
      this.#guarded(async () => {
        if (until > now) await environment.sleep(until - now, this.#signal);
        if (this.#signal.aborted) return this.#leave();
        await this.#steps.finish(identity, null, found);
      }),
    );
  }

  /** A signal that its validator refuses is taken, and the step fails; a run that takes this one up waits for another. */
  async waitFor(
    asked: Asked,
    name: string,
    timeoutMs: number | undefined,
    schema: StandardSchema | undefined,
  ): Promise<unknown> {
    const identity = this.#steps.identify(asked);
    const known = await this.#steps.recorded(identity);
    const refused = refusedBefore(identity, known, this.#steps);
    if (refused !== null) throw refused;
    const found = known?.status === "failed" ? undefined : known;
    if (found?.status === "done") return this.#recordedSignal(found, name, schema);
    const { environment } = this.#writer.storage;
    const first = timeoutMs === undefined ? null : environment.now() + timeoutMs;
    const until = found === undefined ? first : ((found.data.until ?? null) as number | null);
    let given: unknown = null;
    const validate = async (payload: Json) => {
      given = await validateValue(schema, payload, "InvalidSignal", `signal ${name}`);
    };
    await this.#wait(identity, found, until, name, async () => {
      const taken = await this.#take(identity, found, name, validate);
      return taken === undefined && until !== null && environment.now() >= until ? null : taken;
    });
    return given;
  }

  /** null when the time was over: then no signal was taken. */
  async #recordedSignal(found: StepRecord, name: string, schema: StandardSchema | undefined): Promise<unknown> {
    const payload = await this.#steps.payload(found);
    const isTaken = found.end?.data.signal !== undefined;
    return isTaken ? validateValue(schema, payload, "InvalidSignal", `signal ${name}`) : payload;
  }

  /** `look` gives what it waits for once that is there; what came of a signal is in the journal then. */
  #wait(
    identity: Identity,
    found: StepRecord | undefined,
    until: number | null,
    signal: string | null,
    look: () => Promise<Json | undefined>,
  ): Promise<Json> {
    const said = { ...this.#steps.said(identity, 1), ...(until === null ? {} : { until }) };
    return new Promise((resolve, reject) => {
      this.#suspension.wait({
        ready: async () => {
          let value: Json | undefined;
          try {
            value = await look();
          } catch (error) {
            // A refused signal is taken: it wakes the iteration, which is told.
            if (!(error instanceof StepFailed)) throw error;
            reject(error);
            return true;
          }
          if (value === undefined) return false;
          if (!this.#isTaken.has(identity)) await this.#steps.finish(identity, value, found);
          resolve(value);
          return true;
        },
        ...{ waits: signal === null ? null : { kind: "signal", name: signal }, until },
        events: () => (found === undefined ? [this.#steps.draft("step/started", said)] : []),
      } satisfies Waiter);
    });
  }

  readonly #isTaken = new WeakSet<Identity>();

  /** The oldest signal of the name; undefined when there is none. */
  async #take(
    identity: Identity,
    found: StepRecord | undefined,
    name: string,
    validate: (payload: Json) => Promise<void>,
  ): Promise<Json | undefined> {
    const { storage, row } = this.#writer;
    const [signal] = await storage.query("signal.next", row.id, name);
    if (signal === undefined) return undefined;
    const payload = await payloadOf(this.#steps.payloads, row.session, decodeEntry(row.session, signal));
    const taking: Beside = {
      guards: [{ check: "signal.taken", key: [signal.seq, row.session], expect: null }],
      writes: [{ op: "run", statement: "signal.take", params: [{ slot: "seq" }, { slot: "session" }, signal.seq] }],
    };
    try {
      await validate(payload);
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const refusing = { writer: this.#writer, steps: this.#steps, leave: this.#leave };
      return recordRefusal(refusing, identity, errorOf(error), found, { signal: signal.seq }, taking);
    }
    await this.#steps.finish(identity, payload, found, { signal: signal.seq }, taking);
    this.#isTaken.add(identity);
    return payload;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      return this.#leave(error);
    }
  }
}

/**
 * Whether the step may begin, or has happened, is for a person to say; asked once, however often the run is woken by something else. The
 * iteration goes on with the step as it is then, beside whatever else of it is at work.
 */
export function askPerson(
  storage: Storage,
  suspension: Suspension,
  steps: Steps,
  { id, session }: RunRow,
  { seq, isAsked }: StepRecord,
  reread: () => Promise<StepRecord | undefined>,
): Promise<StepRecord> {
  const asked = (): EventDraft => ({
    ...steps.draft("step/asked", { step: seq }),
    writes: [insertDecision(id, seq)],
  });
  return new Promise((resolve) => {
    suspension.wait({
      ready: async () => {
        if (!isAsked) return false;
        const [decision] = await storage.query("decision.get", session, seq);
        if (decision === undefined || decision.answered_seq === null) return false;
        const now = await reread();
        if (now === undefined) throw new Error("bug: a step that was asked about is gone");
        resolve(now);
        return true;
      },
      ...{ waits: { kind: "decision", decision: rowId(session, seq) }, until: null },
      events: () => (isAsked ? [] : [asked()]),
    });
  });
}
