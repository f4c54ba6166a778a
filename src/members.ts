// The members of every part of a store that is loaded on first use, and how each answers: see core/lazy.ts.
import type { Archives } from "./contracts/archive.ts";
import type { Captures } from "./contracts/captures.ts";
import type { Checking } from "./contracts/check.ts";
import type { Holdfast } from "./contracts/holdfast.ts";
import type { Querying } from "./contracts/query.ts";
import type { Tracing } from "./contracts/trace.ts";
import type { Members } from "./core/lazy.ts";
import type { Nouns } from "./nouns.ts";

interface Parts extends Nouns {
  readonly captures: Captures;
  readonly stats: Pick<Holdfast, "stats">;
  readonly query: Omit<Querying, "facts">;
  readonly trace: Tracing;
  readonly check: Checking;
  readonly archives: Archives;
}

export const MEMBERS: { readonly [P in keyof Parts]: Members<Parts[P]> } = {
  agents: {
    ...{ create: "call", get: "call", list: "call", update: "call", delete: "call", saveBlocks: "call" },
    ...{ loadBlocks: "call", getBlock: "call", appendBlock: "call", replaceInBlock: "call", rethinkBlock: "call" },
    ...{ shareBlock: "call", blockVersions: "call", restoreBlock: "call" },
  },
  sessions: {
    ...{ create: "call", get: "call", list: "call", update: "call", setAlias: "call", removeAlias: "call" },
    ...{ delete: "call", at: "call", fork: "call", resume: "call", rewind: "call", attach: "call", context: "call" },
  },
  heads: { get: "call", find: "call", current: "call", list: "call", publish: "call", compact: "call" },
  turns: { begin: "call", finish: "call", abort: "call" },
  calls: {
    ...{
      start: "call",
      finish: "call",
      add: "call",
      get: "call",
      findByMessage: "call",
      leaf: "call",
      leafAll: "call",
    },
  },
  evals: { start: "call", finish: "call", add: "call", get: "call" },
  snapshots: { add: "call", get: "call", vars: "call" },
  invocations: {
    ...{ spawn: "call", attach: "call", spawnAll: "call", attachAll: "call", start: "call", finish: "call" },
    ...{ get: "call", error: "call" },
  },
  state: {
    ...{ get: "call", getKey: "call", getVersioned: "call", set: "call", patch: "call", compareAndSet: "call" },
    clear: "call",
  },
  tasks: {
    ...{ createTaskList: "call", getTaskList: "call", getByConversation: "call", getBoardsByConversation: "call" },
    ...{ updateStatus: "call", addTasks: "call", deleteTask: "call", incrementRetry: "call", forceRetry: "call" },
    ...{ updateTaskTitle: "call", settle: "call" },
  },
  log: { read: "call", tail: "stream", verify: "call", anchor: "call", note: "call", annotate: "call" },
  blobs: {
    ...{ store: "call", storeJson: "call", resolve: "call", resolveText: "call", resolveJson: "call" },
    ...{ stream: "stream", exists: "call", stat: "call", list: "call", referrers: "call", pin: "call" },
    ...{ unpin: "call", delete: "call", verify: "call", seal: "call", gc: "call" },
  },
  captures: {
    ...{ save: "call", prefer: "call", latest: "call", bySession: "call", get: "call", list: "call", files: "call" },
    ...{ read: "stream", getBundle: "call", putBundle: "call", expire: "call", delete: "call" },
    ...{ deleteForRequest: "call", deleteExpired: "call", claim: "call" },
  },
  stats: { stats: "call" },
  query: { query: "call", explain: "call" },
  trace: { trace: "call", causes: "call" },
  check: { check: "call" },
  archives: { export: "stream", import: "call", markdown: "call", diff: "call", tree: "call", cost: "call" },
};
