// No call of one scope finds, changes or counts a memory of another, whatever is saved and asked (rule ME2). Each scope is compared
// with a store's scope that has only its own memories: nothing that others hold may show, not even in a score.
import assert from "node:assert/strict";
import type { Memories, MemoryScope } from "../../contracts/memory.ts";
import { noise, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { createTestEmbedder } from "./test-embedder.ts";

const NAMESPACES = [undefined, "default", "n", "n ", "N", "'; --", "\u{1f4a5}"];
const AGENTS = [undefined, "a", "A", "n", "default", "%", "*"];
const WORDS = ["tea", "cake", "Ada", "Bob", "lives", "likes", "green", "Paris"];
const FILTERS = [undefined, {}, { n: { lt: 3 } }, { not: { n: 1 } }, { or: [{ tag: "x" }, { n: 0 }] }];

interface SeededChoice {
  pick<T>(of: readonly T[]): T;
}

function seededChoice(seed: number): SeededChoice {
  const bytes = noise(100_000, seed);
  let at = 0;
  return {
    pick: (of) => {
      const byte = (bytes[at++ % bytes.length] ?? 0) * 256 + (bytes[at++ % bytes.length] ?? 0);
      return of[byte % of.length] as (typeof of)[number];
    },
  };
}

function scopeOf({ pick }: SeededChoice): MemoryScope {
  const [namespace, agent] = [pick(NAMESPACES), pick(AGENTS)];
  return { ...(namespace === undefined ? {} : { namespace }), ...(agent === undefined ? {} : { agent }) };
}

/** What names the same scope. */
function keyOf({ namespace = "default", agent = "" }: MemoryScope): string {
  return JSON.stringify([namespace, agent]);
}

interface SavedFact {
  readonly content: string;
  readonly scope: MemoryScope;
  readonly options: object;
}

function factOf(roll: SeededChoice): SavedFact {
  const content = range(1 + roll.pick([0, 1, 2, 3]))
    .map(() => roll.pick(WORDS))
    .join(" ");
  const attribute = roll.pick([{}, { subject: "Ada" }, { subject: "Ada", attribute: "likes" }]);
  const metadata = { n: roll.pick([0, 1, 2, 3]), tag: roll.pick(["x", "y"]) };
  return { content, scope: scopeOf(roll), options: { ...attribute, metadata, validFrom: roll.pick([10, 20, 30]) } };
}

/** What a scope shows of itself, without ids and scope. */
async function view(memory: Memories, scope: MemoryScope, queries: readonly [string, object][]): Promise<unknown> {
  // The same facts are saved at other times elsewhere.
  const other = { id: null, namespace: null, agent: null, supersededBy: null, recordedAt: 0, confirmedAt: 0 };
  const shown = (one: object) => ({ ...one, ...other });
  const listed = (await memory.list({ ...scope, superseded: true, limit: 1000 })).items;
  const found: unknown[] = [];
  for (const [query, options] of queries) {
    found.push((await memory.search(query, { ...scope, ...options })).map(shown));
  }
  return { listed: listed.map(shown), found };
}

export const memoryIsolationCases: readonly Case[] = [
  ...[1, 2, 3].map((seed) =>
    prove(`ME2 no scope shows anything of another (seed ${seed})`, ["memory", "clock"], async ({ memory }) => {
      await compareScopes(memory, seed, async () => {});
    }),
  ),
  ...[4, 5].map((seed) =>
    prove(`EM9 no scope shows anything of another, with vectors (seed ${seed})`, ["another"], async ({ another }) => {
      const hf = await another({ embedder: createTestEmbedder() });
      await compareScopes(hf.memory, seed, async () => void (await hf.embeddings.wait()));
    }),
  ),
];

/** `settle` waits for the vectors of what was saved. */
async function compareScopes(memory: Memories, seed: number, settle: () => Promise<void>): Promise<void> {
  const roll = seededChoice(seed);
  const facts = range(120).map(() => factOf(roll));
  for (const { content, scope, options } of facts) await memory.save(content, { ...scope, ...options });
  const scopes = [...new Map(facts.map(({ scope }) => [keyOf(scope), scope])).values()];
  const queries = range(6).map((): [string, object] => {
    const filter = roll.pick(FILTERS);
    const words = `${roll.pick(WORDS)} ${roll.pick(WORDS)}${roll.pick(["", " -tea", " te*", ' "Ada lives"'])}`;
    return [words, { ...(filter === undefined ? {} : { filter }), superseded: roll.pick([true, false]) }];
  });
  const some = scopes.slice(0, 6);
  const views = new Map<string, unknown>();
  for (const [i, scope] of some.entries()) {
    const own = facts.filter((fact) => keyOf(fact.scope) === keyOf(scope));
    const alone = { namespace: `alone ${seed} ${i}` };
    for (const { content, options } of own) await memory.save(content, { ...alone, ...options });
    await settle();
    const seen = await view(memory, scope, queries);
    assert.deepEqual(seen, await view(memory, alone, queries));
    views.set(keyOf(scope), seen);
  }
  // A foreign id is not there, and a cleared scope takes nothing along.
  const [cleared, ...others] = some;
  const [one] = (await memory.list({ ...cleared, superseded: true })).items;
  for (const other of others) {
    const id = one?.id ?? "";
    assert.equal(await memory.get(id, other), null);
    assert.equal((await memory.delete(id, other)).removed.memories, 0);
    await assert.rejects(memory.undo(id, other), { code: "NotFound" });
    await assert.rejects(memory.history(id, other), { code: "NotFound" });
  }
  await memory.clear(cleared);
  for (const other of others) assert.deepEqual(await view(memory, other, queries), views.get(keyOf(other)));
}
