// What came of a run.
import type { Json } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { ListedRunRow, RunRow } from "../contracts/run-queries.ts";
import type { RunError, RunResult } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { decodeRow, jsonObject, plainObject } from "../core/decode.ts";
import { loadEventPayload } from "./checkpoints.ts";
import { entryOf, errorIn } from "./journal.ts";
import { runOf } from "./rows.ts";

export async function resultOf(storage: Storage, payloads: Payloads, row: RunRow): Promise<RunResult> {
  const error = await errorOf(storage, row);
  const value: Json =
    row.status === "completed" ? await loadEventPayload(storage, payloads, row.session, row.seq) : null;
  const run = runOf(row, error);
  return { run, status: run.status, value, error };
}

export async function errorOf(storage: Storage, row: RunRow): Promise<RunError | null> {
  if (row.status !== "failed" && row.status !== "cancelled") return null;
  const [event] = await storage.query("run.event", row.session, row.seq);
  return event === undefined ? null : errorIn(entryOf(row.session, event).data);
}

/** Of a run that is listed: its last event was read with it. */
export function endingOf({ session, seq, ending }: ListedRunRow): RunError | null {
  if (ending === null) return null;
  const found = decodeRow({ kind: "event", session, seq }, { ending }, { ending: jsonObject }).ending;
  return errorIn(plainObject.read(found.data) ?? {});
}
