// Chains of runs that retry others, and their children: an effect for one run of a chain must not happen again for
// another, although every run has its own keys.
import type { LogEvent } from "../../contracts/log.ts";
import { plainObject } from "../../core/decode.ts";
import type { Effect } from "./external-effects.ts";

type Logs = ReadonlyMap<string, readonly LogEvent[]>;

/**
 * The name that a run shares with its retries: the first run's id; a child's name is the parent's with the spawning
 * step.
 */
function lineages(sessions: Logs): (run: string) => string {
  const before = new Map<string, string>();
  const parents = new Map<string, string>();
  const places = new Map<string, string>();
  for (const { type, run = "", data } of [...sessions.values()].flat()) {
    if (type === "step/started" && data.kind === "spawn")
      places.set(String(data.run), `${data.iteration}/${data.path}`);
    if (type !== "run/created") continue;
    const from = plainObject.read(data.from);
    if (from?.retry === true) before.set(run, String(from.run));
    if (typeof data.parent === "string") parents.set(run, data.parent);
  }
  const name = (run: string): string => {
    const [earlier, parent] = [before.get(run), parents.get(run)];
    if (earlier !== undefined) return name(earlier);
    return parent === undefined ? run : `${name(parent)} ${places.get(run)}`;
  };
  return name;
}

const placeOf = ({ iteration, path }: Effect): string => `${iteration}/${path}`;

/** An effect may happen twice for one purpose only if a person chose that, or its failure is recorded. */
export function ofPurposes(
  sessions: Logs,
  effects: readonly Effect[],
  purpose: (effect: Effect) => string = placeOf,
): readonly string[] {
  const lineage = lineages(sessions);
  const excuses = excused(sessions);
  const groups = new Map<string, Effect[]>();
  for (const effect of effects.filter(({ mayRepeat }) => !mayRepeat)) {
    const group = `${lineage(effect.run)}: ${purpose(effect)}`;
    groups.set(group, [...(groups.get(group) ?? []), effect]);
  }
  return [...groups].flatMap(([group, done]) => {
    const times = done.reduce((sum, one) => sum + one.times, 0);
    const most = done.reduce((sum, { key }) => sum + (excuses.get(key) ?? 0), 1);
    const runs = done.map(({ tool, run, iteration, path }) => `${tool} by ${run} at ${iteration}/${path}`);
    return times <= most ? [] : [`${group} was done ${times} times, at most ${most} allowed (${runs.join(", ")})`];
  });
}

/**
 * Counts by key how often a person allowed another attempt, or recorded a failure. The permission for a first attempt
 * allows no further one.
 */
function excused(sessions: Logs): ReadonlyMap<string, number> {
  const excuses = new Map<string, number>();
  for (const events of sessions.values()) {
    const bySeq = new Map(events.map((event) => [event.seq, event]));
    for (const { type, data } of events) {
      if (type === "step/started" && data.approval === true) excuses.set(String(data.key), -1);
      const isExcuse = type === "step/failed" || (type === "run/answered" && data.verdict === "retry");
      if (!isExcuse || typeof data.step !== "number") continue;
      const key = String(bySeq.get(data.step)?.data.key);
      excuses.set(key, (excuses.get(key) ?? 0) + 1);
    }
  }
  return excuses;
}
