// Everything that the verbs of a store answer, as one text: two stores that give the same text cannot be told apart by reading.
import { createHash } from "node:crypto";
import type { Holdfast } from "../../src/contracts/holdfast.ts";

/** Parts by name, so that a difference can be named. */
export type Readings = Readonly<Record<string, string>>;

export async function readAll(hf: Holdfast): Promise<Readings> {
  const { storeId, createdAt, schemaVersion } = hf.info;
  const readings: Record<string, string> = { info: JSON.stringify({ storeId, createdAt, schemaVersion }) };
  const { items } = await hf.sessions.list({ limit: 1000 });
  readings.sessions = JSON.stringify(items);
  for (const { id } of items) readings[`session ${id}`] = JSON.stringify(await readSession(hf, id));
  readings.agents = JSON.stringify(await readAgents(hf));
  readings.memories = JSON.stringify(await readMemories(hf));
  readings.blobs = JSON.stringify(await readBlobs(hf));
  readings.runs = JSON.stringify(await readRuns(hf));
  readings.captures = JSON.stringify(await readCaptures(hf));
  readings.facts = JSON.stringify(await readFacts(hf));
  const { nouns, blobs, sessions } = await hf.stats();
  readings.store = JSON.stringify([await hf.sessions.cost(), await hf.sessions.tree(), nouns, blobs, sessions]);
  return readings;
}

async function readSession(hf: Holdfast, id: string): Promise<unknown> {
  const view = await hf.sessions.at(id);
  const { aliases = [] } = (await hf.sessions.get(id)) ?? {};
  return [
    await hf.sessions.get(id),
    await Promise.all(aliases.map((name) => hf.sessions.get(name))),
    await hf.history.session(id),
    await hf.state.get(id),
    await hf.log.read(id),
    await hf.log.anchor(id),
    await hf.heads.list(id),
    await view.counts(),
    await view.messages(),
    await view.turns(),
    await view.evals(),
    await view.calls(),
    await view.snapshots(),
    await view.heads(),
    await view.invocations(),
    await view.state(),
    await hf.tasks.boards(id),
    await hf.sessions.markdown(id),
    await hf.trace(id),
    await digest(hf.sessions.export(id)),
  ];
}

async function digest(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

async function readAgents(hf: Holdfast): Promise<unknown> {
  const { items } = await hf.agents.list({ limit: 1000 });
  const blocks = [];
  for (const { id } of items) {
    for (const block of await hf.agents.loadBlocks(id)) {
      blocks.push([block, (await hf.agents.blockVersions(id, block.label)).items]);
    }
  }
  return [items, blocks];
}

async function readMemories(hf: Holdfast): Promise<unknown> {
  const { items } = await hf.memory.scopes();
  const scopes = [];
  for (const { namespace, agent } of items) {
    const scope = { namespace, ...(agent === null ? {} : { agent }) };
    const memories = (await hf.memory.list({ ...scope, superseded: true })).items;
    const histories = [];
    for (const { id } of memories) histories.push((await hf.memory.history(id, scope)).items);
    const words = memories.map(({ content }) => content).join(" ");
    scopes.push([memories, histories, await hf.memory.search(words, { ...scope, superseded: true, at: 0 })]);
  }
  return [items, scopes, await hf.memory.status()];
}

async function readBlobs(hf: Holdfast): Promise<unknown> {
  const { items } = await hf.blobs.list({ limit: 1000 });
  const blobs = [];
  for (const stat of items) {
    const bytes = await digest(hf.blobs.stream(stat.ref)).catch((error: unknown) => String(error));
    blobs.push([stat, await hf.blobs.stat(stat.ref), bytes, await hf.blobs.referrers(stat.ref)]);
  }
  return blobs;
}

async function readRuns(hf: Holdfast): Promise<unknown> {
  const { items } = await hf.runs.list({ limit: 1000 });
  const runs = [];
  for (const { id } of items) {
    runs.push([await hf.runs.get(id), await hf.runs.steps(id), await hf.runs.result(id), await hf.runs.checkpoint(id)]);
  }
  return [items, runs, await hf.runs.decisions(), (await hf.runs.pending()).items];
}

async function readCaptures(hf: Holdfast): Promise<unknown> {
  const { items } = await hf.captures.list({ limit: 1000 });
  const captures = [];
  for (const { id } of items)
    captures.push([await hf.captures.files(id), await digest(pieceOf(hf.captures.getBundle(id)))]);
  return [items, captures];
}

async function* pieceOf(bytes: Promise<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield await bytes;
}

const FACTS = ["[:find ?m ?n :where [?m :message/char-count ?n]]"];

async function readFacts(hf: Holdfast): Promise<unknown> {
  const answers = [];
  for (const text of FACTS) answers.push(await hf.query(text));
  return answers;
}
