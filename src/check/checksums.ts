// Checksums of rows: the only proof of columns that no log, no hash and no other row repeats.
import type {
  OwnedChecksumTable,
  StoreChecksumRow,
  StoreChecksumTable,
  StoreKeys,
} from "../contracts/storage/checksum-queries.ts";
import type { Queries } from "../contracts/storage/queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toRef } from "../core/bytes.ts";
import { rowId } from "../core/row-id.ts";
import type { SecondLook } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

const OWNED: readonly OwnedChecksumTable[] = ["sessions", "boards", "tasks", "invocations", "captures"];

/** The session's own row, a tombstone as well, and the rows that belong to it. */
export async function checkSessionChecksums(
  storage: Storage,
  look: SecondLook,
  { no, id }: { readonly no: number; readonly id: string },
): Promise<void> {
  if (look.isRequested("checksum-wrong")) {
    for (const table of OWNED) {
      for (const { name, seq } of await storage.query(`checksums.${table}`, { session: no, limit: PAGE })) {
        look.report("checksum-wrong", [name ?? rowId(id, seq ?? 0)], { table });
      }
    }
  }
  for (const row of await storage.query("check.held", { session: no, limit: PAGE })) {
    look.report("row-mismatch", [row.id], { table: "runs", column: "held" });
  }
  if (!look.isRequested("alias-missing")) return;
  for (const { stored, counted } of await storage.query("check.aliasCount", { session: no })) {
    if (stored !== counted) look.report("alias-missing", [id], { stored, counted });
  }
}

/** What belongs to no session. */
export async function checkStoreChecksums(storage: Storage, look: SecondLook): Promise<void> {
  if (!look.isRequested("checksum-wrong")) return;
  await checkCounted(storage, look);
  await each(storage, look, "agents", { no: BEFORE_ALL }, ({ id }) => id);
  await each(storage, look, "agent_blocks", { agent_no: BEFORE_ALL, ord: BEFORE_ALL }, ({ block_id }) => block_id);
  await each(storage, look, "blocks", { id: "" }, ({ id }) => id);
  const firstVersion = { block_id: "", version: BEFORE_ALL };
  await each(storage, look, "block_versions", firstVersion, ({ block_id, version }) => `${block_id}#${version}`);
  await each(storage, look, "segments", { id: "" }, ({ id }) => id);
  await each(storage, look, "segment_frames", { segment_id: "", start: BEFORE_ALL }, ({ segment_id }) => segment_id);
  await each(storage, look, "blobs", { no: BEFORE_ALL }, ({ sha256 }) => toRef(sha256));
}

/** The store's own rows, and columns that collections count on and that no checksum covers. */
async function checkCounted(storage: Storage, look: SecondLook): Promise<void> {
  for (const { name } of await storage.query("checksums.counters", {})) {
    look.report("checksum-wrong", [name], { table: "counters" });
  }
  if ((await storage.query("checksums.meta", {})).length === 0) {
    look.report("checksum-wrong", ["store_id", "created_at"], { table: "holdfast_meta" });
  }
  for await (const { sha256, proven } of rowsOf<Queries["check.epochs"]["row"]>((last) =>
    storage.query("check.epochs", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (proven !== 1) look.report("row-mismatch", [toRef(sha256)], { table: "blobs", column: "epoch" });
  }
}

/** On SQLite the checksum stands behind the body of a row, which is read through to reach it. */
const PAGE_WITH_BODIES = 50;
const WITH_BODIES: ReadonlySet<StoreChecksumTable> = new Set<StoreChecksumTable>(["blobs", "segment_frames"]);

async function each<T extends StoreChecksumTable>(
  storage: Storage,
  look: SecondLook,
  table: T,
  first: StoreKeys[T],
  nameOf: (row: StoreChecksumRow<T>) => string,
): Promise<void> {
  const limit = WITH_BODIES.has(table) ? PAGE_WITH_BODIES : PAGE;
  for (let after = first; ; ) {
    const params = { ...after, limit } as Queries[`checksums.${T}`]["params"];
    const rows = (await storage.query(`checksums.${table}`, params)) as readonly StoreChecksumRow<T>[];
    for (const row of rows) if (row.proven !== 1) look.report("checksum-wrong", [nameOf(row)], { table });
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = last;
  }
}
