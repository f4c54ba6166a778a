// The verbs of what a session's log is made of: heads, turns, calls, evals, snapshots, and invocations.
import type { CallInput, CallOutcome } from "../calls.ts";
import type { Child, Leaf, LeafInput } from "../invocations.ts";
import type { Json } from "../json.ts";
import type { At } from "../locators.ts";
import { ATTACH_FIELDS, CALLER, INVOCATION_FIELDS } from "./sessions.ts";
import {
  callback,
  checked,
  choice,
  currentSession,
  HEAD,
  ID,
  input,
  JSON_VALUE,
  LOCATOR,
  list,
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
  text,
  whole,
  write,
} from "./vocabulary.ts";

export const HEAD_INPUT = options({
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
  list: readPage(param("at", LOCATOR), param("page", options(PAGE))),
  publish: write(param("session", currentSession("a head is published")), param("head", HEAD_INPUT)),
  compact: write(
    param("session", currentSession("a session is compacted")),
    param(
      "compaction",
      input({
        agent: ID,
        summary: text("messageBytes"),
        keep: optional(whole(0, 1_000_000)),
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
  leaf: write(
    param("session", CALLED),
    param("leaf", checked<LeafInput>("leaf call")),
    param("work", callback<(leaf: Leaf) => Json | Promise<Json>>()),
  ),
  leafAll: write(
    param("session", CALLED),
    param("inputs", list(checked<LeafInput>("leaf call"), "batchSlots")),
    param("work", callback<(leaf: Leaf, index: number) => Json | Promise<Json>>()),
    param("options", BATCH),
  ),
};

const EVAL_INPUT = { code: text("payloadBytes"), turn: optional(ROW_ID), message: optional(ROW_ID) };
const EVAL_OUTCOME = { result: optional(JSON_VALUE), final: optional(JSON_VALUE), error: optional(JSON_VALUE) };
const EVALUATED = currentSession("an eval is recorded");

export const EVAL_VERBS = {
  start: write(param("session", EVALUATED), param("eval", record("eval", EVAL_INPUT))),
  finish: write(param("eval", ROW_ID), param("outcome", input(EVAL_OUTCOME))),
  add: write(param("session", EVALUATED), param("eval", record("eval", { ...EVAL_INPUT, ...EVAL_OUTCOME }))),
  get: read(param("eval", ROW_ID)),
};

export const SNAPSHOT_VERBS = {
  add: write(
    param("session", currentSession("variables are saved")),
    param("vars", JSON_VALUE),
    param("options", options({ turn: optional(ROW_ID) })),
  ),
  get: read(param("snapshot", ROW_ID)),
  vars: read(param("snapshot", ROW_ID)),
};

const BY_CALLER = param("caller", CALLER);
const WORK = param("work", callback<(child: Child) => unknown>());
const SPAWN = record("spawn", INVOCATION_FIELDS);

export const INVOCATION_VERBS = {
  spawn: write(BY_CALLER, param("spawn", SPAWN), WORK),
  attach: write(BY_CALLER, param("at", LOCATOR), param("attach", record("attach", ATTACH_FIELDS)), WORK),
  spawnAll: write(
    BY_CALLER,
    param("inputs", list({ ...SPAWN, isPlaced: true }, "batchSlots")),
    param("work", callback<(child: Child, index: number) => unknown>()),
    param("options", BATCH),
  ),
  attachAll: write(
    BY_CALLER,
    param(
      "inputs",
      list({ ...record("attach", { at: checked<At>("locator"), ...ATTACH_FIELDS }), isPlaced: true }, "batchSlots"),
    ),
    param("work", callback<(child: Child, index: number) => unknown>()),
    param("options", BATCH),
  ),
  start: write(BY_CALLER, param("spawn", optional(SPAWN))),
  finish: write(
    param("invocation", ROW_ID),
    param("outcome", options({ status: optional(choice(["done", "failed"])), error: optional(JSON_VALUE) })),
  ),
  get: read(param("invocation", ROW_ID)),
  error: read(param("invocation", ROW_ID)),
};
