// The exit codes. Scripts depend on these numbers: --help documents them, and their meaning never changes. A new error
// code does not compile until it is mapped to one of them.
import type { ErrorCode } from "../contracts/errors.ts";

export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  damage: 5,
  unavailable: 6,
  notResumed: 7,
  notSaved: 8,
  requestBusy: 9,
} as const;

/** In the order of --help. */
export const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
  [EXIT.ok, "done"],
  [EXIT.error, "an unexpected error, or output that cannot be written"],
  [EXIT.usage, "usage: the command line or its input is wrong; nothing was written"],
  [EXIT.notFound, "not found: no such store, session, run, agent, task, blob, capture, file or directory"],
  [EXIT.refused, "refused: it exists already, another writer changed it, a rule forbids it, or you answered no"],
  [EXIT.damage, "damage: stored data differs from what was written (verify, check)"],
  [
    EXIT.unavailable,
    "unavailable: the store is busy, unreachable, full, not a Holdfast store or not permitted, or a required program " +
      "(opencode) is missing or failed",
  ],
  [EXIT.notResumed, "run --must-resume: the session could not be restored; the agent was not started"],
  [EXIT.notSaved, "run --must-save: the agent ended with 0, and its session is not saved"],
  [
    EXIT.requestBusy,
    "run: another run, or its agent, works on this request; the agent was not started (see --wait, --beside)",
  ],
];

const EXIT_OF_CODE = {
  InvalidArgument: EXIT.usage,
  InvalidId: EXIT.usage,
  InvalidText: EXIT.usage,
  InvalidJson: EXIT.usage,
  InvalidQuery: EXIT.usage,
  LimitExceeded: EXIT.usage,
  BadUrl: EXIT.usage,
  NotFound: EXIT.notFound,
  AlreadyExists: EXIT.refused,
  SessionDeleted: EXIT.notFound,
  BlobNotFound: EXIT.notFound,
  BlobExpired: EXIT.notFound,
  CaptureExpired: EXIT.notFound,
  Conflict: EXIT.refused,
  InvalidTransition: EXIT.refused,
  ReadOnly: EXIT.refused,
  EmbeddingMismatch: EXIT.refused,
  RequestBusy: EXIT.requestBusy,
  NotResumed: EXIT.notResumed,
  SessionBusy: EXIT.refused,
  LeaseLost: EXIT.refused,
  NonDeterminism: EXIT.refused,
  AgentMismatch: EXIT.refused,
  ContentErased: EXIT.refused,
  BlobCorrupted: EXIT.damage,
  ExecutionCorrupted: EXIT.damage,
  UnsupportedSchemaVersion: EXIT.damage,
  StoreCorrupted: EXIT.damage,
  ArchiveCorrupted: EXIT.damage,
  SchemaTooNew: EXIT.unavailable,
  NotAStore: EXIT.unavailable,
  MissingDirectory: EXIT.unavailable,
  PermissionDenied: EXIT.unavailable,
  StoreBusy: EXIT.unavailable,
  StoreUnreachable: EXIT.unavailable,
  StoreFull: EXIT.unavailable,
  QueryTimeout: EXIT.refused,
  MissingDependency: EXIT.unavailable,
  AgentFailed: EXIT.unavailable,
  EmbeddingFailed: EXIT.unavailable,
  Closed: EXIT.error,
  Aborted: EXIT.refused,
  Internal: EXIT.error,
} as const satisfies Record<ErrorCode, number>;

export function exitOf(code: ErrorCode): number {
  return EXIT_OF_CODE[code];
}
