// The tables of blobs; see tables.ts.
import type { TableShape } from "./table-shape.ts";

export const BLOB_TABLES = {
  blobs: {
    columns: {
      no: "serial",
      sha256: "bytes",
      size: "int",
      media: "text",
      utf8: "int",
      form: "int",
      stored: "int",
      store: "text",
      key: "text",
      refs: "int",
      pinned: "int",
      expires_at: "int",
      epoch: "int",
      condemned: "int",
      created_at: "int",
      body: "bytes",
      checksum: "text",
    },
    key: ["sha256"],
    checksum: ["sha256", "media", "utf8", "stored", "pinned", "expires_at", "created_at"],
  },
  blob_links: { columns: { parent_no: "blobref", ord: "int", child_no: "blobref" }, key: ["parent_no", "ord"] },
  segments: {
    columns: {
      id: "text",
      size: "int",
      sealed: "int",
      sha256: "bytes",
      created_at: "int",
      touched_at: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: ["id", "sealed", "sha256", "created_at", "touched_at"],
  },
  segment_frames: {
    columns: {
      segment_id: "text",
      start: "int",
      size: "int",
      stored: "int",
      store: "text",
      key: "text",
      body: "bytes",
      checksum: "text",
    },
    key: ["segment_id", "start"],
    checksum: ["segment_id", "start", "size", "stored"],
  },
  blob_segments: {
    columns: { blob_no: "blobref", ord: "int", segment_id: "text", length: "int" },
    key: ["blob_no", "ord"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;
