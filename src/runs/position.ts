// The position of a recorded read: a point of the session's own log, and how far the logs that the session inherits from had been
// written by then, because only that says what of them had been erased.
import type { JsonObject } from "../contracts/json.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decodeRow, list, optional, plainObject, text, whole } from "../core/decode.ts";
import { lineageAt, type Segment } from "../core/lineage.ts";
import { existingSession } from "../core/session-lookup.ts";

export interface Position {
  readonly branch: number;
  readonly seq: number;
  /** Of each session that it inherits from, newest first: the last event by which messages had been erased. */
  readonly inherited: readonly number[];
}

/** The position, and the lineage that ends there. */
export interface ReadLocation {
  readonly position: Position;
  readonly lineage: readonly Segment[];
}

/** Where the session is now; `isThorough`: searches also the inherited sessions that were not deleted for erasures. */
export async function locateNow(storage: Storage, session: string, isThorough = false): Promise<ReadLocation> {
  const { no, branch, seq } = await existingSession(storage, session);
  const lineage = await lineageAt(storage, { no, branch, seq });
  const inherited: number[] = [];
  for (const of of ancestorsOf(lineage)) inherited.push(await erasedUpTo(storage, lineage, of, isThorough));
  return located({ branch, seq, inherited }, lineage);
}

/** Where a recorded read was made. */
export async function locateAgain(storage: Storage, no: number, position: Position): Promise<ReadLocation> {
  const { branch, seq } = position;
  return located(position, await lineageAt(storage, { no, branch, seq }));
}

function located(position: Position, lineage: readonly Segment[]): ReadLocation {
  if (position.inherited.length === 0) return { position, lineage };
  const ancestors = ancestorsOf(lineage);
  const horizonOf = (segment: Segment) => position.inherited[ancestors.indexOf(segment.session)] ?? segment.horizon;
  return { position, lineage: lineage.map((segment) => ({ ...segment, horizon: horizonOf(segment) })) };
}

/** The sessions it inherits from, newest first. */
function ancestorsOf(lineage: readonly Segment[]): readonly string[] {
  const own = lineage[0]?.session;
  return [...new Set(lineage.map(({ session }) => session))].filter((session) => session !== own);
}

/** A session that is not whole in this store has no log of its erasures: the erased messages themselves have their position. */
async function erasedUpTo(
  storage: Storage,
  lineage: readonly Segment[],
  session: string,
  isThorough: boolean,
): Promise<number> {
  const [row] = await storage.query("session.get", { id: session });
  let last = row?.seq ?? 0;
  if (row?.deleted_at === null && !isThorough) return last;
  for (const { no, branch, upTo } of lineage.filter((segment) => segment.session === session)) {
    const [erased] = await storage.query("messages.erasedUpTo", { session: no, branch, after: 0, upTo });
    last = Math.max(last, erased?.value ?? 0);
  }
  return last;
}

/** What the journal keeps of a recorded read. */
export interface RecordedPosition {
  readonly position: Position;
  readonly count: number;
  /** Of the ids or keys that it returned. */
  readonly digest: string;
}

export function encodePosition({ position, count, digest }: RecordedPosition): JsonObject {
  const { branch, seq, inherited } = position;
  return { branch, count, digest, ...(inherited.length === 0 ? {} : { inherited }), seq };
}

const POSITION = { branch: whole, seq: whole, count: whole, digest: text, inherited: optional(list) };

export function decodePosition(session: string, seq: number, data: JsonObject): RecordedPosition {
  const name = { kind: "step", session, seq };
  const { position } = decodeRow(name, data, { position: plainObject });
  const { count, digest, inherited, ...at } = decodeRow(name, position, POSITION);
  return { position: { ...at, inherited: (inherited ?? []).map(Number) }, count, digest };
}
