// Working on a run: iteration after iteration under its lease, each one ended by a checkpoint, until the run ends or has to
// wait. Whoever takes the lease goes on from the last checkpoint in the same way as who begins.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Payloads, PreparedPayload } from "../contracts/payloads.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { AgentDefinition, Iteration, RunLimits, StopReason, Verdict } from "../contracts/runs.ts";
import type { EventDraft, HeadDraft, Storage } from "../contracts/storage.ts";
import { linked } from "../core/abort.ts";
import { decodeText, encodeText } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { type DirectRead, watchDirectReads } from "../core/direct-reads.ts";
import { existingSession } from "../core/existing.ts";
import { headEvent, inheritedBy, type Plan, type Prepared } from "../sessions/publish.ts";
import { eventOf, firstState, keptState, loadState } from "./checkpoints.ts";
import { spawnRun } from "./children.ts";
import { compactSession } from "./compaction.ts";
import { JSON_IN_ROW } from "./create.ts";
import { type Ended, endingWith } from "./ending.ts";
import { errorOf, isMistake, leaseLost, stepBehind } from "./errors.ts";
import { createIteration } from "./iteration.ts";
import { payloadOf, type StepRecord } from "./journal.ts";
import { beatMs, heartbeat, releaseRun } from "./lease.ts";
import { appendMessage } from "./messages.ts";
import { askModel, Spending } from "./models.ts";
import { carriedBlobs, carryJson, pausing } from "./moves.ts";
import { RecordedReads } from "./reads.ts";
import { refuseInvalid } from "./refusals.ts";
import { randomSeed, readStepRecords, retriedRun } from "./retry-chain.ts";
import { type Outside, Steps } from "./steps.ts";
import { Suspension } from "./suspension.ts";
import type { Tokens } from "./tokens.ts";
import { validateInput, validateVerdict } from "./validation.ts";
import { checkVerdict, limitReached } from "./verdicts.ts";
import { askPerson, Waiting } from "./waiting.ts";
import { type Change, Writer } from "./writer.ts";

export interface Host {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly tokens: Tokens;
}

export type ExecutionOptions = Pick<ResumeOptions, "erased">;

const NOTHING: Prepared = {
  ...{ final: null, vars: null, finalSummary: null, summary: null, fingerprint: null, cacheId: null },
  expect: undefined,
};

/** Of one iteration; left: something else ended the work on it, and nothing it asks for happens any more. */
interface Life {
  isLeft: boolean;
}

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
  /** As it was given, and as the agent's validator gives it. */
  #given: Json = null;
  #input: Json = null;
  #retried: JsonObject | null = null;
  #chance = "";
  #most: RunLimits | null = null;
  #isDraining = false;
  readonly #children = new Set<Promise<void>>();
  #poke: AbortController | null = null;
  #spending = new Spending();
  /** The state that the last checkpoint was made of, as it would be read: nobody can have done anything since. */
  #next: { readonly checkpoint: number | null; readonly state: Json } | null = null;
  readonly #options: ExecutionOptions;

  /** `row` as the lease was taken. */
  constructor(host: Host, agent: AgentDefinition, row: RunRow, options: ExecutionOptions = {}) {
    this.#options = options;
    this.#host = host;
    this.#agent = agent;
    this.#writer = new Writer(host.storage, row);
  }

  get row(): RunRow {
    return this.#writer.row;
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Somebody may have asked for something: looked at now. */
  poke(): void {
    this.#poke?.abort();
  }

  /** Stops at once: somebody else goes on. */
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
      const created = await eventOf(storage, this.row.session, this.row.first_seq);
      this.#retried = retriedRun(created);
      this.#chance = randomSeed(this.row.id, created);
      this.#given = await payloadOf(payloads, this.row.session, created);
      for (;;) {
        const stop = this.#reached();
        const end: End = stop === null ? await this.#iterate() : { verdict: "fail", error: limitReached(stop) };
        if ("left" in end) {
          if (this.#abort.signal.aborted || this.row.owner === null) return;
          await this.#writer.reload();
          if (this.#reached() === null) return;
          continue;
        }
        if (end.verdict !== "next") return await this.#conclude(end, stop);
        const failed = await this.#checkpoint(end.state);
        if (failed !== null) return await this.#conclude(failed, null);
        if (this.row.owner === null || this.#isDraining) return;
      }
    } finally {
      this.#abort.abort();
      await Promise.allSettled(this.#children);
      await beating;
    }
  }

  /** Works on a child; it is let go of before its parent is. */
  #below(child: Execution): Promise<void> {
    const { signal } = this.#abort;
    const stop = () => child.stop();
    signal.addEventListener("abort", stop, { once: true });
    const working = child
      .work()
      .finally(() => releaseRun(this.#host, child.row).catch((error: unknown) => this.#warn("runs.release", error)))
      .finally(() => {
        signal.removeEventListener("abort", stop);
        this.#children.delete(working);
      });
    this.#children.add(working);
    if (signal.aborted) stop();
    return working;
  }

  #warn(what: string, error: unknown): void {
    this.#host.storage.environment.log("warn", what, { run: this.row.id, error: String(error) });
  }

  /** Between two iterations, and before a model is asked: what ends the run by itself. */
  #reached(): StopReason | null {
    const { iteration, cancel } = this.row;
    const { tokens, cost_usd } = this.#spending.after(this.row);
    if (cancel === 1) return "cancelled";
    const most = this.#limits();
    if (most.iterations !== undefined && iteration >= most.iterations) return "limit:iterations";
    if (most.tokens !== undefined && tokens >= most.tokens) return "limit:tokens";
    if (most.costUsd !== undefined && (cost_usd ?? 0) >= most.costUsd) return "limit:costUsd";
    return this.#host.storage.environment.now() >= this.#deadline() ? "limit:wallMs" : null;
  }

  #limits(): RunLimits {
    this.#most ??= JSON.parse(decodeText(this.row.limits)) as RunLimits;
    return this.#most;
  }

  #deadline(): number {
    const { wallMs } = this.#limits();
    return wallMs === undefined ? Number.POSITIVE_INFINITY : this.row.created_at + wallMs;
  }

  async #iterate(): Promise<End> {
    const { storage } = this.#host;
    const { row } = this;
    const iteration = row.iteration + 1;
    this.#input ??= await validateInput(this.#agent, this.#given);
    const known = this.#next?.checkpoint === row.checkpoint_seq ? this.#next : null;
    this.#next = null;
    const records = known === null ? await readStepRecords(storage, row, this.#retried) : [];
    const loaded = known === null ? await this.#load() : { state: known.state };
    if ("error" in loaded) return { verdict: "fail", error: loaded.error };
    const { signal } = this.#abort;
    // Somebody may have stopped it before there was anything to leave; what can be left is waited for, from here on.
    if (signal.aborted) return { left: true };
    const left = Promise.withResolvers<End>();
    const life: Life = { isLeft: false };
    this.#leave = (error) => {
      life.isLeft = true;
      suspension.isLeft = true;
      if (error === undefined) left.resolve({ left: true });
      else left.reject(error);
    };
    const leave = (error?: unknown): Promise<never> => {
      this.#leave?.(error);
      return new Promise(() => {});
    };
    const suspension = new Suspension(this.#writer, leave, signal);
    const directReads = new Set<DirectRead>();
    const { context, steps } = this.#context(iteration, records, suspension, leave, life, directReads);
    const iterate = () => watchDirectReads(directReads, () => this.#agent.iterate(context, loaded.state));
    this.#verdict(iterate, steps, suspension).then(left.resolve, left.reject);
    return left.promise;
  }

  async #verdict(iterate: () => Promise<Verdict> | Verdict, steps: Steps, suspension: Suspension): Promise<Verdict> {
    let verdict: Verdict;
    try {
      verdict = await validateVerdict(this.#agent, checkVerdict(await iterate()));
    } catch (error) {
      verdict = { verdict: "fail", error };
    }
    // What fails is tried again by whoever takes the run up, who asks about what is open.
    if (verdict.verdict !== "fail") await steps.close().then(() => steps.inFlight.drained());
    await suspension.over();
    return verdict;
  }

  #context(
    iteration: number,
    records: readonly StepRecord[],
    suspension: Suspension,
    leave: (error?: unknown) => Promise<never>,
    life: Life,
    directReads: ReadonlySet<DirectRead>,
  ): { readonly context: Iteration; readonly steps: Steps } {
    const { storage, payloads, tokens } = this.#host;
    const [writer, { signal }] = [this.#writer, this.#abort];
    const { row } = writer;
    const outside: Outside = {
      ...{ payloads, signal, leave, directReads, during: (work) => suspension.during(work) },
      isLeft: () => life.isLeft,
      ask: (record) =>
        askPerson(storage, suspension, steps, row, record, async () => {
          const now = await readStepRecords(storage, writer.row, this.#retried);
          return now.findLast((one) => one.path === record.path);
        }),
    };
    const steps = new Steps(writer, outside, iteration, records);
    this.#spending = new Spending();
    const spending = this.#spending;
    const before = () => (this.#reached() === null ? undefined : leave());
    const waiting = new Waiting(writer, steps, suspension, leave, signal);
    const work = (of: AgentDefinition, own: RunRow) => this.#below(new Execution(this.#host, of, own, this.#options));
    const parent = { host: this.#host, writer, steps, suspension, leave, signal, work };
    const head = (at: number, compaction: NonNullable<Plan["compaction"]>) => this.#head(at, NOTHING, compaction);
    const context = createIteration({
      ...{ run: row.id, session: row.session, iteration, input: this.#input, signal, agent: this.#agent, steps },
      chance: this.#chance,
      now: () => storage.environment.now(),
      isOver: () => suspension.isOver,
      isLeft: () => life.isLeft,
      message: (asked, message, call) =>
        suspension.during(() => appendMessage({ writer, payloads, steps, leave }, asked, message, call)),
      reads: new RecordedReads({ writer, payloads, steps, suspension, leave, erased: this.#options.erased ?? "fail" }),
      compact: (asked, compaction) =>
        suspension.during(() => compactSession({ writer, payloads, steps, leave, head }, asked, compaction)),
      model: (asked, name, model) => askModel({ row, steps, spending, tokens, before }, asked, name, model),
      until: (asked, ms, letsGo) => waiting.until(asked, ms, letsGo),
      waitFor: (asked, name, timeoutMs, schema) => waiting.waitFor(asked, name, timeoutMs, schema),
      refuse: (asked, error) => refuseInvalid({ writer, steps, leave }, asked, error),
      spawn: (asked, agent, options) => spawnRun(parent, asked, agent, options),
    });
    return { context, steps };
  }

  async #load(): Promise<{ readonly state: Json } | { readonly error: unknown }> {
    const { storage, payloads } = this.#host;
    const { session, checkpoint_seq } = this.row;
    if (checkpoint_seq !== null) return { state: await loadState(storage, payloads, session, checkpoint_seq) };
    return firstState(this.#agent, this.#input);
  }

  /** The verdict that the run failed when its state cannot be kept. */
  async #checkpoint(state: unknown): Promise<Extract<Verdict, { verdict: "fail" }> | null> {
    let kept: ReturnType<typeof keptState>;
    try {
      kept = keptState(state, this.row);
    } catch (error) {
      return { verdict: "fail", error };
    }
    await carryJson(this.#host.payloads, kept.bytes, (payload) =>
      this.#writer.move((row) => {
        const iteration = row.iteration + 1;
        const at = this.#host.storage.environment.now();
        return {
          ...{ type: "iteration/complete", at, checkpoint: true, payload: ["state", payload] },
          changes: { ...this.#spending.changes(row), iteration, status: "running", ...pausing(row, at) },
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
    this.#next = { checkpoint: this.row.checkpoint_seq, state: kept.state };
    return null;
  }

  /** The one terminal event. */
  async #conclude(end: Exclude<Verdict, { verdict: "next" }>, stop: StopReason | null): Promise<void> {
    const { payloads } = this.#host;
    let last = end;
    let bytes: Uint8Array;
    try {
      bytes = encodeJson((end.verdict === "done" ? end.value : undefined) ?? null, "value", "payloadBytes");
    } catch (error) {
      last = { verdict: "fail", error };
      bytes = encodeText("null");
    }
    if (last.verdict === "fail") {
      const error = errorOf(last.error);
      if (isMistake(last.error)) this.#warn("runs.failed", last.error.stack);
      const status = stop === "cancelled" ? "cancelled" : "failed";
      const step = stop === null ? stepBehind(last.error) : null;
      const data = { error: { ...error }, ...(step === null ? {} : { at: step }) };
      return this.#end({ status, stop: stop ?? "failed" }, { data }, [], () => []);
    }
    await payloads.preparing(async (prepare) => {
      const result = await prepare(bytes, JSON_IN_ROW);
      const final = await prepare(bytes, { media: "application/json", utf8: true, owned: true });
      const over = { status: "completed", stop: "done" } as const;
      await this.#end(over, { payload: ["result", result] }, [result, final], (at) =>
        this.#head(at, { ...NOTHING, final }),
      );
    });
  }

  async #end(
    over: { readonly status: "completed" | "failed" | "cancelled"; readonly stop: StopReason },
    said: Pick<Change, "data" | "payload">,
    kept: readonly PreparedPayload[],
    heads: (at: number) => readonly EventDraft[],
  ): Promise<void> {
    const { storage, payloads } = this.#host;
    let ended: Ended | null = null;
    const moved = await this.#writer.move(async (row) => {
      const at = storage.environment.now();
      ended = await endingWith(storage, row, at);
      return {
        ...{ type: `run/${over.status}`, at, ...said },
        changes: {
          ...{ ...this.#spending.changes(row), owner: null, wake_at: null, waits: null, pause_at: null, ended_at: at },
          // What its last iteration still does, behind its end, is refused.
          epoch: row.epoch + 1,
          ...over,
        },
        beside: { ...carriedBlobs(kept), ...ended.beside },
        before: ended.before,
        after: [...heads(at), ...ended.after],
      };
    });
    await (ended as Ended | null)?.afterwards(payloads, moved?.found ?? {});
  }

  #head(at: number, prepared: Prepared, compaction?: Plan["compaction"]): readonly EventDraft[] {
    if (this.#session === null) throw new Error("bug: the session was not read");
    const plan = { session: this.#session, prepared, status: "complete", at } as const;
    return [headEvent(compaction === undefined ? plan : { ...plan, compaction }, this.#inherits)];
  }

  /** Signs of life, until the work ends; what the answer says is obeyed at once. */
  async #beat(): Promise<void> {
    const { storage } = this.#host;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const { controller: poke, free } = linked(signal);
      this.#poke = poke;
      const left = this.#deadline() - storage.environment.now();
      // A deadline that has passed is seen to by now, unless the iteration does not listen.
      const wait = left > 0 ? Math.min(beatMs(this.row), left) : beatMs(this.row);
      await storage.environment.sleep(wait, poke.signal);
      free();
      if (signal.aborted) return;
      try {
        const answer = await heartbeat(storage, this.row, this.#deadline());
        if (answer === "lost") this.#leave?.(leaseLost(this.row));
        else if (answer !== "ok") this.#leave?.();
      } catch (error) {
        this.#warn("runs.beat", error);
      }
    }
  }
}
