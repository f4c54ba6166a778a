// Simulations of the background work that embeds texts: documents are written, replaced and deleted by two processes while embedders,
// disks and processes fail. In the end every document has the embedding of the text that it has, by the store's model.
import type { Embedder } from "../../src/contracts/embedders.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { SimulationClient } from "../../src/testing/sim/client.ts";
import { rng } from "../../src/testing/sim/scheduler.ts";
import { vectorOf } from "../../src/testing/suites/test-embedder.ts";
import { onlyClientDies } from "./rates.ts";
import type { Scenario } from "./scenarios.ts";

const OLD = "test/old@4";
const NEW = "test/new@4";
const ROUNDS = 6;

function embedderOf(id: string): Embedder {
  return {
    id,
    dimensions: 4,
    maxBatch: 4,
    embed: async (texts) => texts.map((text) => vectorOf(id, text, 4)),
  };
}

/** Writes and deletes documents; the last text of each is in the map. */
async function write(
  client: SimulationClient,
  stores: readonly Holdfast[],
  next: () => number,
  texts: Map<string, string>,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const store = stores[Math.floor(next() * stores.length)];
    if (store === undefined) continue;
    const ids = Array.from({ length: 1 + Math.floor(next() * 4) }, () => `doc ${Math.floor(next() * 10)}`);
    const documents = [...new Set(ids)].map((id) => ({ id, content: `${id}: ${Math.floor(next() * 1000)}` }));
    if (next() < 0.2) {
      await client.patiently(() => store.vectors.delete(documents.map(({ id }) => id)));
      for (const { id } of documents) texts.delete(id);
    } else {
      await client.patiently(() => store.vectors.upsert(documents));
      for (const { id, content } of documents) texts.set(id, content);
    }
    if (next() < 0.3) await client.sleep(next() * 5000);
  }
}

/** Asks for another try of what failed for good by bad luck. */
async function untilEmbedded(client: SimulationClient, store: Holdfast, model: string): Promise<void> {
  for (;;) {
    const status = await client.patiently(() => store.embeddings.status());
    const kinds = Object.values(status.kinds);
    const pending = kinds.reduce((sum, kind) => sum + kind.pending, 0);
    const parked = kinds.reduce((sum, kind) => sum + kind.parked, 0);
    if (pending === 0 && parked === 0 && status.model === model) return;
    if (parked > 0) await client.patiently(() => store.embeddings.retry());
    await client.sleep(5000);
  }
}

async function expectEmbedded(
  client: SimulationClient,
  store: Holdfast,
  id: string,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  const documents = await client.patiently(() => store.vectors.get([...texts.keys()]));
  client.expect(documents.length === texts.size, `${documents.length} documents of ${texts.size}`);
  for (const { id: document, embedding } of documents) {
    const text = texts.get(document) ?? "";
    const expected = vectorOf(id, text, 4).map(Math.fround);
    client.expect(JSON.stringify(embedding) === JSON.stringify(expected), `${document} has another embedding`);
    const [nearest] = await client.patiently(() => store.vectors.search(expected, { limit: 1, model: id }));
    client.expect(nearest?.id === document, `the search for ${document} finds ${nearest?.id}`);
  }
  const collection = await client.patiently(() => store.vectors.getCollection("default"));
  client.expect((collection?.embedded ?? 0) === texts.size, `${collection?.embedded} embedded of ${texts.size}`);
}

async function deleteAll(client: SimulationClient): Promise<void> {
  const ids = Array.from({ length: 10 }, (_, n) => `doc ${n}`);
  await client.patiently(() => client.store.vectors.delete(ids));
}

const SESSIONS = ["chat 0", "chat 1", "chat 2"];
const AGENT = "ada";

/** Adds and erases messages and memories; the texts that are there are in the maps, by session and by id. */
async function speak(
  client: SimulationClient,
  stores: readonly Holdfast[],
  next: () => number,
  messages: Map<string, string[]>,
  memories: Map<string, string>,
): Promise<void> {
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const store = stores[Math.floor(next() * stores.length)];
    const session = SESSIONS[Math.floor(next() * SESSIONS.length)] ?? "chat 0";
    if (store === undefined) continue;
    const content = `word${round} of ${Math.floor(next() * 1000)}`;
    const action = next();
    if (action < 0.15) {
      await client.patiently(() => store.history.clear({ session, agent: AGENT }));
      messages.delete(session);
    } else if (action < 0.55) {
      await client.patiently(() =>
        store.history.append({ session, agent: AGENT }, { role: "user", content, key: `${round} ${content}` }),
      );
      messages.set(session, [...(messages.get(session) ?? []), content]);
    } else if (action < 0.85) {
      const { id } = await client.patiently(() => store.memory.save(content));
      memories.set(id, content);
    } else {
      const [id = "none"] = memories.keys();
      await client.patiently(() => store.memory.delete(id));
      memories.delete(id);
    }
    if (next() < 0.3) await client.sleep(next() * 5000);
  }
}

/** An embedder may fail at the query: then the search is by words. */
async function untilHybrid<T extends { readonly mode: "text" | "hybrid" }>(
  client: SimulationClient,
  search: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const found = await client.patiently(search);
    if (found.mode === "hybrid") return found;
    await client.sleep(1000);
  }
  return client.patiently(search);
}

/** Whether every passage of what is there has a vector, and nothing else has one. */
async function expectPassages(
  client: SimulationClient,
  store: Holdfast,
  messages: ReadonlyMap<string, readonly string[]>,
  memories: ReadonlyMap<string, string>,
): Promise<void> {
  const all = [...messages.values()].flat();
  for (const text of all) {
    const { mode, waiting, hits } = await untilHybrid(client, () => store.search(text, { limit: 1 }));
    client.expect(mode === "hybrid" && waiting === 0, `a search of messages is ${mode}, and ${waiting} passages wait`);
    client.expect(hits[0]?.passage === text, `the search for ${text} finds ${hits[0]?.passage}`);
    const names = hits[0]?.signals.map(({ name }) => name) ?? [];
    client.expect(names.includes("vector"), `${text} is found by ${names.join(", ")}`);
  }
  for (const [id, text] of memories) {
    const hits = await untilHybrid(client, () => store.memory.search(text, { limit: 100 }));
    client.expect(hits.mode === "hybrid" && hits.waiting === 0, `${hits.waiting} memories wait`);
    const vector = hits.find((hit) => hit.id === id)?.signals.find(({ name }) => name === "vector");
    client.expect(vector !== undefined && vector.value > 0.99, `${text} has the vector score ${vector?.value}`);
    client.expect(hits.length === memories.size, `${hits.length} memories of ${memories.size}`);
  }
}

/** A client that died begins again: without messages and memories. */
export const PASSAGES: Scenario = {
  name: "passages",
  rate: 0.15,
  make: (seed, rate) => ({
    seed,
    faults: onlyClientDies(rate),
    embedder: () => embedderOf(OLD),
    async scenario(client) {
      const next = rng(seed, "passages");
      const messages = new Map<string, string[]>();
      const memories = new Map<string, string>();
      for (const session of SESSIONS) {
        await client.patiently(() => client.store.history.clear({ session, agent: AGENT })).catch(() => {});
      }
      await client.patiently(() => client.store.memory.clear());
      const peer = await client.open("peer");
      await speak(client, [client.store, peer.store], next, messages, memories);
      await untilEmbedded(client, client.store, OLD);
      // Not by the peer, which lives on when this process dies, and then sees what the next one erases.
      await expectPassages(client, client.store, messages, memories);
      peer.kill();
    },
  }),
};

/** A client that died begins again: with no documents. */
export const EMBEDDINGS: Scenario = {
  name: "embeddings",
  rate: 0.15,
  make: (seed, rate) => ({
    seed,
    faults: onlyClientDies(rate),
    embedder: () => embedderOf(OLD),
    async scenario(client) {
      const next = rng(seed, "documents");
      const texts = new Map<string, string>();
      await deleteAll(client);
      const peer = await client.open("peer");
      await write(client, [client.store, peer.store], next, texts);
      await untilEmbedded(client, client.store, OLD);
      // As above: the peer lives on when this process dies.
      await expectEmbedded(client, client.store, OLD, texts);
      peer.kill();
    },
  }),
};

/** The peer has another embedder: the store is its store from then on. */
export const OTHER_EMBEDDER: Scenario = {
  name: "other-embedder",
  rate: 0.15,
  make: (seed, rate) => ({
    seed,
    faults: onlyClientDies(rate),
    embedder: (process) => embedderOf(process === "peer" ? NEW : OLD),
    async scenario(client) {
      const next = rng(seed, "documents");
      const texts = new Map<string, string>();
      await deleteAll(client);
      await write(client, [client.store], next, texts);
      // Of two embedders that the store does not know, the one that comes later is its embedder.
      while ((await client.patiently(() => client.store.embeddings.status())).model === null) await client.sleep(1000);
      if (next() < 0.5) await client.sleep(next() * 20_000);
      const peer = await client.open("peer");
      await write(client, [client.store, peer.store], next, texts);
      await untilEmbedded(client, peer.store, NEW);
      await expectEmbedded(client, client.store, NEW, texts);
      peer.kill();
    },
  }),
};
