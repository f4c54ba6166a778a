// The verbs for archives of sessions, and for reports about whole sessions: Markdown, a diff, a tree and the cost.
import type { ArchiveVerbs } from "../contracts/sessions.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { ARCHIVE_VERBS } from "../contracts/verbs/sessions.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { diffOf } from "./diff.ts";
import { exportSession } from "./export.ts";
import { importArchive } from "./import.ts";
import { markdownOf } from "./markdown.ts";
import type { OpenScratch } from "./scratch.ts";
import { costOf } from "./spending.ts";
import { treeOf } from "./tree.ts";

export function createArchives(
  storage: Storage,
  payloads: Payloads,
  lookup: SessionLookup,
  scratch: OpenScratch,
): ArchiveVerbs {
  return bindVerbs(ARCHIVE_VERBS, lookup, {
    async *export(locate, options) {
      yield* exportSession(storage, payloads, scratch, await locate(), options);
    },
    import: (source) => importArchive(storage, payloads, scratch, source),
    markdown: (at) => markdownOf(storage, payloads, at),
    diff: (a, b) => diffOf(storage, payloads, a, b),
    tree: (at, { limit }) => treeOf(storage, at ?? null, limit),
    cost: (at) => costOf(storage, at ?? null),
  });
}
