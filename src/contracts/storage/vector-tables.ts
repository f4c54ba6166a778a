// The tables of vectors, and the index of metadata; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const VECTOR_TABLES = {
  metadata_fields: {
    columns: { kind: "text", scope: "int", path: "bytes", value: "bytes", item: "int" },
    key: ["kind", "scope", "path", "value", "item"],
  },
  vector_collections: {
    columns: {
      no: "int",
      name: "text",
      generation: "int",
      change: "int",
      last_item: "int",
      documents: "int",
      created_at: "int",
      checksum: "text",
    },
    key: ["no"],
    checksum: ["no", "name", "generation", "change", "last_item", "documents", "created_at"],
  },
  vector_generations: {
    columns: {
      collection_no: "int",
      generation: "int",
      model: "text",
      dimension: "int",
      metric: "text",
      precision: "text",
      seed: "int",
      packed: "int",
      removals: "int",
      vectors: "int",
      created_at: "int",
      checksum: "text",
    },
    key: ["collection_no", "generation"],
    checksum: [
      "collection_no",
      "generation",
      "model",
      "dimension",
      "metric",
      "precision",
      "seed",
      "packed",
      "removals",
      "vectors",
      "created_at",
    ],
  },
  documents: {
    columns: {
      collection_no: "int",
      id: "text",
      item: "int",
      pending: "int",
      words: "bytes",
      content: "blobref",
      checksum: "text",
    },
    key: ["collection_no", "id"],
    checksum: ["collection_no", "id", "item", "pending", "words", "content"],
  },
  vectors: {
    columns: { collection_no: "int", generation: "int", item: "int", embedding: "bytes", checksum: "text" },
    key: ["collection_no", "generation", "item"],
    checksum: ["collection_no", "generation", "item", "embedding"],
  },
  vector_pages: {
    columns: { collection_no: "int", generation: "int", first_item: "int", change: "int", codes: "bytes" },
    key: ["collection_no", "generation", "first_item"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
