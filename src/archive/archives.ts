// Archives of sessions, and what is made of whole sessions for people: Markdown, a diff, what they cost.
import type { Archives } from "../contracts/archive.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Storage } from "../contracts/storage.ts";
import type { Locate } from "../core/locate.ts";
import { diffOf } from "./diff.ts";
import { exportSession } from "./export.ts";
import { importArchive } from "./import.ts";
import { markdownOf } from "./markdown.ts";
import type { OpenScratch } from "./scratch.ts";
import { costOf } from "./spending.ts";
import { treeOf } from "./tree.ts";

export function createArchives(storage: Storage, payloads: Payloads, locate: Locate, scratch: OpenScratch): Archives {
  return {
    async *export(at, options) {
      yield* exportSession(storage, payloads, scratch, await locate(at), options);
    },
    import: async (source) => importArchive(storage, payloads, scratch, source),
    markdown: async (at) => markdownOf(storage, payloads, await locate(at)),
    diff: async (a, b) => diffOf(storage, payloads, await locate(a), await locate(b)),
    tree: async (at, options) => treeOf(storage, at === undefined ? null : await locate(at), options),
    cost: async (at) => costOf(storage, at === undefined ? null : await locate(at)),
  };
}
