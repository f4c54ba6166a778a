// Memories belong to no session and are in no log, so the checker compares them with each other: a memory with its scope, with its
// changes, and with the index of metadata. Their checksums prove their columns.
import type { Queries } from "../contracts/storage/queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes, toHex } from "../core/bytes.ts";
import { decodeRow, jsonObject } from "../core/decode.ts";
import { fieldsOf, type MetadataField } from "../core/metadata-fields.ts";
import { CHANGE_COLUMNS, memoryOf } from "../memory/rows.ts";
import { checkDecoding } from "./decoding.ts";
import type { IssueReporter } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

type MemoryRow = Queries["check.memories"]["row"];
type ChangeRow = Queries["check.memoryChanges"]["row"];

export async function checkMemories(
  storage: Storage,
  reporter: IssueReporter,
  count: (what: string, n?: number) => void,
): Promise<void> {
  for await (const row of rowsOf<MemoryRow>((last) =>
    storage.query("check.memories", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    count("memories");
    checkMemory(reporter, row);
    await checkFields(storage, reporter, row);
  }
  for await (const row of rowsOf<ChangeRow>((last) =>
    storage.query("check.memoryChanges", {
      afterMemory: last?.memory_id ?? "",
      afterVersion: last?.version ?? BEFORE_ALL,
      limit: PAGE,
    }),
  )) {
    const { memory_id: memory, version } = row;
    const name = { kind: "change of a memory", memory, version };
    checkDecoding(reporter, "memory_changes", memory, () => decodeRow(name, row, CHANGE_COLUMNS));
    if (row.memory === null) reporter.report("memory-wrong", [memory], { table: "memory_changes", version });
  }
  for (const { scope, item } of await storage.query("check.strayMemoryFields", { limit: PAGE })) {
    reporter.report("memory-wrong", [], { table: "metadata_fields", scopeNumber: scope, memoryNumber: item });
  }
}

function checkMemory(reporter: IssueReporter, row: MemoryRow): void {
  const { id, namespace, agent, version, newest, changes } = row;
  const details = { table: "memories" };
  // Without its scope, the names are missing and everything else is still decoded.
  const named = { ...row, namespace: namespace ?? "", agent: agent ?? "" };
  checkDecoding(reporter, "memories", id, () => memoryOf(named));
  if (namespace === null) reporter.report("memory-wrong", [id], { ...details, column: "scope_no" });
  if (newest !== version || changes !== version) {
    reporter.report("memory-wrong", [id], { ...details, version, newest, changes });
  }
  if ((row.superseded_by === null) !== (row.superseded_from === null)) {
    reporter.report("memory-wrong", [id], { ...details, column: "superseded_from" });
  }
}

/** The entries of the index, in its order. */
async function checkFields(storage: Storage, reporter: IssueReporter, row: MemoryRow): Promise<void> {
  const metadata = row.metadata === null ? {} : jsonObject.read(row.metadata);
  // Metadata that cannot be read is an issue of its own.
  if (metadata === undefined || (row.metadata === null && row.fields === 0)) return;
  const found = await storage.query("check.memoryFields", { scope: row.scope_no, item: row.no });
  const wanted = [...fieldsOf(metadata)].sort(compareFields);
  const isSame =
    found.length === wanted.length &&
    wanted.every(({ path, value }, i) => {
      const other = found[i];
      return other !== undefined && sameBytes(path, other.path) && sameBytes(value, other.value);
    });
  if (!isSame) reporter.report("memory-wrong", [row.id], { table: "metadata_fields" });
}

function compareFields(a: MetadataField, b: MetadataField): number {
  const [one, other] = [a, b].map(({ path, value }) => `${toHex(path)}/${toHex(value)}`);
  return (one ?? "") < (other ?? "") ? -1 : 1;
}
