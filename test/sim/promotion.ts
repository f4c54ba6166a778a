// Simulations of promotion: two processes save, promote, take back, erase and edit at once, while disks and processes fail. A
// promotion is one commit: whenever no call is under way, the memories say of themselves in which block they are, the blocks
// have exactly their lines, and no block has a line of an erased memory.
import type { Block } from "../../src/contracts/agents.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Memory } from "../../src/contracts/memory.ts";
import type { SimulationClient } from "../../src/testing/sim/client.ts";
import { rng } from "../../src/testing/sim/scheduler.ts";
import { onlyClientDies } from "./rates.ts";
import type { Scenario } from "./scenarios.ts";

const ROUNDS = 12;
const BLOCKS = ["facts", "goals"] as const;
const SHORT_MS = 5000;
/** Of memories with a time to live. */
const FOR_A_WHILE = " for a while";

/** One life of the client, with an agent of its own. */
interface Life {
  readonly client: SimulationClient;
  readonly stores: readonly [Holdfast, Holdfast];
  readonly agent: string;
  readonly next: () => number;
  /** Words of memories that were erased for certain. */
  readonly erased: Set<string>;
  /** Lines that the agent changed itself. */
  readonly edited: Set<string>;
  count: number;
}

type Act = (life: Life, store: Holdfast) => Promise<unknown>;

const wordOf = ({ content }: Pick<Memory, "content">) => content.split(" ")[0] ?? "";
const lineOf = ({ content }: Pick<Memory, "content">) => `- ${content}`;

async function listAll({ client, agent }: Life, store: Holdfast): Promise<readonly Memory[]> {
  return (await client.patiently(() => store.memory.list({ agent, superseded: true, limit: 1000 }))).items;
}

async function pick(life: Life, store: Holdfast): Promise<Memory | undefined> {
  const all = await listAll(life, store);
  return all[Math.floor(life.next() * all.length)];
}

const save: Act = (life, store) => {
  const { client, agent, next } = life;
  const isShort = next() < 0.2;
  const content = `${String.fromCharCode(97 + (life.count % 26))}${life.count++}word is a fact to keep${isShort ? FOR_A_WHILE : ""}`;
  const kind = next() < 0.3 ? "goal" : "fact";
  const ttl = isShort ? { ttlMs: SHORT_MS } : {};
  return client.patiently(() => store.memory.save(content, { agent, kind, importance: 0.5 + next() / 2, ...ttl }));
};

const promote: Act = ({ client, agent }, store) => client.patiently(() => store.memory.promote({ agent }));
const undo: Act = ({ client, agent }, store) => client.attempt(() => store.memory.undoPromotion({ agent }));
const sweep: Act = ({ client }, store) => client.patiently(() => store.memory.deleteExpired());

const erase: Act = async (life, store) => {
  const { client, agent, erased } = life;
  const memory = await pick(life, store);
  if (memory === undefined) return;
  await client.patiently(() => store.memory.delete(memory.id, { agent }));
  erased.add(wordOf(memory));
};

/** The agent writes a line of its own, or takes one of a memory away. */
const edit: Act = async (life, store) => {
  const { client, agent, next, edited } = life;
  const label = next() < 0.7 ? "facts" : "goals";
  if (next() < 0.5) return client.attempt(() => store.agents.appendBlock(agent, label, `\nown line ${life.count++}`));
  const block = await client.patiently(() => store.agents.getBlock(agent, label));
  const line = block?.value.split("\n").find((one) => one.startsWith("- "));
  if (line === undefined) return;
  edited.add(line);
  return client.attempt(() => store.agents.replaceInBlock(agent, label, line, "something else"));
};

const ACTS: readonly Act[] = [save, save, save, promote, promote, promote, undo, erase, edit, sweep];

/** Where a memory's own changes say that it is: the id of a block, or null. undefined: it has expired since it was listed. */
async function placeOf({ client, agent }: Life, store: Holdfast, { id }: Memory): Promise<string | null | undefined> {
  const read = client.patiently(() => store.memory.history(id, { agent, limit: 1000 }));
  const items = await read.then(
    (page) => page.items,
    (error: unknown) => {
      if (isHoldfastError(error) && error.code === "NotFound") return null;
      throw error;
    },
  );
  if (items === null) return undefined;
  const moves = items.filter(({ change }) => change === "promoted" || change === "demoted" || change === "withdrawn");
  const last = moves[0];
  return last?.change === "promoted" ? (last.by ?? null) : null;
}

async function expectAgreement(life: Life, store: Holdfast): Promise<void> {
  const { client, agent, edited, erased } = life;
  const blocks: readonly Block[] = await client.patiently(() => store.agents.loadBlocks(agent));
  const values = new Map(blocks.map(({ id, value }) => [id, value.split("\n")]));
  const memories = await listAll(life, store);
  // A save whose first try was not heard of may have saved the fact again after it was erased.
  const there = new Set(memories.map(wordOf));
  for (const word of erased) {
    if (there.has(word)) continue;
    const where = blocks.find(({ value }) => value.includes(word));
    client.expect(where === undefined, `the block ${where?.label} has ${word}, which was erased`);
  }
  for (const memory of memories) {
    const line = lineOf(memory);
    const place = await placeOf(life, store, memory);
    if (place === undefined) continue;
    const found = [...values].filter(([, lines]) => lines.includes(line)).map(([id]) => id);
    // Saved a second time after it had expired: the line is that of the first one until it is swept.
    if (line.endsWith(FOR_A_WHILE)) continue;
    if (place === null) client.expect(found.length === 0, `${line} is in a block, and its memory is in none`);
    else if (!edited.has(line)) {
      client.expect(found.join() === place, `${line} is in ${found.join() || "no block"}, and its memory in ${place}`);
    }
  }
}

export const PROMOTION: Scenario = {
  name: "promotion",
  rate: 0.15,
  make: (seed, rate) => {
    let lives = 0;
    return {
      seed,
      faults: onlyClientDies(rate),
      // Memories and blocks have no events, so it looks quiet.
      limits: { quietMs: 40_000_000, ms: 200 * 3_600_000 },
      async scenario(client) {
        const agent = `agent-${++lives}`;
        // Of its own name: a process of the same name would draw the same random ids again.
        const peer = await client.open(`peer-${lives}`);
        const stores = [client.store, peer.store] as const;
        const next = rng(seed, `promotion ${lives}`);
        const life: Life = { client, stores, agent, next, erased: new Set(), edited: new Set(), count: 0 };
        await client.attempt(() => client.store.agents.create({ id: agent, name: agent }));
        const blocks = BLOCKS.map((label) => ({ label, value: "", limit: label === "facts" ? 400 : 2000 }));
        await client.patiently(() => client.store.agents.saveBlocks(agent, blocks));
        for (let round = 0; round < ROUNDS; round++) {
          const acts = Array.from({ length: 2 + Math.floor(next() * 3) }, () => ACTS[Math.floor(next() * ACTS.length)]);
          await Promise.all(acts.map((act) => act?.(life, stores[next() < 0.5 ? 0 : 1])));
          if (next() < 0.3) await client.sleep(next() * 2 * SHORT_MS);
          await expectAgreement(life, stores[round % 2 === 0 ? 0 : 1]);
        }
        peer.kill();
      },
    };
  },
};
