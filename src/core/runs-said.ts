// Runs as a log tells them: every change of a run's row is an event that says which columns changed, and signals, questions
// and checkpoints each have one. Whoever doubts the rows makes them again from this.
import type { Json, JsonObject } from "../contracts/json.ts";

/** Columns that change while it lives. */
export const MOVABLE = [
  ...(["status", "epoch", "owner", "iteration", "wake_at", "waits", "cancel", "pause_at", "stop", "tokens"] as const),
  ...(["cost_usd", "ended_at"] as const),
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

export type Columns = Readonly<Record<string, Json>>;

const TERMINAL: ReadonlySet<string> = new Set(["run/completed", "run/failed", "run/cancelled"]);

export class RunsSaid {
  /** By their ids. */
  readonly runs = new Map<string, Columns>();
  /** By their seqs. */
  readonly signals = new Map<number, Columns>();
  readonly decisions = new Map<number, Columns>();
  readonly checkpoints = new Map<number, Columns>();
  /** Runs that went on after their end. */
  readonly undead = new Set<string>();

  see(event: RunEvent): void {
    const { seq, branch, type, run, agent, data } = event;
    if (type === "run/deleted") this.#forget(String(data.run));
    if (type === "checkpoint/deleted") this.#forgetSaved(agent);
    if (type === "checkpoint/saved") this.#checkpoint(seq, branch, agent, "", data.iteration ?? null);
    if (run !== null) this.#ofRun(run, event);
  }

  #ofRun(run: string, event: RunEvent): void {
    const { seq, branch, type, data } = event;
    if (type === "run/created") this.runs.set(run, created(event));
    else if (typeof data.version === "number") this.#move(run, event);
    if (type === "run/signalled") {
      this.signals.set(seq, { branch, run, name: data.name ?? null, taken_seq: null });
    }
    if (typeof data.signal === "number") this.#end(this.signals, data.signal, "taken_seq", seq);
    // An intent that asks for approval is its own question.
    const isApproval = type === "step/started" && data.approval === true;
    if (type === "step/asked" || isApproval) {
      const step = isApproval ? seq : (data.step ?? null);
      this.decisions.set(seq, { branch, run, step_seq: step, answered_seq: null });
    }
    if (type === "run/answered") this.#answer(run, data.step ?? null, seq);
    if (data.checkpoint === true) {
      this.#checkpoint(seq, branch, this.runs.get(run)?.agent ?? null, run, data.iteration ?? null);
    }
  }

  #move(run: string, { seq, type, at, data }: RunEvent): void {
    const now = this.runs.get(run);
    if (now === undefined) return;
    if (TERMINAL.has(type) && now.ended_at !== null) this.undead.add(run);
    const changed = MOVABLE.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name] as Json]]));
    this.runs.set(run, {
      ...now,
      ...(Object.fromEntries(changed) as Columns),
      ...{ version: data.version as Json, seq, updated_at: at },
      ...(data.checkpoint === true ? { checkpoint_seq: seq } : {}),
    });
  }

  #checkpoint(seq: number, branch: number, agent: Json, run: string, iteration: Json): void {
    this.checkpoints.set(seq, { branch, agent, run, iteration });
  }

  #end(rows: Map<number, Columns>, key: number, column: string, seq: number): void {
    const row = rows.get(key);
    if (row !== undefined) rows.set(key, { ...row, [column]: seq });
  }

  #answer(run: string, step: Json, seq: number): void {
    for (const [key, row] of this.decisions) {
      if (row.run === run && row.step_seq === step && row.answered_seq === null) {
        this.#end(this.decisions, key, "answered_seq", seq);
      }
    }
  }

  #forget(run: string): void {
    this.runs.delete(run);
    for (const rows of [this.signals, this.decisions, this.checkpoints]) {
      for (const [key, row] of rows) if (row.run === run) rows.delete(key);
    }
  }

  #forgetSaved(agent: string | null): void {
    for (const [key, row] of this.checkpoints) {
      if (row.run === "" && row.agent === agent) this.checkpoints.delete(key);
    }
  }
}

function created({ seq, branch, at, agent, data }: RunEvent): Columns {
  const said = (name: string): Json => data[name] ?? null;
  return {
    ...{ first_seq: seq, branch, agent, agent_version: said("agentVersion"), toolset: said("toolset") },
    ...{ parent: said("parent"), nested: said("nested"), limits: said("limits"), priority: said("priority") },
    ...{ lease_ms: said("leaseMs"), epoch: data.epoch ?? 0, owner: said("owner"), status: "running", version: 1 },
    ...{ seq, iteration: 0, checkpoint_seq: null, wake_at: 0, waits: null, cancel: 0, pause_at: null, stop: null },
    ...{ tokens: 0, cost_usd: null, created_at: at, updated_at: at, ended_at: null },
  };
}
