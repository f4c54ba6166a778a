// The tables of the background work that embeds texts; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const EMBEDDING_TABLES = {
  embedding_failures: {
    columns: { kind: "text", scope: "int", item: "int", attempts: "int", due_at: "int", reason: "text", at: "int" },
    key: ["kind", "scope", "item"],
  },
  passages: {
    columns: { collection_no: "int", item: "int", pending: "int", group_no: "int", number: "int", part: "int" },
    key: ["collection_no", "item"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
