// The package's entry: open() and the words of its contracts.

export type * from "./contracts/agents.ts";
export type * from "./contracts/blobs.ts";
export type * from "./contracts/environment.ts";
export { type ErrorCode, type ErrorOptions, HoldfastError, isHoldfastError } from "./contracts/errors.ts";
export type * from "./contracts/graph.ts";
export type * from "./contracts/history.ts";
export type * from "./contracts/holdfast.ts";
export type * from "./contracts/json.ts";
export { LIMITS, type LimitName } from "./contracts/limits.ts";
export type * from "./contracts/log.ts";
export type * from "./contracts/memory.ts";
export type * from "./contracts/messages.ts";
export type * from "./contracts/sessions.ts";
export type * from "./contracts/state.ts";
export type * from "./contracts/tasks.ts";
export { TASK_STATUSES } from "./contracts/tasks.ts";
export type * from "./contracts/vectors.ts";
export { open } from "./open.ts";
export { fileBlobs } from "./storage/blobs/file.ts";
