// Recovery: what a run that was cut off had done, and what nobody knows of it; then it goes on.
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, Recovery, ResumeOptions } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { recordsOf, stepOf } from "./journal.ts";
import { runOf } from "./rows.ts";
import { verifyRun } from "./verify.ts";

/** Nothing is changed by looking. */
export async function examine(
  storage: Storage,
  row: RunRow,
  agent: AgentDefinition,
  { verify = "whole" }: ResumeOptions,
): Promise<Recovery> {
  const journal = await verifyRun(storage, row, verify);
  const iteration = row.iteration + 1;
  const records = [...recordsOf(row.session, journal).values()].filter((one) => one.iteration === iteration);
  const step = (one: (typeof records)[number]) => stepOf(row.session, row.id, one);
  const open = records.filter(({ status, kind }) => status === "started" && (kind === "tool" || kind === "model"));
  const mayRepeat = ({ kind, name, isAllowed }: (typeof records)[number]) =>
    kind === "model" || isAllowed || agent.tools?.[name]?.effect === "idempotent";
  return {
    run: runOf(row),
    resumeIteration: iteration,
    cached: records.filter(({ status }) => status !== "started").map(step),
    inDoubt: open.map(step),
    needsPerson: open.some((one) => !mayRepeat(one)),
  };
}
