// A session that was here only in part, because a fork brought what it inherits, comes whole. What is here of it gives way
// to the same rows of the archive, in the same commit; only its heads stay, because rows of others name them by number.
import { HoldfastError } from "../contracts/errors.ts";
import {
  LOGGED_TABLES,
  type LoggedTable,
  PORTABLE,
  type PortableRow,
  type RestoredRow,
} from "../contracts/portable.ts";
import type { DiscardedRow, SessionRow } from "../contracts/queries.ts";
import type { Cell, Guard, Storage, Write } from "../contracts/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { replaceWrites } from "../sessions/erase-session.ts";
import { logged } from "./gather.ts";
import type { Contents } from "./verify.ts";

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

export async function completePart(storage: Storage, one: Contents, row: SessionRow): Promise<Completion> {
  const held = await storage.query("archive.remains", row.no);
  const events = new Map((one.tables.get("events") ?? []).map((event) => [event.seq, event]));
  const heads = new Set<unknown>();
  const shown = new Map<string, PortableRow>();
  const cleared: PortableRow[] = [];
  for (const { upto } of held) await checkSamePast(storage, one.id, events.get(upto ?? 0), Number(upto));
  for (const table of LOGGED_TABLES) {
    for await (const found of logged(storage, table, row.no, 0, row.seq)) {
      const whole = table === "events" ? events.get(found.seq ?? 0) : undefined;
      const isErased = (found.erased_seq ?? null) !== null;
      if (isErased && (whole?.erased_seq ?? null) === null) throw olderThanPart(one.id);
      if (!isErased && (whole?.erased_seq ?? null) !== null) cleared.push(found);
      if (table === "heads") heads.add(found.id);
      shown.set(nameOf(table, found), found);
    }
  }
  checkNothingBack(one, held, shown);
  const [session] = one.tables.get("sessions") ?? [];
  return {
    guards: [
      // Still not here as a whole.
      { check: "session.version", key: [one.id], expect: null },
      ...held.map(
        ({ branch, upto }): Guard => ({
          ...{ check: "remains.upto", key: [one.id, Number(branch)], expect: Number(upto) },
        }),
      ),
    ],
    replaces: replaceWrites(row.no),
    restores: [...one.tables].flatMap(([table, rows]) =>
      table === "sessions"
        ? []
        : rows.filter((made) => table !== "heads" || !heads.has(made.id)).map((made) => ({ table, row: made })),
    ),
    writes: session === undefined ? [] : [sessionWrite(session)],
    cleared: cleared.length === 0 ? null : await blobsOf(storage, cleared),
  };
}

/** The chain hash where a kept stretch ends says that all before it is the same. */
async function checkSamePast(storage: Storage, id: string, event: PortableRow | undefined, seq: number): Promise<void> {
  const [here] = await storage.query("events.at", id, seq);
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

/** Content that is no blob. */
const WORDS = ["words", "label", "final_summary"];

/** Where the part has no content, or no row, and the archive has: it was erased where the part comes from. */
function checkNothingBack(
  { id, tables }: Contents,
  held: readonly PortableRow[],
  shown: ReadonlyMap<string, PortableRow>,
): void {
  const upTo = new Map(held.map(({ branch, upto }) => [branch, Number(upto)]));
  const branches = new Map((tables.get("events") ?? []).map(({ seq, branch }) => [seq, branch]));
  for (const table of LOGGED_TABLES) {
    const columns = PORTABLE[table].filter(({ name, type }) => type === "blob" || WORDS.includes(name));
    for (const row of tables.get(table) ?? []) {
      const branch = row.branch ?? branches.get(row.seq ?? 0) ?? 0;
      if (Number(row.seq) > (upTo.get(branch) ?? 0)) continue;
      const here = shown.get(nameOf(table, row));
      const isBack = columns.some(({ name }) => (row[name] ?? null) !== null && (here?.[name] ?? null) === null);
      if (isBack) throw olderThanPart(id);
    }
  }
}

function nameOf(table: LoggedTable, { seq, branch, first_seq, key, id }: PortableRow): string {
  return JSON.stringify([table, seq, branch, first_seq, key, id]);
}

function olderThanPart(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `something of ${JSON.stringify(id)} that the archive holds was erased before a fork of it was imported here`,
    {
      details: { kind: "session", id },
      hint: "What was erased does not come back: export the session again, as it is now, if it was not deleted.",
    },
  );
}

async function blobsOf(storage: Storage, messages: readonly PortableRow[]): Promise<readonly DiscardedRow[]> {
  const found: DiscardedRow[] = [];
  for (const { content } of messages) {
    if (!(content instanceof Uint8Array)) continue;
    for (const { sha256, store, key } of await storage.query("blob.head", content)) found.push({ sha256, store, key });
  }
  return found;
}

const COLUMNS = [
  ...[
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
  ],
  ...["messages", "state_seq", "kind", "origin", "cache_id", "head", "id"],
];

function sessionWrite(row: PortableRow): Write {
  const agent: Cell = row.agent == null ? null : { agent: String(row.agent) };
  const params = [agent, ...COLUMNS.map((name) => row[name] ?? null)];
  return { op: "run", statement: "session.complete", params };
}
