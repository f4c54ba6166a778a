// Long-term memory: see contracts/memory.ts for what it promises.
import type { Page } from "../contracts/json.ts";
import type { Memories, Memory, MemoryChange, MemoryScopeStatus, MemoryStatus } from "../contracts/memory.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import { MEMORY_VERBS } from "../contracts/verbs/memory.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { invalid } from "../core/check.ts";
import { listStart, readPage } from "../core/cursor.ts";
import { bindVerbs } from "../core/verbs.ts";
import { readModel } from "../embeddings/model.ts";
import type { MeaningSearch } from "../embeddings/query-vector.ts";
import { memoryIndex } from "../search/index/memory-index.ts";
import { passageKindOf } from "../vectors/reserved.ts";
import { touchMemory, undoSupersession } from "./change.ts";
import { clearScope, deleteMemory, sweepExpired } from "./erase.ts";
import { factKey, subjectKey } from "./fact.ts";
import { checkFact } from "./new-fact.ts";
import { explainPromotion, type PromotionStores, promoteMemories, setPin, undoPromotion } from "./promotion/promote.ts";
import { ALL_NUMBERS, type Withdrawal, withdrawLines } from "./promotion/withdraw.ts";
import { agentOf, changeOf, memoryOf } from "./rows.ts";
import { saveFact } from "./save.ts";
import { findMemory, findScope, needMemory } from "./scopes.ts";
import { searchMemories } from "./search.ts";

/** `language` is that of the first memories: see memoryIndex(). `meaning` is null without an embedder. */
export function createMemory(
  storage: Storage,
  payloads: Payloads,
  language: TextLanguage,
  meaning: MeaningSearch | null,
): Memories {
  const index = memoryIndex(storage, language);
  const stores = { storage, payloads, index, meaning };
  return bindVerbs(MEMORY_VERBS, null, {
    promote: (options) => promoteMemories(stores, options, options.dryRun),
    undoPromotion: (options) => undoPromotion(stores, options),
    explainPromotion: (id, options) => explainPromotion(stores, options, id),
    pin: (id, options) => setPin(stores, options, id, true),
    unpin: (id, options) => setPin(stores, options, id, false),
    save: async (content, options) => saveFact(stores, checkFact(content, options)),
    search: (query, options) => searchMemories(stores, query, options),
    get: async (id, scope) => {
      const row = await findMemory(storage, scope, id);
      return row === null ? null : memoryOf(row);
    },
    list: (filter) => listMemories(storage, filter),
    history: (id, options) => listChanges(storage, id, options),
    touch: (id, options) => touchMemory(storage, id, options),
    undo: (id, scope) => undoSupersession(storage, id, scope),
    delete: (id, scope) => deleteMemory(stores, scope, id, (row) => withdrawRows(stores, [row])),
    clear: (scope) => clearScope(stores, scope, () => withdrawLines(stores, scope, ALL_NUMBERS)),
    deleteExpired: ({ dryRun }) => sweepExpired(stores, dryRun, (rows) => withdrawRows(stores, rows)),
    scopes: (options) => listScopes(storage, options),
    status: async () => {
      const [totals] = await storage.query("memory.status", { now: storage.environment.now() });
      const counts = { ...(totals ?? { scopes: 0, memories: 0, superseded: 0, expired: 0 }) };
      return { ...counts, embedding: await readWaitingMemories(storage) };
    },
  });
}

async function readWaitingMemories(storage: Storage): Promise<MemoryStatus["embedding"]> {
  const [uncut] = (await readModel(storage)) === null ? [] : await storage.query("memories.countUncut", {});
  let pending = uncut?.n ?? 0;
  for (const { name, n } of await storage.query("passages.waiting", {})) {
    if (passageKindOf(name) === "memories") pending += n;
  }
  const [failures] = await storage.query("failures.totals", { kind: "memories" });
  const parked = failures?.parked ?? 0;
  return { pending: Math.max(0, pending - parked), parked };
}

async function withdrawRows(stores: PromotionStores, rows: readonly MemoryRow[]): Promise<Withdrawal> {
  const numbers = new Set(rows.map(({ no }) => no));
  const erased = { from: Math.min(...numbers), to: Math.max(...numbers), has: (no: number) => numbers.has(no) };
  const scopes = new Map(rows.map(({ scope_no: no, namespace, agent }) => [no, { namespace, agent }]));
  let lines = 0;
  const guards: Guard[] = [];
  for (const scope of scopes.values()) {
    const withdrawn = await withdrawLines(stores, scope, erased);
    lines += withdrawn.lines;
    guards.push(...withdrawn.guards);
  }
  return { lines, guards };
}

type MemoryArguments<V extends keyof typeof MEMORY_VERBS> = ValuesOf<(typeof MEMORY_VERBS)[V]>;

async function listMemories(storage: Storage, options: MemoryArguments<"list">[0]): Promise<Page<Memory>> {
  const { namespace, agent, kind, subject, attribute, superseded, limit, cursor, order } = options;
  return readPage({
    list: "memory.list",
    order,
    filter: [namespace, agent, kind, subject, attribute, superseded],
    limit,
    cursor,
    start: listStart(order),
    read: async ([last], most) => {
      if (attribute !== undefined && subject === undefined) {
        throw invalid("attribute", "given with the subject that it is an attribute of", attribute, "Add a subject.");
      }
      const scope = await findScope(storage, { namespace, agent });
      if (scope === null) return [];
      const all = superseded ? 1 : 0;
      const params = { scope, last, now: storage.environment.now(), kind, all, limit: most };
      return readList(storage, order, params, { subject, attribute });
    },
    item: (row: MemoryRow) => memoryOf(row),
    position: ({ no }) => [no],
  });
}

function readList(
  storage: Storage,
  order: "newest" | "oldest",
  params: Parameters<typeof storage.query<"memories.list">>[1],
  { subject, attribute }: { readonly subject: string | undefined; readonly attribute: string | undefined },
): Promise<readonly MemoryRow[]> {
  const suffix = order === "oldest" ? ".oldest" : "";
  if (subject === undefined) return storage.query(`memories.list${suffix}`, params);
  if (attribute === undefined) {
    return storage.query(`memories.bySubject${suffix}`, { ...params, subject: subjectKey(subject) });
  }
  return storage.query(`memories.byFact${suffix}`, { ...params, fact: factKey(subject, attribute) });
}

async function listChanges(
  storage: Storage,
  id: string,
  { namespace, agent, limit, cursor, order }: MemoryArguments<"history">[1],
): Promise<Page<MemoryChange>> {
  return readPage({
    list: "memory.history",
    order,
    filter: [id, namespace, agent],
    limit,
    cursor,
    start: listStart(order),
    read: async ([last], most) => {
      const { scope_no: scope } = await needMemory(storage, { namespace, agent }, id);
      const params = { id, scope, last, now: storage.environment.now(), limit: most };
      return storage.query(order === "newest" ? "memory.changes" : "memory.changes.oldest", params);
    },
    item: changeOf,
    position: ({ no }) => [no],
  });
}

async function listScopes(
  storage: Storage,
  { limit, cursor, order }: MemoryArguments<"scopes">[0],
): Promise<Page<MemoryScopeStatus>> {
  return readPage({
    list: "memory.scopes",
    order,
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) =>
      storage.query(order === "newest" ? "memory.scopes" : "memory.scopes.oldest", {
        last,
        now: storage.environment.now(),
        limit: most,
      }),
    item: ({ namespace, agent, memories, superseded, expired }) => ({
      namespace,
      agent: agentOf(agent),
      memories,
      superseded,
      expired,
    }),
    position: ({ no }) => [no],
  });
}
