// What a waiting run asks a person: the tool, and whether it may be done or has happened.
import type { DecisionReason } from "../contracts/decisions.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { parseRowId } from "../core/row-id.ts";
import { eventOf } from "./checkpoints.ts";
import { decisionReason } from "./decision-reason.ts";
import { waitsOf } from "./waits.ts";

export interface OpenQuestion {
  readonly reason: DecisionReason;
  readonly tool: string;
}

/** By the id of the decision. */
export type OpenQuestions = ReadonlyMap<string, OpenQuestion>;

export async function readQuestions(storage: Storage, row: RunRow): Promise<OpenQuestions> {
  const questions = new Map<string, OpenQuestion>();
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    if (wait.kind !== "decision") continue;
    const { session, seq } = parseRowId(wait.decision, "decision");
    const [asked] = await storage.query("decision.get", session, seq);
    if (asked === undefined) continue;
    const { data } = await eventOf(storage, session, asked.step_seq);
    if (typeof data.name === "string") questions.set(wait.decision, { reason: decisionReason(asked), tool: data.name });
  }
  return questions;
}

/** Reads the questions of a run that is looked at again and again only when the run has changed. */
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
