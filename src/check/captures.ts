// A session's captures derived from its log: every save, change and removal is an event. The list of files is a payload
// that the last save committed to.

import type { JsonObject } from "../contracts/json.ts";
import type { CheckedCaptureRow } from "../contracts/storage/capture-queries.ts";
import { toRef } from "../core/bytes.ts";
import { commitment } from "../core/chain.ts";
import { plainObject } from "../core/decode.ts";
import { SALT } from "./compare.ts";
import type { Subject } from "./subject.ts";

type Columns = Readonly<Record<string, unknown>>;

interface ExpectedCapture {
  columns: Columns;
  readonly blobs: unknown;
  readonly manifest: unknown;
}

const SAVED = [
  "agent",
  "agent_session",
  "created_at",
  "diverged",
  "expires_at",
  "files",
  "generation",
  "request",
  "size",
  "stored",
];
const CHANGED = ["diverged", "expires_at"] as const;

export class CaptureProjection {
  readonly #captures = new Map<string, ExpectedCapture>();

  apply({ seq, type, at }: { seq: number; type: string; at: unknown }, body: JsonObject, data: JsonObject): void {
    const id = String(data.capture);
    if (type === "capture/removed") this.#captures.delete(id);
    else if (type === "capture/saved") {
      const { manifest } = plainObject.read(body.commitments) ?? {};
      this.#captures.set(id, { columns: { ...pick(data, SAVED), seq, saved_at: at }, blobs: data.blobs, manifest });
    } else {
      const known = this.#captures.get(id);
      if (known !== undefined) known.columns = { ...known.columns, ...pick(data, CHANGED), seq };
    }
  }

  async compare(subject: Subject, rows: readonly CheckedCaptureRow[]): Promise<void> {
    const { look, survey } = subject;
    const missing = new Set(this.#captures.keys());
    for (const row of rows) {
      survey.count("captures");
      missing.delete(row.id);
      const said = this.#captures.get(row.id);
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
}

function pick(data: JsonObject, names: readonly string[]): Columns {
  return Object.fromEntries(names.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])));
}
