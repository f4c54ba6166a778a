// A call of a tool with validators: the input is validated before the call is intended, the result before it is recorded.
import type { Json } from "../contracts/json.ts";
import type { Tool } from "../contracts/runs.ts";
import type { StepCall } from "../contracts/steps.ts";
import type { Asked } from "./steps.ts";
import { ValidationError, validateValue } from "./validation.ts";

export interface ToolCallPlan {
  /** Before the intent. A refused input is recorded as a failed step without one. */
  readonly before?: () => Promise<void>;
  readonly effect: (raw: Json, call: StepCall) => Promise<unknown>;
  /** The input as its validator gives it, a new one each time. */
  readonly readInput: () => Promise<unknown>;
}

/** `refuse` records why the step is refused, and throws that. */
export function planToolCall(
  tool: Tool,
  asked: Asked,
  refuse: (asked: Asked, error: ValidationError) => Promise<never>,
): ToolCallPlan {
  const { name } = asked;
  const validate = (raw: Json) => validateValue(tool.input, raw, "InvalidInput", `input of the tool ${name}`);
  const execute = async (input: unknown, call: StepCall) => {
    const output = await tool.execute(input as Json, call);
    return validateValue(tool.output, output, "InvalidOutput", `result of the tool ${name}`);
  };
  const readInput = () => validate(structuredClone(asked.value));
  if (tool.input === undefined) return { effect: execute, readInput };
  // What a try was given may have been changed by it: each of the others gets its own.
  let first: { readonly input: unknown } | undefined;
  return {
    readInput,
    before: async () => {
      try {
        first ??= { input: await validate(asked.value) };
      } catch (error) {
        if (error instanceof ValidationError) await refuse(asked, error);
        throw error;
      }
    },
    effect: async (raw, call) => {
      const input = call.attempt === 1 && first !== undefined ? first.input : await validate(raw);
      return execute(input, call);
    },
  };
}
