// Derives a session's captures from its log: every save, change and removal is an event. The list of files is a payload
// that the last save committed to.
import type { JsonObject } from "../contracts/json.ts";
import { plainObject } from "../core/decode.ts";

export type Columns = Readonly<Record<string, unknown>>;

export interface ExpectedCapture {
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

  /** The captures that the log describes, by id. */
  get expected(): ReadonlyMap<string, ExpectedCapture> {
    return this.#captures;
  }
}

function pick(data: JsonObject, names: readonly string[]): Columns {
  return Object.fromEntries(names.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])));
}
