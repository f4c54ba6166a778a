// Appends the message with the results of a reply's tool calls. A result that the session cannot store is replaced by an error for the
// model. A replay makes the same replacements: the limits of a message are fixed, and a missing blob is recorded with the step that named
// it.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import { readyMessage } from "../history/append.ts";
import { StepFailed } from "../runs/errors.ts";
import { isMistakeOfCaller } from "../runs/refusals.ts";
import type { LoopIteration } from "./loop-types.ts";
import { describeLostResult, type ToolResult } from "./tool-calls.ts";

/** Bytes for the names of the message's fields and the commas between its blocks. */
const MESSAGE_OVERHEAD_BYTES = 1024;
const MISSING_BLOB_CODES = ["BlobNotFound", "BlobExpired"];

export async function appendToolResults(it: LoopIteration, results: readonly ToolResult[]): Promise<void> {
  let content = results;
  // Each round replaces at least one result that names a blob, so it ends.
  for (;;) {
    try {
      await it.message({ role: "tool", content });
      return;
    } catch (error) {
      const replaced = isMistakeOfCaller(error) ? fitResults(content) : withoutMissingBlobs(content, error);
      if (replaced.every((result, i) => result === content[i])) throw error;
      content = replaced;
    }
  }
}

/** Results that one message can hold: those that no message can hold become errors, then the largest until all fit. */
function fitResults(results: readonly ToolResult[]): readonly ToolResult[] {
  const checked = results.map((result) => {
    const reason = whyNoMessage(result);
    return reason === null ? result : failedResult(result, reason);
  });
  const sizes = checked.map(sizeOf);
  let total = sizes.reduce((sum, size) => sum + size, MESSAGE_OVERHEAD_BYTES);
  const largestFirst = sizes.map((size, i) => ({ size, i })).toSorted((a, b) => b.size - a.size || a.i - b.i);
  const fitted = [...checked];
  for (const { size, i } of largestFirst) {
    const result = checked[i];
    if (total <= LIMITS.messageBytes || result === undefined) break;
    const error = failedResult(
      result,
      `it has ${size} bytes, and the results of one reply may have ${LIMITS.messageBytes} together`,
    );
    fitted[i] = error;
    total += sizeOf(error) - size;
  }
  return fitted;
}

function whyNoMessage(result: ToolResult): string | null {
  try {
    readyMessage({ role: "tool", content: [result] });
    return null;
  } catch (error) {
    return error instanceof HoldfastError ? error.message : String(error);
  }
}

function sizeOf(result: ToolResult): number {
  return Buffer.byteLength(JSON.stringify(result)) + 1;
}

/** The recorded error names the blob. If no result names it in its own words, every result that names a blob is replaced. */
function withoutMissingBlobs(results: readonly ToolResult[], error: unknown): readonly ToolResult[] {
  if (!(error instanceof StepFailed) || !MISSING_BLOB_CODES.includes(error.code)) return results;
  const isMissing = (ref: string) => error.message.includes(ref);
  const isNamed = results.some((result) => refsIn(result).some(isMissing));
  return results.map((result) => {
    const refs = refsIn(result);
    const isReplaced = isNamed ? refs.some(isMissing) : refs.length > 0;
    return isReplaced ? failedResult(result, error.message) : result;
  });
}

function refsIn({ content }: ToolResult): readonly string[] {
  if (typeof content === "string") return [];
  return content.flatMap((block: ContentBlock) =>
    "source" in block && "ref" in block.source && typeof block.source.ref === "string" ? [block.source.ref] : [],
  );
}

function failedResult({ toolUseId }: ToolResult, reason: string): ToolResult {
  return { type: "tool_result", toolUseId, content: describeLostResult(reason), isError: true };
}
