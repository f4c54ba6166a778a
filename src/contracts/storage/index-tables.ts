// The tables of the text index; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const INDEX_TABLES = {
  index_kinds: {
    columns: { kind: "text", epoch: "int", indexed: "int", settled: "int", language: "text", cut: "int" },
    key: ["kind"],
  },
  index_segments: {
    columns: {
      kind: "text",
      segment: "int",
      low: "int",
      high: "int",
      version: "int",
      dropped: "int",
      marked: "int",
      units: "int",
      items: "int",
      removed: "int",
      bytes: "int",
      directory: "int",
      language: "text",
      tokeniser: "int",
    },
    key: ["kind", "segment"],
  },
  index_pages: {
    columns: { kind: "text", segment: "int", page: "int", first: "bytes", body: "bytes" },
    key: ["kind", "segment", "page"],
  },
  index_items: {
    columns: { kind: "text", group_no: "int", item: "int", segment: "int", cut: "int" },
    key: ["kind", "group_no", "item"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
