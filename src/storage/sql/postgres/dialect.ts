// PostgreSQL's side of the differences.
import type { BulkSpec, Dialect, Param } from "../driver.ts";
import { LOOKUP } from "../driver.ts";

const ARRAY_TYPES = { int: "bigint[]", text: "text[]", bytes: "bytea[]" } as const;

/** An array as PostgreSQL reads it from text. */
export function arrayLiteral(items: readonly Param[]): string {
  return `{${items.map(arrayItem).join(",")}}`;
}

function arrayItem(item: Param): string {
  if (item === null) return "NULL";
  if (typeof item === "number") return String(item);
  if (typeof item === "string") return `"${item.replace(/[\\"]/g, "\\$&")}"`;
  return `"\\\\x${Buffer.from(item.buffer, item.byteOffset, item.byteLength).toString("hex")}"`;
}

function render(sql: string): string {
  let n = 0;
  return sql.replace(/\?/g, () => `$${++n}`);
}

/** One array per parameter, unnested to rows: any number of rows is one statement with one text. */
function renderBulk(spec: BulkSpec): string {
  const given = spec.columns.filter((column) => column.value.includes("?"));
  const arrays = given.map((column, i) => `$${i + 1}::${ARRAY_TYPES[column.type]}`).join(", ");
  const source = `unnest(${arrays}) AS u(${given.map((_, i) => `c${i}`).join(", ")})`;
  const value = (name: string): string => {
    const column = spec.columns.find((one) => one.name === name);
    const index = given.findIndex((one) => one.name === name);
    return column === undefined ? "NULL" : column.value.replace("?", `u.c${index}`);
  };
  const key = spec.key.map((name) => `${spec.table}.${name} = ${value(name)}`).join(" AND ");
  switch (spec.verb) {
    case "insert": {
      const columns = spec.columns.map((column) => column.name).join(", ");
      const values = spec.columns.map((column) => value(column.name)).join(", ");
      return `INSERT INTO ${spec.table} (${columns}) SELECT ${values} FROM ${source}${spec.suffix}`;
    }
    case "update": {
      const set = spec.columns
        .filter((column) => !spec.key.includes(column.name))
        .map((column) => `${column.name} = ${value(column.name)}`)
        .join(", ");
      return `UPDATE ${spec.table} SET ${set} FROM ${source} WHERE ${key}`;
    }
    case "delete":
      return `DELETE FROM ${spec.table} USING ${source} WHERE ${key}`;
    case "fence": {
      const [first] = spec.key;
      const same = spec.columns.map((column) => `s.${column.name} = ${value(column.name)}`).join(" AND ");
      const locked = `SELECT * FROM ${spec.table} WHERE ${first} = ANY($1::bigint[]) ORDER BY ${first} FOR UPDATE`;
      const held = `SELECT count(*) FROM (${locked}) s JOIN ${source} ON ${same}${spec.suffix}`;
      return `SELECT 1 / (CASE WHEN (${held}) = cardinality($1::bigint[]) THEN 1 ELSE 0 END) AS held`;
    }
  }
}

export const postgres: Dialect = {
  engine: "postgres",
  types: {
    serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    int: "BIGINT",
    text: 'TEXT COLLATE "C"',
    bytes: "BYTEA",
    table_end: "",
  },
  render,
  // Locks are taken in the order of the row numbers, so that two batches never wait for each other in a circle.
  renderLookup: (sql, lock) => `${sql.replace(LOOKUP, "= ANY($1)")}${lock ? " ORDER BY no FOR UPDATE" : ""}`,
  renderBulk,
  lockRow: " FOR UPDATE",
  greater: (a, b) => `greatest(${a}, ${b})`,
  tableNames: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  // Division by zero: an error a pipelined statement can raise by itself, and nothing else here does.
  staleCode: "22012",
  describeTable:
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns " +
    "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
  explain: "EXPLAIN ",
};
