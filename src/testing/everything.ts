// A store with every kind of row that the public API can make, for code that must handle all of them: the checker,
// exports.
import { noise } from "./expect.ts";
import type { CaseContext } from "./suite.ts";

export type Everything = Pick<
  CaseContext,
  "agents" | "sessions" | "history" | "state" | "tasks" | "memory" | "blobs" | "log" | "lineage"
>;

export interface FilledStore {
  /** Has heads on several branches, an aborted turn, calls, evals, snapshots, notes, state, messages of two agents. */
  readonly chat: string;
  /** Forks of the session: from a head, and at a message. */
  readonly fork: string;
  readonly split: string;
  /** The session's heads, in order of creation. */
  readonly heads: readonly string[];
  readonly turn: string;
  readonly rootCall: string;
  readonly leafCall: string;
  readonly eval: string;
}

const LONG = "a message too long for its row, word after word. ".repeat(60);

export async function fillStore(hf: Everything): Promise<FilledStore> {
  const { sessions, lineage, history, state, log } = hf;
  await fillAround(hf);
  const chat = "chat";
  await sessions.create({ id: chat, agent: "ada", title: "All of it", tags: ["x", "y"], metadata: { a: 1 } });
  await sessions.setAlias(chat, "the-chat");
  await state.set(chat, { plan: ["one"], mood: "good" });
  const turn = await lineage.turns.begin(chat, { agent: "ada", run: "r-1" });
  const [asked] = await history.appendMany({ session: chat, agent: "ada" }, [
    { role: "user", content: "hello", key: "k-1" },
    { role: "assistant", content: LONG },
  ]);
  const rootCall = await lineage.calls.start(chat, {
    type: "root",
    model: "m-1",
    provider: "p",
    turn: turn.id,
    descriptor: { messages: asked === undefined ? [] : [asked.id], system: "be kind" },
  });
  await lineage.calls.finish(rootCall.id, { response: { text: "hi" }, inputTokens: 3, outputTokens: 4, costUsd: 0.5 });
  const leafCall = await lineage.calls.add(chat, { type: "leaf", request: { q: 1 }, result: 2, costUsd: null });
  await lineage.calls.add(chat, { type: "leaf", request: { q: 2 }, error: { why: "no" } });
  const ran = await lineage.evals.start(chat, {
    code: "1 + 1",
    turn: turn.id,
    ...(asked === undefined ? {} : { message: asked.id }),
  });
  await lineage.evals.finish(ran.id, { result: 2, final: "two" });
  await lineage.evals.add(chat, { code: "throw", error: { message: "thrown" } });
  await lineage.snapshots.add(chat, { x: 1 }, { turn: turn.id });
  await state.patch(chat, { plan: ["one", "two"] }, { remove: ["mood"] });
  await log.annotate(chat, { note: "by hand" }, { agent: "ada" });
  const first = await lineage.turns.finish(turn.id, {
    final: { answer: 42 },
    finalSummary: "done",
    vars: { x: 2 },
    fingerprint: "f-1",
  });
  const aborted = await abortOne(hf, chat);
  await history.appendMany({ session: chat, agent: "bob" }, [
    { role: "user", content: "forget me" },
    { role: "user", content: `${LONG}${LONG}` },
  ]);
  const second = await lineage.heads.publish(chat, { expect: first.id });
  await history.clear({ session: chat, agent: "bob" });
  await lineage.sessions.resume(`${chat}@${first.id}`);
  await history.append({ session: chat, agent: "ada" }, { role: "user", content: "another way" });
  const third = await lineage.heads.compact(chat, { agent: "ada", summary: "in short", keep: 1 });
  await lineage.sessions.rewind(`${chat}@${first.id}`);
  await state.clear(chat);
  await history.append({ session: chat, agent: "ada" }, { role: "user", content: "after the rewind" });
  const fork = await lineage.sessions.fork(`${chat}@${third.id}`, { id: "fork" });
  await state.patch(fork.id, { plan: [], own: true });
  await history.append({ session: fork.id, agent: "ada" }, { role: "user", content: "in the fork" });
  const inFork = await lineage.heads.publish(fork.id, { final: "fork" });
  const split = await lineage.sessions.fork(fork.id, {
    id: "split",
    ...(asked === undefined ? {} : { message: asked.id }),
  });
  await lineage.heads.publish(split.id);
  await sessions.update(chat, { status: "closed", tags: ["y"] });
  const heads = [first.id, aborted, second.id, third.id, inFork.id];
  const ids = { turn: turn.id, rootCall: rootCall.id, leafCall: leafCall.id, eval: ran.id };
  return { chat, fork: fork.id, split: split.id, heads, ...ids };
}

async function abortOne({ lineage, history }: Everything, session: string): Promise<string> {
  const turn = await lineage.turns.begin(session);
  await history.append({ session, agent: "ada" }, { role: "user", content: "half" });
  return (await lineage.turns.abort(turn.id, { vars: { half: true } })).id;
}

/** Creates rows outside of that session: agents and their blocks, memories, boards, blobs of every form, and deleted sessions. */
async function fillAround({ agents, tasks, memory, blobs, sessions, history }: Everything): Promise<void> {
  await agents.create({ id: "ada", name: "Ada" });
  await agents.saveBlocks("ada", [{ label: "facts", value: "Ada likes tea" }]);
  await agents.appendBlock("ada", "facts", ", and cake");
  await tasks.create("board", ["first", "second"], { agent: "ada" });
  const home = { subject: "Ada", attribute: "home", metadata: { sure: true, tags: ["a", "b"] } };
  await memory.save("Ada lives in Paris", { agent: "ada", ...home, source: { session: "chat" } });
  const rome = await memory.save("Ada lives in Rome", { agent: "ada", ...home, value: "Rome", importance: 0.9 });
  await memory.touch(rome.id, { agent: "ada" });
  await memory.save("a note for a while", { namespace: "notes", ttlMs: 3_600_000 });
  const image = await blobs.store(new Uint8Array([1, 2, 3]), { mediaType: "image/png", ttlMs: 60_000 });
  await history.append(
    { session: "images", agent: "ada" },
    { role: "user", content: [{ type: "image", source: { ref: image } }] },
  );
  const small = await blobs.store("grows ".repeat(3000), { ttlMs: null });
  await blobs.store(`${"grows ".repeat(3000)}and grows`, { growsFrom: small });
  await blobs.store(noise(1_100_000, 1));
  await blobs.store("an orphan", { ttlMs: 0 });
  await blobs.pin(await blobs.store("pinned"));
  await sessions.create({ id: "gone" });
  await history.append({ session: "gone", agent: "ada" }, { role: "user", content: "soon gone" });
  await sessions.delete("gone");
}
