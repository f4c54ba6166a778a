// A call of a tool: its input is validated before the intent is written, a person approves it where the tool asks for that, and
// its result is validated before it is recorded.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { StepCall } from "../contracts/steps.ts";
import type { Tool } from "../contracts/tools.ts";
import type { StepEffect, StepHooks, StepRequest } from "./steps.ts";
import { ValidationError, validateValue } from "./validation.ts";

export interface ToolCallPlan {
  readonly execute: StepEffect["execute"];
  readonly hooks: StepHooks;
}

/** `refuse` records why the step is refused, and throws that: a replay gets the same error. */
export function planToolCall(
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
  // An attempt may have changed the input it got: each of the others gets its own.
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
 * How a tool asks for approval: not at all, always, or by its input, which its rule gets as the validator returns it. A rule that
 * throws refuses the step.
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

/** Only true and false count: a promise, for example, would always be taken for true. */
function checkAnswer(answer: unknown, name: string): boolean {
  if (typeof answer === "boolean") return answer;
  const given = answer instanceof Promise ? "a promise" : typeof answer;
  throw new HoldfastError("InvalidArgument", `approve of the tool ${name} gave ${given}, not true or false`, {
    details: { what: `tools.${name}.approve` },
    hint: "approve decides by the input alone, at once: it is not async.",
  });
}
