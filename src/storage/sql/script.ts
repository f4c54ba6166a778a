// The writing half of a transaction, collected as steps. Inserts of one table wait for each other and go as one bulk;
// anything else is kept in order, because it may look at rows inserted before it.

import type { Cell, NamedCells, Write } from "../../contracts/storage/commit.ts";
import type { StatementName } from "../../contracts/storage/statement-names.ts";
import type { TableShape } from "../../contracts/storage/table-shape.ts";
import { type RowOf, type Slot, TABLES, type TableName } from "../../contracts/storage/tables.ts";
import { type CheckedTable, coveredBy, rowChecksum } from "../../core/checksum.ts";
import { memoize } from "../../core/memoize.ts";
import type { BulkSpec, Param, Step } from "./driver.ts";
import { insertSpec, putSpec, removeSpec } from "./specs.ts";
import { QUERIES, STATEMENTS } from "./statements.ts";
import { type CompiledText, valuesInOrder } from "./texts.ts";

/** Numbers that stand for the slots of a write. */
export interface Context {
  readonly session?: number;
  readonly branch?: number;
  readonly seq?: number;
  agent(id: string): number;
  sessionNo(id: string): number;
}

/** All but those that the database numbers. */
const columnsOf = memoize((table: TableName): readonly string[] => {
  const { columns }: TableShape = TABLES[table];
  return Object.keys(columns).filter((name) => columns[name] !== "serial");
});

/** What no insert looks at, and no index that must be unique: these let inserts that follow go before them. */
const DEFERRED_TABLES: ReadonlySet<StatementName> = new Set<StatementName>(["run.goOn", "session.headTo"]);

export class Script {
  readonly #steps: Step[] = [];
  #pending = new Map<BulkSpec, (readonly Param[])[]>();
  /** Behind what is pending, in their own order. */
  #deferred: Step[] = [];

  row(spec: BulkSpec, params: readonly Param[]): void {
    const rows = this.#pending.get(spec);
    if (rows === undefined) this.#pending.set(spec, [params]);
    else rows.push(params);
  }

  write(write: Write, context: Context): void {
    switch (write.op) {
      case "insert":
        this.row(insertSpec(write.table), values(write.table, columnsOf(write.table), write.row, context));
        return;
      case "put":
        this.flush();
        this.row(putSpec(write.table), values(write.table, columnsOf(write.table), write.row, context));
        return;
      case "remove":
        this.flush();
        this.row(removeSpec(write.table), values(write.table, TABLES[write.table].key, write.row, context));
        return;
      case "run": {
        const isPatient = DEFERRED_TABLES.has(write.statement);
        if (!isPatient) this.flush();
        (isPatient ? this.#deferred : this.#steps).push({
          kind: "query",
          ...bind(STATEMENTS.get(write.statement), write.params, context),
        });
        return;
      }
      case "read":
        this.flush();
        this.#steps.push({
          kind: "query",
          ...bind(QUERIES.get(write.query), write.params as NamedCells, context),
          answers: write.query,
        });
    }
  }

  flush(): void {
    if (this.#pending.size > 0) {
      for (const [spec, rows] of this.#pending) this.#steps.push({ kind: "bulk", spec, rows });
      this.#pending = new Map();
    }
    if (this.#deferred.length === 0) return;
    for (const step of this.#deferred) this.#steps.push(step);
    this.#deferred = [];
  }

  /** Steps that were made before. */
  append(steps: readonly Step[]): void {
    this.flush();
    for (const step of steps) this.#steps.push(step);
  }

  steps(): readonly Step[] {
    this.flush();
    return this.#steps;
  }
}

function values<T extends TableName>(table: T, columns: readonly string[], row: RowOf<T>, context: Context): Param[] {
  const given = row as Readonly<Record<string, Cell | undefined>>;
  const params = columns.map((column) => {
    const cell = given[column];
    if (cell !== undefined) return param(cell, context);
    if (column === "session_no") return requireKnown(context.session, table, column);
    if (column === "branch") return requireKnown(context.branch, table, column);
    if (column === "seq") return requireKnown(context.seq, table, column);
    return null;
  });
  const at = coveredBy(table) === null ? -1 : columns.indexOf("checksum");
  if (at !== -1) {
    const cells = Object.fromEntries(columns.map((column, i) => [column, params[i]]));
    params[at] = rowChecksum(table as CheckedTable, cells);
  }
  return params;
}

function bind(text: CompiledText, given: readonly Cell[] | NamedCells, context: Context) {
  const cells = isList(given) ? given : valuesInOrder(text, given);
  return { sql: text.sql, params: cells.map((cell) => param(cell, context)) };
}

function isList(given: readonly Cell[] | NamedCells): given is readonly Cell[] {
  return Array.isArray(given);
}

function param(cell: Cell, context: Context): Param {
  if (cell === null || typeof cell !== "object" || cell instanceof Uint8Array) return cell;
  return slot(cell, context);
}

function slot(cell: Slot, context: Context): number {
  if ("agent" in cell) return context.agent(cell.agent);
  if ("session" in cell) return context.sessionNo(cell.session);
  return requireKnown(context[cell.slot], "a statement", cell.slot);
}

function requireKnown(value: number | undefined, table: string, column: string): number {
  if (value === undefined)
    throw new Error(`bug: ${table} needs ${column} and the commit names no session or event for it`);
  return value;
}
