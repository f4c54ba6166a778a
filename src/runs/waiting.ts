// Steps that take their time: sleeping, pausing, waiting for a signal or for a person.
import type { Json } from "../contracts/json.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { rowId } from "../core/row-id.ts";
import { insertDecision } from "./approval.ts";
import { entryOf, payloadOf, type Record } from "./journal.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension, Waiter } from "./suspension.ts";
import type { Writer } from "./writer.ts";

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

  async waitFor(asked: Asked, name: string, timeoutMs: number | undefined): Promise<Json> {
    const identity = this.#steps.identify(asked);
    const found = await this.#steps.recorded(identity);
    if (found?.status === "done") return this.#steps.payload(found);
    const { environment } = this.#writer.storage;
    const first = timeoutMs === undefined ? null : environment.now() + timeoutMs;
    const until = found === undefined ? first : ((found.data.until ?? null) as number | null);
    return this.#wait(identity, found, until, name, async () => {
      const taken = await this.#take(identity, found, name);
      return taken === undefined && until !== null && environment.now() >= until ? null : taken;
    });
  }

  /** `look` gives what it waits for once that is there; what came of a signal is in the journal then. */
  #wait(
    identity: Identity,
    found: Record | undefined,
    until: number | null,
    signal: string | null,
    look: () => Promise<Json | undefined>,
  ): Promise<Json> {
    const said = { ...this.#steps.said(identity, 1), ...(until === null ? {} : { until }) };
    return new Promise((resolve) => {
      this.#suspension.wait({
        ready: async () => {
          const value = await look();
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
  async #take(identity: Identity, found: Record | undefined, name: string): Promise<Json | undefined> {
    const { storage, row } = this.#writer;
    const [signal] = await storage.query("signal.next", row.id, name);
    if (signal === undefined) return undefined;
    const payload = await payloadOf(this.#steps.payloads, row.session, entryOf(row.session, signal));
    await this.#steps.finish(
      identity,
      payload,
      found,
      { signal: signal.seq },
      {
        guards: [{ check: "signal.taken", key: [signal.seq, row.session], expect: null }],
        writes: [{ op: "run", statement: "signal.take", params: [{ slot: "seq" }, { slot: "session" }, signal.seq] }],
      },
    );
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
  { seq, isAsked }: Record,
  reread: () => Promise<Record | undefined>,
): Promise<Record> {
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
