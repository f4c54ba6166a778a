// The verbs of runs. An agent is code, so the verbs that take one answer only in the process that has it.
import type { RunWait } from "../run-waits.ts";
import type { WorkerNote } from "../workers.ts";
import {
  AGENT,
  amount,
  BOOLEAN,
  callback,
  choice,
  ID,
  JSON_VALUE,
  limit,
  list,
  localLive,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  ROW_ID,
  read,
  readPage,
  record,
  SIGNAL,
  sessionId,
  stream,
  text,
  whole,
  write,
} from "./vocabulary.ts";

const HOUR_MS = 3_600_000;
const LONGEST_MS = 1e15;

const RUN_LIMITS = {
  kind: "record",
  isPlaced: true,
  fields: {
    iterations: optional(whole(1, LONGEST_MS)),
    wallMs: optional(whole(1, LONGEST_MS)),
    tokens: optional(whole(1, LONGEST_MS)),
    costUsd: optional(amount(0)),
  },
} as const;

/** What execute() and start() are given about the run that they begin or find. */
export const RUN_INPUT = record("run", {
  session: sessionId("a run begins"),
  id: optional(ID),
  input: optional(JSON_VALUE),
  limits: optional(RUN_LIMITS),
  priority: orElse(whole(-1000, 1000), 0),
  // Three heartbeats fit into it. If the event loop blocks longer than the lease, another worker may take over a live run.
  leaseMs: orElse(whole(100, HOUR_MS), 10_000),
});

const VERIFY_FIELD = { verify: orElse(choice(["whole", "checkpoint"]), "whole") };
const RESUME_FIELDS = {
  ...VERIFY_FIELD,
  allowMismatch: orElse(BOOLEAN, false),
  erased: orElse(choice(["fail", "placeholder"]), "fail"),
};
const EXECUTE_FIELDS = {
  ...RESUME_FIELDS,
  onWait: optional(callback<(wait: RunWait) => void>()),
  signal: optional(SIGNAL),
};
/** `wait`: whether the call waits through everything that the run waits for. */
export const EXECUTE_OPTIONS = options({ ...EXECUTE_FIELDS, wait: orElse(BOOLEAN, true) });
const RESUME_OPTIONS = options({ ...EXECUTE_FIELDS, wait: orElse(BOOLEAN, false) });

const TRAVEL_FIELDS = { id: optional(ID), limits: optional(RUN_LIMITS) };
export const RETRY_INPUT = optional(record("retry", TRAVEL_FIELDS));
/** The session is a new one. */
export const FORK_INPUT = optional(
  record("fork", {
    iteration: optional(whole()),
    state: optional(JSON_VALUE),
    session: optional(ID),
    ...TRAVEL_FIELDS,
  }),
);
export const REWIND_INPUT = record("rewind", { iteration: whole(), state: optional(JSON_VALUE), ...TRAVEL_FIELDS });

export const ANSWER_INPUT = record("answer", {
  verdict: choice(["retry", "result", "fail"]),
  result: optional(JSON_VALUE),
  by: optional(ID),
  note: optional(text("titleBytes")),
  reason: optional(choice(["in-doubt", "approval"])),
});

const TIME = optional(nullable(whole()));
export const CHECKPOINT_INPUT = record("checkpoint", {
  session: sessionId("a checkpoint is saved"),
  agent: ID,
  iteration: whole(),
  state: optional(JSON_VALUE),
  pendingToolCalls: optional(list(JSON_VALUE, "toolIds")),
  lastToolResult: optional(JSON_VALUE),
  pauseUntil: TIME,
  stopReason: optional(nullable(text("payloadBytes"))),
  startedAt: TIME,
});

export const WORKER_OPTIONS = record("worker", {
  agents: list(AGENT, "batchSlots"),
  concurrency: orElse(whole(1, 10_000), 16),
  pollMs: orElse(whole(10, HOUR_MS), 1000),
  watch: optional(callback<(note: WorkerNote) => void>()),
  ...RESUME_FIELDS,
});

const RUN = param("run", ID);
const BY_AGENT = param("agent", AGENT);
const VERIFY = param("options", options(VERIFY_FIELD));
const DECISION_FIELDS = { ...PAGE, run: optional(ID) };

/** The verbs whose code is loaded with the first call of one of them. */
export const RUN_CALLS = {
  execute: write(BY_AGENT, param("run", RUN_INPUT), param("options", EXECUTE_OPTIONS)),
  start: write(BY_AGENT, param("run", RUN_INPUT)),
  resume: write(BY_AGENT, RUN, param("options", RESUME_OPTIONS)),
  get: read(RUN),
  list: readPage(
    param(
      "filter",
      options({
        ...PAGE,
        session: optional(sessionId("runs are listed")),
        agent: optional(ID),
        status: optional(choice(["running", "paused", "waiting", "recovering", "completed", "failed", "cancelled"])),
        createdAfter: orElse(whole(), 0),
        createdBefore: orElse(whole(), Number.MAX_SAFE_INTEGER),
      }),
    ),
  ),
  steps: read(RUN, param("range", options({ iteration: optional(whole(1)), io: orElse(BOOLEAN, false) }))),
  events: read(RUN, param("range", options({ after: orElse(whole(), 0), limit: limit("eventsPage", 1000) }))),
  result: read(RUN),
  signal: write(RUN, param("name", ID), param("payload", optional(JSON_VALUE))),
  cancel: write(RUN),
  pause: write(RUN, param("minutes", orElse(whole(1, 60), 2))),
  unpause: write(RUN),
  retry: write(RUN, param("retry", RETRY_INPUT)),
  fork: write(RUN, param("fork", FORK_INPUT)),
  rewind: write(RUN, param("rewind", REWIND_INPUT)),
  delete: write(RUN),
  recover: write(RUN, VERIFY),
  recoverAll: write(VERIFY),
  pending: readPage(param("filter", options(DECISION_FIELDS))),
  decisions: readPage(param("filter", options({ ...DECISION_FIELDS, answered: optional(BOOLEAN) }))),
  answer: write(param("decision", ROW_ID), param("answer", ANSWER_INPUT)),
  checkpoint: read(RUN, param("iteration", optional(whole(1)))),
  saveCheckpoint: write(param("checkpoint", CHECKPOINT_INPUT)),
  loadCheckpoint: read(param("session", sessionId("a checkpoint is loaded")), param("agent", ID)),
  deleteCheckpoint: write(param("session", sessionId("a checkpoint is deleted")), param("agent", ID)),
};

/** The verbs that answer at once. */
export const LOCAL_RUN_VERBS = {
  createWorker: localLive(param("worker", WORKER_OPTIONS)),
  tokens: stream(param("options", options({ run: optional(ID), signal: optional(SIGNAL) }))),
};

export const RUN_VERBS = { ...RUN_CALLS, ...LOCAL_RUN_VERBS };
