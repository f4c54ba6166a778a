// SQLite's side of the differences.
import type { BulkSpec, Dialect } from "../driver.ts";
import { LOOKUP } from "../driver.ts";

function tuple(spec: BulkSpec): string {
  return `(${spec.columns.map((column) => column.value).join(", ")})`;
}

function renderBulk(spec: BulkSpec, width: number): string {
  const key = spec.key.map((column) => `${column} = ?`).join(" AND ");
  switch (spec.verb) {
    case "insert": {
      const columns = spec.columns.map((column) => column.name).join(", ");
      const rows = Array.from({ length: width }, () => tuple(spec)).join(", ");
      return `INSERT INTO ${spec.table} (${columns}) VALUES ${rows}${spec.suffix}`;
    }
    case "update": {
      const set = spec.columns
        .filter((column) => !spec.key.includes(column.name))
        .map((column) => `${column.name} = ${column.value}`)
        .join(", ");
      return `UPDATE ${spec.table} SET ${set} WHERE ${key}`;
    }
    case "delete":
      return `DELETE FROM ${spec.table} WHERE ${key}`;
    case "fence":
      throw new Error("bug: SQLite has no fences");
  }
}

export const sqlite: Dialect = {
  engine: "sqlite",
  types: {
    serial: "INTEGER PRIMARY KEY",
    int: "INTEGER",
    text: "TEXT",
    bytes: "BLOB",
    table_end: " STRICT",
  },
  render: (sql) => sql,
  renderLookup: (sql) => sql.replace(LOOKUP, "= ?"),
  renderBulk,
  lockRow: "",
  greater: (a, b) => `max(${a}, ${b})`,
  tableNames: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  staleCode: null,
  describeTable: "SELECT name, type FROM pragma_table_info(?) ORDER BY cid",
  explain: "EXPLAIN QUERY PLAN ",
};
