// All commands, in the order of the overview.
import type { AnyCommand } from "./command-line.ts";
import { agents } from "./commands/agents.ts";
import { exportSession, importArchive } from "./commands/archive.ts";
import { blobs } from "./commands/blobs.ts";
import { fork, resume, rewind } from "./commands/branching.ts";
import { capture } from "./commands/capture.ts";
import { captures } from "./commands/captures.ts";
import { check } from "./commands/check.ts";
import { context } from "./commands/context.ts";
import { cost } from "./commands/cost.ts";
import { demo } from "./commands/demo.ts";
import { diff } from "./commands/diff.ts";
import { embeddings } from "./commands/embeddings.ts";
import { gc } from "./commands/gc.ts";
import { handover } from "./commands/handover.ts";
import { heads } from "./commands/heads.ts";
import { importLocal } from "./commands/import-local.ts";
import { init } from "./commands/init.ts";
import { log } from "./commands/log.ts";
import { memory } from "./commands/memory.ts";
import { messages } from "./commands/messages.ts";
import { migrate } from "./commands/migrate.ts";
import { compact, publish } from "./commands/publish.ts";
import { query } from "./commands/query.ts";
import { reindex } from "./commands/reindex.ts";
import { restore } from "./commands/restore.ts";
import { run } from "./commands/run.ts";
import { runs } from "./commands/runs.ts";
import { search } from "./commands/search.ts";
import { sessions } from "./commands/sessions.ts";
import { state } from "./commands/state.ts";
import { stats } from "./commands/stats.ts";
import { tasks } from "./commands/tasks.ts";
import { trace } from "./commands/trace.ts";
import { vectors } from "./commands/vectors.ts";
import { verify } from "./commands/verify.ts";
import { worker } from "./commands/worker.ts";
import type { Section } from "./help.ts";

export const SECTIONS: readonly Section[] = [
  { title: "Start", commands: [demo, init] },
  {
    title: "Data of agents",
    commands: [sessions, messages, search, state, tasks, memory, agents, blobs, vectors, embeddings],
  },
  { title: "Runs of agents", commands: [runs, worker] },
  {
    title: "Continuing from an earlier point",
    commands: [heads, publish, fork, resume, rewind, compact, context, diff],
  },
  { title: "History and integrity", commands: [log, trace, query, cost, verify, check] },
  { title: "Coding agents", commands: [run, capture, restore, captures, handover, importLocal] },
  { title: "Export and import", commands: [exportSession, importArchive] },
  { title: "Upkeep", commands: [stats, gc, reindex, migrate] },
];

/** The help of all commands, and the functions that print it. Only --help loads them. */
export async function loadHelp() {
  return { SECTIONS, ...(await import("./help.ts")) };
}

export const COMMANDS: readonly AnyCommand[] = SECTIONS.flatMap(({ commands }) => commands);
