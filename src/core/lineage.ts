// Where a session's rows are: its own log, and what its branch inherits from others. A lineage is a list of stretches of
// logs, newest first; every read that follows it goes through them in one of the two directions.
import type { SegmentOfLogRow } from "../contracts/lineage-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { invalid } from "./check.ts";
import { parseRowId } from "./row-id.ts";

export interface Segment {
  readonly session: string;
  readonly no: number;
  readonly branch: number;
  /** The last seq that belongs to it; NOW when the session is still on this branch. */
  readonly upTo: number;
  /** How far this lineage knows the session's log: what was erased by then was not there, what was erased later was. */
  readonly horizon: number;
  /** Clears of younger sessions, which inherited this one's messages and no longer show them. */
  readonly hides: readonly Clear[];
}

export interface Clear {
  readonly agent: string;
  /** Only messages of this run; null: all of the agent. */
  readonly run: string | null;
}

export const NOW = Number.MAX_SAFE_INTEGER;

/** Empty when there is no such session. */
export async function currentLineage(storage: Storage, session: string): Promise<readonly Segment[]> {
  return segmentsOf(storage, await storage.query("lineage.current", session));
}

export async function lineageAt(
  storage: Storage,
  at: { readonly no: number; readonly branch: number; readonly seq: number },
): Promise<readonly Segment[]> {
  return segmentsOf(storage, await storage.query("lineage.at", at.no, at.branch, at.seq));
}

async function segmentsOf(storage: Storage, rows: readonly SegmentOfLogRow[]): Promise<readonly Segment[]> {
  let younger: readonly (Clear & { readonly by: number })[] = [];
  const segments: Segment[] = [];
  for (const { session, session_no: no, branch, upto, clears } of rows) {
    // A clear erases what its own session holds; of others it only hides.
    const horizon = segments.find((one) => one.no === no)?.horizon ?? upto;
    segments.push({ session, no, branch, upTo: upto, horizon, hides: younger.filter(({ by }) => by !== no) });
    if (clears === 0) continue;
    const found = await storage.query("lineage.clears", no, branch, upto);
    younger = [...younger, ...found.map((clear) => ({ ...clear, by: no }))];
  }
  return segments;
}

/** A segment, and the seq behind which its rows are asked for. */
export interface Stretch {
  readonly segment: Segment;
  readonly after: number;
}

/** What lies behind a point: a number is a seq of the session's own, behind all that it inherits; an id may be of any message. */
export function stretchesBehind(
  lineage: readonly Segment[],
  session: string,
  after: number | string,
): readonly Stretch[] {
  if (after === 0) return lineage.map((segment) => ({ segment, after: 0 }));
  const point = typeof after === "number" ? { session, seq: after } : parseRowId(after, "after");
  const first = lineage.findIndex((segment) => segment.session === point.session);
  if (first === -1 && typeof after === "string" && lineage.length > 0) {
    throw invalid("after", "the id of a message that the session shows", after);
  }
  return lineage.flatMap((segment, i) => {
    if (segment.session === point.session) return [{ segment, after: point.seq }];
    return i < first ? [{ segment, after: 0 }] : [];
  });
}

/** Whether an event of a session's own log lies on the line that leads to this point of it. */
export async function lineTo(
  storage: Storage,
  at: { readonly no: number; readonly branch: number; readonly seq: number },
): Promise<(event: { readonly branch: number; readonly seq: number }) => boolean> {
  const own = (await lineageAt(storage, at)).filter(({ no }) => no === at.no);
  return ({ branch, seq }) => own.some((one) => one.branch === branch && seq <= one.upTo);
}

/** Whether the segment's messages of that agent and run are hidden. */
export function isHidden({ hides }: Segment, { agent, run }: { agent: string; run: string | null }): boolean {
  return hides.some((clear) => clear.agent === agent && (clear.run === null || clear.run === run));
}

/** The branch a change of the row belongs to: the session's own while the row is on its line, else the line it was left on. */
export async function lineOf(
  storage: Storage,
  session: { readonly id: string; readonly no: number; readonly branch: number },
  row: { readonly branch: number; readonly seq: number },
): Promise<number> {
  const lineage = await currentLineage(storage, session.id);
  const isHere = lineage.some(({ no, branch, upTo }) => no === session.no && branch === row.branch && row.seq <= upTo);
  return isHere ? session.branch : row.branch;
}
