// Validators of agents and tools: any Standard Schema. What they refuse becomes an error that says what is wrong with the value.

import type { AgentDefinition, Verdict } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { StandardSchema, ValidationIssue, ValidationResult } from "../contracts/standard-schema.ts";
import { invalid } from "../core/check.ts";

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

/** The tool has returned, and its validator refused what it gave. */
export function isInvalidOutput(error: unknown): boolean {
  return error instanceof ValidationError && error.code === "InvalidOutput";
}

const MOST_ISSUES = 10;

/** Throws unless the value is a validator. Those of some libraries are functions. */
export function checkValidator(value: unknown, what: string): void {
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
  // JSON has no undefined: null stands for what was left out.
  const other = value === null ? await runValidator(schema, undefined) : result;
  if (other.issues === undefined) return other.value;
  throw new ValidationError(code, what, describeIssues(result.issues));
}

/** A validator that throws has refused the value: the iteration is told, and a replay is told the same. */
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

/** What the agent gets as its input. The store keeps the input as the caller gave it; every worker validates it again. */
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

/** With the state or the value as its validator returns it. */
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
