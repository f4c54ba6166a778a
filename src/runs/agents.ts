// Agents as they are defined in code: checked once, and pinned by what a run must not change under itself.

import type { AgentSpec, ToolCallsOf, UntypedSignals, UntypedTools } from "../contracts/agent-types.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { AgentDefinition, Model, RunLimits } from "../contracts/runs.ts";
import type { RetryPolicy } from "../contracts/steps.ts";
import { sameBytes, toHex } from "../core/bytes.ts";
import {
  checkFields,
  checkId,
  checkInt,
  checkOneOf,
  checkOptionalId,
  checkPlain,
  checkRecord,
  invalid,
} from "../core/check.ts";
import { changeSince, toolsetOf } from "./toolset.ts";
import { checkValidator } from "./validation.ts";

const AGENT = [
  ...["id", "version", "input", "state", "output", "signals", "tools", "models", "limits", "initial", "iterate"],
] as const;
const TOOL = ["description", "input", "inputSchema", "output", "effect", "retry", "approve", "execute"] as const;
const LIMITS = ["iterations", "wallMs", "tokens", "costUsd"] as const;
const LONGEST_MS = 1e15;

/**
 * The definition itself, once it is known to be one. Types are inferred from validators and from the tools. Those that are named,
 * `defineAgent<State, Input>({ … })`, are taken as they are; then the tools are not typed.
 */
export function defineAgent<
  State = Json,
  Input = Json,
  Output = Json,
  Accepted = Input,
  Signals = UntypedSignals,
  ModelName extends string = string,
  ToolAccepted = UntypedTools,
  ToolInputs = Readonly<Record<string, Json>>,
  ToolOutputs = UntypedTools,
  ToolReturned = UntypedTools,
>(
  agent: AgentSpec<
    State,
    Input,
    Output,
    Accepted,
    Signals,
    ModelName,
    ToolAccepted,
    ToolInputs,
    ToolOutputs,
    ToolReturned
  >,
): AgentDefinition<
  State,
  Input,
  Output,
  ToolCallsOf<ToolAccepted, ToolInputs, ToolOutputs, ToolReturned>,
  Signals,
  ModelName,
  Accepted
> {
  checkAgent(agent);
  return agent;
}

/** Whoever works on it knows no more of its state than that it is JSON. */
export function checkAgent(agent: unknown): AgentDefinition {
  const given = checkRecord(agent, "agent", AGENT);
  checkId(given.id, "agent.id");
  checkId(given.version, "agent.version");
  if (typeof given.iterate !== "function") throw invalid("agent.iterate", "a function", given.iterate);
  if (given.initial !== undefined && typeof given.initial !== "function") {
    throw invalid("agent.initial", "a function", given.initial);
  }
  for (const name of ["input", "state", "output"] as const) checkValidator(given[name], `agent.${name}`);
  for (const [name, schema] of Object.entries(checkRecord(given.signals, "agent.signals"))) {
    checkValidator(schema, `agent.signals.${checkId(name, "agent.signals")}`);
  }
  for (const [name, tool] of Object.entries(checkRecord(given.tools, "agent.tools"))) {
    const what = `agent.tools.${checkId(name, "agent.tools")}`;
    const { effect, execute, retry, approve, input, inputSchema, output } = checkRecord(tool, what, TOOL);
    checkValidator(input, `${what}.input`);
    checkValidator(output, `${what}.output`);
    if (inputSchema !== undefined) checkPlain(inputSchema, `${what}.inputSchema`);
    if (typeof execute !== "function") throw invalid(`${what}.execute`, "a function", execute);
    if (effect !== undefined) checkOneOf(effect, `${what}.effect`, ["idempotent", "non-idempotent"]);
    if (approve !== undefined && typeof approve !== "boolean" && typeof approve !== "function") {
      throw invalid(`${what}.approve`, "true, false or a function", approve);
    }
    checkRetry(retry, `${what}.retry`);
  }
  for (const [name, model] of Object.entries(checkRecord(given.models, "agent.models"))) {
    checkModel(model, `agent.models.${checkId(name, "agent.models")}`);
  }
  checkLimits(given.limits, "agent.limits");
  return agent as AgentDefinition;
}

export function checkModel(value: unknown, what: string): Model {
  const { call, retry, model, provider } = checkRecord(value, what, ["provider", "model", "retry", "call"]);
  if (typeof call !== "function") throw invalid(`${what}.call`, "a function", call);
  checkOptionalId(model, `${what}.model`);
  checkOptionalId(provider, `${what}.provider`);
  checkRetry(retry, `${what}.retry`);
  return value as Model;
}

function checkRetry(value: unknown, what: string): void {
  if (value === undefined) return;
  const given = checkRecord(value, what, ["attempts", "backoffMs", "maxBackoffMs"]);
  checkInt(given.attempts, `${what}.attempts`, 1, 100);
  for (const name of ["backoffMs", "maxBackoffMs"] as const) {
    if (given[name] !== undefined) checkInt(given[name], `${what}.${name}`, 0, 3_600_000);
  }
}

export function checkLimits(value: unknown, what: string): RunLimits {
  const given = checkRecord(value, what);
  checkFields(given, what, LIMITS);
  for (const name of ["iterations", "wallMs", "tokens"] as const) {
    if (given[name] !== undefined) checkInt(given[name], `${what}.${name}`, 1, LONGEST_MS);
  }
  const { costUsd } = given;
  if (costUsd !== undefined && (typeof costUsd !== "number" || !(costUsd >= 0) || !Number.isFinite(costUsd))) {
    throw invalid(`${what}.costUsd`, "a number from 0 on", costUsd);
  }
  return Object.fromEntries(LIMITS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
}

export function checkSame(row: RunRow, agent: AgentDefinition, { allowMismatch = false }: ResumeOptions): void {
  const mismatch = (what: string, then: string, now: string, hint: string) =>
    new HoldfastError("AgentMismatch", `the run ${JSON.stringify(row.id)} was begun by ${what} ${then}, not ${now}`, {
      details: { run: row.id, what, recorded: then, given: now },
      hint,
    });
  const own = "Resume it with the agent that began it";
  if (row.agent !== agent.id) throw mismatch("the agent", row.agent, agent.id, `${own}: no other can.`);
  if (allowMismatch) return;
  if (row.agent_version !== agent.version) {
    const hint = `${own}; if the change does it no harm, with allowMismatch: true.`;
    throw mismatch("version", row.agent_version, agent.version, hint);
  }
  const toolset = toolsetOf(agent);
  if (!sameBytes(row.toolset, toolset)) throw otherTools(row, agent, toolset);
}

/** What was recorded is a hash: it tells what changed only where one change explains it. */
function otherTools({ id, toolset: then }: RunRow, agent: AgentDefinition, now: Uint8Array): HoldfastError {
  const change = changeSince(then, agent) ?? "with other tools or models than the agent has now, or declared otherwise";
  return new HoldfastError("AgentMismatch", `the run ${JSON.stringify(id)} was begun ${change}`, {
    details: { run: id, what: "the tools", recorded: toHex(then), given: toHex(now) },
    hint: "Resume it with the tools and models it began with; if the change does it no harm, with allowMismatch: true.",
  });
}

export function waitBefore(attempt: number, { backoffMs = 500, maxBackoffMs = 30_000 }: RetryPolicy): number {
  return Math.min(maxBackoffMs, backoffMs * 2 ** (attempt - 2));
}
