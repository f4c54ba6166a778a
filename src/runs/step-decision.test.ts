// The decision about a step, as a table: what the journal has, what the iteration requests, and when.
import { describe, expect, test } from "vitest";
import type { StepRecord } from "./journal.ts";
import { decideStep, type RequestedStep, type StepDecision } from "./step-decision.ts";

const NOW = 100_000;
const RETRY = { attempts: 3, backoffMs: 100, maxBackoffMs: 150 };

const tool = (mayRepeat: boolean): RequestedStep => ({
  kind: "tool",
  name: "pay",
  digest: "d",
  effect: { mayRepeat, retry: RETRY },
});
const ONCE = tool(false);
const REPEATABLE = tool(true);
/** A step without an effect outside the store. */
const SLEEP: RequestedStep = { kind: "sleep", name: "sleep", digest: "d" };

function recorded(request: RequestedStep, more: Partial<StepRecord> = {}): StepRecord {
  const { kind, name, digest } = request;
  return {
    seq: 7,
    iteration: 1,
    path: "1",
    kind,
    name,
    digest,
    attempt: 1,
    key: "k",
    startedAt: 1,
    data: {},
    status: "started",
    end: null,
    isAllowed: false,
    isAsked: false,
    ...more,
  };
}

function failed(request: RequestedStep, data: StepRecord["data"] = {}, more: Partial<StepRecord> = {}): StepRecord {
  return recorded(request, { status: "failed", end: { seq: 8, type: "step/failed", at: NOW - 1000, data }, ...more });
}

/** The decision without its record, which must be the given one. */
function decided(record: StepRecord | undefined, request: RequestedStep, now = NOW): Partial<StepDecision> {
  const { record: same, ...rest } = decideStep(record, request, now);
  expect(same).toBe(record);
  return rest;
}

const FIRST = { action: "intend", attempt: 1, waitMs: null, isFirst: true };
const REUSE = { action: "reuse" };
const REDO = { action: "redo" };
const ASK = { action: "ask" };
const again = (attempt: number, waitMs: number) => ({ action: "intend", attempt, waitMs, isFirst: false });
const anew = (attempt: number) => ({ action: "intend", attempt, waitMs: null, isFirst: true });

const SAFE = { data: { repeatable: true } };
const DONE = { status: "done", end: { seq: 8, type: "step/done", at: 1, data: {} } } as const;

type Row = readonly [what: string, record: StepRecord | undefined, request: RequestedStep, decision: object];

const TABLE: Readonly<Record<string, readonly Row[]>> = {
  "RU5 nothing in the journal": [
    ["a tool", undefined, ONCE, FIRST],
    ["a tool that may repeat", undefined, REPEATABLE, FIRST],
    ["a sleep", undefined, SLEEP, FIRST],
  ],
  "RU5 a result in the journal": [
    ["a tool", recorded(ONCE, DONE), ONCE, REUSE],
    ["a tool that may repeat", recorded(REPEATABLE, { ...DONE, ...SAFE }), REPEATABLE, REUSE],
    ["a tool that a person permitted", recorded(ONCE, { ...DONE, isAllowed: true }), ONCE, REUSE],
    ["a sleep", recorded(SLEEP, DONE), SLEEP, REUSE],
  ],
  "RU6 an intent without an outcome": [
    ["a tool that must not repeat", recorded(ONCE), ONCE, ASK],
    ["one that a person has been asked about", recorded(ONCE, { isAsked: true }), ONCE, ASK],
    ["one that a person said may be tried", recorded(ONCE, { isAllowed: true }), ONCE, REDO],
    ["a tool that may repeat, and said so", recorded(REPEATABLE, SAFE), REPEATABLE, REDO],
    ["a tool that may repeat now, and did not say so", recorded(REPEATABLE), REPEATABLE, ASK],
    ["a tool that said so, and must not repeat now", recorded(ONCE, SAFE), ONCE, ASK],
    ["a second attempt", recorded(ONCE, { attempt: 2 }), ONCE, ASK],
    ["a sleep is awaited again", recorded(SLEEP), SLEEP, REDO],
  ],
  "RU16 an intent that needs approval": [
    ["not answered", recorded(ONCE, { status: "asked", isAsked: true }), ONCE, ASK],
    ["not answered, and it may repeat", recorded(REPEATABLE, { status: "asked", ...SAFE }), REPEATABLE, ASK],
    ["permitted", recorded(ONCE, { status: "asked", isAllowed: true }), ONCE, REDO],
  ],
  "RU11 a failure": [
    ["the first", failed(ONCE), ONCE, again(2, 100)],
    ["the second", failed(ONCE, {}, { attempt: 2 }), ONCE, again(3, 150)],
    ["the last that the policy allows", failed(ONCE, {}, { attempt: 3 }), ONCE, REUSE],
    ["one that is final", failed(ONCE, { final: true }), ONCE, REUSE],
    ["one of a tool that may repeat", failed(REPEATABLE), REPEATABLE, again(2, 100)],
    ["one that asks to wait longer than has passed", failed(ONCE, { retryAfterMs: 5000 }), ONCE, again(2, 4000)],
    ["one whose wait has passed", failed(ONCE, { retryAfterMs: 900 }), ONCE, again(2, 100)],
    ["a refused step without an effect", failed(SLEEP, { final: true }), SLEEP, REUSE],
    ["a failed step without an effect", failed(SLEEP), SLEEP, REUSE],
  ],
  "RU11 the failure at which the retried run ended": [
    ["is tried at once", failed(ONCE, {}, { isRetryPoint: true }), ONCE, anew(2)],
    ["also when it was final", failed(ONCE, { final: true }, { isRetryPoint: true }), ONCE, anew(2)],
    ["also after the last attempt", failed(ONCE, {}, { attempt: 3, isRetryPoint: true }), ONCE, anew(4)],
    ["also without an effect", failed(SLEEP, { final: true }, { isRetryPoint: true }), SLEEP, anew(2)],
  ],
};

describe.each(Object.entries(TABLE))("%s", (_, rows) => {
  test.each(rows)("%s", (_what, record, request, decision) => {
    expect(decided(record, request)).toEqual(decision);
  });
});

describe("RU4 another step at the position", () => {
  const STATUSES = ["asked", "started", "done", "failed"] as const;

  test.each(STATUSES)("%s: another kind, another name and other arguments differ", (status) => {
    const record = recorded(ONCE, { status });
    const differ = (now: string) => ({ action: "differ", now });
    expect(decided(record, { ...SLEEP, name: "pay" })).toEqual(differ("does sleep pay"));
    expect(decided(record, { ...ONCE, name: "refund" })).toEqual(differ("does tool refund"));
    expect(decided(record, { ...ONCE, digest: "other" })).toEqual(differ("does tool pay with other arguments"));
  });

  test("other arguments are accepted after a read that could not be repeated, another step is not", () => {
    const record = recorded(ONCE, DONE);
    const lenient = { ...ONCE, acceptsOtherArguments: true };
    expect(decided(record, { ...lenient, digest: "other" })).toEqual(REUSE);
    expect(decided(record, { ...lenient, name: "refund" })).toEqual({ action: "differ", now: "does tool refund" });
  });
});

test("RU11 a clock that was set back does not make a retry wait longer than its backoff", () => {
  const record = failed(ONCE, { retryAfterMs: 5000 });
  expect(decided(record, ONCE, 0)).toEqual(again(2, 5000));
});
