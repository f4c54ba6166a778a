// Checks rows that belong to no session, and rows whose session is missing: aliases, tasks, rows that were left behind.
import type { CheckKind } from "../contracts/check.ts";
import type { OwnedTable } from "../contracts/storage/check-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { IssueReporter } from "./findings.ts";
import { PAGE, rowsOf } from "./pages.ts";

/** The kind of issue when rows of a table have no session. */
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

export async function checkStrays(storage: Storage, reporter: IssueReporter): Promise<void> {
  for (const table of Object.keys(STRAYS) as OwnedTable[]) {
    for (let after = 0, more = true; more; ) {
      const rows = await storage.query(`check.strays.${table}`, { after, limit: PAGE });
      for (const { no, there } of rows) {
        if (there === null) reporter.report(STRAYS[table], [], { table, sessionNumber: no });
        after = no;
      }
      more = rows.length === PAGE;
    }
  }
}

/** The first migration creates them in every store. */
const COUNTERS = ["gc", "word_refs"];

export async function checkCounters(storage: Storage, reporter: IssueReporter): Promise<void> {
  const found = new Set((await storage.query("check.counters", {})).map(({ name }) => name));
  for (const name of COUNTERS) if (!found.has(name)) reporter.report("counter-missing", [name], {});
}

export async function checkNames(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const { name, there, deleted_at } of rowsOf<Alias>((last) =>
    storage.query("check.aliases", { after: last?.name ?? "", limit: PAGE }),
  )) {
    if (there === null || deleted_at !== null) reporter.report("alias-target-missing", [name], {});
  }
}

interface Alias {
  readonly name: string;
  readonly there: number | null;
  readonly deleted_at: number | null;
}

export async function checkTasks(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const task of rowsOf<{ readonly board_id: string; readonly id: string; readonly there: string | null }>(
    (last) =>
      storage.query("check.tasks", { afterBoard: last?.board_id ?? "", afterTask: last?.id ?? "", limit: PAGE }),
  )) {
    if (task.there === null) reporter.report("task-board-missing", [task.id], { board: task.board_id });
  }
}
