// The draft of a first head, for tests of storage.
import type { HeadDraft } from "../src/contracts/storage/commit.ts";
import { NONE } from "../src/core/counts.ts";

const BLANK = {
  final: null,
  salt: null,
  final_summary: null,
  fingerprint: null,
  turn_seq: null,
  cache_id: null,
};

/** A head of a session that has none and inherits nothing. */
export const HEAD: HeadDraft = {
  status: "complete",
  adds: {},
  compacts: null,
  columns: BLANK,
  inherits: { basis: null, source: null, counts: NONE, compaction: null },
  commits: { final: null, vars: null, summary: null },
};
