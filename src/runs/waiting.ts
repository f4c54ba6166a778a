// Steps that take their time: sleeping, pausing, waiting for a signal or for a person. A run that waits lets go of its
// worker; what wakes it was committed before it went to sleep, or changes its version, so that no wake-up is lost.
import type { Json } from "../contracts/json.ts";
import { rowId } from "../core/row-id.ts";
import type { Record } from "./journal.ts";
import { entryOf, payloadOf } from "./journal.ts";
import { encodeWaits } from "./rows.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Change, Writer } from "./writer.ts";

/** A sleep up to this long keeps its worker. */
const SHORT_MS = 5000;

export class Waiting {
  readonly #writer: Writer;
  readonly #steps: Steps;
  readonly #leave: (error?: unknown) => Promise<never>;
  readonly #signal: AbortSignal;

  constructor(writer: Writer, steps: Steps, leave: (error?: unknown) => Promise<never>, signal: AbortSignal) {
    this.#writer = writer;
    this.#steps = steps;
    this.#leave = leave;
    this.#signal = signal;
  }

  async until(asked: Asked, ms: number, letsGo: boolean): Promise<void> {
    const { environment } = this.#writer.storage;
    const identity = this.#steps.identify(asked);
    const found = await this.#steps.recorded(identity);
    if (found?.status === "done") return;
    return this.#guarded(async () => {
      const now = environment.now();
      const until = found === undefined ? now + ms : Number(found.data.until);
      if (until > now && (letsGo || until - now > SHORT_MS)) {
        await this.#writer.move(() => this.#sleeps(identity, found, until, "paused", null));
        return this.#leave();
      }
      if (until > now) {
        await environment.sleep(until - now, this.#signal);
        if (this.#signal.aborted) return this.#leave();
      }
      await this.#steps.finish(identity, null, found);
    });
  }

  async waitFor(asked: Asked, name: string, timeoutMs: number | undefined): Promise<Json> {
    const identity = this.#steps.identify(asked);
    const found = await this.#steps.recorded(identity);
    if (found?.status === "done") return this.#steps.payload(found);
    const { storage } = this.#writer;
    return this.#guarded(async () => {
      const first = storage.environment.now();
      const until =
        found === undefined
          ? timeoutMs === undefined
            ? null
            : first + timeoutMs
          : ((found.data.until ?? null) as number | null);
      const take = () => this.#take(identity, found, name);
      let taken = await take();
      if (taken === undefined && until !== null && storage.environment.now() >= until) {
        await this.#steps.finish(identity, null, found);
        taken = null;
      }
      if (taken !== undefined) return taken;
      const moved = await this.#writer.move(async () => {
        taken = await take();
        return taken === undefined ? this.#sleeps(identity, found, until, "waiting", name) : null;
      });
      return moved === null ? (taken ?? null) : this.#leave();
    });
  }

  /** The oldest signal of the name; undefined when there is none. */
  async #take(identity: Identity, found: Record | undefined, name: string): Promise<Json | undefined> {
    const { storage, row } = this.#writer;
    const [signal] = await storage.query("signal.next", row.id, name);
    if (signal === undefined) return undefined;
    const payload = await payloadOf(this.#steps.payloads, row.session, entryOf(row.session, signal));
    await this.#steps.finish(identity, payload, found, {
      guards: [{ check: "signal.taken", key: [signal.seq, row.session], expect: null }],
      writes: [{ op: "run", statement: "signal.take", params: [{ slot: "seq" }, { slot: "session" }, signal.seq] }],
    });
    return payload;
  }

  #sleeps(
    identity: Identity,
    found: Record | undefined,
    until: number | null,
    status: "paused" | "waiting",
    signal: string | null,
  ): Change {
    const intent = this.#steps.draft("step/started", {
      ...this.#steps.said(identity, 1),
      ...(until === null ? {} : { until }),
    });
    const waits = signal === null ? null : encodeWaits({ kind: "signal", name: signal, until });
    return {
      ...{ type: `run/${status}`, at: this.#writer.storage.environment.now() },
      before: found === undefined ? [intent] : [],
      changes: { status, owner: null, wake_at: until, waits },
    };
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      return this.#leave(error);
    }
  }
}

/** Whether the step happened is for a person to say; the run waits for that. */
export async function askPerson(writer: Writer, { seq }: Record): Promise<void> {
  await writer.move((row) => ({
    ...{ type: "run/asked", at: writer.storage.environment.now(), data: { step: seq } },
    changes: {
      ...{ status: "waiting", owner: null, wake_at: null },
      waits: encodeWaits({ kind: "decision", decision: rowId(row.session, seq) }),
    },
    writes: [{ op: "insert", table: "decisions", row: { run: row.id, step_seq: seq } }],
  }));
}
