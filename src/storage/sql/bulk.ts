// The text of a bulk statement for a fixed number of rows, `?` for every parameter: all of SQLite's, and PostgreSQL's
// for a single row, which is cheaper there than unnesting arrays of one.
import type { BulkSpec } from "./driver.ts";

export function rowsText(spec: BulkSpec, width: number): string {
  const key = spec.columns
    .filter((column) => spec.key.includes(column.name))
    .map((column) => `${column.name} = ${column.value}`)
    .join(" AND ");
  const set = spec.columns
    .filter((column) => !spec.key.includes(column.name))
    .map((column) => `${column.name} = ${column.value}`)
    .join(", ");
  switch (spec.verb) {
    case "insert": {
      const columns = spec.columns.map((column) => column.name).join(", ");
      const tuple = `(${spec.columns.map((column) => column.value).join(", ")})`;
      return `INSERT INTO ${spec.table} (${columns}) VALUES ${Array(width).fill(tuple).join(", ")}${spec.suffix}`;
    }
    case "update":
    case "fence":
      return `UPDATE ${spec.table} SET ${set} WHERE ${key.replaceAll("was_", "")}${spec.suffix}${required(spec)}`;
    case "delete":
      return `DELETE FROM ${spec.table} WHERE ${key}`;
  }
}

function required({ requires }: BulkSpec): string {
  return requires === undefined ? "" : ` AND EXISTS (${requires})`;
}
