// The questions that a run asks a person, read from its journal. They stand apart from the reasons why a run is idle, so that a
// program that runs nothing loads no journal.

import type { DecisionReason } from "../contracts/decisions.ts";
import type { DecisionRow, RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { parseRowId } from "../core/row-id.ts";
import { type OpenQuestion, type OpenQuestions, waitsOf } from "../core/run-waits.ts";
import { eventOf } from "./journal.ts";

/** The intent of a step that asks for approval is the question itself. */
export function decisionReason({ seq, step_seq }: DecisionRow): DecisionReason {
  return seq === step_seq ? "approval" : "in-doubt";
}

export async function readQuestions(storage: Storage, row: RunRow): Promise<OpenQuestions> {
  const questions = new Map<string, OpenQuestion>();
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    if (wait.kind !== "decision") continue;
    const { session, seq } = parseRowId(wait.decision, "decision");
    const [asked] = await storage.query("decision.get", { session, step: seq });
    if (asked === undefined) continue;
    const { data } = await eventOf(storage, session, asked.step_seq);
    if (typeof data.name === "string") questions.set(wait.decision, { reason: decisionReason(asked), tool: data.name });
  }
  return questions;
}

/** For repeated reads of one run: reads its questions again only when the run has changed. */
export class QuestionCache {
  readonly #storage: Storage;
  #version = -1;
  #questions: OpenQuestions = new Map();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async read(row: RunRow): Promise<OpenQuestions> {
    if (row.version !== this.#version) {
      this.#questions = await readQuestions(this.#storage, row);
      this.#version = row.version;
    }
    return this.#questions;
  }
}
