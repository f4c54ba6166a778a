// Rows with a version for each of their events: calls and evals are written when they start and again when they end.
// The first version names its own event; later versions name that first event too.
import { HoldfastError } from "../contracts/errors.ts";
import type { Commit, EventDraft, Guard } from "../contracts/storage/commit.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Decision } from "../core/decide.ts";
import { branchGuard } from "../core/session-guards.ts";

/** One version of a row, and the event that writes it. */
export interface VersionDraft<C extends object> {
  readonly event: EventDraft;
  readonly columns: C;
  /** The payloads of its columns. */
  readonly commit: Pick<Commit, "blobs" | "writes" | "uses">;
  readonly at: number;
}

/** The position of a version among the rows of its session. */
interface VersionPosition {
  readonly session: string;
  readonly branch: number;
  readonly first_seq: number;
  readonly seq: number;
  readonly erased_seq: null;
}

export function addFirstVersion<C extends object, T>(
  session: SessionRow,
  { event, columns, commit, at }: VersionDraft<C>,
  decode: (row: C & VersionPosition) => T,
): Decision<T> {
  const { id, branch } = session;
  return {
    commit: { sessions: [{ id, mode: "existing", at }], guards: [branchGuard(session)], ...commit, events: [event] },
    answer: ({ events }) => {
      const seq = events[0]?.seq ?? 0;
      return decode({ session: id, branch, first_seq: seq, seq, ...columns, erased_seq: null });
    },
  };
}

/** Guards the version before, so that one of two concurrent changes decides again. */
export function addNextVersion<C extends object, T>(
  session: SessionRow,
  before: { readonly branch: number; readonly first: number; readonly guard: Guard },
  { event, columns, commit, at }: VersionDraft<C>,
  decode: (row: C & VersionPosition) => T,
): Decision<T> {
  const { id } = session;
  const { branch, first, guard } = before;
  return {
    commit: {
      sessions: [{ id, mode: "existing", at }],
      ...commit,
      events: [event],
      guards: [guard, branchGuard(session)],
    },
    answer: ({ events }) =>
      decode({ session: id, branch, first_seq: first, seq: events[0]?.seq ?? 0, ...columns, erased_seq: null }),
  };
}

/** Small facts for the event's data, without unknown ones. */
export function facts(given: Readonly<Record<string, string | number | null>>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string | number] => entry[1] !== null),
  );
}

/** The newest version of a row that a change ends; the row must be there and unfinished. */
export function requireUnfinished<R extends { readonly status: string }>(
  row: R | undefined,
  kind: string,
  id: string,
  unfinished: R["status"],
): R {
  if (row === undefined) throw noRow(kind, id);
  if (row.status !== unfinished) throw isOver(kind, id, row.status);
  return row;
}

export function noRow(kind: string, id: string): HoldfastError {
  return new HoldfastError("NotFound", `there is no ${kind} ${id}`, { details: { kind, id } });
}

function isOver(kind: string, id: string, status: string): HoldfastError {
  return new HoldfastError("InvalidTransition", `the ${kind} ${id} has ended already: it is ${status}`, {
    details: { kind, id, status },
  });
}
