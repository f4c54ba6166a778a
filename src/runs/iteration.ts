// What an iteration may do, each thing at a place of its own: counted in the order of the calls, branches of parallel work
// for themselves.

import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Message, MessageInput } from "../contracts/messages.ts";
import type {
  AgentDefinition,
  Iteration,
  Model,
  ModelReply,
  RetryPolicy,
  RunResult,
  SpawnOptions,
  StepCall,
  Verdict,
} from "../contracts/runs.ts";
import type { RunCompaction } from "../contracts/session-steps.ts";
import { encodeText, sha256 } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { checkId, checkInt, checkRecord, copyJson, encodeCopy, invalid } from "../core/check.ts";
import { didYouMean } from "../core/distance.ts";
import { checkAgent } from "./agents.ts";
import type { RecordedReads } from "./reads.ts";
import { type Asked, never, type Steps } from "./steps.ts";

const SPAWN = ["input", "session", "sameSession", "forget", "limits"];
const ONCE: RetryPolicy = { attempts: 1 };
const MINUTE = 60_000;
/** What a step is given, in the words of who gave it; of others the kind says it. */
const GIVEN: { readonly [K in Asked["kind"]]?: (name: string) => string } = {
  tool: (name) => `tool ${name}: input`,
  model: (name) => `model ${name}: request`,
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
  readonly message: (asked: Asked, message: MessageInput) => Promise<Message>;
  readonly reads: RecordedReads;
  readonly compact: (asked: Asked, compaction: RunCompaction) => Promise<void>;
  readonly model: (asked: Asked, name: string, model: Model) => Promise<ModelReply>;
  /** Until then; `lets go`: without holding on to the worker. */
  readonly until: (asked: Asked, ms: number, letsGo: boolean) => Promise<void>;
  readonly waitFor: (asked: Asked, signal: string, timeoutMs: number | undefined) => Promise<Json>;
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
  const step = <T>(asked: Asked, work: (asked: Asked) => Promise<T>): Promise<T> =>
    setting.isLeft() ? never() : work(asked);
  return {
    ...{ run, session, iteration, input, signal },
    tool: <Out>(name: string, given?: unknown) =>
      heard(async () => {
        const tool = found(agent.tools, name, "tool");
        const asked = ask("tool", name, given);
        const mayRepeat = tool.effect === "idempotent";
        const effect = (value: Json, call: StepCall) => tool.execute(value, call);
        return (await step(asked, () => steps.perform(asked, tool.retry ?? ONCE, mayRepeat, effect))) as Out;
      }),
    model: (request, name) =>
      heard(async () => {
        const models = Object.keys(agent.models ?? {});
        const chosen = name ?? (models.length === 1 ? models[0] : undefined);
        if (chosen === undefined) throw unnamed(models);
        const model = found(agent.models, chosen, "model");
        return step(ask("model", chosen, request), (asked) => setting.model(asked, chosen, model));
      }),
    message: (message) =>
      heard(async () => step(ask("message", "message", message), (asked) => setting.message(asked, message))),
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
        const asked = ask("wait", checkId(name, "signal"), until ?? null);
        return (await step(asked, () => setting.waitFor(asked, name, until))) as Out | null;
      }),
    spawn: (child, ...[options = {}]: readonly [options?: SpawnOptions]) =>
      heard(async () => {
        if (typeof child !== "object" || child === null) throw invalid("agent", "what defineAgent() gives", child);
        const definition = checkAgent(child);
        const { input: given = null, ...rest } = checkRecord(options, "spawn", SPAWN);
        const asked = ask("spawn", definition.id, { version: definition.version, input: given, ...rest });
        return step(asked, () => setting.spawn(asked, definition, options));
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
