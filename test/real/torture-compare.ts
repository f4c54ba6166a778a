// After torture: every run ended once and rightly, everything acknowledged is there, nothing that must not happen twice did.
import assert from "node:assert/strict";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { LogEvent } from "../../src/contracts/log.ts";
import type { Run } from "../../src/contracts/run-record.ts";
import type { Step } from "../../src/contracts/steps.ts";
import { allEvents } from "./examine.ts";
import type { Torture } from "./torture.ts";
import { type Effect, expectedOf, textsOf } from "./torture-agents.ts";

const TERMINAL = ["run/completed", "run/failed", "run/cancelled"];

type TortureResult = Pick<Torture, "begun" | "known" | "retried" | "tally">;

export async function compare(
  store: Holdfast,
  known: TortureResult,
  effects: readonly Effect[],
): Promise<{ readonly ended: number; readonly recoveries: number }> {
  const all = (await allRuns(store)).filter(
    (run) => known.begun.has(rootOf(run.session)) || known.begun.has(run.parent ?? ""),
  );
  const logs = new Map<string, readonly LogEvent[]>();
  const steps = new Map<string, readonly Step[]>();
  for (const run of all) {
    if (!logs.has(run.session)) logs.set(run.session, await wholeLog(store, run.session));
    steps.set(run.id, await store.runs.steps(run.id));
    endedOnce(run, logs.get(run.session) ?? []);
  }
  for (const [id, { kind, n, session, word }] of known.begun) {
    const found = await store.runs.result(id);
    assert.deepEqual([id, found?.status, found?.value], [id, "completed", expectedOf(kind, n, word)]);
    const messages = await store.history.session(session, { limit: 1000 });
    const texts = messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?"));
    assert.deepEqual(texts, textsOf(kind, n), `the messages of ${id}`);
  }
  acknowledged(known.known, steps, logs);
  once(effects, steps, known.retried);
  answers(logs, known.tally);
  const { status, issues } = await store.check({ mode: "deep" });
  assert.deepEqual([status, issues], ["ok", []]);
  const claims = [...logs.values()]
    .flat()
    .filter(({ type, data }) => type === "run/claimed" && data.status === "recovering");
  return { ended: all.length, recoveries: claims.length };
}

/** Sessions of children are named for their runs, those of others for the run they are of. */
function rootOf(session: string): string {
  return session.replace(/^session-/, "");
}

async function allRuns({ runs }: Holdfast): Promise<readonly Run[]> {
  const all: Run[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await runs.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...items);
    if (next === null) return all;
    cursor = next;
  }
}

async function wholeLog(store: Holdfast, session: string): Promise<readonly LogEvent[]> {
  const report = await store.log.verify(session);
  assert.ok(report.ok, `the chain of ${session} breaks: ${JSON.stringify(report)}`);
  return allEvents(store, session);
}

function endedOnce({ id, status }: Run, events: readonly LogEvent[]): void {
  const ends = events.filter(({ type, run }) => run === id && TERMINAL.includes(type)).map(({ type }) => type);
  assert.deepEqual(ends, [`run/${status}`], `${id} has one end`);
}

/** Whatever a child was told is done, is. */
function acknowledged(
  known: ReadonlySet<string>,
  steps: ReadonlyMap<string, readonly Step[]>,
  logs: ReadonlyMap<string, readonly LogEvent[]>,
): void {
  const done = new Set<string>();
  for (const [run, all] of steps) {
    for (const { iteration, name, status } of all) if (status === "done") done.add(`did ${run} ${iteration} ${name}`);
  }
  for (const [session, events] of logs) {
    for (const { type, seq } of events) if (type === "message/added") done.add(`said ${session} ${seq}`);
  }
  const lost = [...known].filter((line) => !done.has(line));
  assert.deepEqual(lost, [], "acknowledged, and not there");
}

/** Every step that was done did happen, and what must not be repeated was repeated only where a person said so. */
function once(
  effects: readonly Effect[],
  steps: ReadonlyMap<string, readonly Step[]>,
  retried: ReadonlyMap<string, number>,
): void {
  const times = new Map<string, number>();
  for (const { key } of effects) times.set(key, (times.get(key) ?? 0) + 1);
  const all = [...steps.values()].flat().filter(({ kind }) => kind === "tool");
  const keys = new Set(all.map(({ idempotencyKey }) => idempotencyKey));
  const strays = [...times.keys()].filter((key) => !keys.has(key));
  assert.deepEqual(strays, [], "happened, and no step says so");
  for (const { idempotencyKey: key, name, status, run } of all) {
    const happened = times.get(key) ?? 0;
    assert.ok(happened > 0 || status !== "done", `${name} of ${run} is done and did not happen`);
    const allowed = 1 + (retried.get(key) ?? 0);
    if (name !== "put")
      assert.ok(happened <= allowed, `${name} of ${run} happened ${happened} times, ${allowed} allowed`);
  }
}

/** Each answer that was acknowledged is in a log; one whose acknowledgement was lost may be too. */
function answers(logs: ReadonlyMap<string, readonly LogEvent[]>, { supplied, retries }: TortureResult["tally"]): void {
  const given = [...logs.values()].flat().filter(({ type }) => type === "run/answered").length;
  assert.ok(given >= supplied + retries, `${given} answers in the logs, ${supplied + retries} were acknowledged`);
}
