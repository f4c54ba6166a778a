// The package's entry: open() and the words of its contracts. Nothing here may lead to a module of Node that an old
// Node does not have, except through open().
import { HoldfastError } from "./contracts/errors.ts";
import type { Holdfast, OpenOptions } from "./contracts/holdfast.ts";
import { NEWER_NODE, nodeRefusal } from "./core/node.ts";

export type * from "./contracts/agents.ts";
export type * from "./contracts/archive.ts";
export type * from "./contracts/blobs.ts";
export type * from "./contracts/captures.ts";
export type * from "./contracts/check.ts";
export type * from "./contracts/checkpoints.ts";
export type * from "./contracts/context.ts";
export type * from "./contracts/decisions.ts";
export type * from "./contracts/environment.ts";
export { type ErrorCode, type ErrorOptions, HoldfastError, isHoldfastError } from "./contracts/errors.ts";
export type * from "./contracts/graph.ts";
export type * from "./contracts/history.ts";
export type * from "./contracts/holdfast.ts";
export type * from "./contracts/invocations.ts";
export type * from "./contracts/json.ts";
export { LIMITS, type LimitName } from "./contracts/limits.ts";
export type * from "./contracts/lineage.ts";
export type * from "./contracts/log.ts";
export type * from "./contracts/memory.ts";
export type * from "./contracts/messages.ts";
export type * from "./contracts/query.ts";
export type * from "./contracts/runs.ts";
export type * from "./contracts/session-steps.ts";
export type * from "./contracts/sessions.ts";
export type * from "./contracts/state.ts";
export type * from "./contracts/tasks.ts";
export { TASK_STATUSES } from "./contracts/tasks.ts";
export type * from "./contracts/trace.ts";
export type * from "./contracts/vectors.ts";
export { defineAgent } from "./runs/agents.ts";
export { StepFailed } from "./runs/errors.ts";
export { fileBlobs } from "./storage/blobs/file.ts";

/** Opens a store: a file path (or file: URL), ":memory:", or postgres://…?schema=name. */
export async function open(url: string, options?: OpenOptions): Promise<Holdfast> {
  const refusal = nodeRefusal();
  if (refusal !== undefined) {
    throw new HoldfastError("MissingDependency", refusal, { hint: `${NEWER_NODE}.` });
  }
  const composed = await import("./open.ts");
  return composed.open(url, options);
}
