// The verbs of blobs.
import type { Blobs } from "../blobs.ts";
import {
  BOOLEAN,
  checked,
  choice,
  ID,
  JSON_VALUE,
  limit,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  REF,
  read,
  readBytes,
  readPage,
  streamBytes,
  whole,
  write,
} from "./vocabulary.ts";

const BLOB = param("ref", REF);
const stored = {
  ttlMs: optional(nullable(whole(0, 1e15))),
  growsFrom: optional(REF),
  owned: orElse(BOOLEAN, false),
};

export const BLOB_VERBS = {
  store: write(
    param("data", checked<Parameters<Blobs["store"]>[0]>("bytes, a text, or pieces of bytes")),
    param("options", options({ mediaType: optional(ID), ...stored })),
  ),
  storeJson: write(param("value", JSON_VALUE), param("options", options(stored))),
  resolve: readBytes(BLOB),
  resolveText: read(BLOB),
  resolveJson: read(BLOB),
  stream: streamBytes(BLOB),
  exists: read(BLOB),
  stat: read(BLOB),
  list: readPage(
    param(
      "filter",
      options({
        ...PAGE,
        order: optional(choice(["newest", "oldest"])),
        sort: orElse(choice(["age", "size"]), "age"),
      }),
    ),
  ),
  referrers: read(BLOB, param("range", options({ limit: limit("page", 100) }))),
  pin: write(BLOB),
  unpin: write(BLOB),
  delete: write(BLOB),
  verify: read(BLOB),
  seal: write(BLOB),
  gc: write(param("options", options({ dryRun: orElse(BOOLEAN, false), vacuum: orElse(BOOLEAN, false) }))),
};
