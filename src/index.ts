// The package's entry: open() and the types of its contracts. Nothing here may import a Node module that an old
// Node does not have, except inside open().
import { HoldfastError } from "./contracts/errors.ts";
import type { Holdfast, OpenOptions } from "./contracts/holdfast.ts";
import { NEWER_NODE, nodeRefusal } from "./core/node.ts";

export type * from "./contracts/agent-definitions.ts";
export type * from "./contracts/agents.ts";
export type * from "./contracts/archive.ts";
export type * from "./contracts/blobs.ts";
export type * from "./contracts/calls.ts";
export type * from "./contracts/captures.ts";
export type * from "./contracts/chat.ts";
export type * from "./contracts/check.ts";
export type * from "./contracts/checkpoints.ts";
export type * from "./contracts/context.ts";
export type * from "./contracts/decisions.ts";
export type * from "./contracts/embedders.ts";
export type * from "./contracts/embeddings.ts";
export type * from "./contracts/environment.ts";
export { type ErrorCode, type ErrorOptions, HoldfastError, isHoldfastError } from "./contracts/errors.ts";
export type * from "./contracts/heads.ts";
export type * from "./contracts/history.ts";
export type * from "./contracts/holdfast.ts";
export type * from "./contracts/invocations.ts";
export type * from "./contracts/json.ts";
export { LIMITS, type LimitName } from "./contracts/limits.ts";
export type * from "./contracts/lineage.ts";
export type * from "./contracts/locators.ts";
export type { Anchor, EventType, Log, LogEvent, VerifyReport } from "./contracts/log.ts";
export type * from "./contracts/memory.ts";
export type * from "./contracts/messages.ts";
export type * from "./contracts/metadata-filter.ts";
export type * from "./contracts/models.ts";
export type * from "./contracts/promotion.ts";
export type * from "./contracts/query.ts";
export type * from "./contracts/run-record.ts";
export type * from "./contracts/run-results.ts";
export type * from "./contracts/run-waits.ts";
export type * from "./contracts/runs.ts";
export type * from "./contracts/search.ts";
export type * from "./contracts/session.ts";
export type * from "./contracts/session-steps.ts";
export type { Sessions } from "./contracts/sessions.ts";
export type * from "./contracts/standard-schema.ts";
export type * from "./contracts/state.ts";
export type * from "./contracts/steps.ts";
export type * from "./contracts/tasks.ts";
export { TASK_STATUSES } from "./contracts/tasks.ts";
export type * from "./contracts/tool-schemas.ts";
export type * from "./contracts/tools.ts";
export type * from "./contracts/trace.ts";
export type * from "./contracts/vectors.ts";
export type * from "./contracts/workers.ts";
export type { LoopInput, LoopMessage } from "./loop/input.ts";
export type { LoopOutput, LoopState, ToolLoop, ToolLoopOptions } from "./loop/loop-types.ts";
export type { Summarize, SummaryFunction } from "./loop/summary.ts";
export { toolLoop } from "./loop/tool-loop.ts";
export { type AiSdkLanguageModel, aiSdkModel } from "./models/ai-sdk.ts";
export { type AnthropicClient, anthropicModel } from "./models/anthropic.ts";
export type { AnthropicOptions } from "./models/anthropic-request.ts";
export { type AnyChatModel, functionModel } from "./models/any.ts";
export { ModelError } from "./models/failure.ts";
export { type OpenAIChatClient, type OpenAIOptions, openaiChatModel } from "./models/openai-chat.ts";
export {
  type OpenAIResponsesClient,
  type OpenAIResponsesOptions,
  openaiResponsesModel,
} from "./models/openai-responses.ts";
export { defineAgent } from "./runs/agents.ts";
export { StepFailed } from "./runs/errors.ts";
export { toolSchemas } from "./runs/tool-schemas.ts";
export { shape, tool } from "./runs/tools.ts";
export { type FileBlobsOptions, fileBlobs } from "./storage/blobs/file.ts";
export { documentFromText } from "./vectors/document-from-text.ts";

/** Opens a store: a file path (or file: URL), ":memory:", or postgres://…?schema=name. */
export async function open(url: string, options?: OpenOptions): Promise<Holdfast> {
  const refusal = nodeRefusal();
  if (refusal !== undefined) {
    throw new HoldfastError("MissingDependency", refusal, { hint: `${NEWER_NODE}.` });
  }
  const composed = await import("./open.ts");
  return composed.open(url, options);
}
