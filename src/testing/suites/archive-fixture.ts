// Sessions to export in the cases of archives, a store to import them into, and all that there is of a session.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { noise } from "../expect.ts";
import type { CaseContext } from "../suite.ts";

export const NEEDS = [
  "archives",
  "lineage",
  "sessions",
  "history",
  "state",
  "tasks",
  "log",
  "blobs",
  "agents",
] as const;
export const CHECKED = [...NEEDS, "check"] as const;
export type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

const AGENT = "ada";
export const scope = (session: string) => ({ session, agent: AGENT });

/** Another store, on another engine than most. */
export async function elsewhere<T>(use: (other: Holdfast) => Promise<T>): Promise<T> {
  // Loaded late: the suites may be imported by a Node that lacks what it needs.
  const { open } = await import("../../open.ts");
  const other = await open(":memory:");
  try {
    return await use(other);
  } finally {
    await other.close();
  }
}

/** A session with something in every table. */
export async function makeRich(store: Nouns | Holdfast, id: string, imageBytes = 2_500_000): Promise<void> {
  const { heads, turns, calls, evals, snapshots, sessions } = "lineage" in store ? store.lineage : store;
  const { history, state, tasks, log } = store;
  await sessions.create({
    id,
    agent: AGENT,
    title: "Ünïcode \0 title",
    tags: ["x", "y"],
    metadata: { deep: [1, { a: null }] },
    request: "r-1",
    origin: "test",
    cacheId: "c",
  });
  const turn = await turns.begin(id, { agent: AGENT, run: "run-1" });
  await history.append(scope(id), { role: "user", content: "short", key: "k1", metadata: { m: 1 } });
  await history.append(scope(id), { role: "user", content: "long ".repeat(2000) }, { run: "run-1" });
  const data = noise(imageBytes, 7);
  const image = { type: "image", source: { data, mediaType: "image/png" }, alt: "a picture" } as const;
  await history.append({ session: id, agent: "bob" }, { role: "assistant", content: [image] });
  await state.set(id, { kept: { v: 1 }, replaced: "old", gone: true });
  await state.patch(id, { replaced: "new" }, { remove: ["gone"] });
  const open = await calls.start(id, { type: "root", model: "m", turn: turn.id, descriptor: { messages: [] } });
  await calls.finish(open.id, { response: { r: 1 }, inputTokens: 5, outputTokens: 6, costUsd: 0.25 });
  await calls.add(id, { type: "leaf", provider: "p", request: { q: 1 }, error: { e: 1 } });
  const running = await evals.start(id, { code: "1 + 1" });
  await evals.finish(running.id, { result: 2, final: { two: 2 } });
  await snapshots.add(id, { x: [1, 2, 3] });
  const first = await turns.finish(turn.id, { final: { done: true }, vars: { v: 1 }, finalSummary: "done" });
  await tasks.create(id, ["one", "two"]);
  await tasks.create(id, ["three"], { agent: "sub", parent: "" });
  await log.annotate(id, { note: "of mine" }, { agent: AGENT });
  await history.append(scope(id), { role: "user", content: "secret words that go" }, { run: "run-2" });
  await history.clearRun(scope(id), "run-2");
  await heads.publish(id);
  await sessions.resume(`${id}@${first.id}`);
  await history.append(scope(id), { role: "user", content: "on another branch" });
  await heads.compact(id, { agent: AGENT, summary: "in short" });
  await sessions.setAlias(id, `${id}-alias`);
}

export async function everything(store: Holdfast | Nouns, id: string) {
  const { heads, sessions } = "lineage" in store ? store.lineage : store;
  const view = await sessions.at(id);
  return {
    session: await store.sessions.get(id),
    log: await store.log.read(id),
    verified: await store.log.verify(id),
    heads: await heads.list(id),
    history: await store.history.session(id),
    state: await store.state.getVersioned(id),
    boards: await store.tasks.root(id),
    calls: await view.calls(),
    evals: await view.evals(),
    turns: await view.turns(),
    snapshots: await view.snapshots(),
    messages: await view.messages(),
    counts: await view.counts(),
  };
}
