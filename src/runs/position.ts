// The position of a recorded read: a seq of the session's own log, and for each inherited log the last erasure by then,
// because that decides which inherited messages were erased.
import type { JsonObject } from "../contracts/json.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decodeRow, list, optional, plainObject, text, whole } from "../core/decode.ts";
import { type LineageStretch, lineageAt } from "../core/lineage.ts";
import { existingSession } from "../core/session-lookup.ts";

export interface Position {
  readonly branch: number;
  readonly seq: number;
  /** For each session that it inherits from, newest first: the last event that had erased messages. */
  readonly inherited: readonly number[];
}

/** The position, and the lineage that ends there. */
export interface ReadLocation {
  readonly position: Position;
  readonly lineage: readonly LineageStretch[];
}

/**
 * The present position of the session. `isThorough`: searches for erasures also in inherited sessions that were not
 * deleted.
 */
export async function locateNow(storage: Storage, session: string, isThorough = false): Promise<ReadLocation> {
  const { no, branch, seq } = await existingSession(storage, session);
  const lineage = await lineageAt(storage, { no, branch, seq });
  const inherited: number[] = [];
  for (const of of ancestorsOf(lineage)) inherited.push(await erasedUpTo(storage, lineage, of, isThorough));
  return located({ branch, seq, inherited }, lineage);
}

/** The position and lineage of a recorded read. */
export async function locateAgain(storage: Storage, no: number, position: Position): Promise<ReadLocation> {
  const { branch, seq } = position;
  return located(position, await lineageAt(storage, { no, branch, seq }));
}

function located(position: Position, lineage: readonly LineageStretch[]): ReadLocation {
  if (position.inherited.length === 0) return { position, lineage };
  const ancestors = ancestorsOf(lineage);
  const horizonOf = (stretch: LineageStretch) =>
    position.inherited[ancestors.indexOf(stretch.session)] ?? stretch.horizon;
  return { position, lineage: lineage.map((stretch) => ({ ...stretch, horizon: horizonOf(stretch) })) };
}

/** The sessions in the lineage after the first, newest first. */
function ancestorsOf(lineage: readonly LineageStretch[]): readonly string[] {
  const own = lineage[0]?.session;
  return [...new Set(lineage.map(({ session }) => session))].filter((session) => session !== own);
}

/**
 * The last erasure in an inherited session. A session that is here only in part has no log of its erasures, but its
 * erased messages have their positions.
 */
async function erasedUpTo(
  storage: Storage,
  lineage: readonly LineageStretch[],
  session: string,
  isThorough: boolean,
): Promise<number> {
  const [row] = await storage.query("session.get", { id: session });
  let last = row?.seq ?? 0;
  if (row?.deleted_at === null && !isThorough) return last;
  for (const { no, branch, upTo } of lineage.filter((stretch) => stretch.session === session)) {
    const [erased] = await storage.query("messages.erasedUpTo", { session: no, branch, after: 0, upTo });
    last = Math.max(last, erased?.value ?? 0);
  }
  return last;
}

/** What the journal stores about a recorded read. */
export interface RecordedPosition {
  readonly position: Position;
  readonly count: number;
  /** The digest of the ids or keys that it returned. */
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
