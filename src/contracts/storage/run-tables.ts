// The tables of runs; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const RUN_TABLES = {
  runs: {
    columns: {
      no: "serial",
      id: "text",
      session_no: "int",
      first_seq: "int",
      seq: "int",
      branch: "int",
      parent: "text",
      nested: "int",
      agent_no: "int",
      agent_version: "text",
      toolset: "bytes",
      status: "text",
      version: "int",
      epoch: "int",
      beat: "int",
      owner: "text",
      iteration: "int",
      checkpoint_seq: "int",
      wake_at: "int",
      waits: "text",
      cancel: "int",
      pause_at: "int",
      stop: "text",
      limits: "bytes",
      priority: "int",
      lease_ms: "int",
      tokens: "int",
      cost_usd: "real",
      created_at: "int",
      updated_at: "int",
      ended_at: "int",
      held: "int",
    },
    key: ["id"],
  },
  signals: {
    columns: { session_no: "int", seq: "int", branch: "int", run: "text", name: "text", taken_seq: "int" },
    key: ["session_no", "seq"],
  },
  decisions: {
    columns: { session_no: "int", seq: "int", branch: "int", run: "text", step_seq: "int", answered_seq: "int" },
    key: ["session_no", "seq"],
  },
  checkpoints: {
    columns: { session_no: "int", agent_no: "int", run: "text", seq: "int", branch: "int", iteration: "int" },
    key: ["session_no", "agent_no", "run", "seq"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
