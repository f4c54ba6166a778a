// The crash matrix: runs a simulation once to find all of its commits, then once for each commit and each way
// in which it can fail. Nothing is random, so a point that is never reached is an error of the matrix.
import type { Run } from "../../contracts/run-record.ts";
import type { Effect } from "./external-effects.ts";
import type { FaultKind } from "./faults.ts";
import { type Simulation, type SimulationReport, simulate } from "./simulate.ts";

/** The matrix stops after so many failures, because more of them say nothing new. */
const MOST_FAILED = 5;

/** An error before and after the commit; a crash before, during and after it. */
const WAYS = ["writeFail", "errorAfter", "crashBefore", "crashDuring", "crashAfter"] satisfies readonly FaultKind[];

export interface Matrix {
  /** Commits of the undisturbed simulation, from 0, and the ways in which they failed. */
  readonly points: readonly {
    readonly commit: number;
    readonly way: "writeFail" | "errorAfter" | "crashBefore" | "crashDuring" | "crashAfter";
    readonly process: string;
    readonly events: readonly string[];
  }[];
  /** The failures, each with its point. */
  readonly problems: readonly string[];
}

type MatrixPoint = Matrix["points"][number];

/**
 * With a person that answers truthfully, every effect of the undisturbed simulation happens, and once where that
 * matters.
 */
export async function crashMatrix(simulation: Simulation): Promise<Matrix> {
  return playMatrix(simulation, () => WAYS);
}

type Way = (typeof WAYS)[number];

/** Two ways for each commit; of five commits that follow each other, every way happens to two. */
export function sampleMatrix(simulation: Simulation): Promise<Matrix> {
  const wayAt = (index: number): Way => WAYS[index % WAYS.length] ?? "crashAfter";
  return playMatrix(simulation, (commit) => [wayAt(commit), wayAt(commit + 2)]);
}

async function playMatrix(simulation: Simulation, waysOf: (commit: number) => readonly Way[]): Promise<Matrix> {
  const calm = await simulate({ ...simulation, faults: [] });
  const points = calm.commits.flatMap(({ process, events }, commit) =>
    waysOf(commit).map((way): MatrixPoint => ({ commit, way, process, events })),
  );
  const problems = calm.problems.map((problem) => `undisturbed: ${problem}`);
  let failed = 0;
  for (const [i, point] of points.entries()) {
    if (failed === MOST_FAILED) {
      problems.push(`${points.length - i} of ${points.length} points were not played: ${failed} had problems`);
      break;
    }
    const { way, commit, process, events } = point;
    const fault = { kind: way, probability: 1, afterN: commit, maxTriggers: 1 };
    const simulated = await simulate({
      ...simulation,
      faults: [{ ...fault, filter: ({ what }) => what === "commit" }],
    });
    const found = [...simulated.problems, ...missing(simulated, way), ...differing(calm, simulated)];
    if (found.length > 0) failed++;
    const name = `${way} at commit ${commit} (${process}: ${events.join(", ") || "no events"})`;
    problems.push(...found.map((problem) => `${name}: ${problem}`));
  }
  return { points, problems };
}

function missing({ fired }: SimulationReport, way: FaultKind): readonly string[] {
  return fired[way] === 1 ? [] : ["it never came up"];
}

function differing(calm: SimulationReport, { effects, runs }: SimulationReport): readonly string[] {
  const [then, now] = [byPlace(calm.effects), byPlace(effects)];
  const lost = [...then].flatMap(([place, { n, one }]) =>
    n <= (now.get(place)?.n ?? 0)
      ? []
      : [`${one.tool} was never done at ${place}${why(runs.find(({ id }) => id === one.run))}`],
  );
  const added = [...now].flatMap(([place, { n, one }]) => {
    const most = then.get(place)?.n ?? 0;
    return n <= most ? [] : [`${one.tool} was done at ${place} under ${n} keys, ${most} undisturbed`];
  });
  const again = effects.filter(({ times, mayRepeat }) => times > 1 && !mayRepeat);
  return [...lost, ...added, ...again.map(({ tool, times }) => `${tool} was done ${times} times`)];
}

/** Effects are compared without their keys, because a step's input may contain the time. */
function byPlace(effects: readonly Effect[]): ReadonlyMap<string, { readonly n: number; readonly one: Effect }> {
  const places = new Map<string, { readonly n: number; readonly one: Effect }>();
  for (const one of effects) {
    const place = `${one.iteration}/${one.path} (${one.tool})`;
    places.set(place, { n: (places.get(place)?.n ?? 0) + 1, one: places.get(place)?.one ?? one });
  }
  return places;
}

function why(run: Run | undefined): string {
  if (run === undefined) return ": there is no such run";
  return run.error === null ? "" : `: its run is ${run.status}, ${run.error.code}: ${run.error.message}`;
}
