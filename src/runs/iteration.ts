// What an agent's iteration may call. Each step has its own position: steps are counted in the order of the calls, and
// each branch of parallel work counts its own. A tool's input is validated before its intent is written; a person
// approves the call if the tool requires it; the tool's result is validated before it is recorded.
import type { AgentDefinition, Iteration, SpawnOptions, Verdict } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Model } from "../contracts/models.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { SessionSteps } from "../contracts/session-steps.ts";
import type { RetryPolicy, StepCall } from "../contracts/steps.ts";
import type { Tool, UntypedToolCalls } from "../contracts/tools.ts";
import { encodeText, sha256 } from "../core/bytes.ts";
import { checkId, checkInt, checkRecord, copyJson, encodeCopy, invalid } from "../core/check.ts";
import { didYouMean } from "../core/distance.ts";
import { canonicalJson } from "../core/hashing.ts";
import { parseRowId } from "../core/row-id.ts";
import { checkAgent, checkModel, ValidationError, validateValue } from "./agents.ts";
import { spawnRun } from "./children.ts";
import { compactSession } from "./compaction.ts";
import type { IterationHost } from "./iteration-host.ts";
import { IterationLeft } from "./life.ts";
import { appendMessage } from "./messages.ts";
import { askModel } from "./models.ts";
import { readContext, readHistory, readState } from "./reads.ts";
import { refuseInvalid } from "./refusals.ts";
import type { StepEffect, StepHooks, StepRequest } from "./steps.ts";
import { sleepFor, waitForSignal } from "./waiting.ts";

const SPAWN = ["input", "session", "sameSession", "forget", "limits"];
const CONTEXT = ["agent", "budget", "tokenizer", "blocks", "memory"];
const ONCE: RetryPolicy = { attempts: 1 };
const MINUTE = 60_000;
/** The name of a step's input in errors. Other kinds of steps are named by their kind. */
const INPUT_NAMES: { readonly [K in StepRequest["kind"]]?: (name: string) => string } = {
  tool: (name) => `tool ${name}: input`,
  model: (name) => (name === "model" ? "model: request" : `model ${name}: request`),
};
const LONGEST_SLEEP = 366 * 24 * 60 * MINUTE;

export function createIteration(host: IterationHost, prefix = ""): Iteration {
  const { iteration, input, signal, agent, steps, life } = host;
  const { id: run, session } = host.writer.row;
  let count = 0;
  let drawn = 0;
  const ask = (kind: StepRequest["kind"], name: string, given: unknown): StepRequest => {
    const path = `${prefix}${count + 1}`;
    if (steps.isClosed(path)) throw iterationOver(iteration);
    const what = INPUT_NAMES[kind]?.(name) ?? kind;
    const value = copyJson(given === undefined ? null : given, what, "payloadBytes");
    const input = encodeCopy(value, what, "payloadBytes");
    count++;
    return { path, kind, name, input, value };
  };
  const step = <T>(request: StepRequest, work: (request: StepRequest) => Promise<T>): Promise<T> => {
    life.refuseLeft();
    return request.kind === "tool" || request.kind === "model" ? life.call(() => work(request)) : work(request);
  };
  const callTool = <Out>(name: string, given?: unknown) =>
    answer(() => {
      const tool = named(agent.tools, name, "tool");
      const request = ask("tool", name, given);
      const refuse = (error: unknown) => refuseInvalid(host, request, error);
      const { execute, hooks } = planToolCall(tool, request, refuse);
      const effect = { retry: tool.retry ?? ONCE, mayRepeat: tool.effect === "idempotent", execute };
      return step(request, () => steps.perform(request, effect, hooks)) as Promise<Out>;
    });
  const calls = Object.keys(agent.tools ?? {}).map(
    (name) => [name, (given?: unknown) => callTool(name, given)] as const,
  );
  const verbs = { host, ask, step };
  return {
    run,
    session,
    iteration,
    input,
    signal,
    tools: Object.assign(Object.create(null), Object.fromEntries(calls)) as UntypedToolCalls,
    tool: callTool,
    model: (request, given) =>
      answer(() => {
        const { name, model } = chooseModel(agent, given);
        return step(ask("model", name ?? "model", request), (request) => askModel(host, request, name, model));
      }),
    ...sessionVerbs(verbs),
    ...waitingVerbs(verbs),
    random() {
      const text = canonicalJson([host.seed, iteration, prefix, ++drawn]);
      return new DataView(sha256(encodeText(text)).buffer).getUint32(0) / 2 ** 32;
    },
    parallel: <T extends readonly unknown[]>(
      ...branches: { readonly [K in keyof T]: (iteration: Iteration) => Promise<T[K]> }
    ) =>
      answer(() => {
        const place = `${prefix}${++count}`;
        const each = branches.map(async (branch, i) => branch(createIteration(host, `${place}.${i + 1}.`)));
        return Promise.all(each) as Promise<unknown> as Promise<T>;
      }),
    next: (state): Verdict => ({ verdict: "next", state }),
    done: (value): Verdict => ({ verdict: "done", value }),
    fail: (error): Verdict => ({ verdict: "fail", error }),
  };
}

/** How the verbs of an iteration get their positions and begin. */
interface StepCalls {
  readonly host: IterationHost;
  readonly ask: (kind: StepRequest["kind"], name: string, given: unknown) => StepRequest;
  readonly step: <T>(request: StepRequest, work: (request: StepRequest) => Promise<T>) => Promise<T>;
}

/** Steps that write to the session or read it. */
function sessionVerbs({ host, ask, step }: StepCalls): SessionSteps & Pick<Iteration, "message"> {
  const { life } = host;
  const { session } = host.writer.row;
  return {
    message: (message, options) =>
      answer(() => {
        const { call } = checkRecord(options, "options", ["call"]);
        const seq = call === undefined ? null : ownCall(call, session);
        const request = ask("message", "message", seq === null ? message : { call: seq, message });
        return step(request, () => life.during(() => appendMessage(host, request, message, seq)));
      }),
    context: (options) =>
      answer(() => {
        // A function has no digest, so the caller must use the same tokenizer in a replay.
        const { tokenizer: _tokenizer, ...rest } = checkRecord(options, "options", CONTEXT);
        return step(ask("read", "context", rest), (request) => readContext(host, request, options));
      }),
    history: (range) =>
      answer(() => step(ask("read", "history", range ?? {}), (request) => readHistory(host, request, range))),
    state: () => answer(() => step(ask("read", "state", null), (request) => readState(host, request))),
    compact: (compaction) =>
      answer(() =>
        step(ask("compact", "compact", compaction), (request) =>
          life.during(() => compactSession(host, request, compaction)),
        ),
      ),
  };
}

/** Steps that read the clock, sleep, or wait for a signal or a child. */
function waitingVerbs({
  host,
  ask,
  step,
}: StepCalls): Pick<Iteration, "now" | "sleep" | "pause" | "waitFor" | "spawn"> {
  const { agent, steps } = host;
  return {
    now: () =>
      answer(() => {
        const make = () => host.storage.environment.now();
        return step(ask("now", "now", null), (request) => steps.recordValue(request, make)) as Promise<number>;
      }),
    sleep: (ms) =>
      answer(() => {
        const length = checkInt(ms, "ms", 0, LONGEST_SLEEP);
        return step(ask("sleep", "sleep", length), (request) => sleepFor(host, request, length, false));
      }),
    pause: (minutes = 2) =>
      answer(() => {
        const length = checkInt(minutes, "minutes", 1, 60) * MINUTE;
        return step(ask("sleep", "pause", length), (request) => sleepFor(host, request, length, true));
      }),
    waitFor: <Out>(name: string, options?: { readonly timeoutMs?: number }) =>
      answer(() => {
        const { timeoutMs } = checkRecord(options, "options", ["timeoutMs"]);
        const until = timeoutMs === undefined ? undefined : checkInt(timeoutMs, "timeoutMs", 0, LONGEST_SLEEP);
        const schema = agent.signals === undefined ? undefined : named(agent.signals, name, "signal");
        const request = ask("wait", checkId(name, "signal"), until ?? null);
        return step(request, () => waitForSignal(host, request, name, until, schema)) as Promise<Out | null>;
      }),
    spawn: (child, ...[options = {}]: readonly [options?: SpawnOptions]) =>
      answer(() => {
        if (typeof child !== "object" || child === null) throw invalid("agent", "an agent from defineAgent()", child);
        const definition = checkAgent(child);
        const { input: given = null, ...rest } = checkRecord(options, "spawn", SPAWN);
        const request = ask("spawn", definition.id, { version: definition.version, input: given, ...rest });
        return step(request, () => spawnRun(host, request, definition, options)) as Promise<RunResult<never>>;
      }),
  };
}

/**
 * The promise that the agent gets for a call. If the iteration is suspended or left, the promise never settles: the
 * agent's code stops there, and the next replay continues from the journal. No other promise of a run stays open for
 * ever.
 */
function answer<T>(work: () => Promise<T>): Promise<T> {
  const withoutAnswer = (error: unknown): Promise<never> => {
    if (error instanceof IterationLeft) return new Promise(() => {});
    throw error;
  };
  let answered: Promise<T>;
  try {
    answered = work().catch(withoutAnswer);
  } catch (error) {
    answered = error instanceof IterationLeft ? withoutAnswer(error) : Promise.reject(error);
  }
  // The agent may leave a step unawaited. Its failure is recorded, and must not end the process as an unhandled
  // rejection.
  answered.catch(() => {});
  return answered;
}

function named<T>(all: Readonly<Record<string, T>> | undefined, name: string, what: string): T {
  const one = all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined;
  if (one !== undefined) return one;
  const known = Object.keys(all ?? {});
  const given = String(name).slice(0, 80);
  const all20 = `${known.slice(0, 20).join(", ")}${known.length > 20 ? ", …" : ""}`;
  // The message lists the names too, because the journal keeps only the message of such an error.
  const guess = didYouMean(given, known) || (known.length === 0 ? "; it has none" : `; it has ${all20}`);
  throw new HoldfastError("NotFound", `the agent has no ${what} ${JSON.stringify(given)}${guess}`, {
    details: { kind: what, id: given },
    hint: known.length === 0 ? `Add it with defineAgent({ ${what}s: … }).` : `It has ${all20}.`,
  });
}

/**
 * A model that is passed with the request has no name. If a replay passes another model at the same position, the
 * recorded reply counts.
 */
function chooseModel(
  agent: AgentDefinition,
  given: string | Model | undefined,
): { readonly name: string | null; readonly model: Model } {
  if (typeof given === "object") return { name: null, model: checkModel(given, "model") };
  const models = Object.keys(agent.models ?? {});
  const name = given ?? (models.length === 1 ? models[0] : undefined);
  if (name === undefined) throw unnamed(models);
  return { name, model: named(agent.models, name, "model") };
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
  return new HoldfastError("InvalidTransition", `iteration ${iteration} has returned its verdict: no step may follow`, {
    details: { iteration },
    hint: "Await every step before next(), done() or fail().",
  });
}

interface ToolCallPlan {
  readonly execute: StepEffect["execute"];
  readonly hooks: StepHooks;
}

/** `refuse` records why the step is refused, and throws the error, so that a replay throws the same error. */
function planToolCall(
  tool: Tool,
  { name, value }: StepRequest,
  refuse: (error: unknown) => Promise<never>,
): ToolCallPlan {
  const validate = (raw: Json) => validateValue(tool.input, raw, "InvalidInput", `input of the tool ${name}`);
  const execute = async (input: unknown, call: StepCall) => {
    const output = await tool.execute(input as Json, call);
    return validateValue(tool.output, output, "InvalidOutput", `result of the tool ${name}`);
  };
  const approval = approvalHooks(tool, name, () => validate(structuredClone(value)), refuse);
  if (tool.input === undefined) return { execute, hooks: approval };
  // An attempt may change its input, so every later attempt gets its own copy.
  let first: { readonly input: unknown } | undefined;
  const before = async () => {
    try {
      first ??= { input: await validate(value) };
    } catch (error) {
      if (error instanceof ValidationError) await refuse(error);
      throw error;
    }
  };
  return {
    hooks: { before, ...approval },
    execute: async (raw, call) => {
      const input = call.attempt === 1 && first !== undefined ? first.input : await validate(raw);
      return execute(input, call);
    },
  };
}

/**
 * When a tool asks for approval: never, always, or depending on its input, which the rule gets as the validator returns
 * it. A rule that throws refuses the step.
 */
function approvalHooks(
  { approve = false }: Pick<Tool, "approve">,
  name: string,
  readInput: () => Promise<unknown>,
  refuse: (error: unknown) => Promise<never>,
): StepHooks {
  if (approve === false) return {};
  if (approve === true) return { needsApproval: async () => true };
  return {
    needsApproval: async () => {
      const input = (await readInput()) as never;
      try {
        return checkAnswer(approve(input), name);
      } catch (error) {
        return refuse(error);
      }
    },
  };
}

/** Only true and false are accepted: a promise, for example, would always count as true. */
function checkAnswer(answer: unknown, name: string): boolean {
  if (typeof answer === "boolean") return answer;
  const given = answer instanceof Promise ? "a promise" : typeof answer;
  throw new HoldfastError("InvalidArgument", `approve of the tool ${name} returned ${given}, not true or false`, {
    details: { what: `tools.${name}.approve` },
    hint: "approve must decide from the input and return at once: it cannot be async.",
  });
}
