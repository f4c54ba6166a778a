// What SQLite does differently from PostgreSQL.
import { rowsText } from "../bulk.ts";
import { type ChecksumForm, renderChecksums } from "../checksum.ts";
import type { Dialect } from "../driver.ts";
import { LOOKUP, NUL_ESCAPE, NUMBERS, PAIRS, TEXTS } from "../driver.ts";

/** Registered by checksum-function.ts. */
const CHECKSUM: ChecksumForm = { before: "holdfast_checksum(", after: ")", part: (_, value) => value };

const IN_LIST = "IN (SELECT value FROM json_each(?))";
const PAIR_ROWS = "(SELECT json_extract(value, '$[0]') AS a, json_extract(value, '$[1]') AS b FROM json_each(?))";

/**
 * SQLite writes the value of a bare `LIMIT ?` into the program it compiles, and so compiles anew whenever one is bound: that
 * takes ten times as long as most of these reads. It does not look inside of a CAST.
 */
function render(sql: string): string {
  return renderChecksums(sql, CHECKSUM)
    .replaceAll("LIMIT ?", "LIMIT CAST(? AS INTEGER)")
    .replaceAll(`${NUMBERS} ?`, IN_LIST)
    .replaceAll(`${TEXTS} ?`, IN_LIST)
    .replaceAll(`${PAIRS} ?`, () => PAIR_ROWS);
}

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
  render,
  renderLookup: (sql) => sql.replace(LOOKUP, "= ?"),
  renderBulk: (spec, width) => renderChecksums(rowsText(spec, width), CHECKSUM),
  lockRow: "",
  greater: (a, b) => `max(${a}, ${b})`,
  excludeCommits: [],
  serverTime: null,
  tableNames: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  describeTable: "SELECT name, type FROM pragma_table_info(?) ORDER BY cid",
  explain: "EXPLAIN QUERY PLAN ",
  fragments: {
    int: "INTEGER",
    real: "REAL",
    text: "TEXT",
    bytes: "BLOB",
    offset: "INTEGER",
    collate: "",
    utf8: (bytes) => `CASE WHEN instr(${bytes}, x'00') = 0 THEN CAST(${bytes} AS TEXT) END`,
    hex: (bytes) => `lower(hex(${bytes}))`,
    numberText: (number) =>
      `CASE WHEN ${number} = CAST(${number} AS INTEGER) THEN CAST(CAST(${number} AS INTEGER) AS TEXT) ` +
      `ELSE CAST(${number} AS TEXT) END`,
    position: (text, part) => `instr(${text}, ${part})`,
    recursive: (name, arms) => arms.map((arm) => arm(name)).join(" UNION "),
    jsonRows: (columns) =>
      `SELECT ${columns.map((_, i) => `json_extract(value, '$[${i}]') AS c${i}`).join(", ")} FROM json_each(?)`,
    jsonField: (bytes, ...path) =>
      `CASE WHEN instr(${bytes}, x'${NUL_ESCAPE}') = 0 THEN CAST(json_extract(CAST(${bytes} AS TEXT), '$.${path.join(".")}') AS TEXT) END`,
    explain: "EXPLAIN QUERY PLAN ",
  },
};
