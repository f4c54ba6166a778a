// Steps: each is looked up in the journal before it is done, intended before its effect and recorded after it, in that
// order (rules RU4 to RU7).
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Payloads, PreparedPayload } from "../contracts/payloads.ts";
import type { RetryPolicy, StepCall, StepKind } from "../contracts/steps.ts";
import type { EventDraft, WrittenEvent } from "../contracts/storage.ts";
import { sha256Hex } from "../core/bytes.ts";
import { canonicalJson, orderedJson } from "../core/canonical.ts";
import { encodeJson } from "../core/check.ts";
import type { DirectRead } from "../core/direct-reads.ts";
import { waitBefore } from "./agents.ts";
import { insertDecision } from "./approval.ts";
import type { Also, Around, Ending } from "./around.ts";
import { errorOf, isFinal, nonDeterminism, StepFailed } from "./errors.ts";
import { InFlight } from "./in-flight.ts";
import { errorIn, payloadOf, type StepRecord } from "./journal.ts";
import type { Failure } from "./model-errors.ts";
import { LOST } from "./model-errors.ts";
import { carried, carriedBlobs, carryJson } from "./moves.ts";
import { isNewStep, parseStepInput, resultOf, stepWords } from "./step-values.ts";
import type { Beside, Writer } from "./writer.ts";

/** A thing to be done at a place. */
export interface Asked {
  readonly path: string;
  readonly kind: StepKind;
  readonly name: string;
  /** JSON, as it is kept. */
  readonly input: Uint8Array;
  /** The same as a value that nobody else has: given to the first try. */
  readonly value: Json;
}

export interface Identity extends Asked {
  readonly digest: string;
}

export interface Outside {
  readonly payloads: Payloads;
  readonly signal: AbortSignal;
  /** Ends the work on this iteration; what is asked for afterwards gets no answer. */
  readonly leave: (error?: unknown) => Promise<never>;
  /** Waits for a person to permit a step, or to say whether it happened; answered when the run is woken. */
  readonly ask: (record: StepRecord) => Promise<StepRecord>;
  /** Somebody else goes on, or the run has ended: nothing begins any more. */
  readonly isLeft: () => boolean;
  /** Counted as at work meanwhile. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** What the iteration read on a handle so far, past its recorded reads. */
  readonly directReads: ReadonlySet<DirectRead>;
}

/** Turns of the event loop in which nothing more is asked for: what follows from one answer takes one, or two. */
const IDLE_TURNS = 5;

/** For who asks in vain. A new one each time: what waits for a promise lives as long as that. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

export class Steps {
  readonly #writer: Writer;
  readonly #outside: Outside;
  readonly #iteration: number;
  /** The newest attempt at each place. */
  readonly #records = new Map<string, StepRecord>();
  /** What the journal has and nobody has asked for yet. What failed has happened to nobody. */
  readonly #unasked = new Map<string, StepRecord>();
  /** Ids of the model calls that the iteration has made or replayed here. */
  readonly calls = new Set<string>();
  /** Payloads that are being read. */
  #reading = 0;
  #isClosing = false;
  readonly inFlight = new InFlight();
  /** A recorded read could not give what it gave then: what follows from it may be asked for in other words. */
  #acceptsOtherArguments = false;

  constructor(writer: Writer, outside: Outside, iteration: number, records: Iterable<StepRecord>) {
    this.#writer = writer;
    this.#outside = outside;
    this.#iteration = iteration;
    for (const record of records) this.#records.set(record.path, record);
    for (const [path, record] of this.#records) if (record.status !== "failed") this.#unasked.set(path, record);
  }

  /** The verdict is given: nothing begins any more; what was begun before an interruption is asked for again. */
  isClosed(path: string): boolean {
    return this.#isClosing && !this.#records.has(path);
  }

  /**
   * After the verdict: NonDeterminism when it was given without something that was begun before an interruption, for
   * nobody would ever ask what became of that. Work beside the verdict is given the turns that it needs to come so far.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    const { environment } = this.#writer.storage;
    for (let idle = 0; this.#unasked.size > 0 && idle < IDLE_TURNS; ) {
      const before = this.#unasked.size;
      await new Promise<void>((turn) => environment.defer(turn));
      idle = this.#reading > 0 || this.#unasked.size < before ? 0 : idle + 1;
    }
    const [left] = this.#unasked.values();
    if (left !== undefined) await this.differs(left, "gives its verdict without that");
  }

  /** NonDeterminism: what the iteration does now is not what the journal has at the place. */
  differs({ kind, name, path }: Pick<StepRecord, "kind" | "name" | "path">, now: string): Promise<never> {
    const { leave, directReads } = this.#outside;
    return leave(
      nonDeterminism(this.#writer.row.id, `${this.#iteration}/${path}`, stepWords(kind, name), now, directReads),
    );
  }

  acceptOtherArguments(): void {
    this.#acceptsOtherArguments = true;
  }

  get payloads(): Payloads {
    return this.#outside.payloads;
  }

  identify(asked: Asked): Identity {
    const { path, kind, name, input, value } = asked;
    const digest = sha256Hex(orderedJson({ input: value, kind, name })).slice(0, 32);
    return { path, kind, name, input, value, digest };
  }

  /** What the journal has at the place; NonDeterminism when it is something else. */
  async recorded(identity: Identity): Promise<StepRecord | undefined> {
    const found = this.#records.get(identity.path);
    if (found === undefined) return undefined;
    const { kind, name, digest, path } = identity;
    this.#unasked.delete(path);
    const isOther = found.kind !== kind || found.name !== name;
    if (!isOther && (found.digest === digest || this.#acceptsOtherArguments)) return found;
    const now = stepWords(kind, name);
    return this.differs(found, `does ${now}${isOther ? "" : " with other arguments"}`);
  }

  key({ path, kind, name, digest }: Identity, attempt: number): string {
    const place = { digest, iteration: this.#iteration, kind, name, path, run: this.#writer.row.id };
    return sha256Hex(canonicalJson(attempt === 1 ? place : { attempt, ...place })).slice(0, 32);
  }

  /** With an effect on the world outside: intended before, recorded after. */
  async perform(
    asked: Asked,
    policy: RetryPolicy,
    mayRepeat: boolean,
    effect: (input: Json, call: StepCall) => unknown,
    beside: Around = {},
  ): Promise<Json> {
    const identity = this.identify(asked);
    let record = this.#records.size === 0 ? undefined : await this.recorded(identity);
    // What was said when it was intended counts too: then somebody relied on it.
    const isSafe = mayRepeat && record?.data.repeatable === true;
    if (isNewStep(record) && beside.needsApproval !== undefined) {
      const before = record;
      record = await this.#outside.during(() => this.#proposed(identity, before, mayRepeat, beside));
    }
    const isOpen = record?.status === "asked" || (record?.status === "started" && !isSafe);
    if (record !== undefined && isOpen && !record.isAllowed) record = await this.#outside.ask(record);
    const begun = record;
    return this.#outside.during(() => this.#try(identity, begun, policy, mayRepeat, effect, beside));
  }

  /** Intended, for a person to permit it, if it needs that. An input that is refused is never asked about. */
  async #proposed(
    identity: Identity,
    found: StepRecord | undefined,
    mayRepeat: boolean,
    { before, needsApproval }: Around,
  ): Promise<StepRecord | undefined> {
    await before?.();
    if ((await needsApproval?.()) !== true) return found;
    return this.#intend(identity, (found?.attempt ?? 0) + 1, mayRepeat, true);
  }

  async #try(
    identity: Identity,
    found: StepRecord | undefined,
    policy: RetryPolicy,
    mayRepeat: boolean,
    effect: (input: Json, call: StepCall) => unknown,
    around: Around,
  ): Promise<Json> {
    const { also, before, ended } = around;
    let record = found;
    for (;;) {
      if (record?.status === "done") {
        ended?.(record.end?.seq ?? 0);
        return this.payload(record);
      }
      if (this.#outside.isLeft()) return never();
      const isOpen = record?.status === "started";
      if (record !== undefined && (isOpen || record.status === "asked")) await this.#begin(record, also);
      else {
        if (record !== undefined) await this.#mayRetry(record, policy);
        await before?.();
        record = await this.#intend(identity, (record?.attempt ?? 0) + 1, mayRepeat, false);
      }
      const done = await this.#do(identity, record, isOpen, effect, around);
      if ("value" in done) return done.value;
      record = done.record;
    }
  }

  /** After a failure that is recorded: throws it again unless there is a try left, for which it waits. */
  async #mayRetry(record: StepRecord, policy: RetryPolicy): Promise<void> {
    if (record.isRetryPoint === true) return;
    const { data = {} } = record.end ?? {};
    if (record.attempt >= policy.attempts || data.final === true) {
      throw new StepFailed(errorIn(data), `${this.#iteration}/${record.path}`, data.effectDone === true);
    }
    const { environment } = this.#writer.storage;
    const after = typeof data.retryAfterMs === "number" ? data.retryAfterMs : 0;
    // What has passed of it since the failure counts, also in another process.
    const left = Math.min(after, (record.end?.at ?? 0) + after - environment.now());
    await environment.sleep(Math.max(waitBefore(record.attempt + 1, policy), left), this.#outside.signal);
    if (this.#outside.signal.aborted) await this.#outside.leave();
  }

  /** Without one: only what it gave is recorded. */
  async record(asked: Asked, make: () => Json | Promise<Json>): Promise<Json> {
    const identity = this.identify(asked);
    const found = await this.recorded(identity);
    if (found !== undefined) return this.payload(found);
    const value = await make();
    await this.#outside.during(() => this.#guarded(() => this.finish(identity, value)));
    return value;
  }

  payload({ end }: StepRecord): Promise<Json> {
    if (end === null) throw new Error("bug: a step without an end has no payload");
    return this.#guarded(() =>
      this.whileReading(() => payloadOf(this.#outside.payloads, this.#writer.row.session, end)),
    );
  }

  /** A verdict given meanwhile waits for what follows from it. */
  async whileReading<T>(read: () => Promise<T>): Promise<T> {
    this.#reading++;
    try {
      return await read();
    } finally {
      this.#reading--;
    }
  }

  /** Its end, with the intent it had or without one; `writes` go with the event. */
  async finish(
    identity: Identity,
    value: Json,
    found?: StepRecord,
    more: JsonObject = {},
    beside: Beside = {},
  ): Promise<void> {
    const bytes = encodeJson(value, identity.name, "payloadBytes");
    const data = { ...(found === undefined ? this.said(identity, 1) : { step: found.seq }), ...more };
    await this.carry(bytes, async (payload) => {
      const draft = this.draft("step/done", data, ["result", payload]);
      const { writes = [], ...rest } = beside;
      await this.#writer.add([{ ...draft, writes }], { ...rest, ...carriedBlobs([payload]) });
    });
  }

  draft(type: string, data: JsonObject, payload?: readonly [string, PreparedPayload]): EventDraft {
    const { session, id } = this.#writer.row;
    return { session, type, at: this.#writer.storage.environment.now(), run: id, data, ...carried(payload) };
  }

  /** Bytes as a payload in the event's row, or beside it when they are many. */
  carry<T>(bytes: Uint8Array, then: (payload: PreparedPayload) => Promise<T>): Promise<T> {
    return carryJson(this.#outside.payloads, bytes, then);
  }

  said(identity: Identity, attempt: number, key = this.key(identity, attempt)): JsonObject {
    const { path, kind, name, digest } = identity;
    return { attempt, digest, iteration: this.#iteration, key, kind, name, path };
  }

  /**
   * `mayRepeat` is said in it, so that who recovers the run knows whether a person is needed. With `approval` the same event
   * asks a person for permission: no effect follows before the answer.
   */
  #intend(identity: Identity, attempt: number, mayRepeat: boolean, approval: boolean): Promise<StepRecord> {
    return this.#guarded(() =>
      this.carry(identity.input, async (payload) => {
        const key = this.key(identity, attempt);
        const flags = { ...(approval ? { approval: true } : {}), ...(mayRepeat ? { repeatable: true } : {}) };
        const data = { ...this.said(identity, attempt, key), ...flags };
        const draft = this.draft("step/started", data, ["input", payload]);
        const asking = approval ? { writes: [insertDecision(this.#writer.row.id, { slot: "seq" })] } : {};
        const [written] = await this.#writer.add([{ ...draft, ...asking }], carriedBlobs([payload]));
        const { kind, name, path, digest } = identity;
        return {
          ...{ seq: written?.seq ?? 0, iteration: this.#iteration, path, kind, name, attempt, digest, key },
          ...{ startedAt: draft.at, data, end: null, isAllowed: false },
          ...{ status: approval ? "asked" : "started", isAsked: approval },
        };
      }),
    );
  }

  /** A try of a step that has its intent already: the first one, once a person has permitted it, or one more. */
  async #begin({ seq, status }: StepRecord, also: Also | undefined): Promise<void> {
    const type = status === "asked" ? "step/begun" : "step/again";
    await this.#guarded(() =>
      this.#end(this.draft(type, { step: seq }), [], status === "asked" ? undefined : also, { error: LOST }),
    );
  }

  /** The effect, and what came of it: the value as it will be read back, or the failure. */
  async #do(
    { path, kind, name, input, value: first }: Identity,
    record: StepRecord,
    again: boolean,
    effect: (input: Json, call: StepCall) => unknown,
    { also, judge, ended }: Around,
  ): Promise<{ readonly value: Json } | { readonly record: StepRecord }> {
    const { row } = this.#writer;
    const call: StepCall = {
      ...{ run: row.id, session: row.session, iteration: this.#iteration, path, attempt: record.attempt },
      ...{ idempotencyKey: record.key, again, signal: this.#outside.signal },
    };
    if (this.#outside.isLeft()) return never();
    const asked = record.attempt === 1 && !again ? first : parseStepInput(input);
    const result = await resultOf(() => effect(asked, call), `${kind} ${name}: result`);
    if ("thrown" in result) {
      const failure = judge?.(result.thrown, this.#writer.storage.environment.now());
      const effectDone = kind === "tool" && result.hasReturned;
      return { record: await this.#failed(record, result.thrown, also, effectDone, failure) };
    }
    const { value, bytes } = result;
    const [written] = await this.#guarded(() =>
      this.carry(bytes, (payload) =>
        this.#end(this.draft("step/done", { step: record.seq }, ["result", payload]), [payload], also, { value }),
      ),
    );
    ended?.(written?.seq ?? 0);
    return { value };
  }

  /** With what else is recorded of it, in one commit. */
  async #end(
    draft: EventDraft,
    carried: readonly PreparedPayload[],
    also: Also | undefined,
    end: Ending,
  ): Promise<readonly WrittenEvent[]> {
    const own = carriedBlobs(carried);
    if (also === undefined) return this.#writer.add([draft], own);
    return this.#outside.payloads.preparing(async (prepare) => {
      const { event, commit } = await also(prepare, end, draft.at);
      return this.#writer.add([draft, event], {
        blobs: [...(own.blobs ?? []), ...(commit.blobs ?? [])],
        writes: [...(own.writes ?? []), ...(commit.writes ?? [])],
        uses: [...(own.uses ?? []), ...(commit.uses ?? [])],
      });
    });
  }

  #failed(
    record: StepRecord,
    thrown: unknown,
    also: Also | undefined,
    effectDone: boolean,
    { final, retryAfterMs }: Failure = { final: isFinal(thrown), retryAfterMs: null },
  ): Promise<StepRecord> {
    const data = {
      ...{ step: record.seq, error: { ...errorOf(thrown) } },
      ...(final ? { final: true } : {}),
      // The tool has returned, and only its result is no good: whoever tries again must know.
      ...(effectDone ? { effectDone: true } : {}),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    };
    return this.#guarded(async () => {
      const draft = this.draft("step/failed", data);
      const [written] = await this.#end(draft, [], also, { error: data.error });
      return {
        ...record,
        status: "failed",
        isRetryPoint: false,
        end: { seq: written?.seq ?? 0, type: draft.type, at: draft.at, data },
      };
    });
  }

  /** Trouble with the store, or with the lease, is nothing an iteration could catch. */
  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#outside.isLeft()) return never();
    try {
      return await work();
    } catch (error) {
      return this.#outside.leave(error);
    }
  }
}
