// SQLite's side of the differences.
import { rowsText } from "../bulk.ts";
import type { Dialect } from "../driver.ts";
import { LOOKUP } from "../driver.ts";

export const sqlite: Dialect = {
  engine: "sqlite",
  types: {
    serial: "INTEGER PRIMARY KEY",
    int: "INTEGER",
    real: "REAL",
    text: "TEXT",
    bytes: "BLOB",
    table_end: " STRICT",
  },
  render: (sql) => sql,
  renderLookup: (sql) => sql.replace(LOOKUP, "= ?"),
  renderBulk: rowsText,
  lockRow: "",
  greater: (a, b) => `max(${a}, ${b})`,
  tableNames: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  describeTable: "SELECT name, type FROM pragma_table_info(?) ORDER BY cid",
  explain: "EXPLAIN QUERY PLAN ",
};
