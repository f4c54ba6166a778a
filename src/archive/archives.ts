// Archives of sessions, and what is made of whole sessions for people: Markdown, a diff, what they cost.
import type { Archives } from "../contracts/archive.ts";
import type { Locator } from "../contracts/lineage.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Storage } from "../contracts/storage.ts";
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
  locate: (at: unknown) => Locator,
  scratch: OpenScratch,
): Archives {
  return {
    export: (at, options) => exportSession(storage, payloads, locate(at), options),
    import: async (source) => importArchive(storage, payloads, scratch, source),
    markdown: async (at) => markdownOf(storage, payloads, locate(at)),
    diff: async (a, b) => diffOf(storage, payloads, locate(a), locate(b)),
    tree: async (at, options) => treeOf(storage, at === undefined ? null : locate(at), options),
    cost: async (session) => costOf(storage, session),
  };
}
