// Compares the rows of a session's captures with the captures that its log describes.
import type { CheckedCaptureRow } from "../contracts/storage/capture-queries.ts";
import { toRef } from "../core/bytes.ts";
import { commitment } from "../core/hashing.ts";
import type { Columns, ExpectedCapture } from "./capture-projection.ts";
import { SALT } from "./compare.ts";
import type { Subject } from "./subject.ts";

export async function compareCaptures(
  subject: Subject,
  expected: ReadonlyMap<string, ExpectedCapture>,
  rows: readonly CheckedCaptureRow[],
): Promise<void> {
  const { reporter, survey } = subject;
  const missing = new Set(expected.keys());
  for (const row of rows) {
    survey.count("captures");
    missing.delete(row.id);
    const logged = expected.get(row.id);
    if (row.manifest === null) reporter.report("blob-missing", [row.id], { table: "captures", payload: "manifest" });
    else await survey.checkBlobOnce?.(reporter, row.id, row.manifest, "manifest");
    if (logged === undefined) {
      reporter.report("row-without-event", [row.id], { table: "captures" });
      continue;
    }
    const found = row as unknown as Columns;
    for (const [column, value] of Object.entries(logged.columns)) {
      if ((found[column] ?? null) !== (value ?? null)) {
        reporter.report("row-mismatch", [row.id], { table: "captures", column });
      }
    }
    const { manifest, salt } = row;
    if (manifest !== null && (salt.byteLength !== SALT || commitment(salt, manifest) !== logged.manifest)) {
      reporter.report("commitment-mismatch", [row.id], { table: "captures", payload: "manifest" });
    }
    if (manifest !== null && row.named !== logged.blobs) {
      reporter.report("blob-part-missing", [toRef(manifest), row.id], { part: "named" });
    }
  }
  for (const id of missing) reporter.report("event-without-row", [id], { table: "captures" });
}
