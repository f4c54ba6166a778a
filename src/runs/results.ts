// What came of a run.
import type { Payloads } from "../contracts/payloads.ts";
import type { ListedRunRow, RunRow } from "../contracts/run-queries.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { RunError } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { decodeRow, jsonObject, plainObject } from "../core/decode.ts";
import { loadEventPayload } from "./checkpoints.ts";
import { errorIn } from "./journal.ts";
import { readQuestions } from "./questions.ts";
import { runOf } from "./rows.ts";

export async function resultOf(storage: Storage, payloads: Payloads, row: RunRow): Promise<RunResult> {
  const error = await errorOf(storage, row);
  const run = runOf(row, error, storage.environment, await readQuestions(storage, row));
  if (run.status !== "completed") return { run, status: run.status, value: null, error };
  const value = await loadEventPayload(storage, payloads, row.session, row.seq);
  return { run, status: run.status, value, error: null };
}

export async function errorOf(storage: Storage, row: RunRow): Promise<RunError | null> {
  const isTroubled = row.ended_at === null && row.owner === null && row.status === "running";
  if (!isTroubled && row.status !== "failed" && row.status !== "cancelled") return null;
  const [event] = await storage.query("run.event", row.session, row.seq);
  return event === undefined ? null : troubleIn(row, event.envelope);
}

function troubleIn({ session, seq }: Pick<RunRow, "session" | "seq">, body: Uint8Array): RunError | null {
  const found = decodeRow({ kind: "event", session, seq }, { body }, { body: jsonObject }).body;
  const data = plainObject.read(found.data) ?? {};
  return data.error === undefined ? null : errorIn(data);
}

/** Of a run that is listed: its last event was read with it. */
export function endingOf(row: ListedRunRow): RunError | null {
  return row.ending === null ? null : troubleIn(row, row.ending);
}
