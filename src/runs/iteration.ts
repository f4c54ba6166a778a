// What an iteration may do, each thing at a place of its own: counted in the order of the calls, branches of parallel work
// for themselves.

import type { UntypedToolCalls } from "../contracts/agent-types.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Message, MessageInput } from "../contracts/messages.ts";
import type { RecordedReply } from "../contracts/replies.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { AgentDefinition, Iteration, Model, SpawnOptions, Verdict } from "../contracts/runs.ts";
import type { RunCompaction } from "../contracts/session-steps.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";
import type { RetryPolicy } from "../contracts/steps.ts";
import { encodeText, sha256 } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { checkId, checkInt, checkRecord, copyJson, encodeCopy, invalid } from "../core/check.ts";
import { didYouMean } from "../core/distance.ts";
import { parseRowId } from "../core/row-id.ts";
import { checkAgent, checkModel } from "./agents.ts";
import { approvalOf } from "./approval.ts";
import type { RecordedReads } from "./reads.ts";
import { type Asked, never, type Steps } from "./steps.ts";
import { planToolCall } from "./tool-calls.ts";

const SPAWN = ["input", "session", "sameSession", "forget", "limits"];
const ONCE: RetryPolicy = { attempts: 1 };
const MINUTE = 60_000;
/** What a step is given, in the words of who gave it; of others the kind says it. */
const GIVEN: { readonly [K in Asked["kind"]]?: (name: string) => string } = {
  tool: (name) => `tool ${name}: input`,
  model: (name) => (name === "model" ? "model: request" : `model ${name}: request`),
};
const LONGEST_SLEEP = 366 * 24 * 60 * MINUTE;

/** What an iteration is in, and the verbs that need more than its steps. */
export interface Setting {
  readonly run: string;
  /** Of what random() gives. */
  readonly chance: string;
  readonly session: string;
  readonly iteration: number;
  readonly input: Json;
  readonly signal: AbortSignal;
  readonly agent: AgentDefinition;
  readonly steps: Steps;
  readonly now: () => number;
  /** It has given its verdict. */
  readonly isOver: () => boolean;
  /** The work on it has ended without one: whatever it asks for is never answered. */
  readonly isLeft: () => boolean;
  /** `call`: seq of the model call that wrote it. */
  readonly message: (asked: Asked, message: MessageInput, call: number | null) => Promise<Message>;
  readonly reads: RecordedReads;
  readonly compact: (asked: Asked, compaction: RunCompaction) => Promise<void>;
  /** `name` is null for a model that the agent does not list. */
  readonly model: (asked: Asked, name: string | null, model: Model) => Promise<RecordedReply>;
  /** Until then; `lets go`: without holding on to the worker. */
  readonly until: (asked: Asked, ms: number, letsGo: boolean) => Promise<void>;
  readonly waitFor: (
    asked: Asked,
    signal: string,
    timeoutMs: number | undefined,
    schema: StandardSchema | undefined,
  ) => Promise<unknown>;
  /** Records that what was asked is refused, and throws that. */
  readonly refuse: (asked: Asked, error: unknown) => Promise<never>;
  readonly spawn: (asked: Asked, agent: AgentDefinition, options: SpawnOptions) => Promise<RunResult>;
}

export function createIteration(setting: Setting, prefix = ""): Iteration {
  const { run, session, iteration, input, signal, agent, steps } = setting;
  let count = 0;
  let drawn = 0;
  const ask = (kind: Asked["kind"], name: string, given: unknown): Asked => {
    const path = `${prefix}${count + 1}`;
    if (setting.isOver() || steps.isClosed(path)) throw iterationOver(iteration);
    const what = GIVEN[kind]?.(name) ?? kind;
    const value = copyJson(given === undefined ? null : given, what, "payloadBytes");
    const input = encodeCopy(value, what, "payloadBytes");
    count++;
    return { path, kind, name, input, value };
  };
  const step = <T>(asked: Asked, work: (asked: Asked) => Promise<T>): Promise<T> => {
    if (setting.isLeft()) return never();
    return asked.kind === "tool" || asked.kind === "model" ? steps.inFlight.count(() => work(asked)) : work(asked);
  };
  const callTool = <Out>(name: string, given?: unknown) =>
    heard(async () => {
      const tool = found(agent.tools, name, "tool");
      const asked = ask("tool", name, given);
      const mayRepeat = tool.effect === "idempotent";
      const { effect, readInput, ...validation } = planToolCall(tool, asked, setting.refuse);
      const refuse = (error: unknown) => setting.refuse(asked, error);
      const around = { ...validation, ...approvalOf(tool, name, readInput, refuse) };
      return (await step(asked, () => steps.perform(asked, tool.retry ?? ONCE, mayRepeat, effect, around))) as Out;
    });
  const calls = Object.keys(agent.tools ?? {}).map(
    (name) => [name, (given?: unknown) => callTool(name, given)] as const,
  );
  return {
    ...{ run, session, iteration, input, signal },
    tools: Object.assign(Object.create(null), Object.fromEntries(calls)) as UntypedToolCalls,
    tool: callTool,
    model: (request, given) =>
      heard(async () => {
        const { name, model } = chooseModel(agent, given);
        return step(ask("model", name ?? "model", request), (asked) => setting.model(asked, name, model));
      }),
    message: (message, options) =>
      heard(async () => {
        const { call } = checkRecord(options, "options", ["call"]);
        const seq = call === undefined ? null : ownCall(call, session);
        const asked = ask("message", "message", seq === null ? message : { call: seq, message });
        return step(asked, () => setting.message(asked, message, seq));
      }),
    context: (options) =>
      heard(async () => {
        // A function has no digest: that it is the same is the caller's word.
        const { tokenizer: _tokenizer, ...rest } = checkRecord(options, "options", ["agent", "budget", "tokenizer"]);
        return step(ask("read", "context", rest), (asked) => setting.reads.context(asked, options));
      }),
    history: (range) =>
      heard(async () => step(ask("read", "history", range ?? {}), (asked) => setting.reads.history(asked, range))),
    state: () => heard(async () => step(ask("read", "state", null), (asked) => setting.reads.state(asked))),
    compact: (compaction) =>
      heard(async () => step(ask("compact", "compact", compaction), (asked) => setting.compact(asked, compaction))),
    now: () =>
      heard(async () => Number(await step(ask("now", "now", null), (asked) => steps.record(asked, setting.now)))),
    random() {
      const text = canonicalJson([setting.chance, iteration, prefix, ++drawn]);
      return new DataView(sha256(encodeText(text)).buffer).getUint32(0) / 2 ** 32;
    },
    sleep: (ms) =>
      heard(async () => {
        const length = checkInt(ms, "ms", 0, LONGEST_SLEEP);
        return step(ask("sleep", "sleep", length), (asked) => setting.until(asked, length, false));
      }),
    pause: (minutes = 2) =>
      heard(async () => {
        const length = checkInt(minutes, "minutes", 1, 60) * MINUTE;
        return step(ask("sleep", "pause", length), (asked) => setting.until(asked, length, true));
      }),
    waitFor: <Out>(name: string, options?: { readonly timeoutMs?: number }) =>
      heard(async () => {
        const { timeoutMs } = checkRecord(options, "options", ["timeoutMs"]);
        const until = timeoutMs === undefined ? undefined : checkInt(timeoutMs, "timeoutMs", 0, LONGEST_SLEEP);
        const schema = agent.signals === undefined ? undefined : found(agent.signals, name, "signal");
        const asked = ask("wait", checkId(name, "signal"), until ?? null);
        return (await step(asked, () => setting.waitFor(asked, name, until, schema))) as Out | null;
      }),
    spawn: (child, ...[options = {}]: readonly [options?: SpawnOptions]) =>
      heard(async () => {
        if (typeof child !== "object" || child === null) throw invalid("agent", "what defineAgent() gives", child);
        const definition = checkAgent(child);
        const { input: given = null, ...rest } = checkRecord(options, "spawn", SPAWN);
        const asked = ask("spawn", definition.id, { version: definition.version, input: given, ...rest });
        return step(asked, () => setting.spawn(asked, definition, options)) as Promise<RunResult<never>>;
      }),
    parallel: <T extends readonly unknown[]>(
      ...branches: { readonly [K in keyof T]: (iteration: Iteration) => Promise<T[K]> }
    ) =>
      heard(async () => {
        const place = `${prefix}${++count}`;
        const each = branches.map(async (branch, i) => branch(createIteration(setting, `${place}.${i + 1}.`)));
        return (await Promise.all(each)) as unknown as T;
      }),
    next: (state): Verdict => ({ verdict: "next", state }),
    done: (value): Verdict => ({ verdict: "done", value }),
    fail: (error): Verdict => ({ verdict: "fail", error }),
  };
}

/** A step that nobody waits for may fail: that is recorded, and no reason to end the process. */
function heard<T>(work: () => Promise<T>): Promise<T> {
  const answer = work();
  answer.catch(() => {});
  return answer;
}

function found<T>(all: Readonly<Record<string, T>> | undefined, name: string, what: string): T {
  const one = all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined;
  if (one !== undefined) return one;
  const known = Object.keys(all ?? {});
  const asked = String(name).slice(0, 80);
  const all20 = `${known.slice(0, 20).join(", ")}${known.length > 20 ? ", …" : ""}`;
  // In the message too: of what an agent asked wrongly, only that is kept.
  const guess = didYouMean(asked, known) || (known.length === 0 ? "; it has none" : `; it has ${all20}`);
  throw new HoldfastError("NotFound", `the agent has no ${what} ${JSON.stringify(asked)}${guess}`, {
    details: { kind: what, id: asked },
    hint: known.length === 0 ? `Give it some: defineAgent({ ${what}s: … }).` : `It has ${all20}.`,
  });
}

/** A model that is given has no name of its own: another one at the same place of a replay gives the recorded reply. */
function chooseModel(
  agent: AgentDefinition,
  given: string | Model | undefined,
): { readonly name: string | null; readonly model: Model } {
  if (typeof given === "object") return { name: null, model: checkModel(given, "model") };
  const models = Object.keys(agent.models ?? {});
  const name = given ?? (models.length === 1 ? models[0] : undefined);
  if (name === undefined) throw unnamed(models);
  return { name, model: found(agent.models, name, "model") };
}

/** The seq of a call of the run's own session. */
function ownCall(call: unknown, session: string): number {
  const found = parseRowId(call, "options.call");
  if (found.session === session) return found.seq;
  throw invalid("options.call", `a call of the session ${JSON.stringify(session)}`, call);
}

function unnamed(models: readonly string[]): HoldfastError {
  const which =
    models.length === 0
      ? "the agent has no models: give it some, defineAgent({ models: … })"
      : `the agent has ${models.length} models: name one of ${models.slice(0, 20).join(", ")}`;
  return new HoldfastError("InvalidArgument", which, { details: { what: "model" } });
}

function iterationOver(iteration: number): HoldfastError {
  return new HoldfastError("InvalidTransition", `iteration ${iteration} has given its verdict: nothing follows it`, {
    details: { iteration },
    hint: "Await every step before next(), done() or fail().",
  });
}
