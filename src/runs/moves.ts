// A change of a run's row: one event that says exactly which columns changed and to what, so that the row can be derived from the
// log and compared with it before a replay.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Cell, Commit, EventDraft, Guard, Write } from "../contracts/storage/commit.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Slot } from "../contracts/storage/tables.ts";
import type { MUTABLE_COLUMNS } from "../core/run-projection.ts";

export type Changes = { readonly [C in (typeof MUTABLE_COLUMNS)[number]]?: RunRow[C] };

export interface Move {
  readonly type: string;
  readonly changes: Changes;
  readonly at: number;
  readonly data?: JsonObject;
  /** By its name; the event carries it. */
  readonly payload?: readonly [name: string, payload: PreparedPayload];
  /** This event is the checkpoint to resume from. */
  readonly checkpoint?: boolean;
  readonly writes?: readonly Write[];
}

export interface MovedRun {
  readonly event: EventDraft;
  /** What the next commit under the lease relies on. */
  readonly holds: readonly Guard[];
  /** The row afterwards, given the event's seq. */
  readonly row: (seq: number) => RunRow;
}

export function moveRun(row: RunRow, move: Move): MovedRun {
  const { type, changes, at, data, payload, checkpoint, writes } = move;
  const next: RunRow = { ...row, ...changes, version: row.version + 1, updated_at: at };
  const checkpointSeq: Cell = checkpoint === true ? { slot: "seq" } : next.checkpoint_seq;
  const first = update(row, changes, next, checkpointSeq);
  const event: EventDraft = {
    ...{ session: row.session, type, at, run: row.id, ...payloadFields(payload) },
    // As far as it goes in the order of their names, in which they are hashed.
    data: {
      ...(checkpoint === true ? { checkpoint: true } : {}),
      ...data,
      ...changesData(changes),
      version: next.version,
    },
    writes: writes === undefined ? [first] : [first, ...writes],
  };
  return {
    event,
    holds: [atEpoch(next), atVersion(next)],
    row: (seq) => ({ ...next, seq, checkpoint_seq: checkpoint === true ? seq : next.checkpoint_seq }),
  };
}

/** Columns that are in no index. */
const GOES_ON: ReadonlySet<string> = new Set(["iteration", "tokens", "cost_usd"]);

/** Most changes touch no indexed column: they get a statement of their own. */
function update(row: RunRow, changes: Changes, next: RunRow, checkpointSeq: Cell): Write {
  const { id, version, iteration, tokens, cost_usd, updated_at } = next;
  const seq = { slot: "seq" } as const;
  if (isGoingOn(row, changes)) {
    const params = [version, iteration, checkpointSeq, tokens, cost_usd, seq, updated_at, id];
    return { op: "run", statement: "run.goOn", params };
  }
  const { status, epoch, owner, wake_at, waits, cancel, pause_at, stop, ended_at } = next;
  const params: Cell[] = [
    status,
    version,
    epoch,
    owner,
    iteration,
    checkpointSeq,
    wake_at,
    waits,
    cancel,
    pause_at,
    stop,
    tokens,
    cost_usd,
    seq,
    updated_at,
    ended_at,
    id,
  ];
  return { op: "run", statement: "run.move", params };
}

function isGoingOn(row: RunRow, changes: Changes): boolean {
  for (const name in changes) {
    const column = name as keyof Changes;
    if (!GOES_ON.has(name) && changes[column] !== undefined && changes[column] !== row[column]) return false;
  }
  return true;
}

export function changesData(changes: Changes): JsonObject {
  const made: Record<string, Json> = {};
  for (const name in changes) {
    const value = changes[name as keyof Changes];
    if (value !== undefined) made[name] = value;
  }
  return made;
}

/** The part of an event draft that a payload makes. */
export function payloadFields(
  payload: readonly [name: string, payload: PreparedPayload] | undefined,
): Pick<EventDraft, "journal" | "payloads"> {
  if (payload === undefined) return { journal: null };
  return { journal: payload[1], payloads: { [payload[0]]: payload[1] } };
}

/** JSON as a payload in the event's row, or beside it when it is long. */
export function carryJson<T>(
  payloads: Payloads,
  bytes: Uint8Array,
  then: (payload: PreparedPayload) => Promise<T>,
): Promise<T> {
  const short = payloads.short(bytes);
  if (short !== null) return then(short);
  return payloads.preparing(async (prepare) =>
    then(await prepare(bytes, { media: "application/json", utf8: true, inRow: true, owned: true })),
  );
}

const NOTHING: Pick<Commit, "blobs" | "writes" | "uses"> = {};

/** What the commit needs besides, for payloads that are blobs. */
export function payloadExtras(payloads: readonly PreparedPayload[]): Pick<Commit, "blobs" | "writes" | "uses"> {
  if (payloads.every(({ blobs, writes, uses }) => blobs.length + writes.length + uses.length === 0)) return NOTHING;
  return {
    blobs: payloads.flatMap(({ blobs }) => blobs),
    writes: payloads.flatMap(({ writes }) => writes),
    uses: payloads.flatMap(({ uses }) => uses),
  };
}

export function atVersion({ id, version }: RunRow): Guard {
  return { check: "run.version", key: [id], expect: version };
}

export function atEpoch({ id, epoch }: RunRow): Guard {
  return { check: "run.epoch", key: [id], expect: epoch };
}

/** The run was to pause at the end of its iteration: it does so now. */
export function pausing({ pause_at, cancel }: RunRow, at: number): Changes {
  if (pause_at === null) return {};
  if (pause_at <= at || cancel === 1) return { pause_at: null };
  return { status: "paused", owner: null, wake_at: pause_at, pause_at: null };
}

/** The row of a question to a person. */
export function insertDecision(run: string, step: number | Slot): Write {
  return { op: "insert", table: "decisions", row: { run, step_seq: step } };
}
