// What belongs to no session, or should belong to one and does not: names, tasks, rows that were left behind.
import type { CheckKind } from "../contracts/check.ts";
import type { OwnedTable } from "../contracts/storage/check-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { SecondLook } from "./findings.ts";
import { PAGE, rowsOf } from "./pages.ts";

/** What it is called when rows of the table have no session. */
const STRAYS: Readonly<Record<OwnedTable, CheckKind>> = {
  events: "row-session-missing",
  branches: "row-session-missing",
  turns: "row-session-missing",
  clears: "row-session-missing",
  evals: "row-session-missing",
  calls: "row-session-missing",
  snapshots: "row-session-missing",
  heads: "head-session-missing",
  invocations: "invocation-caller-missing",
  derivations: "derivation-target-missing",
  annotations: "row-session-missing",
  state: "row-session-missing",
  boards: "row-session-missing",
  captures: "row-session-missing",
  runs: "row-session-missing",
  signals: "row-session-missing",
  decisions: "row-session-missing",
  checkpoints: "row-session-missing",
  session_tags: "row-session-missing",
};

export async function checkStrays(storage: Storage, look: SecondLook): Promise<void> {
  for (const table of Object.keys(STRAYS) as OwnedTable[]) {
    for (let after = 0, more = true; more; ) {
      const rows = await storage.query(`check.strays.${table}`, { after, limit: PAGE });
      for (const { no, there } of rows) {
        if (there === null) look.report(STRAYS[table], [], { table, sessionNumber: no });
        after = no;
      }
      more = rows.length === PAGE;
    }
  }
}

/** Every store has them from its first migration on. */
const COUNTERS = ["gc", "word_refs"];

export async function checkCounters(storage: Storage, look: SecondLook): Promise<void> {
  const found = new Set((await storage.query("check.counters", {})).map(({ name }) => name));
  for (const name of COUNTERS) if (!found.has(name)) look.report("counter-missing", [name], {});
}

export async function checkNames(storage: Storage, look: SecondLook): Promise<void> {
  for await (const { name, there, deleted_at } of rowsOf<Alias>((last) =>
    storage.query("check.aliases", { after: last?.name ?? "", limit: PAGE }),
  )) {
    if (there === null || deleted_at !== null) look.report("alias-target-missing", [name], {});
  }
}

interface Alias {
  readonly name: string;
  readonly there: number | null;
  readonly deleted_at: number | null;
}

export async function checkTasks(storage: Storage, look: SecondLook): Promise<void> {
  for await (const task of rowsOf<{ readonly board_id: string; readonly id: string; readonly there: string | null }>(
    (last) =>
      storage.query("check.tasks", { afterBoard: last?.board_id ?? "", afterTask: last?.id ?? "", limit: PAGE }),
  )) {
    if (task.there === null) look.report("task-board-missing", [task.id], { board: task.board_id });
  }
}
