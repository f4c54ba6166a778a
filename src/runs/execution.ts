// Executes a run: iteration after iteration under its lease, each ended by a checkpoint, until the run ends or has to
// wait. A worker that takes over resumes from the last checkpoint, exactly as the first one would.
import type { AgentDefinition, Verdict } from "../contracts/agent-definitions.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Run, RunLimits } from "../contracts/run-record.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { EventDraft, HeadDraft } from "../contracts/storage/commit.ts";
import type { PreparedPayload } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { encodeText } from "../core/bytes.ts";
import { copyJson, encodeJson } from "../core/check.ts";
import { type DirectRead, watchDirectReads } from "../core/direct-reads.ts";
import { existingSession } from "../core/session-lookup.ts";
import { type HeadPlan, headEvent, inheritedBy, type PreparedHead } from "../sessions/publish.ts";
import { checkVerdict, validateInput, validateState, validateVerdict } from "./agents.ts";
import { INLINE_JSON } from "./begin.ts";
import { endEvents, type RunEnding } from "./ending.ts";
import { errorOf, findFailedStep, isCodeMistake, leaseLost } from "./errors.ts";
import { createIteration } from "./iteration.ts";
import type { IterationHost, RunHost } from "./iteration-host.ts";
import {
  encodeState,
  eventOf,
  loadState,
  noState,
  payloadOf,
  randomSeed,
  retriedRun,
  type StepRecord,
} from "./journal.ts";
import { beatMs, heartbeat, releaseRun } from "./lease.ts";
import { type IterationEnd, IterationLife, linkSignal } from "./life.ts";
import { deadlineOf, limitsOf, Spending, stopError, stopReason } from "./limits.ts";
import { readStepRecords } from "./recover.ts";
import { Steps, type StepsHost } from "./steps.ts";
import { askPerson } from "./waiting.ts";
import { type Change, carryJson, pausing, payloadExtras, Writer } from "./writer.ts";

export type ExecutionOptions = Pick<ResumeOptions, "erased">;

const NOTHING: PreparedHead = {
  final: null,
  vars: null,
  finalSummary: null,
  summary: null,
  fingerprint: null,
  cacheId: null,
  expect: undefined,
};

/** What the run's first event contains. */
interface RunStart {
  /** The caller's input, not validated. */
  readonly given: Json;
  /** The run that this one retries, if any. */
  readonly retried: JsonObject | null;
  readonly seed: string;
}

export class Execution {
  readonly #host: RunHost;
  readonly #agent: AgentDefinition;
  readonly #options: ExecutionOptions;
  readonly #writer: Writer;
  #limits: RunLimits | null = null;
  /** The input as the agent's validator returns it. */
  #input: Json = null;
  /** Aborts when the work ends for any reason. */
  readonly #abort = new AbortController();
  readonly #children = new Set<Promise<void>>();
  /** The life of the current iteration. */
  #life: IterationLife | null = null;
  #isLastIteration = false;
  #checkNow: AbortController | null = null;
  #session: SessionRow | null = null;
  #inherits: HeadDraft["inherits"] = null;
  #spending = new Spending();
  /** The state of the checkpoint that this execution has just written, so that it need not be read again. */
  #lastCheckpoint: { readonly seq: number | null; readonly state: Json } | null = null;

  /** `row`: the run's row after the claim. */
  constructor(host: RunHost, agent: AgentDefinition, row: RunRow, options: ExecutionOptions = {}) {
    this.#options = options;
    this.#host = host;
    this.#agent = agent;
    this.#writer = new Writer(host.storage, row);
  }

  get row(): RunRow {
    return this.#writer.row;
  }

  /** Ends the work after the current iteration. */
  stopAfterIteration(): void {
    this.#isLastIteration = true;
  }

  /** Sends the next heartbeat now. It notices what a caller has requested. */
  checkNow(): void {
    this.#checkNow?.abort();
  }

  /** Ends the work at once, so that another worker can continue. */
  stop(): void {
    this.#abort.abort();
    this.#life?.leave();
  }

  async work(): Promise<void> {
    const { storage, payloads } = this.#host;
    const { id, session, first_seq } = this.row;
    const beating = this.#beat();
    try {
      this.#session = await existingSession(storage, session);
      this.#inherits = await inheritedBy(storage, this.#session);
      const created = await eventOf(storage, session, first_seq);
      const given = await payloadOf(payloads, session, created);
      const start: RunStart = { given, retried: retriedRun(created), seed: randomSeed(id, created) };
      for (;;) {
        const stop = this.#stopReason();
        const end: IterationEnd =
          stop === null ? await this.#iterate(start) : { verdict: "fail", error: stopError(stop) };
        this.#life = null;
        if ("left" in end) {
          if (this.#abort.signal.aborted || this.row.owner === null) return;
          await this.#writer.reload();
          if (this.#stopReason() === null) return;
          continue;
        }
        if (end.verdict !== "next") return await this.#conclude(end, stop);
        const failed = await this.#checkpoint(end.state);
        if (failed !== null) return await this.#conclude(failed, null);
        if (this.row.owner === null || this.#isLastIteration) return;
      }
    } finally {
      this.#abort.abort();
      await Promise.allSettled(this.#children);
      await beating;
    }
  }

  /** Executes a child. The child is released before its parent. */
  #workOnChild(agent: AgentDefinition, row: RunRow): Promise<void> {
    const { signal } = this.#abort;
    const child = new Execution(this.#host, agent, row, this.#options);
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

  /** Why the run must end now. Checked between two iterations and before each model call. */
  #stopReason(): NonNullable<Run["stopReason"]> | null {
    return stopReason(this.row, this.#readLimits(), this.#spending, this.#host.storage.environment.now());
  }

  #readLimits(): RunLimits {
    this.#limits ??= limitsOf(this.row);
    return this.#limits;
  }

  async #iterate(start: RunStart): Promise<IterationEnd> {
    const { storage } = this.#host;
    const { row } = this;
    this.#input ??= await validateInput(this.#agent, start.given);
    const input = this.#input;
    const known = this.#lastCheckpoint?.seq === row.checkpoint_seq ? this.#lastCheckpoint : null;
    this.#lastCheckpoint = null;
    const records = known === null ? await readStepRecords(storage, row, start.retried) : [];
    const loaded = known === null ? await this.#load(input) : { state: known.state };
    if ("error" in loaded) return { verdict: "fail", error: loaded.error };
    const { signal } = this.#abort;
    // The execution may have been stopped before this iteration existed.
    if (signal.aborted) return { left: true };
    const life = new IterationLife(this.#writer, signal);
    this.#life = life;
    const directReads = new Set<DirectRead>();
    const host = this.#iterationHost(start, input, records, life, directReads);
    const context = createIteration(host);
    const iterate = () => watchDirectReads(directReads, () => this.#agent.iterate(context, loaded.state));
    this.#verdict(iterate, host).then(
      (verdict) => life.conclude(verdict),
      (error: unknown) => life.leave(error),
    );
    return life.end;
  }

  async #verdict(iterate: () => Promise<Verdict> | Verdict, { steps, life }: IterationHost): Promise<Verdict> {
    let verdict: Verdict;
    try {
      verdict = await validateVerdict(this.#agent, checkVerdict(await iterate()));
    } catch (error) {
      verdict = { verdict: "fail", error };
    }
    // A failed iteration does not wait for its open steps. A run that retries this one treats them as in doubt.
    if (verdict.verdict !== "fail") await steps.close().then(() => life.drained());
    await life.close();
    return verdict;
  }

  #iterationHost(
    { retried, seed }: RunStart,
    input: Json,
    records: readonly StepRecord[],
    life: IterationLife,
    directReads: ReadonlySet<DirectRead>,
  ): IterationHost {
    const [writer, { signal }] = [this.#writer, this.#abort];
    const iteration = writer.row.iteration + 1;
    this.#spending = new Spending();
    const base: StepsHost = {
      writer,
      payloads: this.#host.payloads,
      signal,
      life,
      directReads,
      ask: (record) =>
        askPerson({ writer, life }, record, async () => {
          const now = await readStepRecords(writer.storage, writer.row, retried);
          return now.findLast((one) => one.path === record.path);
        }),
    };
    return {
      ...this.#host,
      ...base,
      agent: this.#agent,
      iteration,
      input,
      seed,
      spending: this.#spending,
      steps: new Steps(base, iteration, records),
      erased: this.#options.erased ?? "fail",
      leaveAtLimit: () => {
        if (this.#stopReason() !== null) throw life.leave();
        return undefined;
      },
      draftHead: (at, compaction) => this.#head(at, NOTHING, compaction),
      workOnChild: (agent, row) => this.#workOnChild(agent, row),
    };
  }

  async #load(input: Json): Promise<{ readonly state: Json } | { readonly error: unknown }> {
    const { storage, payloads } = this.#host;
    const { session, checkpoint_seq } = this.row;
    if (checkpoint_seq !== null) return { state: await loadState(storage, payloads, session, checkpoint_seq) };
    return firstState(this.#agent, input);
  }

  /** Writes the checkpoint. If the state cannot be stored, returns the verdict that the run failed. */
  async #checkpoint(state: unknown): Promise<Extract<Verdict, { verdict: "fail" }> | null> {
    let kept: ReturnType<typeof encodeState>;
    try {
      kept = encodeState(state, this.row);
    } catch (error) {
      return { verdict: "fail", error };
    }
    await carryJson(this.#host.payloads, kept.bytes, (payload) =>
      this.#writer.move((row) => {
        const iteration = row.iteration + 1;
        const at = this.#host.storage.environment.now();
        return {
          type: "iteration/complete",
          at,
          checkpoint: true,
          payload: ["state", payload],
          changes: { ...this.#spending.changes(row), iteration, status: "running", ...pausing(row, at) },
          writes: [
            {
              op: "insert",
              table: "checkpoints",
              row: { agent_no: { agent: row.agent }, run: row.id, iteration },
            },
          ],
          extras: { ...payloadExtras([payload]), agents: [{ id: row.agent, at }] },
          after: this.#head(at, NOTHING),
        } satisfies Change;
      }),
    );
    this.#inherits = null;
    this.#spending = new Spending();
    this.#lastCheckpoint = { seq: this.row.checkpoint_seq, state: kept.state };
    return null;
  }

  /** Writes the one terminal event. */
  async #conclude(
    end: Exclude<Verdict, { verdict: "next" }>,
    stop: NonNullable<Run["stopReason"]> | null,
  ): Promise<void> {
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
      if (isCodeMistake(last.error)) this.#warn("runs.failed", last.error.stack);
      const status = stop === "cancelled" ? "cancelled" : "failed";
      const step = stop === null ? findFailedStep(last.error) : null;
      const data = { error: { ...error }, ...(step === null ? {} : { at: step }) };
      return this.#end({ status, stop: stop ?? "failed" }, { data }, [], () => []);
    }
    await payloads.preparing(async (prepare) => {
      const result = await prepare(bytes, INLINE_JSON);
      const final = await prepare(bytes, { media: "application/json", utf8: true, owned: true });
      const over = { status: "completed", stop: "done" } as const;
      await this.#end(over, { payload: ["result", result] }, [result, final], (at) =>
        this.#head(at, { ...NOTHING, final }),
      );
    });
  }

  async #end(
    over: { readonly status: "completed" | "failed" | "cancelled"; readonly stop: NonNullable<Run["stopReason"]> },
    said: Pick<Change, "data" | "payload">,
    kept: readonly PreparedPayload[],
    heads: (at: number) => readonly EventDraft[],
  ): Promise<void> {
    const { storage, payloads } = this.#host;
    let ending: RunEnding | null = null;
    const moved = await this.#writer.move(async (row) => {
      const at = storage.environment.now();
      ending = await endEvents(storage, row, at);
      return {
        type: `run/${over.status}`,
        at,
        ...said,
        changes: {
          ...this.#spending.changes(row),
          owner: null,
          wake_at: null,
          waits: null,
          pause_at: null,
          ended_at: at,
          // After this commit, the store refuses all writes of the last iteration.
          epoch: row.epoch + 1,
          ...over,
        },
        extras: { ...payloadExtras(kept), ...ending.extras },
        before: ending.before,
        after: [...heads(at), ...ending.after],
      };
    });
    await (ending as RunEnding | null)?.afterwards(payloads, moved?.found ?? {});
  }

  #head(at: number, prepared: PreparedHead, compaction?: HeadPlan["compaction"]): readonly EventDraft[] {
    if (this.#session === null) throw new Error("bug: the session was not read");
    const plan = { session: this.#session, prepared, status: "complete", at } as const;
    return [headEvent(compaction === undefined ? plan : { ...plan, compaction }, this.#inherits)];
  }

  /** Sends heartbeats until the work ends. Leaves the iteration if the lease is lost or the run must end. */
  async #beat(): Promise<void> {
    const { storage } = this.#host;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const { controller: checkNow, free } = linkSignal(signal);
      this.#checkNow = checkNow;
      const deadline = deadlineOf(this.row, this.#readLimits());
      const left = deadline - storage.environment.now();
      // If the deadline has passed, the iteration was left already, and heartbeats continue until the work ends.
      const wait = left > 0 ? Math.min(beatMs(this.row), left) : beatMs(this.row);
      await storage.environment.sleep(wait, checkNow.signal);
      free();
      if (signal.aborted) return;
      try {
        const answer = await heartbeat(storage, this.row, deadline);
        if (answer === "lost") this.#life?.leave(leaseLost(this.row));
        else if (answer !== "ok") this.#life?.leave();
      } catch (error) {
        this.#warn("runs.beat", error);
      }
    }
  }
}

/** The first state. The agent's initial() may return a value that is no state. */
async function firstState(
  agent: AgentDefinition,
  input: Json,
): Promise<{ readonly state: Json } | { readonly error: unknown }> {
  if (agent.initial === undefined && agent.input === undefined && agent.state === undefined) return { state: input };
  try {
    const made = agent.initial === undefined ? (input ?? null) : agent.initial(input);
    if (made === undefined) throw noState("initial() gave");
    return { state: copyJson(await validateState(agent, made), "state", "payloadBytes") };
  } catch (error) {
    return { error };
  }
}
