// The inputs and results of steps, read from the journal.
import type { Json } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Step } from "../contracts/steps.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { toRef } from "../core/bytes.ts";
import { type JournalEntry, payloadOf, type StepRecord, stepOf } from "./journal.ts";

/** Adds inputs and results to steps; `entries` is the journal from which the records were built. */
export async function withContent(
  payloads: Payloads,
  { session, id }: Pick<RunRow, "session" | "id">,
  entries: readonly JournalEntry[],
  records: readonly StepRecord[],
): Promise<readonly Step[]> {
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const steps: Step[] = [];
  for (const record of records) {
    const first = bySeq.get(record.seq);
    const last = record.end === null ? undefined : bySeq.get(record.end.seq);
    const input = await contentOf(payloads, session, first, INPUTS);
    const result = await contentOf(payloads, session, last, RESULTS);
    steps.push({
      ...stepOf(session, id, record),
      ...(input === null ? {} : { input }),
      ...(result === null ? {} : { result }),
    });
  }
  return steps;
}

/** The names of the payload's fields. The input of a message step is its content. */
const INPUTS = ["input", "content"];
const RESULTS = ["result"];

/** null if the event's payload has no field with one of these names. */
async function contentOf(
  payloads: Payloads,
  session: string,
  entry: JournalEntry | undefined,
  names: readonly string[],
): Promise<NonNullable<Step["input"]> | null> {
  if (entry === undefined || !names.some((name) => name in entry.commitments)) return null;
  const { sha256, size } = entry.row;
  if (sha256 === null || size === null) return null;
  const about = { ref: toRef(sha256), size };
  if (size > LIMITS.stepContentBytes) return about;
  const value: Json = await payloadOf(payloads, session, entry);
  return { ...about, value };
}
