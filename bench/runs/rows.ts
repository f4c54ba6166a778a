// The lower bound of steps and checkpoints: the rows that one writes, found by comparing all tables before and after it,
// and written again and again by bare prepared statements. Seqs and hashes are invented; nothing is read, checked or hashed.
import type { DatabaseSync } from "node:sqlite";
import type connect from "postgres";
import type { ColumnType } from "../../src/contracts/storage/table-shape.ts";
import { TABLES, type TableName } from "../../src/contracts/storage/tables.ts";
import { bodySource, cellBytes } from "../foundation/floor.ts";

type Cell = string | number | Uint8Array | null;
type Row = Readonly<Record<string, Cell>>;

interface InsertedRow {
  readonly table: TableName;
  readonly row: Row;
}

interface UpdatedRow {
  readonly table: TableName;
  readonly key: Row;
  readonly changes: Row;
}

/** The rows that one commit writes. */
export interface WrittenRows {
  readonly inserts: readonly InsertedRow[];
  readonly updates: readonly UpdatedRow[];
}

export type ReadTable = (sql: string) => Promise<readonly Row[]>;

const NAMES = Object.keys(TABLES) as TableName[];

/** The rows that `act` adds and changes. */
export async function rowsOf(read: ReadTable, act: () => Promise<unknown>): Promise<WrittenRows> {
  const before = await snapshot(read);
  await act();
  const after = await snapshot(read);
  const inserts: InsertedRow[] = [];
  const updates: UpdatedRow[] = [];
  for (const [table, rows] of after) {
    for (const [name, row] of rows) {
      const old = before.get(table)?.get(name);
      if (old === undefined) inserts.push({ table, row: withoutNumber(row, table) });
      else {
        const changes = Object.fromEntries(Object.entries(row).filter(([column, cell]) => !isSame(cell, old[column])));
        if (Object.keys(changes).length > 0) updates.push({ table, key: keyOf(table, row), changes });
      }
    }
  }
  return { inserts, updates };
}

/** A step is two commits: its intent, and its result. */
export function inTwo({ inserts, updates }: WrittenRows): readonly WrittenRows[] {
  const isFirst = ({ row }: InsertedRow) => row.type === "step/started";
  return [
    { inserts: inserts.filter(isFirst), updates },
    { inserts: inserts.filter((one) => !isFirst(one)), updates },
  ];
}

/** The size of the added values. */
export function bytesOf({ inserts }: WrittenRows): number {
  return inserts.reduce(
    (sum, { row }) => sum + Object.values(row).reduce<number>((all, cell) => all + cellBytes(cell), 0),
    0,
  );
}

async function snapshot(read: ReadTable): Promise<ReadonlyMap<TableName, ReadonlyMap<string, Row>>> {
  const tables = new Map<TableName, ReadonlyMap<string, Row>>();
  for (const table of NAMES) {
    const rows = await read(`SELECT * FROM ${table}`);
    tables.set(
      table,
      new Map(rows.map((row) => [JSON.stringify(Object.values(keyOf(table, row)).map(String)), numeric(row)])),
    );
  }
  return tables;
}

/** PostgreSQL returns its integers as text. */
function numeric(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, typeof cell === "bigint" ? Number(cell) : cell]),
  );
}

function columnsOf(table: TableName): Readonly<Record<string, ColumnType>> {
  return TABLES[table].columns;
}

function keyOf(table: TableName, row: Row): Row {
  const names = columnsOf(table).no === "serial" ? ["no"] : TABLES[table].key;
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}

function withoutNumber(row: Row, table: TableName): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => columnsOf(table)[name] !== "serial"));
}

function isSame(a: Cell | undefined, b: Cell | undefined): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.from(a).equals(b);
  return a === b;
}

/** New values: every commit has other seqs, bytes and names. */
function refresher(parts: readonly WrittenRows[]): (row: Row, times: number) => Row {
  const most = Math.max(0, ...parts.flatMap(({ inserts }) => inserts.flatMap(({ row }) => sizes(row))));
  const bytes = bodySource(Math.max(most, 64));
  // Far above all stored values, so that no key is used twice.
  const step = 1_000;
  return (row, times) =>
    Object.fromEntries(
      Object.entries(row).map(([name, cell]): [string, Cell] => {
        if (cell instanceof Uint8Array) return [name, Uint8Array.from(bytes().subarray(0, cell.byteLength))];
        if (name === "id") return [name, Buffer.from(bytes().subarray(0, 32)).toString("hex")];
        if (name === "seq" || name === "event_no") return [name, Number(cell) + times * step];
        return [name, cell];
      }),
    );
}

function sizes(row: Row): readonly number[] {
  return Object.values(row).map((cell) => (cell instanceof Uint8Array ? cell.byteLength : 0));
}

/** One call makes one commit for each part. */
export function sameRowsOn(db: DatabaseSync, parts: readonly WrittenRows[]): () => void {
  const fresh = refresher(parts);
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const works = parts.map(({ inserts, updates }) => [
    ...inserts.map(({ table, row }) => {
      const names = Object.keys(row);
      const text = `INSERT INTO ${table} (${names}) VALUES (${names.map(() => "?")})`;
      const statement = db.prepare(text);
      return (times: number) => void statement.run(...Object.values(fresh(row, times)));
    }),
    ...updates.map(({ table, key, changes }) => {
      const set = Object.keys(changes).map((name) => `${name} = ?`);
      const where = Object.keys(key).map((name) => `${name} = ?`);
      const statement = db.prepare(`UPDATE ${table} SET ${set} WHERE ${where.join(" AND ")}`);
      return (times: number) => void statement.run(...Object.values(fresh(changes, times)), ...Object.values(key));
    }),
  ]);
  let times = 0;
  return () => {
    times++;
    for (const work of works) {
      begin.run();
      for (const write of work) write(times);
      commit.run();
    }
  };
}

const CASTS: Readonly<Record<ColumnType, string>> = {
  serial: "bigint",
  int: "bigint",
  blobref: "bigint",
  real: "double precision",
  text: "text",
  bytes: "bytea",
};

/** Writes the rows on PostgreSQL: each commit is one prepared statement that commits by itself. */
export function sameRowsBy(sql: connect.Sql, parts: readonly WrittenRows[]): () => Promise<void> {
  const fresh = refresher(parts);
  const statements = parts.map((part) => ({ part, text: together(part) }));
  let times = 0;
  return async () => {
    times++;
    for (const { part, text } of statements) {
      const params = [
        ...part.inserts.flatMap(({ row }) => Object.values(fresh(row, times))),
        ...part.updates.flatMap(({ key, changes }) => [...Object.values(fresh(changes, times)), ...Object.values(key)]),
      ];
      await sql.unsafe(text, params as never[], { prepare: true });
    }
  };
}

/** One clause for all rows of the same shape. */
function together({ inserts, updates }: WrittenRows): string {
  let given = 0;
  const tuple = (table: TableName, row: Row) =>
    `(${Object.keys(row).map((name) => `$${++given}::${CASTS[columnsOf(table)[name] ?? "text"]}`)})`;
  const inserting = [...grouped(inserts, ({ table, row }) => `INSERT INTO ${table} (${Object.keys(row)})`)].map(
    ([head, rows]) => `${head} VALUES ${rows.map(({ table, row }) => tuple(table, row))}`,
  );
  const updating = [
    ...grouped(updates, ({ table, key, changes }) => `${table} ${Object.keys({ ...changes, ...key })}`),
  ].map(([, rows]) => {
    const [first] = rows;
    if (first === undefined) throw new Error("a group of nothing");
    const { table, key, changes } = first;
    const names = [...Object.keys(changes), ...Object.keys(key).map((name) => `key_${name}`)];
    const set = Object.keys(changes).map((name) => `${name} = v.${name}`);
    const where = Object.keys(key).map((name) => `t.${name} = v.key_${name}`);
    const values = rows.map((one) => {
      const changed = tuple(table, one.changes);
      return `${changed.slice(0, -1)},${tuple(table, one.key).slice(1)}`;
    });
    return `UPDATE ${table} t SET ${set} FROM (VALUES ${values}) v (${names}) WHERE ${where.join(" AND ")}`;
  });
  const clauses = [...inserting, ...updating].map((text, i) => `w${i} AS (${text})`);
  return `WITH ${clauses.join(", ")} SELECT 1`;
}

function grouped<T>(items: readonly T[], name: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(items, name);
}
