// The rows of a session's captures beside what its log says of them.

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
  const { look, survey } = subject;
  const missing = new Set(expected.keys());
  for (const row of rows) {
    survey.count("captures");
    missing.delete(row.id);
    const said = expected.get(row.id);
    if (row.manifest === null) look.report("blob-missing", [row.id], { table: "captures", payload: "manifest" });
    else await survey.blob?.(look, row.id, row.manifest, "manifest");
    if (said === undefined) {
      look.report("row-without-event", [row.id], { table: "captures" });
      continue;
    }
    const found = row as unknown as Columns;
    for (const [column, value] of Object.entries(said.columns)) {
      if ((found[column] ?? null) !== (value ?? null)) {
        look.report("row-mismatch", [row.id], { table: "captures", column });
      }
    }
    const { manifest, salt } = row;
    if (manifest !== null && (salt.byteLength !== SALT || commitment(salt, manifest) !== said.manifest)) {
      look.report("commitment-mismatch", [row.id], { table: "captures", payload: "manifest" });
    }
    if (manifest !== null && row.named !== said.blobs) {
      look.report("blob-part-missing", [toRef(manifest), row.id], { part: "named" });
    }
  }
  for (const id of missing) look.report("event-without-row", [id], { table: "captures" });
}
