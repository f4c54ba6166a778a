// Derives the rows of runs from a log: every change of a run's row is an event that contains the changed columns, and
// signals, decisions and checkpoints each have an event. The checker and the recovery compare the stored rows with
// these.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { RunRows } from "../contracts/storage/check-queries.ts";
import { toHex } from "./bytes.ts";
import { jsonObject } from "./decode.ts";
import { canonicalJson } from "./hashing.ts";

/** The columns that change while a run lives. */
export const MUTABLE_COLUMNS = [
  "status",
  "epoch",
  "owner",
  "iteration",
  "wake_at",
  "waits",
  "cancel",
  "pause_at",
  "stop",
  "tokens",
  "cost_usd",
  "ended_at",
] as const;

export interface RunEvent {
  readonly seq: number;
  readonly branch: number;
  readonly type: string;
  readonly at: number;
  readonly run: string | null;
  readonly agent: string | null;
  readonly data: JsonObject;
}

export type RunColumns = Readonly<Record<string, Json>>;

const TERMINAL: ReadonlySet<string> = new Set(["run/completed", "run/failed", "run/cancelled"]);

export class RunProjection {
  /** Runs by their ids. */
  readonly runs = new Map<string, RunColumns>();
  /** Rows by their seqs. */
  readonly signals = new Map<number, RunColumns>();
  readonly decisions = new Map<number, RunColumns>();
  readonly checkpoints = new Map<number, RunColumns>();
  /** Runs with an event after their end. */
  readonly endedTwice = new Set<string>();

  apply(event: RunEvent): void {
    const { seq, branch, type, run, agent, data } = event;
    if (type === "run/deleted") this.#deleteRun(String(data.run));
    if (type === "checkpoint/deleted") this.#deleteSavedCheckpoints(agent);
    if (type === "checkpoint/saved") this.#addCheckpoint(seq, branch, agent, "", data.iteration ?? null);
    if (run !== null) this.#applyToRun(run, event);
  }

  #applyToRun(run: string, event: RunEvent): void {
    const { seq, branch, type, data } = event;
    if (type === "run/created") this.runs.set(run, columnsOfNewRun(event));
    else if (typeof data.version === "number") this.#updateRun(run, event);
    if (type === "run/signalled") {
      this.signals.set(seq, { branch, run, name: data.name ?? null, taken_seq: null });
    }
    if (typeof data.signal === "number") this.#setColumn(this.signals, data.signal, "taken_seq", seq);
    // If an intent asks for approval, the same event is the question.
    const isApproval = type === "step/started" && data.approval === true;
    if (type === "step/asked" || isApproval) {
      const step = isApproval ? seq : (data.step ?? null);
      this.decisions.set(seq, { branch, run, step_seq: step, answered_seq: null });
    }
    if (type === "run/answered") this.#answerDecision(run, data.step ?? null, seq);
    if (data.checkpoint === true) {
      this.#addCheckpoint(seq, branch, this.runs.get(run)?.agent ?? null, run, data.iteration ?? null);
    }
  }

  #updateRun(run: string, { seq, type, at, data }: RunEvent): void {
    const now = this.runs.get(run);
    if (now === undefined) return;
    if (TERMINAL.has(type) && now.ended_at !== null) this.endedTwice.add(run);
    const changed = MUTABLE_COLUMNS.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name] as Json]]));
    this.runs.set(run, {
      ...now,
      ...(Object.fromEntries(changed) as RunColumns),
      version: data.version as Json,
      seq,
      updated_at: at,
      ...(data.checkpoint === true ? { checkpoint_seq: seq } : {}),
    });
  }

  #addCheckpoint(seq: number, branch: number, agent: Json, run: string, iteration: Json): void {
    this.checkpoints.set(seq, { branch, agent, run, iteration });
  }

  #setColumn(rows: Map<number, RunColumns>, key: number, column: string, seq: number): void {
    const row = rows.get(key);
    if (row !== undefined) rows.set(key, { ...row, [column]: seq });
  }

  #answerDecision(run: string, step: Json, seq: number): void {
    for (const [key, row] of this.decisions) {
      if (row.run === run && row.step_seq === step && row.answered_seq === null) {
        this.#setColumn(this.decisions, key, "answered_seq", seq);
      }
    }
  }

  #deleteRun(run: string): void {
    this.runs.delete(run);
    for (const rows of [this.signals, this.decisions, this.checkpoints]) {
      for (const [key, row] of rows) if (row.run === run) rows.delete(key);
    }
  }

  #deleteSavedCheckpoints(agent: string | null): void {
    for (const [key, row] of this.checkpoints) {
      if (row.run === "" && row.agent === agent) this.checkpoints.delete(key);
    }
  }
}

/** The columns of a run that has done nothing yet. */
export const BEGUN = {
  status: "running",
  version: 1,
  iteration: 0,
  checkpoint_seq: null,
  wake_at: 0,
  waits: null,
  cancel: 0,
  pause_at: null,
  stop: null,
  tokens: 0,
  cost_usd: null,
  ended_at: null,
} as const;

function columnsOfNewRun({ seq, branch, at, agent, data }: RunEvent): RunColumns {
  const field = (name: string): Json => data[name] ?? null;
  return {
    first_seq: seq,
    branch,
    agent,
    agent_version: field("agentVersion"),
    toolset: field("toolset"),
    parent: field("parent"),
    nested: field("nested"),
    limits: field("limits"),
    priority: field("priority"),
    lease_ms: field("leaseMs"),
    epoch: data.epoch ?? 0,
    owner: field("owner"),
    ...BEGUN,
    seq,
    created_at: at,
    updated_at: at,
  };
}

export interface RunDifference {
  readonly kind: "row-without-event" | "row-mismatch" | "event-without-row";
  readonly table: keyof RunRows;
  /** The id of a run, or the seq of a signal, a question or a checkpoint. */
  readonly key: string | number;
  /** The column that differs from the projection. */
  readonly column?: string;
}

export const PART_TABLES = ["signals", "decisions", "checkpoints"] as const;

/** Compares all four tables. `rows` are all stored rows of the runs in the projection. */
export function diffRuns(expected: RunProjection, rows: RunRows): readonly RunDifference[] {
  const ofParts = PART_TABLES.flatMap((table) => [
    ...diffPartRows(table, expected[table], rows[table]),
    ...missingRows(table, expected[table], new Set(rows[table].map(({ seq }) => seq))),
  ]);
  return [...diffRunRows(expected, rows.runs), ...ofParts];
}

export function diffRunRows({ runs }: RunProjection, rows: RunRows["runs"]): readonly RunDifference[] {
  const found = rows.flatMap((row) => diffRow("runs", runs, row.id, runColumns(row)));
  return [...found, ...missingRows("runs", runs, new Set(rows.map(({ id }) => id)))];
}

/** Compares the stored rows. */
export function diffPartRows<T extends (typeof PART_TABLES)[number]>(
  table: T,
  expected: ReadonlyMap<number, RunColumns>,
  rows: RunRows[T],
): readonly RunDifference[] {
  return rows.flatMap((row) => diffRow(table, expected, row.seq, { ...row }));
}

function diffRow<K extends string | number>(
  table: keyof RunRows,
  expected: ReadonlyMap<K, RunColumns>,
  key: K,
  row: Readonly<Record<string, unknown>>,
): readonly RunDifference[] {
  const columns = expected.get(key);
  if (columns === undefined) return [{ kind: "row-without-event", table, key }];
  return differingColumns(row, columns).map((column) => ({ kind: "row-mismatch", table, key, column }));
}

function missingRows<K extends string | number>(
  table: keyof RunRows,
  expected: ReadonlyMap<K, RunColumns>,
  there: ReadonlySet<K>,
): readonly RunDifference[] {
  return [...expected.keys()]
    .filter((key) => !there.has(key))
    .map((key): RunDifference => ({ kind: "event-without-row", table, key }));
}

function differingColumns(row: Readonly<Record<string, unknown>>, expected: RunColumns): readonly string[] {
  return Object.keys(expected).filter((column) => !isSame(row[column] ?? null, expected[column] ?? null));
}

function isSame(found: unknown, expected: unknown): boolean {
  if (expected === null || typeof expected !== "object") return found === expected;
  return (
    typeof found === "object" && found !== null && canonicalJson(found as never) === canonicalJson(expected as never)
  );
}

/** The stored row in the form of the projection. */
function runColumns(row: {
  readonly toolset: Uint8Array;
  readonly limits: Uint8Array;
}): Readonly<Record<string, unknown>> {
  return { ...row, toolset: toHex(row.toolset), limits: jsonObject.read(row.limits) ?? null };
}
