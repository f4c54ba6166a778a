// Checks agents as they are defined in code, and computes the hash of the tools and models that a run is pinned to.
// Validators of agents and tools may be any Standard Schema.
import type { AgentDefinition, AgentSpec, UntypedSignals, Verdict } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Model } from "../contracts/models.ts";
import type { RunLimits } from "../contracts/run-record.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { StandardSchema, ValidationIssue, ValidationResult } from "../contracts/standard-schema.ts";
import type { RetryPolicy } from "../contracts/steps.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Tool, ToolCallsOf, UntypedTools } from "../contracts/tools.ts";
import { exponentialBackoff } from "../core/backoff.ts";
import { encodeText, sameBytes, sha256, toHex } from "../core/bytes.ts";
import { checkId, checkInt, checkOneOf, checkOptionalId, checkPlain, checkRecord, invalid } from "../core/check.ts";
import { canonicalJson } from "../core/hashing.ts";

const AGENT = [
  "id",
  "version",
  "input",
  "state",
  "output",
  "signals",
  "tools",
  "models",
  "limits",
  "initial",
  "iterate",
] as const;
const LIMITS = ["iterations", "wallMs", "tokens", "costUsd"] as const;
const LONGEST_MS = 1e15;
const TOOL = [
  "name",
  "description",
  "input",
  "inputSchema",
  "output",
  "effect",
  "retry",
  "approve",
  "execute",
] as const;

/**
 * Checks a definition and returns it. Types are inferred from validators and from the tools. With explicit types,
 * `defineAgent<State, Input>({ … })`, nothing is inferred, and the tools are untyped.
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

/** Checks an agent. The worker only knows that the agent's state is JSON. */
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
    const { name: own, effect, execute, retry, approve, input, inputSchema, output } = checkRecord(tool, what, TOOL);
    if (own !== undefined && own !== name) throw invalid(`${what}.name`, `${JSON.stringify(name)}, as its key`, own);
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

/**
 * Checks limits that agents declare or pass to their children. The declarations of the verbs check limits of callers.
 */
export function checkLimits(value: unknown, what: string): RunLimits {
  const given = checkRecord(value, what, LIMITS);
  for (const name of ["iterations", "wallMs", "tokens"] as const) {
    if (given[name] !== undefined) checkInt(given[name], `${what}.${name}`, 1, LONGEST_MS);
  }
  const { costUsd } = given;
  if (costUsd !== undefined && (typeof costUsd !== "number" || !(costUsd >= 0) || !Number.isFinite(costUsd))) {
    throw invalid(`${what}.costUsd`, "a number of at least 0", costUsd);
  }
  return given;
}

/** A worker finds the agent of a run by its id, so ids must differ. */
export function refuseSameIds(agents: readonly AgentDefinition[]): void {
  const ids = new Set<string>();
  for (const { id } of agents) {
    if (ids.has(id)) throw invalid("worker.agents", "agents with different ids", id);
    ids.add(id);
  }
}

export function checkSame(row: RunRow, agent: AgentDefinition, { allowMismatch = false }: ResumeOptions): void {
  const mismatch = (what: string, then: string, now: string, hint: string) =>
    new HoldfastError("AgentMismatch", `the run ${JSON.stringify(row.id)} was begun by ${what} ${then}, not ${now}`, {
      details: { run: row.id, what, recorded: then, given: now },
      hint,
    });
  const own = "Resume it with the agent that began it";
  if (row.agent !== agent.id) throw mismatch("the agent", row.agent, agent.id, `${own}.`);
  if (allowMismatch) return;
  if (row.agent_version !== agent.version) {
    const hint = `${own}. If the change does no harm to the run, pass allowMismatch: true.`;
    throw mismatch("version", row.agent_version, agent.version, hint);
  }
  const toolset = toolsetOf(agent);
  if (!sameBytes(row.toolset, toolset)) throw otherTools(row, agent, toolset);
}

/** The run stores only a hash, so the error can name the change only if a single one explains it. */
function otherTools({ id, toolset: then }: RunRow, agent: AgentDefinition, now: Uint8Array): HoldfastError {
  const change = changeSince(then, agent) ?? "with other tools or models than the agent has now, or declared otherwise";
  return new HoldfastError("AgentMismatch", `the run ${JSON.stringify(id)} was begun ${change}`, {
    details: { run: id, what: "the tools", recorded: toHex(then), given: toHex(now) },
    hint: "Resume it with the tools and models it began with. If the change does no harm to the run, pass allowMismatch: true.",
  });
}

export function waitBefore(attempt: number, { backoffMs = 500, maxBackoffMs = 30_000 }: RetryPolicy): number {
  return exponentialBackoff(attempt - 2, backoffMs, maxBackoffMs);
}

/** Appended to the effect of a tool that asks for approval, so that agents without such tools keep their hash. */
const APPROVED = ", approved";

/**
 * Names and effects of an agent's tools, and names of its models. A run is pinned to them, because with others a
 * recorded step could mean something else.
 */
interface Toolset {
  readonly tools: Readonly<Record<string, string>>;
  readonly models: readonly string[];
}

export function toolsetOf(agent: AgentDefinition): Uint8Array {
  return hashOf(declaredBy(agent));
}

function declaredBy({ tools = {}, models = {} }: AgentDefinition): Toolset {
  return {
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [
        name,
        `${tool.effect ?? "non-idempotent"}${asksForApproval(tool) ? APPROVED : ""}`,
      ]),
    ),
    models: Object.keys(models).sort(),
  };
}

function hashOf(toolset: Toolset): Uint8Array {
  return sha256(encodeText(canonicalJson({ ...toolset })));
}

/**
 * The single change that leads from the recorded toolset to the agent's; null if no single one does, or a tool or model
 * was removed.
 */
function changeSince(recorded: Uint8Array, agent: AgentDefinition): string | null {
  const { tools, models } = declaredBy(agent);
  const found = [
    ...Object.entries(tools).flatMap(([name, declared]) => {
      const { [name]: _, ...others } = tools;
      const isApproved = declared.endsWith(APPROVED);
      const effect = isApproved ? declared.slice(0, -APPROVED.length) : declared;
      const other = effect === "idempotent" ? "non-idempotent" : "idempotent";
      const tool = `the tool ${JSON.stringify(name)}`;
      const as = (then: string) => ({ tools: { ...tools, [name]: then }, models });
      return [
        [`without ${tool}`, { tools: others, models }] as const,
        [`with ${tool} declared ${other}, not ${effect}`, as(`${other}${isApproved ? APPROVED : ""}`)] as const,
        isApproved
          ? ([`with ${tool} asking no person for approval`, as(effect)] as const)
          : ([`with ${tool} asking a person for approval`, as(`${effect}${APPROVED}`)] as const),
      ];
    }),
    ...models.map((name) => {
      const before = { tools, models: models.filter((one) => one !== name) };
      return [`without the model ${JSON.stringify(name)}`, before] as const;
    }),
  ].find(([, before]) => sameBytes(recorded, hashOf(before)));
  return found?.[0] ?? null;
}

/** Whether the tool ever asks for approval; a run is pinned to this. */
export function asksForApproval({ approve = false }: Pick<Tool, "approve">): boolean {
  return approve !== false;
}

export type ValidationCode = "InvalidInput" | "InvalidOutput" | "InvalidSignal" | "InvalidState";

/** A value that a validator refused. The same value is refused again, so it is never retried. */
export class ValidationError extends Error {
  readonly code: ValidationCode;
  readonly retryable = false;

  constructor(code: ValidationCode, what: string, reason: string) {
    super(`${what}: ${reason}`);
    this.name = "ValidationError";
    this.code = code;
  }
}

/** Whether the tool has returned and its validator refused the result. */
export function isInvalidOutput(error: unknown): boolean {
  return error instanceof ValidationError && error.code === "InvalidOutput";
}

const MOST_ISSUES = 10;

/** Throws unless the value is a validator. In some libraries validators are functions. */
function checkValidator(value: unknown, what: string): void {
  if (value === undefined) return;
  const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
  const standard = isHolder ? (value as Partial<StandardSchema>)["~standard"] : undefined;
  if (typeof standard?.validate !== "function") {
    throw invalid(what, "a validator with Standard Schema (zod, valibot, arktype, shape())", value);
  }
}

/** The value as the validator returns it; the value itself without a validator. */
export async function validateValue(
  schema: StandardSchema | undefined,
  value: unknown,
  code: ValidationCode,
  what: string,
): Promise<unknown> {
  if (schema === undefined) return value;
  const result = await runValidator(schema, value);
  if (result.issues === undefined) return result.value;
  // JSON has no undefined: null stands for a missing value.
  const other = value === null ? await runValidator(schema, undefined) : result;
  if (other.issues === undefined) return other.value;
  throw new ValidationError(code, what, describeIssues(result.issues));
}

/** A validator that throws has refused the value. The iteration gets the error, and so does a replay. */
async function runValidator(schema: StandardSchema, value: unknown): Promise<ValidationResult<unknown>> {
  try {
    return await schema["~standard"].validate(value);
  } catch (error) {
    return { issues: [{ message: `the validator threw ${error instanceof Error ? error.message : String(error)}` }] };
  }
}

function describeIssues(issues: readonly ValidationIssue[]): string {
  const shown = issues.slice(0, MOST_ISSUES).map(({ message, path = [] }) => {
    const where = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return where === "" ? message : `${where}: ${message}`;
  });
  const rest = issues.length - shown.length;
  return `${shown.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
}

/** The input as the agent gets it. The store keeps the caller's input; every worker validates it again. */
export async function validateInput({ id, input }: AgentDefinition, given: Json): Promise<Json> {
  try {
    return (await validateValue(input, given, "InvalidInput", `input of the agent ${id}`)) as Json;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new HoldfastError("InvalidArgument", error.message, { details: { what: "run.input", agent: id } });
  }
}

export function validateState({ state: schema }: AgentDefinition, state: unknown): Promise<unknown> {
  return validateValue(schema, state, "InvalidState", "state");
}

export function checkVerdict(returned: unknown): Verdict {
  const verdict = (returned as Verdict | undefined)?.verdict;
  if (verdict === "next" || verdict === "done" || verdict === "fail") return returned as Verdict;
  throw new HoldfastError("InvalidArgument", "iterate() must return next(state), done(value) or fail(error)");
}

/** The verdict, with the state or the value as the validator returns it. */
export async function validateVerdict(agent: AgentDefinition, verdict: Verdict): Promise<Verdict> {
  if (verdict.verdict === "next" && agent.state !== undefined) {
    return { verdict: "next", state: await validateState(agent, verdict.state) };
  }
  if (verdict.verdict === "done" && agent.output !== undefined) {
    const value = await validateValue(agent.output, verdict.value ?? null, "InvalidOutput", "value of done()");
    return { verdict: "done", value };
  }
  return verdict;
}
