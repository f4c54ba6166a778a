// Runs the tool calls of one reply. Any failure of a call becomes the call's result for the model, which can react to it, and the run
// continues.
import type { Json } from "../contracts/json.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import { invalidTextOf } from "../models/tool-input.ts";
import { StepFailed } from "../runs/errors.ts";
import type { LoopIteration } from "./loop-types.ts";

type ToolUse = Extract<ContentBlock, { type: "tool_use" }>;
export type ToolResult = Extract<ContentBlock, { type: "tool_result" }>;

/** Results in the order of the calls. */
export async function callTools(
  it: LoopIteration,
  uses: readonly ToolUse[],
  names: readonly string[],
  most = uses.length,
): Promise<readonly ToolResult[]> {
  const lanes = Array.from({ length: Math.min(most, uses.length) }, (_, lane) =>
    uses.filter((_use, i) => i % most === lane),
  );
  // Each lane has its own position in the run, so that a replay finds each call again, whichever ends first.
  const results = await it.parallel(
    ...lanes.map((lane) => async (branch: LoopIteration) => {
      const done: ToolResult[] = [];
      for (const use of lane) done.push(await callTool(branch, use, names));
      return done;
    }),
  );
  return uses.flatMap((_, i) => results[i % most]?.[Math.floor(i / most)] ?? []);
}

async function callTool(it: LoopIteration, use: ToolUse, names: readonly string[]): Promise<ToolResult> {
  const answer = (content: ToolResult["content"], isError = false): ToolResult => ({
    type: "tool_result",
    toolUseId: use.id,
    content,
    ...(isError ? { isError } : {}),
  });
  if (!names.includes(use.name)) return answer(unknownTool(use.name, names), true);
  const written = invalidTextOf(use.input);
  if (written !== undefined) return answer(`The arguments are not a JSON object: ${written}`, true);
  try {
    return answer(contentOf(await it.tool(use.name, use.input)));
  } catch (error) {
    return answer(messageOf(error), true);
  }
}

function unknownTool(name: string, names: readonly string[]): string {
  const known = names.length === 0 ? "There are no tools." : `The tools are: ${names.join(", ")}.`;
  return `There is no tool ${JSON.stringify(name)}. ${known}`;
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StepFailed && error.code === "Denied") return `Not done: ${message}`;
  if (error instanceof StepFailed && error.effectDone) return describeLostResult(message);
  return error instanceof StepFailed ? `${error.code}: ${message}` : message;
}

/** The text says that the tool has run: after a plain error the model would call it again. */
export function describeLostResult(reason: string): string {
  return `The tool has done its work, but its result cannot be stored: ${reason}`;
}

/** A string becomes text, content blocks stay blocks, and any other value becomes JSON text. */
function contentOf(result: Json): ToolResult["content"] {
  if (typeof result === "string") return result;
  return isContent(result) ? (result as unknown as readonly ContentBlock[]) : JSON.stringify(result);
}

function isContent(result: Json): boolean {
  return Array.isArray(result) && result.length > 0 && result.every(isBlock);
}

function isBlock(value: unknown): boolean {
  const { type, text, source } = fieldsOf(value);
  if (type === "text") return typeof text === "string";
  const { ref, url } = fieldsOf(source);
  return (type === "image" || type === "document") && (typeof ref === "string" || typeof url === "string");
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
