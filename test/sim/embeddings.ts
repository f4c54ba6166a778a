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
    const { pending, parked } = status.kinds.documents;
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
      await expectEmbedded(client, peer.store, OLD, texts);
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
