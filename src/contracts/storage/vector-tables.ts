// The tables of vectors, and the index of metadata; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const VECTOR_TABLES = {
  metadata_fields: {
    columns: { kind: "text", scope: "int", path: "bytes", value: "bytes", item: "int" },
    key: ["kind", "scope", "path", "value", "item"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
