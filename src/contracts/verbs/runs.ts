// The verbs of runs. An agent is code, so the verbs that take one answer only in the process that has it.
import type { CheckpointInput } from "../checkpoints.ts";
import type { AnswerInput } from "../decisions.ts";
import type { ForkRunInput, RetryInput, RewindRunInput } from "../run-travel.ts";
import type { ExecuteOptions } from "../run-waits.ts";
import type { AnyAgent, RunSetting } from "../runs.ts";
import type { WorkerOptions } from "../workers.ts";
import {
  BOOLEAN,
  CURSOR,
  checked,
  choice,
  ID,
  JSON_VALUE,
  limit,
  localLive,
  ORDER,
  optional,
  options,
  orElse,
  PAIR_CURSOR,
  param,
  ROW_ID,
  read,
  SIGNAL,
  stream,
  whole,
  write,
} from "./vocabulary.ts";

const RUN = param("run", ID);
const AGENT = param("agent", checked<AnyAgent>("agent"));
const EXECUTE = param("options", optional(checked<ExecuteOptions>("options of execute")));
const VERIFY = param("options", options({ verify: orElse(choice(["whole", "checkpoint"]), "whole") }));
const decisionFilter = { run: optional(ID), limit: limit("page", 100), order: ORDER };

export const RUN_VERBS = {
  execute: write(AGENT, param("input", checked<RunSetting>("run")), EXECUTE),
  start: write(AGENT, param("input", checked<RunSetting>("run"))),
  resume: write(AGENT, RUN, EXECUTE),
  get: read(RUN),
  list: read(
    param(
      "filter",
      options({
        session: optional(ID),
        agent: optional(ID),
        status: optional(choice(["running", "paused", "waiting", "recovering", "completed", "failed", "cancelled"])),
        createdAfter: orElse(whole(), 0),
        createdBefore: orElse(whole(), Number.MAX_SAFE_INTEGER),
        limit: limit("page", 100),
        cursor: CURSOR,
      }),
    ),
  ),
  steps: read(RUN, param("range", options({ iteration: optional(whole(1)), io: orElse(BOOLEAN, false) }))),
  events: read(RUN, param("range", options({ after: orElse(whole(), 0), limit: limit("eventsPage", 1000) }))),
  result: read(RUN),
  signal: write(RUN, param("name", ID), param("payload", optional(JSON_VALUE))),
  cancel: write(RUN),
  pause: write(RUN, param("minutes", optional(whole(1, 60)))),
  unpause: write(RUN),
  retry: write(RUN, param("input", optional(checked<RetryInput>("retry")))),
  fork: write(RUN, param("input", optional(checked<ForkRunInput>("fork of a run")))),
  rewind: write(RUN, param("input", checked<RewindRunInput>("rewind of a run"))),
  delete: write(RUN),
  recover: write(RUN, VERIFY),
  recoverAll: write(VERIFY),
  createWorker: localLive(param("options", checked<WorkerOptions>("options of a worker"))),
  tokens: stream(param("options", options({ run: optional(ID), signal: optional(SIGNAL) }))),
  pending: read(param("filter", options(decisionFilter))),
  decisions: read(param("filter", options({ ...decisionFilter, answered: optional(BOOLEAN), cursor: PAIR_CURSOR }))),
  answer: write(param("decision", ROW_ID), param("answer", checked<AnswerInput>("answer"))),
  checkpoint: read(RUN, param("iteration", optional(whole(1)))),
  saveCheckpoint: write(param("checkpoint", checked<CheckpointInput>("checkpoint"))),
  loadCheckpoint: read(param("session", ID), param("agent", ID)),
  deleteCheckpoint: write(param("session", ID), param("agent", ID)),
};
