// Steps of an iteration. Each step is looked up in the journal before it is executed; its intent is written before its
// effect, and its outcome after it (rules RU4 to RU7). step-decision.ts decides what happens to a step, and this file
// carries out the decision.
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
import { decideStep, formatStep, type StepDecision } from "./step-decision.ts";
import { type CommitExtras, carryJson, insertDecision, payloadExtras, payloadFields, type Writer } from "./writer.ts";

/** A step that an iteration requests, and its position in the iteration. */
export interface StepRequest {
  readonly path: string;
  readonly kind: Step["kind"];
  readonly name: string;
  /** The input as JSON bytes, for the journal. */
  readonly input: Uint8Array;
  /** A private copy of the input, which the first attempt gets. */
  readonly value: Json;
}

export interface StepIdentity extends StepRequest {
  readonly digest: string;
}

/** The effect of a step outside the store, and how often it may be attempted. */
export interface StepEffect {
  readonly retry: RetryPolicy;
  /** Whether it may be executed again if its outcome is unknown. */
  readonly mayRepeat: boolean;
  readonly execute: (input: Json, call: StepCall) => unknown;
}

export type StepOutcome = { readonly value: Json } | { readonly error: RunError };

/** Adds further records to the commit that ends a step. */
export type RecordAlongside = (
  prepare: Prepare,
  outcome: StepOutcome,
  at: number,
) => Promise<{ readonly event: EventDraft; readonly commit: Pick<Commit, "blobs" | "writes" | "uses"> }>;

/** What a kind of step adds to the common procedure of all steps. */
export interface StepHooks {
  readonly alongside?: RecordAlongside;
  /** Runs before the intent is written. */
  readonly before?: () => Promise<void> | undefined;
  /** Decides from an error whether another attempt makes sense; by default isFinal() decides. */
  readonly judge?: (thrown: unknown, now: number) => Failure;
  /** Gets the seq of the event with the result, also if the result is reused. */
  readonly onResult?: (seq: number) => void;
  /** Whether a person must approve the first attempt. */
  readonly needsApproval?: () => Promise<boolean>;
}

export interface StepsHost {
  readonly writer: Writer;
  readonly payloads: Payloads;
  readonly signal: AbortSignal;
  readonly life: IterationLife;
  /**
   * Waits until a person has permitted the step, or decided whether it happened. Resolves with the step's new record.
   */
  readonly ask: (record: StepRecord) => Promise<StepRecord>;
  /** Reads of the iteration on a handle so far, without its recorded reads. */
  readonly directReads: ReadonlySet<DirectRead>;
}

export interface FinishOptions {
  /** The seq of the intent, if the step has one. */
  readonly intent?: number | undefined;
  readonly data?: JsonObject;
  /** Further records in the commit of the event. */
  readonly extras?: CommitExtras;
}

export type UndisputedDecision = Exclude<StepDecision, { readonly action: "differ" }>;

/**
 * After this many passes of the event loop without a request, no more are expected: the reaction to an answer takes one
 * or two.
 */
const IDLE_PASSES = 5;

export class Steps {
  readonly #host: StepsHost;
  readonly #writer: Writer;
  readonly #iteration: number;
  /** The newest attempt at each position. */
  readonly #records = new Map<string, StepRecord>();
  /**
   * Steps of the journal that the iteration has not requested yet. Failed steps are not included, because they had no
   * effect.
   */
  readonly #unrequested = new Map<string, StepRecord>();
  /** Ids of the model calls that the iteration has made or replayed here. */
  readonly calls = new Set<string>();
  /** The number of payloads that are being read. */
  #reading = 0;
  #acceptsOtherArguments = false;

  constructor(host: StepsHost, iteration: number, records: Iterable<StepRecord>) {
    this.#host = host;
    this.#writer = host.writer;
    this.#iteration = iteration;
    for (const record of records) this.#records.set(record.path, record);
    for (const [path, record] of this.#records) if (record.status !== "failed") this.#unrequested.set(path, record);
  }

  /** After the verdict no new step begins. Steps that were begun before an interruption may be requested again. */
  isClosed(path: string): boolean {
    const { state } = this.#host.life;
    return state === "over" || (state === "draining" && !this.#records.has(path));
  }

  /**
   * Called after the verdict. NonDeterminism if the iteration did not request a step that was begun before an
   * interruption, because the outcome of that step would never be found out. Unawaited work gets time to make its
   * requests.
   */
  async close(): Promise<void> {
    this.#host.life.drain();
    const { environment } = this.#writer.storage;
    for (let idle = 0; this.#unrequested.size > 0 && idle < IDLE_PASSES; ) {
      const before = this.#unrequested.size;
      await new Promise<void>((pass) => environment.defer(pass));
      idle = this.#reading > 0 || this.#unrequested.size < before ? 0 : idle + 1;
    }
    const [unrequested] = this.#unrequested.values();
    if (unrequested !== undefined) throw this.differs(unrequested, "returns its verdict without that");
  }

  /** Ends the work with NonDeterminism: the iteration requests another step than the journal has at the position. */
  differs({ kind, name, path }: Pick<StepRecord, "kind" | "name" | "path">, now: string): Error {
    const { life, directReads } = this.#host;
    return life.leave(
      nonDeterminism(this.#writer.row.id, `${this.#iteration}/${path}`, formatStep(kind, name), now, directReads),
    );
  }

  /**
   * Called if a recorded read could not return what it returned before. Arguments that are derived from it may differ.
   */
  acceptOtherArguments(): void {
    this.#acceptsOtherArguments = true;
  }

  identify(request: StepRequest): StepIdentity {
    const { path, kind, name, input, value } = request;
    const digest = sha256Hex(orderedJson({ input: value, kind, name })).slice(0, 32);
    return { path, kind, name, input, value, digest };
  }

  /**
   * Decides what happens to the step. Ends the work with NonDeterminism if the journal has another step at its
   * position.
   */
  async decide(identity: StepIdentity, effect?: StepEffect): Promise<UndisputedDecision> {
    const record = this.#records.get(identity.path);
    this.#unrequested.delete(identity.path);
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

  /** Executes a step with an effect outside the store: writes its intent before, and its outcome after. */
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

  /**
   * Writes an intent that asks a person for approval, if the step needs it. A refused input is never shown to a person.
   */
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

  /** The recorded failure as the error that the iteration gets. */
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

  /** Executes a step that only computes a value, and records the value. */
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

  /** Counts the read, so that a verdict waits for the reaction to it. */
  async whileReading<T>(read: () => Promise<T>): Promise<T> {
    this.#reading++;
    try {
      return await read();
    } finally {
      this.#reading--;
    }
  }

  /** Writes the end of a step, with the seq of its intent if it has one. */
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

  /** Prepares bytes as a payload: in the event's row, or as a blob if they are many. */
  carry<T>(bytes: Uint8Array, then: (payload: PreparedPayload) => Promise<T>): Promise<T> {
    return carryJson(this.#host.payloads, bytes, then);
  }

  /** The data of a step's first event. */
  describe(identity: StepIdentity, attempt: number, key = this.key(identity, attempt)): JsonObject {
    const { path, kind, name, digest } = identity;
    return { attempt, digest, iteration: this.#iteration, key, kind, name, path };
  }

  /**
   * Writes the intent. It states whether the step may be repeated, so that a recovery knows whether a person must
   * decide. With `approval` the same event asks a person for permission, and the effect waits for the answer.
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

  /** Records that a step with an intent is executed: for the first time after a person has permitted it, or again. */
  async #resume({ seq, status }: StepRecord, alongside: RecordAlongside | undefined): Promise<void> {
    const isFirst = status === "asked";
    const draft = () => this.draft(isFirst ? "step/begun" : "step/again", { step: seq });
    await this.#host.life.guard(() => this.#writeEnd(draft(), [], isFirst ? undefined : alongside, { error: LOST }));
  }

  /**
   * Executes the effect and records its outcome. Returns the value as it will be read back, or the record of the
   * failure.
   */
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

  /** Writes the end and the further records in one commit. */
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
      // The tool has returned, and only its result cannot be recorded. The record says so for a later retry.
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

/** `hasReturned`: the effect happened, and only its result cannot be used. */
type EffectResult =
  | { readonly value: Json; readonly bytes: Uint8Array }
  | { readonly thrown: unknown; readonly hasReturned: boolean };

/** The result of an effect as it will be read back. */
async function resultOf(effect: () => unknown, what: string): Promise<EffectResult> {
  let hasReturned = false;
  try {
    const returned = await allowDirectReads(effect);
    hasReturned = true;
    // A tool that returns undefined has returned null. It must not count as a failure, because the tool would be
    // executed again.
    const value = copyJson(returned === undefined ? null : returned, what, "payloadBytes");
    return { value, bytes: encodeCopy(value, what, "payloadBytes") };
  } catch (thrown) {
    return { thrown, hasReturned: hasReturned || readSafely(() => isInvalidOutput(thrown), false) };
  }
}
