// The invariants that must hold after a simulation, whatever faults it had. A client without faults reads the store.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { LogEvent } from "../../contracts/log.ts";
import type { Run } from "../../contracts/run-record.ts";
import { sha256Hex } from "../../core/bytes.ts";
import type { Effect, ExternalEffects } from "./external-effects.ts";
import { ofPurposes } from "./lineage.ts";

const TERMINAL = ["run/completed", "run/failed", "run/cancelled"];

const SLEEPS = ["waiting", "paused"];

/** All sessions and runs of a store. */
export interface StoreContents {
  readonly sessions: ReadonlyMap<string, readonly LogEvent[]>;
  readonly runs: readonly Run[];
  /** A hash over all logs, equal for equal histories. */
  readonly eventsHash: string;
}

export async function readAll(store: Holdfast): Promise<StoreContents> {
  const ids = await paged((cursor) => store.sessions.list({ limit: 1000, ...cursor }));
  const runs = await paged((cursor) => store.runs.list({ limit: 1000, ...cursor }));
  const sessions = new Map<string, readonly LogEvent[]>();
  for (const id of ids.map((session) => session.id).sort()) sessions.set(id, await logOf(store, id));
  const lines = [...sessions].map(([id, events]) => `${id} ${events.length} ${events.at(-1)?.hash ?? ""}`);
  return { sessions, runs, eventsHash: sha256Hex(lines.join("\n")).slice(0, 32) };
}

async function paged<T>(
  list: (cursor: {
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly T[]; readonly next: string | null }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await list(cursor === undefined ? {} : { cursor });
    all.push(...page.items);
    cursor = page.next;
  }
  return all;
}

async function logOf(store: Holdfast, session: string): Promise<readonly LogEvent[]> {
  const events: LogEvent[] = [];
  for (;;) {
    const page = await store.log.read(session, { after: events.at(-1)?.seq ?? 0, limit: 1000 });
    events.push(...page);
    if (page.length < 1000) return events;
  }
}

/** Returns descriptions of violated invariants. */
export async function brokenInvariants(
  store: Holdfast,
  found: StoreContents,
  external: ExternalEffects,
  purpose?: (effect: Effect) => string,
): Promise<readonly string[]> {
  const problems = [
    ...found.runs.flatMap((run) => ofRun(run, found.sessions.get(run.session) ?? [])),
    ...ofEffects(found, external),
    ...ofPurposes(found.sessions, external.effects(), purpose),
    ...external.effectsAfterEnd(),
    ...[...found.sessions].flatMap(([session, events]) => [
      ...ofMessages(session, events),
      ...ofSteps(session, events),
      ...ofEnds(session, events),
    ]),
  ];
  for (const session of found.sessions.keys()) {
    const report = await store.log.verify(session);
    if (!report.ok) problems.push(`the log of ${session} is broken at ${report.badSeq}: ${report.reason}`);
  }
  const { issues } = await store.check({ mode: "deep" });
  for (const { kind, rows, details } of issues) {
    problems.push(`check: ${kind} ${rows.join(", ")} ${JSON.stringify(details)}`);
  }
  return problems;
}

/** A run must have ended once, or wait for a person. */
function ofRun(run: Run, events: readonly LogEvent[]): readonly string[] {
  const ends = events.filter((event) => event.run === run.id && TERMINAL.includes(event.type));
  const isOver = run.endedAt !== null;
  if (isOver && ends.length === 1) return [];
  if (isOver || ends.length > 0) return [`the run ${run.id} (${run.status}) has ${ends.length} terminal events`];
  if (run.waitsFor.some(({ kind }) => kind === "decision")) return [];
  const waits = run.waitsFor.length === 0 ? "" : ` for ${JSON.stringify(run.waitsFor)}`;
  const why = trouble(run, events);
  return [`the run ${run.id} never ended: it is ${run.status}${waits}, owned by ${run.owner ?? "nobody"}${why}`];
}

/** Why a run does not continue: its current error, or the errors with which workers released it. */
function trouble(run: Run, events: readonly LogEvent[]): string {
  const given = events.filter(({ type, data, run: of }) => type === "run/released" && of === run.id && data.error);
  const error = run.error ?? (given.at(-1)?.data.error as unknown as Run["error"]) ?? null;
  return error === null ? "" : `; it was given back ${given.length} times: ${error.code}: ${error.message}`;
}

/**
 * An effect may happen twice only if a person chose that or the tool allows it, and not before a person permitted a
 * step that needs approval. A step may be recorded as done only if its effect happened.
 */
function ofEffects({ sessions }: StoreContents, external: ExternalEffects): readonly string[] {
  const problems: string[] = [];
  const retries = new Map<string, number>();
  const told = new Set<string>();
  const approvals = new Set<string>();
  for (const [session, events] of sessions) {
    const bySeq = new Map(events.map((event) => [event.seq, event]));
    for (const { type, data, seq } of events) {
      const intent = typeof data.step === "number" ? bySeq.get(data.step)?.data : undefined;
      const key = String(intent?.key);
      if (type === "step/started" && data.approval === true) approvals.add(String(data.key));
      if (type === "run/answered" && data.verdict === "retry") retries.set(key, (retries.get(key) ?? 0) + 1);
      if (type === "run/answered" && data.verdict === "result") told.add(key);
      if (type !== "step/done" || intent?.kind !== "tool" || told.has(key)) continue;
      if (external.effect(key) === undefined) problems.push(`${session}#${seq} records what ${intent.name} never did`);
    }
  }
  for (const { key, tool, run, times, mayRepeat } of external.effects()) {
    // A person must have permitted every attempt of a step that needs approval.
    const most = (approvals.has(key) ? 0 : 1) + (retries.get(key) ?? 0);
    if ((!mayRepeat && times > most) || most === 0)
      problems.push(`${tool} of ${run} was done ${times} times under ${key}, at most ${most} allowed`);
  }
  return problems;
}

/** Each message step of a run must have added its message exactly once. */
function ofMessages(session: string, events: readonly LogEvent[]): readonly string[] {
  const seen = new Set<string>();
  return events.flatMap(({ type, data, run, seq }) => {
    const step = data.step as { readonly key?: string } | undefined;
    if (type !== "message/added" || step?.key === undefined) return [];
    const place = `${run} ${step.key}`;
    if (seen.has(place)) return [`${session}#${seq} adds a message that its step had added already`];
    seen.add(place);
    return [];
  });
}

/** No event of a run may follow its end, and a run with a cancel request must not sleep before its end. */
function ofEnds(session: string, events: readonly LogEvent[]): readonly string[] {
  const ended = new Set<string>();
  const ending = new Set<string>();
  return events.flatMap(({ type, run, seq, data }) => {
    if (run === undefined || type === "annotation") return [];
    const what = `${session}#${seq} is ${type} of ${run}, which`;
    if (ended.has(run)) return [`${what} had ended`];
    if (TERMINAL.includes(type)) ended.add(run);
    if (type === "run/cancelling") ending.add(run);
    // The exception is the release by the run's own worker.
    const sleeps = data.owner === null && SLEEPS.includes(String(data.status));
    return ending.has(run) && sleeps ? [`${what} was to be cancelled`] : [];
  });
}

/** An iteration's events must come before its checkpoint, and iterations complete once each, in order. */
function ofSteps(session: string, events: readonly LogEvent[]): readonly string[] {
  const completed = new Map<string, number>();
  return events.flatMap(({ type, data, run = "", seq }) => {
    const last = completed.get(run) ?? 0;
    const iteration = Number(data.iteration);
    if (type === "iteration/complete") {
      completed.set(run, iteration);
      return iteration === last + 1 || last === 0
        ? []
        : [`${session}#${seq} completes iteration ${iteration} after ${last}`];
    }
    if (type !== "step/started" || iteration > last) return [];
    return [`${session}#${seq} begins a step of iteration ${iteration}, which was completed`];
  });
}
