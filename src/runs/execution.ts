// Working on a run: iteration after iteration under its lease, each one ended by a checkpoint, until the run ends or has to
// wait. Whoever takes the lease goes on from the last checkpoint in the same way as who begins.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Payloads, PreparedPayload } from "../contracts/payloads.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, StopReason, Verdict } from "../contracts/runs.ts";
import type { EventDraft, HeadDraft, Storage } from "../contracts/storage.ts";
import { encodeText } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { existingSession } from "../core/existing.ts";
import { headEvent, inheritedBy, type Prepared } from "../sessions/publish.ts";
import { spawnRun, wakeParent } from "./children.ts";
import { checkpointBytes, loadEventPayload, loadState } from "./checkpoints.ts";
import { errorOf, leaseLost } from "./errors.ts";
import { createIteration } from "./iteration.ts";
import { type Record, readJournal, recordsOf } from "./journal.ts";
import { appendMessage } from "./messages.ts";
import { askModel, Spending } from "./models.ts";
import { carriedBlobs } from "./moves.ts";
import { existingRun } from "./rows.ts";
import { Steps } from "./steps.ts";
import { askPerson, Waiting } from "./waiting.ts";
import { type Change, Writer } from "./writer.ts";

export interface Host {
  readonly storage: Storage;
  readonly payloads: Payloads;
  /** How long a lease holds without a sign of life, as claimers count it. */
  readonly leaseMs: number;
  readonly token: (run: string, path: string, text: string) => void;
}

const NOTHING: Prepared = {
  ...{ final: null, vars: null, finalSummary: null, summary: null, fingerprint: null, cacheId: null },
  expect: undefined,
};

/** Why work on it ends here. */
type End = { readonly left: true } | Verdict;

export class Execution {
  readonly #host: Host;
  readonly #agent: AgentDefinition;
  readonly #writer: Writer;
  readonly #abort = new AbortController();
  #session: SessionRow | null = null;
  #inherits: HeadDraft["inherits"] = null;
  /** Set when something else than the iteration ends the work. */
  #leave: ((error?: unknown) => void) | null = null;
  #input: Json = null;
  #spending = new Spending();

  /** `row` as the lease was taken. */
  constructor(host: Host, agent: AgentDefinition, row: RunRow) {
    this.#host = host;
    this.#agent = agent;
    this.#writer = new Writer(host.storage, row);
  }

  get row(): RunRow {
    return this.#writer.row;
  }

  /** Stops at the next step: somebody else goes on. */
  stop(): void {
    this.#abort.abort();
    this.#leave?.();
  }

  async work(): Promise<void> {
    const { storage, payloads } = this.#host;
    const beating = this.#beat();
    try {
      this.#session = await existingSession(storage, this.row.session);
      this.#inherits = await inheritedBy(storage, this.#session);
      this.#input = await loadEventPayload(storage, payloads, this.row.session, this.row.first_seq);
      for (;;) {
        const stop = this.#reached();
        const end: End = stop === null ? await this.#iterate() : { verdict: "fail", error: limitReached(stop) };
        if ("left" in end) {
          if (this.#abort.signal.aborted || (await this.#writer.reload()).cancel === 0) return;
          continue;
        }
        if (end.verdict !== "next") return await this.#conclude(end, stop);
        const failed = await this.#checkpoint(end.state);
        if (failed !== null) return await this.#conclude(failed, null);
      }
    } finally {
      this.#abort.abort();
      await beating;
    }
  }

  /** Between two iterations: what ends the run by itself. */
  #reached(): StopReason | null {
    const { limits, iteration, tokens, cost_usd, created_at, cancel } = this.row;
    if (cancel === 1) return "cancelled";
    const most = JSON.parse(Buffer.from(limits).toString("utf8")) as { readonly [name: string]: number | undefined };
    if (most.iterations !== undefined && iteration >= most.iterations) return "limit:iterations";
    if (most.tokens !== undefined && tokens >= most.tokens) return "limit:tokens";
    if (most.costUsd !== undefined && (cost_usd ?? 0) >= most.costUsd) return "limit:costUsd";
    if (most.wallMs !== undefined && this.#host.storage.environment.now() - created_at >= most.wallMs)
      return "limit:wallMs";
    return null;
  }

  async #iterate(): Promise<End> {
    const { storage, payloads } = this.#host;
    const { row } = this;
    const iteration = row.iteration + 1;
    const journal = await readJournal(storage, row, row.checkpoint_seq ?? row.first_seq);
    const records = [...recordsOf(row.session, journal).values()].filter((one) => one.iteration === iteration);
    const state = await loadState(storage, payloads, row, () => this.#first());
    const left = Promise.withResolvers<End>();
    this.#leave = (error) => (error === undefined ? left.resolve({ left: true }) : left.reject(error));
    const leave = (error?: unknown): Promise<never> => {
      this.#leave?.(error);
      return new Promise(() => {});
    };
    const { signal } = this.#abort;
    const writer = this.#writer;
    const outside = { payloads, signal, leave, ask: (record: Record) => askPerson(writer, record).then(() => leave()) };
    const steps = new Steps(writer, outside, iteration, records);
    const spending = new Spending();
    this.#spending = spending;
    const waiting = new Waiting(writer, steps, leave, signal);
    const context = createIteration({
      ...{ run: row.id, session: row.session, iteration, input: this.#input, signal, agent: this.#agent, steps },
      now: () => storage.environment.now(),
      message: (asked, message) => appendMessage(writer, payloads, steps, leave, asked, message),
      model: (asked, name, model) => askModel({ row, steps, spending, token: this.#host.token }, asked, name, model),
      until: (asked, ms, letsGo) => waiting.until(asked, ms, letsGo),
      waitFor: (asked, name, timeoutMs) => waiting.waitFor(asked, name, timeoutMs),
      spawn: (asked, agent, options) =>
        spawnRun({ host: this.#host, writer, steps, leave, signal, work: (of, own) => new Execution(this.#host, of, own) }, asked, agent, options),
    });
    const running = (async () => checkVerdict(await this.#agent.iterate(context, state)))().catch(
      (error: unknown): Verdict => ({ verdict: "fail", error }),
    );
    return Promise.race([left.promise, running]);
  }

  #first(): Json {
    const made = this.#agent.initial === undefined ? this.#input : this.#agent.initial(this.#input);
    return JSON.parse(Buffer.from(encodeJson(made, "state", "payloadBytes")).toString("utf8")) as Json;
  }

  /** The verdict that the run failed when its state cannot be kept. */
  async #checkpoint(state: unknown): Promise<Extract<Verdict, { verdict: "fail" }> | null> {
    let bytes: Uint8Array;
    try {
      bytes = checkpointBytes(state, this.row);
    } catch (error) {
      return { verdict: "fail", error };
    }
    await this.#carrying(bytes, (payload) =>
      this.#writer.move((row) => {
        const iteration = row.iteration + 1;
        const at = this.#host.storage.environment.now();
        return {
          ...{ type: "iteration/complete", at, checkpoint: true, payload: ["state", payload] },
          changes: { iteration, ...this.#spending.after(row) },
          writes: [
            {
              ...{ op: "insert", table: "checkpoints" },
              row: { agent_no: { agent: row.agent }, run: row.id, iteration },
            },
          ],
          beside: { ...carriedBlobs([payload]), agents: [{ id: row.agent, at }] },
          after: this.#head(at, NOTHING),
        } satisfies Change;
      }),
    );
    this.#inherits = null;
    this.#spending = new Spending();
    return null;
  }

  /** The one terminal event. */
  async #conclude(end: Exclude<Verdict, { verdict: "next" }>, stop: StopReason | null): Promise<void> {
    const { storage, payloads } = this.#host;
    let last = end;
    let bytes: Uint8Array;
    try {
      bytes = encodeJson((end.verdict === "done" ? end.value : undefined) ?? null, "value", "payloadBytes");
    } catch (error) {
      last = { verdict: "fail", error };
      bytes = encodeText("null");
    }
    const over = { owner: null, wake_at: null, waits: null };
    if (last.verdict === "fail") {
      const error = errorOf(last.error);
      const status = stop === "cancelled" ? "cancelled" : "failed";
      await this.#writer.move(async (row) => {
        const at = storage.environment.now();
        const changes = { ...this.#spending.after(row), ...over, status, stop: stop ?? "failed", ended_at: at };
        return { type: `run/${status}`, at, changes, data: { error: { ...error } }, ...(await wakeParent(storage, row)) };
      });
      return;
    }
    await payloads.preparing(async (prepare) => {
      const kept = { media: "application/json", utf8: true, owned: true };
      const result = await prepare(bytes, { ...kept, inRow: true });
      const final = await prepare(bytes, kept);
      await this.#writer.move(async (row) => {
        const at = storage.environment.now();
        const woken = await wakeParent(storage, row);
        return {
          ...{ type: "run/completed", at, payload: ["result", result] },
          changes: { ...this.#spending.after(row), ...over, status: "completed", stop: "done", ended_at: at },
          beside: { ...carriedBlobs([result, final]), ...woken.beside },
          after: [...this.#head(at, { ...NOTHING, final }), ...(woken.after ?? [])],
        };
      });
    });
  }

  #head(at: number, prepared: Prepared): readonly EventDraft[] {
    if (this.#session === null) throw new Error("bug: the session was not read");
    return [headEvent({ session: this.#session, prepared, status: "complete", at }, this.#inherits)];
  }

  #carrying<T>(bytes: Uint8Array, then: (payload: PreparedPayload) => Promise<T>): Promise<T> {
    const { payloads } = this.#host;
    const short = payloads.short(bytes);
    if (short !== null) return then(short);
    const options = { media: "application/json", utf8: true, inRow: true, owned: true };
    return payloads.preparing(async (prepare) => then(await prepare(bytes, options)));
  }

  /** Signs of life, until the work ends; what the answer says is obeyed at once. */
  async #beat(): Promise<void> {
    const { storage, leaseMs } = this.#host;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await storage.environment.sleep(leaseMs / 3, signal);
      if (signal.aborted) return;
      try {
        const answer = await heartbeat(storage, this.row);
        if (answer === "lost") this.#leave?.(leaseLost(this.row));
        if (answer === "cancel-requested") this.#leave?.();
      } catch (error) {
        storage.environment.log("warn", "runs.beat", { run: this.row.id, error: String(error) });
      }
    }
  }
}

export type Heartbeat = "ok" | "cancel-requested" | "lost";

export async function heartbeat(storage: Storage, { id, epoch }: RunRow): Promise<Heartbeat> {
  const now = await existingRun(storage, id);
  if (now.epoch !== epoch || now.ended_at !== null) return "lost";
  const outcome = await storage.commit({
    guards: [
      { check: "run.epoch", key: [id], expect: epoch },
      { check: "run.beat", key: [id], expect: now.beat },
    ],
    writes: [{ op: "run", statement: "run.beat", params: [id, epoch] }],
  });
  if (!outcome.ok) return "lost";
  return now.cancel === 1 ? "cancel-requested" : "ok";
}

function limitReached(stop: StopReason): HoldfastError {
  if (stop === "cancelled") return new HoldfastError("Aborted", "the run was cancelled");
  const limit = stop.slice("limit:".length);
  return new HoldfastError("LimitExceeded", `the run reached its limit of ${limit}`, { details: { limit } });
}

function checkVerdict(given: unknown): Verdict {
  const verdict = (given as Verdict | undefined)?.verdict;
  if (verdict === "next" || verdict === "done" || verdict === "fail") return given as Verdict;
  throw new HoldfastError("InvalidArgument", "iterate() must return next(state), done(value) or fail(error)");
}
