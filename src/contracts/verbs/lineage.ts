// The verbs of what a session's log is made of: heads, turns, calls, evals, snapshots, and invocations.
import type { CallInput, CallOutcome } from "../calls.ts";
import type { AttachOptions, LeafInput, SpawnInput } from "../invocations.ts";
import type { At, EvalInput, EvalOutcome } from "../lineage.ts";
import {
  CURSOR,
  checked,
  choice,
  currentSession,
  FUNCTION,
  HEAD,
  ID,
  input,
  JSON_VALUE,
  LOCATOR,
  limit,
  list,
  nullable,
  ORDER,
  optional,
  options,
  orElse,
  param,
  ROW_ID,
  read,
  text,
  whole,
  write,
} from "./vocabulary.ts";

const HEAD_INPUT = options({
  final: optional(JSON_VALUE),
  finalSummary: optional(text("titleBytes")),
  vars: optional(JSON_VALUE),
  fingerprint: optional(ID),
  cacheId: optional(ID),
  expect: optional(nullable(HEAD)),
});

export const HEAD_VERBS = {
  get: read(param("head", HEAD)),
  find: read(param("prefix", ID)),
  current: read(param("at", LOCATOR)),
  list: read(
    param("at", LOCATOR),
    param("range", options({ limit: limit("page", 100), cursor: CURSOR, order: ORDER })),
  ),
  publish: write(param("session", currentSession("a head is published")), param("head", HEAD_INPUT)),
  compact: write(
    param("session", currentSession("a session is compacted")),
    param(
      "compaction",
      input({
        agent: ID,
        summary: text("messageBytes"),
        keep: optional(whole()),
        upTo: optional(ROW_ID),
        expect: optional(nullable(HEAD)),
      }),
    ),
  ),
};

export const TURN_VERBS = {
  begin: write(
    param("session", currentSession("a turn begins")),
    param("turn", options({ agent: optional(ID), run: optional(ID) })),
  ),
  finish: write(param("turn", ROW_ID), param("head", HEAD_INPUT)),
  abort: write(param("turn", ROW_ID), param("head", HEAD_INPUT)),
};

const CALLED = currentSession("a call is recorded");
const BATCH = options({ concurrency: orElse(whole(1, 1000), 4) });

export const CALL_VERBS = {
  start: write(param("session", CALLED), param("call", checked<CallInput>("call"))),
  finish: write(param("call", ROW_ID), param("outcome", checked<CallOutcome>("call outcome"))),
  add: write(param("session", CALLED), param("call", checked<CallInput & CallOutcome>("call"))),
  get: read(param("call", ROW_ID)),
  findByMessage: read(param("message", ROW_ID)),
  leaf: write(param("session", CALLED), param("leaf", checked<LeafInput>("leaf call")), param("work", FUNCTION)),
  leafAll: write(
    param("session", CALLED),
    param("inputs", list(checked<LeafInput>("leaf call"), "batchSlots")),
    param("work", FUNCTION),
    param("options", BATCH),
  ),
};

const EVALUATED = currentSession("an eval is recorded");

export const EVAL_VERBS = {
  start: write(param("session", EVALUATED), param("eval", checked<EvalInput>("eval"))),
  finish: write(param("eval", ROW_ID), param("outcome", checked<EvalOutcome>("eval outcome"))),
  add: write(param("session", EVALUATED), param("eval", checked<EvalInput & EvalOutcome>("eval"))),
  get: read(param("eval", ROW_ID)),
};

export const SNAPSHOT_VERBS = {
  add: write(
    param("session", currentSession("variables are saved")),
    param("vars", JSON_VALUE),
    param("options", options({ turn: optional(ID) })),
  ),
  get: read(param("snapshot", ROW_ID)),
  vars: read(param("snapshot", ROW_ID)),
};

const CALLER = param("caller", currentSession("an invocation begins"));
const SPAWN = checked<SpawnInput>("spawn");

export const INVOCATION_VERBS = {
  spawn: write(CALLER, param("spawn", SPAWN), param("work", FUNCTION)),
  attach: write(
    CALLER,
    param("at", LOCATOR),
    param("attach", checked<AttachOptions>("attachment")),
    param("work", FUNCTION),
  ),
  spawnAll: write(CALLER, param("inputs", list(SPAWN, "batchSlots")), param("work", FUNCTION), param("options", BATCH)),
  attachAll: write(
    CALLER,
    param("inputs", list(checked<AttachOptions & { readonly at: At }>("attachment"), "batchSlots")),
    param("work", FUNCTION),
    param("options", BATCH),
  ),
  start: write(CALLER, param("spawn", optional(SPAWN))),
  finish: write(
    param("invocation", ROW_ID),
    param("outcome", options({ status: optional(choice(["done", "failed"])), error: optional(JSON_VALUE) })),
  ),
  get: read(param("invocation", ROW_ID)),
  error: read(param("invocation", ROW_ID)),
};
