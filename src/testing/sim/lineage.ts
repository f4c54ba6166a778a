// Runs that take up others, and the children they have: what is done for one of them is not to be done for another again,
// though every one of them has keys of its own.
import type { LogEvent } from "../../contracts/log.ts";
import { plainObject } from "../../core/decode.ts";
import type { Effect } from "./external-effects.ts";

type Logs = ReadonlyMap<string, readonly LogEvent[]>;

/** The name that a run shares with those that take it up: of the first of them, and of a child by where it was asked for. */
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

/** Done twice for one purpose only where a person chose that, or a failure of what was done is recorded. */
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
 * By key: how often a person allowed it once more, or had its failure recorded. The permission for a first try allows
 * no other.
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
