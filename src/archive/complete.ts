// Completes a session of which the store has only a part, because an imported fork brought the rows that it inherits. The rows of the
// archive replace that part in the same commit; only its heads stay, because rows of other sessions refer to them by number.
import { HoldfastError } from "../contracts/errors.ts";
import type { Cell, Guard, Write } from "../contracts/storage/commit.ts";
import type { PortableRow, RestoredRow } from "../contracts/storage/portable-rows.ts";
import type { DiscardedRow, SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { replaceWrites } from "../sessions/erase-rows.ts";
import { blobsOf, compareErased, olderArchive } from "./erasures.ts";
import type { ArchivedSession } from "./restores.ts";
import { readKeptSeqs } from "./sources.ts";

export interface Completion {
  readonly guards: readonly Guard[];
  /** Writes before the rows are restored. */
  readonly replaces: readonly Write[];
  readonly restores: readonly RestoredRow[];
  /** Writes after the rows are restored. */
  readonly writes: readonly Write[];
  /** Blobs of rows that the store had, and that were cleared in the archive; null: there are none. */
  readonly cleared: readonly DiscardedRow[] | null;
}

export async function completePart(storage: Storage, one: ArchivedSession, row: SessionRow): Promise<Completion> {
  const held = await readKeptSeqs(storage, row);
  const events = new Map((one.tables.get("events") ?? []).map((event) => [event.seq, event]));
  for (const upto of held.values()) await checkSamePast(storage, one.id, events.get(upto), upto);
  const { heads, erased, isOlder } = await compareErased(storage, one, row, held);
  if (isOlder) throw olderArchive(one.id);
  const [session] = one.tables.get("sessions") ?? [];
  return {
    guards: [
      // The session is still incomplete.
      { check: "session.version", key: [one.id], expect: null },
      ...[...held].map(([branch, upto]): Guard => ({ check: "remains.upto", key: [one.id, branch], expect: upto })),
    ],
    replaces: replaceWrites(row.no),
    restores: [...one.tables].flatMap(([table, rows]) =>
      table === "sessions"
        ? []
        : rows.filter((made) => table !== "heads" || !heads.has(made.id)).map((made) => ({ table, row: made })),
    ),
    writes: session === undefined ? [] : [sessionWrite(session)],
    cleared: erased.length === 0 ? null : await blobsOf(storage, erased),
  };
}

/** Compares the chain hash at the end of a kept range: if it is the same, all events before it are. */
async function checkSamePast(storage: Storage, id: string, event: PortableRow | undefined, seq: number): Promise<void> {
  const [here] = await storage.query("events.at", { session: id, seq });
  if (here !== undefined && event !== undefined && sameBytes(here.hash, event.hash as Uint8Array)) return;
  throw new HoldfastError(
    "Conflict",
    `session ${JSON.stringify(id)} of the archive is not the session from which forks in this store were made`,
    {
      details: { kind: "session", id, seq },
      hint: "Its log differs, or ends before those forks begin. Import the archive into another store, or export the session again.",
    },
  );
}

const COLUMNS = [
  "title",
  "status",
  "tags",
  "metadata",
  "request",
  "created_at",
  "updated_at",
  "version",
  "branch",
  "seq",
  "chain",
  "messages",
  "state_seq",
  "kind",
  "origin",
  "cache_id",
  "head",
];

/** Columns that are passed a second time, for the checksum of the row. */
const CHECKED = ["title", "status", "metadata", "created_at", "version"];

function sessionWrite(row: PortableRow): Write {
  const agent: Cell = row.agent == null ? null : { agent: String(row.agent) };
  const params = [agent, ...[...COLUMNS, ...CHECKED, "id"].map((name) => row[name] ?? null)];
  return { op: "run", statement: "session.complete", params };
}
