// Checksums of rows: they are the only proof of columns that no log, hash or other row repeats.
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
import type { IssueReporter } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

const OWNED: readonly OwnedChecksumTable[] = ["sessions", "boards", "tasks", "invocations", "captures"];

/** Checks the session's own row, also when it is a tombstone, and the rows that belong to it. */
export async function checkSessionChecksums(
  storage: Storage,
  reporter: IssueReporter,
  { no, id }: { readonly no: number; readonly id: string },
): Promise<void> {
  if (reporter.isRequested("checksum-wrong")) {
    for (const table of OWNED) {
      for (const { name, seq } of await storage.query(`checksums.${table}`, { session: no, limit: PAGE })) {
        reporter.report("checksum-wrong", [name ?? rowId(id, seq ?? 0)], { table });
      }
    }
  }
  for (const row of await storage.query("check.held", { session: no, limit: PAGE })) {
    reporter.report("row-mismatch", [row.id], { table: "runs", column: "held" });
  }
  if (!reporter.isRequested("alias-missing")) return;
  for (const { stored, counted } of await storage.query("check.aliasCount", { session: no })) {
    if (stored !== counted) reporter.report("alias-missing", [id], { stored, counted });
  }
}

/** Checks the rows that belong to no session. */
export async function checkStoreChecksums(storage: Storage, reporter: IssueReporter): Promise<void> {
  if (!reporter.isRequested("checksum-wrong")) return;
  await checkCounted(storage, reporter);
  await checkTable(storage, reporter, "agents", { no: BEFORE_ALL }, ({ id }) => id);
  await checkTable(
    storage,
    reporter,
    "agent_blocks",
    { agent_no: BEFORE_ALL, ord: BEFORE_ALL },
    ({ block_id }) => block_id,
  );
  await checkTable(storage, reporter, "blocks", { id: "" }, ({ id }) => id);
  const firstVersion = { block_id: "", version: BEFORE_ALL };
  await checkTable(
    storage,
    reporter,
    "block_versions",
    firstVersion,
    ({ block_id, version }) => `${block_id}#${version}`,
  );
  await checkTable(storage, reporter, "memory_scopes", { no: BEFORE_ALL }, ({ namespace }) => namespace);
  await checkTable(storage, reporter, "memories", { no: BEFORE_ALL }, ({ id }) => id);
  const firstChange = { memory_id: "", version: BEFORE_ALL };
  await checkTable(
    storage,
    reporter,
    "memory_changes",
    firstChange,
    ({ memory_id, version }) => `${memory_id}#${version}`,
  );
  await checkTable(storage, reporter, "segments", { id: "" }, ({ id }) => id);
  await checkTable(
    storage,
    reporter,
    "segment_frames",
    { segment_id: "", start: BEFORE_ALL },
    ({ segment_id }) => segment_id,
  );
  await checkTable(storage, reporter, "blobs", { no: BEFORE_ALL }, ({ sha256 }) => toRef(sha256));
  await checkTable(storage, reporter, "vector_collections", { no: BEFORE_ALL }, ({ name }) => name);
  const firstGeneration = { collection_no: BEFORE_ALL, generation: BEFORE_ALL };
  await checkTable(storage, reporter, "vector_generations", firstGeneration, generationName);
  await checkTable(storage, reporter, "documents", { collection_no: BEFORE_ALL, item: BEFORE_ALL }, ({ id }) => id);
  const firstVector = { ...firstGeneration, item: BEFORE_ALL };
  await checkTable(
    storage,
    reporter,
    "vectors",
    firstVector,
    ({ item, ...generation }) => `${generationName(generation)}#${item}`,
  );
}

/** Checks the store's own rows, and the columns that gc relies on and that no checksum covers. */
async function checkCounted(storage: Storage, reporter: IssueReporter): Promise<void> {
  for (const { name } of await storage.query("checksums.counters", {})) {
    reporter.report("checksum-wrong", [name], { table: "counters" });
  }
  if ((await storage.query("checksums.meta", {})).length === 0) {
    reporter.report("checksum-wrong", ["store_id", "created_at"], { table: "holdfast_meta" });
  }
  for await (const { sha256, proven } of rowsOf<Queries["check.epochs"]["row"]>((last) =>
    storage.query("check.epochs", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (proven !== 1) reporter.report("row-mismatch", [toRef(sha256)], { table: "blobs", column: "epoch" });
  }
}

/** SQLite stores the checksum after the row's body and must read the body to reach it, so these pages are small. */
const PAGE_WITH_BODIES = 50;
const WITH_BODIES: ReadonlySet<StoreChecksumTable> = new Set<StoreChecksumTable>([
  "blobs",
  "segment_frames",
  "documents",
  "vectors",
]);

function generationName({ collection_no, generation }: StoreKeys["vector_generations"]): string {
  return `${collection_no}/${generation}`;
}

async function checkTable<T extends StoreChecksumTable>(
  storage: Storage,
  reporter: IssueReporter,
  table: T,
  first: StoreKeys[T],
  nameOf: (row: StoreChecksumRow<T>) => string,
): Promise<void> {
  const limit = WITH_BODIES.has(table) ? PAGE_WITH_BODIES : PAGE;
  for (let after = first; ; ) {
    const params = { ...after, limit } as Queries[`checksums.${T}`]["params"];
    const rows = (await storage.query(`checksums.${table}`, params)) as readonly StoreChecksumRow<T>[];
    for (const row of rows) if (row.proven !== 1) reporter.report("checksum-wrong", [nameOf(row)], { table });
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = last;
  }
}
