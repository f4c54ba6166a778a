// Links between runs: the first event of a retry, a rewind or a fork names the run that it continues.
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Run } from "../contracts/run-record.ts";
import type { Step } from "../contracts/steps.ts";
import { plainObject } from "../core/decode.ts";

/** A link between a run and another run that it continues, or that continues it. */
export interface RunLink {
  readonly run: string;
  readonly session: string;
  readonly how: "retry" | "rewind" | "fork";
  /** The later run continues after this iteration of the earlier run; 0: from the beginning. */
  readonly iteration: number;
}

/** A run that continues another, with its status. */
export interface LaterRun extends RunLink {
  readonly status: Run["status"];
}

type RunKey = Pick<Run, "id" | "session">;

/** The run that this run continues; null if it continues none. */
export async function findPredecessor({ runs }: Holdfast, { id, session: own }: RunKey): Promise<RunLink | null> {
  const [created] = await runs.events(id, { limit: 1 });
  const from = plainObject.read(created?.data.from);
  if (typeof from?.run !== "string" || typeof from.session !== "string") return null;
  const how = from.retry === true ? "retry" : from.session === own ? "rewind" : "fork";
  return { run: from.run, session: from.session, how, iteration: Number(from.iteration ?? 0) };
}

const FORKS_QUERY =
  "[:find [?id ...] :in $ ?source :where [?s :session/id ?source] [?d :derivation/source-session ?s] " +
  "[?d :derivation/target-session ?t] [?t :session/id ?id]]";

/**
 * The runs that continue this run, oldest first: retries and rewinds in its session, forks in sessions forked from
 * that.
 */
export async function findSuccessors(holdfast: Holdfast, run: RunKey): Promise<readonly LaterRun[]> {
  const forks = await holdfast.query(FORKS_QUERY, [run.session]);
  const sessions = new Set([run.session, ...(Array.isArray(forks) ? forks.map(String) : [])]);
  const found: (LaterRun & { readonly createdAt: number })[] = [];
  for (const session of sessions) {
    for (const later of await runsIn(holdfast, session)) {
      const link = later.id === run.id ? null : await findPredecessor(holdfast, later);
      if (link?.run !== run.id) continue;
      found.push({ ...link, run: later.id, session, status: later.status, createdAt: later.createdAt });
    }
  }
  return found.toSorted((a, b) => a.createdAt - b.createdAt).map(({ createdAt: _, ...link }) => link);
}

async function runsIn({ runs }: Holdfast, session: string): Promise<readonly Run[]> {
  const found: Run[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await runs.list({ session, limit: LIMITS.page, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items);
    if (page.next === null) return found;
    cursor = page.next;
  }
}

/**
 * Finds the steps that a run repeats if it continues after that iteration, although they are not declared safe to
 * repeat: tools that had, or may have had, their effect, and spawned runs. Steps of the runs that it retries count too,
 * and those of every retry or rewind that continued one of these runs, because any of them may have had the effect. If
 * several runs executed the same position, the result lists the last execution.
 */
export async function findRepeatedSteps(holdfast: Holdfast, run: RunKey, iteration: number): Promise<readonly Step[]> {
  const repeated = new Map<string, Step>();
  for (const id of await findChain(holdfast, run)) {
    for (const step of await holdfast.runs.steps(id)) {
      if (step.iteration <= iteration || !isEffect(step)) continue;
      repeated.set([step.iteration, step.path, step.kind, step.name].join("/"), step);
    }
  }
  return [...repeated.values()];
}

/** The runs that this run retries, the run itself, and all retries and rewinds that continue them, oldest first. */
async function findChain(holdfast: Holdfast, run: RunKey): Promise<readonly string[]> {
  const inSession = (await runsIn(holdfast, run.session)).toSorted((a, b) => a.createdAt - b.createdAt);
  const links = new Map<string, RunLink | null>();
  for (const one of inSession) links.set(one.id, await findPredecessor(holdfast, one));
  let first = run.id;
  for (let link = links.get(first); link?.how === "retry" && links.has(link.run); link = links.get(first)) {
    first = link.run;
  }
  const chain = [first];
  for (const id of chain) {
    for (const [later, link] of links) {
      if (link !== null && link.run === id && link.how !== "fork") chain.push(later);
    }
  }
  return chain;
}

/** Whether the step had an effect. A failed or unanswered step had none, unless only its result was lost. */
function isEffect({ kind, status, idempotent, effectDone }: Step): boolean {
  if (status !== "done" && status !== "started" && effectDone !== true) return false;
  return kind === "spawn" || (kind === "tool" && idempotent === false);
}

/** A run without a worker, with its steps in doubt. */
export interface InterruptedRun {
  readonly run: Run;
  readonly steps: readonly Step[];
}

/** Finds interrupted runs, with the steps that a worker will ask about. `only` limits the search to one run. */
export async function findInterruptedRuns(
  holdfast: Holdfast,
  only: Run | undefined,
  most: number,
): Promise<readonly InterruptedRun[]> {
  const found: InterruptedRun[] = [];
  for (const run of only === undefined ? await unfinishedRuns(holdfast) : [only]) {
    const isLeft = run.idle?.reason === "owner-gone" || run.idle?.reason === "queued";
    if (!isLeft || run.epoch === 0 || found.length >= most) continue;
    const steps = await holdfast.runs.steps(run.id, { iteration: run.iteration + 1 });
    const inDoubt = steps.filter((step) => step.status === "started" && step.kind === "tool" && isEffect(step));
    if (inDoubt.length > 0) found.push({ run, steps: inDoubt });
  }
  return found;
}

async function unfinishedRuns({ runs }: Holdfast): Promise<readonly Run[]> {
  const found: Run[] = [];
  for (const status of ["running", "recovering"] as const) {
    for (let cursor: string | undefined; ; ) {
      const page = await runs.list({ status, limit: LIMITS.page, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.items);
      if (page.next === null) break;
      cursor = page.next;
    }
  }
  return found;
}
