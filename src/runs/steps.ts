// Steps of an iteration: each is looked up in the journal before it is executed, its intent is written before its effect and its
// outcome after it, in that order (rules RU4 to RU7). What happens to a step is decided in step-decision.ts and carried out here.

import type { Json, JsonObject } from "../contracts/json.ts";
import type { RunError } from "../contracts/run-record.ts";
import type { RetryPolicy, Step, StepCall } from "../contracts/steps.ts";
import type { Commit, EventDraft, WrittenEvent } from "../contracts/storage/commit.ts";
import type { Payloads, Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import { decodeText, sha256Hex } from "../core/bytes.ts";
import { copyJson, encodeCopy, encodeJson } from "../core/check.ts";
import { allowDirectReads, type DirectRead } from "../core/direct-reads.ts";
import { canonicalJson, orderedJson } from "../core/hashing.ts";
import { isInvalidOutput } from "./agents.ts";
import { errorOf, isFinal, nonDeterminism, readSafely, StepFailed } from "./errors.ts";
import { errorIn, payloadOf, type StepRecord } from "./journal.ts";
import type { IterationLife } from "./life.ts";
import { type Failure, LOST } from "./model-errors.ts";
import { decideStep, type StepDecision, stepWords } from "./step-decision.ts";
import { type CommitExtras, carryJson, insertDecision, payloadExtras, payloadFields, type Writer } from "./writer.ts";

/** A step that an iteration asks for, and its place in the iteration. */
export interface StepRequest {
  readonly path: string;
  readonly kind: Step["kind"];
  readonly name: string;
  /** JSON, as the journal keeps it. */
  readonly input: Uint8Array;
  /** The same as a value that nothing else refers to: the first attempt gets it. */
  readonly value: Json;
}

export interface StepIdentity extends StepRequest {
  readonly digest: string;
}

/** What a step with an effect on the world outside does, and how often it may be attempted. */
export interface StepEffect {
  readonly retry: RetryPolicy;
  /** Whether it may be executed again where its outcome is unknown. */
  readonly mayRepeat: boolean;
  readonly execute: (input: Json, call: StepCall) => unknown;
}

export type StepOutcome = { readonly value: Json } | { readonly error: RunError };

/** Records something else in the commit that ends a step. */
export type RecordAlongside = (
  prepare: Prepare,
  outcome: StepOutcome,
  at: number,
) => Promise<{ readonly event: EventDraft; readonly commit: Pick<Commit, "blobs" | "writes" | "uses"> }>;

/** What a kind of step adds to the course that every step takes. */
export interface StepHooks {
  readonly alongside?: RecordAlongside;
  /** Runs before the intent is written. */
  readonly before?: () => Promise<void> | undefined;
  /** What an error says about another attempt; without it, isFinal() decides. */
  readonly judge?: (thrown: unknown, now: number) => Failure;
  /** Gets the seq of the event that holds the result, also when the result is reused. */
  readonly onResult?: (seq: number) => void;
  /** Whether a person must approve the first attempt. */
  readonly needsApproval?: () => Promise<boolean>;
}

export interface StepsHost {
  readonly writer: Writer;
  readonly payloads: Payloads;
  readonly signal: AbortSignal;
  readonly life: IterationLife;
  /** Waits until a person has permitted the step, or said whether it happened; resolves with what the journal has then. */
  readonly ask: (record: StepRecord) => Promise<StepRecord>;
  /** What the iteration has read on a handle so far, not through its recorded reads. */
  readonly directReads: ReadonlySet<DirectRead>;
}

export interface FinishOptions {
  /** The seq of the intent, if the step has one. */
  readonly intent?: number | undefined;
  readonly data?: JsonObject;
  /** Goes with the event, in its commit. */
  readonly extras?: CommitExtras;
}

export type UndisputedDecision = Exclude<StepDecision, { readonly action: "differ" }>;

/** Passes of the event loop without a request after which no more are expected: what follows from one answer takes one or two. */
const IDLE_PASSES = 5;

export class Steps {
  readonly #host: StepsHost;
  readonly #writer: Writer;
  readonly #iteration: number;
  /** The newest attempt at each place. */
  readonly #records = new Map<string, StepRecord>();
  /** Steps of the journal that the iteration has not asked for yet, without those that failed: they had no effect. */
  readonly #unasked = new Map<string, StepRecord>();
  /** Ids of the model calls that the iteration has made or replayed here. */
  readonly calls = new Set<string>();
  /** Payloads that are being read. */
  #reading = 0;
  #acceptsOtherArguments = false;

  constructor(host: StepsHost, iteration: number, records: Iterable<StepRecord>) {
    this.#host = host;
    this.#writer = host.writer;
    this.#iteration = iteration;
    for (const record of records) this.#records.set(record.path, record);
    for (const [path, record] of this.#records) if (record.status !== "failed") this.#unasked.set(path, record);
  }

  /** After the verdict no new step begins. Steps that were begun before an interruption may be asked for again. */
  isClosed(path: string): boolean {
    const { state } = this.#host.life;
    return state === "over" || (state === "draining" && !this.#records.has(path));
  }

  /**
   * After the verdict: NonDeterminism when the iteration did not ask for a step that was begun before an interruption, because
   * nothing would ever find out what became of that step. Work beside the verdict gets the time that it needs to ask.
   */
  async close(): Promise<void> {
    this.#host.life.drain();
    const { environment } = this.#writer.storage;
    for (let idle = 0; this.#unasked.size > 0 && idle < IDLE_PASSES; ) {
      const before = this.#unasked.size;
      await new Promise<void>((pass) => environment.defer(pass));
      idle = this.#reading > 0 || this.#unasked.size < before ? 0 : idle + 1;
    }
    const [unasked] = this.#unasked.values();
    if (unasked !== undefined) throw this.differs(unasked, "gives its verdict without that");
  }

  /** Ends the work with NonDeterminism: what the iteration does now is not what the journal has at the place. */
  differs({ kind, name, path }: Pick<StepRecord, "kind" | "name" | "path">, now: string): Error {
    const { life, directReads } = this.#host;
    return life.leave(
      nonDeterminism(this.#writer.row.id, `${this.#iteration}/${path}`, stepWords(kind, name), now, directReads),
    );
  }

  /** A recorded read could not return what it returned before: arguments that follow from it may differ. */
  acceptOtherArguments(): void {
    this.#acceptsOtherArguments = true;
  }

  identify(request: StepRequest): StepIdentity {
    const { path, kind, name, input, value } = request;
    const digest = sha256Hex(orderedJson({ input: value, kind, name })).slice(0, 32);
    return { path, kind, name, input, value, digest };
  }

  /** What happens to the step; ends the work with NonDeterminism when the journal has another one at its place. */
  async decide(identity: StepIdentity, effect?: StepEffect): Promise<UndisputedDecision> {
    const record = this.#records.get(identity.path);
    this.#unasked.delete(identity.path);
    return this.#decide(identity, record, effect);
  }

  #decide(
    { kind, name, digest }: StepIdentity,
    record: StepRecord | undefined,
    effect: StepEffect | undefined,
  ): UndisputedDecision {
    const acceptsOtherArguments = this.#acceptsOtherArguments;
    const request = { kind, name, digest, acceptsOtherArguments, ...(effect === undefined ? {} : { effect }) };
    const decision = decideStep(record, request, this.#writer.storage.environment.now());
    if (decision.action === "differ") throw this.differs(decision.record, decision.now);
    return decision;
  }

  key({ path, kind, name, digest }: StepIdentity, attempt: number): string {
    const place = { digest, iteration: this.#iteration, kind, name, path, run: this.#writer.row.id };
    return sha256Hex(canonicalJson(attempt === 1 ? place : { attempt, ...place })).slice(0, 32);
  }

  /** A step with an effect on the world outside: its intent is written before, its outcome after. */
  async perform(request: StepRequest, effect: StepEffect, hooks: StepHooks = {}): Promise<Json> {
    const { life, ask } = this.#host;
    const identity = this.identify(request);
    let decision =
      this.#records.size === 0 ? this.#decide(identity, undefined, effect) : await this.decide(identity, effect);
    if (decision.action === "intend" && decision.isFirst && hooks.needsApproval !== undefined) {
      const { record, attempt } = decision;
      const proposed = await life.during(() => this.#propose(identity, attempt, effect, hooks));
      decision = this.#decide(identity, proposed ?? record, effect);
    }
    if (decision.action === "ask") decision = this.#decide(identity, await ask(decision.record), effect);
    const decided = decision;
    return life.during(() => this.#carryOut(identity, decided, effect, hooks));
  }

  /** Writes the intent for a person to approve, if the step needs that. No person is asked about an input that is refused. */
  async #propose(
    identity: StepIdentity,
    attempt: number,
    { mayRepeat }: StepEffect,
    { before, needsApproval }: StepHooks,
  ): Promise<StepRecord | undefined> {
    await before?.();
    if ((await needsApproval?.()) !== true) return undefined;
    return this.#intend(identity, attempt, mayRepeat, true);
  }

  async #carryOut(
    identity: StepIdentity,
    first: UndisputedDecision,
    effect: StepEffect,
    hooks: StepHooks,
  ): Promise<Json> {
    for (let decision = first; ; ) {
      this.#host.life.refuseLeft();
      if (decision.action === "ask")
        throw new Error("bug: a step that a person must decide on was about to be executed");
      if (decision.action === "reuse") return await this.#reuse(decision.record, hooks);
      const isAgain = decision.action === "redo" && decision.record.status === "started";
      let record: StepRecord;
      if (decision.action === "redo") {
        record = decision.record;
        await this.#resume(record, hooks.alongside);
      } else {
        if (decision.record !== undefined) await this.#sleep(decision.waitMs);
        await hooks.before?.();
        record = await this.#intend(identity, decision.attempt, effect.mayRepeat, false);
      }
      const executed = await this.#execute(identity, record, isAgain, effect, hooks);
      if ("value" in executed) return executed.value;
      decision = this.#decide(identity, executed.record, effect);
    }
  }

  #reuse(record: StepRecord, { onResult }: StepHooks): Promise<Json> {
    if (record.status === "failed") return Promise.reject(this.failure(record));
    onResult?.(record.end?.seq ?? 0);
    return this.payload(record);
  }

  /** A failure that the journal has, as the iteration gets it. */
  failure({ path, end }: StepRecord): StepFailed {
    const { data = {} } = end ?? {};
    return this.failureAt(path, errorIn(data), data.effectDone === true);
  }

  failureAt(path: string, error: RunError, effectDone = false): StepFailed {
    return new StepFailed(error, `${this.#iteration}/${path}`, effectDone);
  }

  async #sleep(ms: number | null): Promise<void> {
    const { signal, life } = this.#host;
    if (ms === null) return;
    await this.#writer.storage.environment.sleep(ms, signal);
    if (signal.aborted) throw life.leave();
  }

  /** A step whose value is all there is to it: the value is recorded. */
  async recordValue(request: StepRequest, make: () => Json | Promise<Json>): Promise<Json> {
    const identity = this.identify(request);
    const decision = await this.decide(identity);
    if (decision.action !== "intend") return this.payload(decision.record);
    const value = await make();
    await this.#host.life.during(() => this.#host.life.guard(() => this.finish(identity, value)));
    return value;
  }

  payload({ end }: StepRecord): Promise<Json> {
    if (end === null) throw new Error("bug: a step without an end has no payload");
    return this.#host.life.guard(() =>
      this.whileReading(() => payloadOf(this.#host.payloads, this.#writer.row.session, end)),
    );
  }

  /** A verdict that is given meanwhile waits for what follows from the read. */
  async whileReading<T>(read: () => Promise<T>): Promise<T> {
    this.#reading++;
    try {
      return await read();
    } finally {
      this.#reading--;
    }
  }

  /** Writes the end of a step, of the intent with the seq `intent` or without an intent. */
  async finish(
    identity: StepIdentity,
    value: Json,
    { intent, data = {}, extras = {} }: FinishOptions = {},
  ): Promise<void> {
    const bytes = encodeJson(value, identity.name, "payloadBytes");
    const first = intent === undefined ? this.describe(identity, 1) : { step: intent };
    await this.carry(bytes, async (payload) => {
      const draft = this.draft("step/done", { ...first, ...data }, ["result", payload]);
      const { writes = [], ...rest } = extras;
      await this.#writer.add([{ ...draft, writes }], { ...rest, ...payloadExtras([payload]) });
    });
  }

  draft(type: string, data: JsonObject, payload?: readonly [string, PreparedPayload]): EventDraft {
    const { session, id } = this.#writer.row;
    return { session, type, at: this.#writer.storage.environment.now(), run: id, data, ...payloadFields(payload) };
  }

  /** Bytes as a payload in the event's row, or beside it when they are many. */
  carry<T>(bytes: Uint8Array, then: (payload: PreparedPayload) => Promise<T>): Promise<T> {
    return carryJson(this.#host.payloads, bytes, then);
  }

  /** What the first event of a step says about it. */
  describe(identity: StepIdentity, attempt: number, key = this.key(identity, attempt)): JsonObject {
    const { path, kind, name, digest } = identity;
    return { attempt, digest, iteration: this.#iteration, key, kind, name, path };
  }

  /**
   * The intent says whether the step may be repeated, so that a recovery knows whether a person is needed. With `approval` the
   * same event asks a person for permission: no effect follows before the answer.
   */
  #intend(identity: StepIdentity, attempt: number, mayRepeat: boolean, approval: boolean): Promise<StepRecord> {
    return this.#host.life.guard(() =>
      this.carry(identity.input, async (payload) => {
        const key = this.key(identity, attempt);
        const flags = { ...(approval ? { approval: true } : {}), ...(mayRepeat ? { repeatable: true } : {}) };
        const data = { ...this.describe(identity, attempt, key), ...flags };
        const draft = this.draft("step/started", data, ["input", payload]);
        const question = approval ? { writes: [insertDecision(this.#writer.row.id, { slot: "seq" })] } : {};
        const [written] = await this.#writer.add([{ ...draft, ...question }], payloadExtras([payload]));
        const { kind, name, path, digest } = identity;
        return {
          seq: written?.seq ?? 0,
          iteration: this.#iteration,
          path,
          kind,
          name,
          attempt,
          digest,
          key,
          startedAt: draft.at,
          data,
          end: null,
          isAllowed: false,
          status: approval ? "asked" : "started",
          isAsked: approval,
        };
      }),
    );
  }

  /** Says that a step which has its intent is executed: for the first time once a person has permitted it, or again. */
  async #resume({ seq, status }: StepRecord, alongside: RecordAlongside | undefined): Promise<void> {
    const isFirst = status === "asked";
    const draft = () => this.draft(isFirst ? "step/begun" : "step/again", { step: seq });
    await this.#host.life.guard(() => this.#writeEnd(draft(), [], isFirst ? undefined : alongside, { error: LOST }));
  }

  /** The effect and its outcome: the value as it will be read back, or the record of the failure. */
  async #execute(
    { path, kind, name, input, value: first }: StepIdentity,
    record: StepRecord,
    isAgain: boolean,
    { execute }: StepEffect,
    { alongside, judge, onResult }: StepHooks,
  ): Promise<{ readonly value: Json } | { readonly record: StepRecord }> {
    const { row } = this.#writer;
    const call: StepCall = {
      run: row.id,
      session: row.session,
      iteration: this.#iteration,
      path,
      attempt: record.attempt,
      idempotencyKey: record.key,
      again: isAgain,
      signal: this.#host.signal,
    };
    this.#host.life.refuseLeft();
    const given = record.attempt === 1 && !isAgain ? first : (JSON.parse(decodeText(input)) as Json);
    const result = await resultOf(() => execute(given, call), `${kind} ${name}: result`);
    if ("thrown" in result) {
      const failure = judge?.(result.thrown, this.#writer.storage.environment.now());
      const effectDone = kind === "tool" && result.hasReturned;
      return { record: await this.#fail(record, result.thrown, alongside, effectDone, failure) };
    }
    const { value, bytes } = result;
    const [written] = await this.#host.life.guard(() =>
      this.carry(bytes, (payload) => {
        const draft = this.draft("step/done", { step: record.seq }, ["result", payload]);
        return this.#writeEnd(draft, [payload], alongside, { value });
      }),
    );
    onResult?.(written?.seq ?? 0);
    return { value };
  }

  /** With what else is recorded of it, in one commit. */
  async #writeEnd(
    draft: EventDraft,
    payloads: readonly PreparedPayload[],
    alongside: RecordAlongside | undefined,
    outcome: StepOutcome,
  ): Promise<readonly WrittenEvent[]> {
    const own = payloadExtras(payloads);
    if (alongside === undefined) return this.#writer.add([draft], own);
    return this.#host.payloads.preparing(async (prepare) => {
      const { event, commit } = await alongside(prepare, outcome, draft.at);
      return this.#writer.add([draft, event], {
        blobs: [...(own.blobs ?? []), ...(commit.blobs ?? [])],
        writes: [...(own.writes ?? []), ...(commit.writes ?? [])],
        uses: [...(own.uses ?? []), ...(commit.uses ?? [])],
      });
    });
  }

  #fail(
    record: StepRecord,
    thrown: unknown,
    alongside: RecordAlongside | undefined,
    effectDone: boolean,
    { final, retryAfterMs }: Failure = { final: isFinal(thrown), retryAfterMs: null },
  ): Promise<StepRecord> {
    const data = {
      step: record.seq,
      error: { ...errorOf(thrown) },
      ...(final ? { final: true } : {}),
      // The tool has returned and only its result cannot be recorded: a person or program that retries must know that.
      ...(effectDone ? { effectDone: true } : {}),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    };
    return this.#host.life.guard(async () => {
      const draft = this.draft("step/failed", data);
      const [written] = await this.#writeEnd(draft, [], alongside, { error: data.error });
      return {
        ...record,
        status: "failed",
        isRetryPoint: false,
        end: { seq: written?.seq ?? 0, type: draft.type, at: draft.at, data },
      };
    });
  }
}

/** `hasReturned`: the effect happened, and only what it returned cannot be used. */
type EffectResult =
  | { readonly value: Json; readonly bytes: Uint8Array }
  | { readonly thrown: unknown; readonly hasReturned: boolean };

/** What an effect returns, as it will be read back. */
async function resultOf(effect: () => unknown, what: string): Promise<EffectResult> {
  let hasReturned = false;
  try {
    const returned = await allowDirectReads(effect);
    hasReturned = true;
    // A tool that returns nothing has returned null. It has happened: called a failure, it would be executed a second time.
    const value = copyJson(returned === undefined ? null : returned, what, "payloadBytes");
    return { value, bytes: encodeCopy(value, what, "payloadBytes") };
  } catch (thrown) {
    return { thrown, hasReturned: hasReturned || readSafely(() => isInvalidOutput(thrown), false) };
  }
}
