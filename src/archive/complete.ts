// A session that was here only in part, because a fork brought what it inherits, comes whole. What is here of it gives way
// to the same rows of the archive, in the same commit; only its heads stay, because rows of others name them by number.
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
  /** Before the rows. */
  readonly replaces: readonly Write[];
  readonly restores: readonly RestoredRow[];
  /** Behind them. */
  readonly writes: readonly Write[];
  /** Blobs of what was here, and was cleared where the archive comes from; null when nothing was. */
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
      // Still not here as a whole.
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

/** The chain hash where a kept stretch ends says that all before it is the same. */
async function checkSamePast(storage: Storage, id: string, event: PortableRow | undefined, seq: number): Promise<void> {
  const [here] = await storage.query("events.at", { session: id, seq });
  if (here !== undefined && event !== undefined && sameBytes(here.hash, event.hash as Uint8Array)) return;
  throw new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(id)} in the archive is not the one whose forks are here`,
    {
      details: { kind: "session", id, seq },
      hint: "Its log has another past, or ends before they branched off. Import it into another store, or export it again.",
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

/** Again for the checksum of the row. */
const CHECKED = ["title", "status", "metadata", "created_at", "version"];

function sessionWrite(row: PortableRow): Write {
  const agent: Cell = row.agent == null ? null : { agent: String(row.agent) };
  const params = [agent, ...[...COLUMNS, ...CHECKED, "id"].map((name) => row[name] ?? null)];
  return { op: "run", statement: "session.complete", params };
}
