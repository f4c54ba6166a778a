// State and rows as they were at each head.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { NEEDS, say } from "./lineage-fixture.ts";

export const stateCases: readonly Case[] = [
  prove(
    "SE2 state goes with the lineage: back with rewind, along with fork, and apart afterwards",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      await nouns.state.set("chat", { a: 1, b: 1 });
      const first = await heads.publish("chat");
      await nouns.state.patch("chat", { b: 2, c: 2 });
      const second = await heads.publish("chat");
      await sessions.fork(`chat@${first.id}`, { id: "fork" });
      assert.deepEqual(await nouns.state.get("fork"), { a: 1, b: 1 });
      await nouns.state.patch("fork", { d: 3 }, { remove: ["a"] });
      assert.deepEqual(await nouns.state.get("fork"), { b: 1, d: 3 });
      assert.equal(await nouns.state.getKey("fork", "a"), undefined);
      assert.equal(await nouns.state.getKey("fork", "b"), 1);
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 2, c: 2 });
      await sessions.rewind(`chat@${first.id}`);
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 1 });
      assert.deepEqual(await (await sessions.at(`chat@${second.id}`)).state(), { a: 1, b: 2, c: 2 });
      await nouns.state.set("fork", { e: 5 });
      assert.deepEqual(await nouns.state.get("fork"), { e: 5 });
      assert.equal(await nouns.state.getKey("fork", "b"), undefined);
      await nouns.state.clear("fork");
      assert.deepEqual(await nouns.state.get("fork"), {});
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 1 });
    },
  ),

  prove("SE2 a decision on the state before a rewind is not carried out after it", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await nouns.state.set("chat", { a: 1 });
    const first = await heads.publish("chat");
    const { version } = await nouns.state.set("chat", { a: 2 });
    await sessions.rewind(`chat@${first.id}`);
    assert.equal(await nouns.state.compareAndSet("chat", version, { a: 3 }), null);
    assert.deepEqual(await nouns.state.get("chat"), { a: 1 });
  }),
];

export const rowCases: readonly Case[] = [
  prove(
    "SE7 a leaf call keeps its request, a root call a descriptor; unknown cost is null",
    [...NEEDS, "blobs"],
    async (nouns) => {
      const { calls, turns } = nouns.lineage;
      const [message] = await say(nouns, "chat", "hi");
      const turn = await turns.begin("chat");
      const leaf = await calls.start("chat", {
        type: "leaf",
        model: "m",
        provider: "p",
        request: { q: 1 },
        turn: turn.id,
      });
      assert.equal(leaf.status, "started");
      assert.deepEqual(await nouns.blobs.resolveJson(present(leaf.requestRef)), { q: 1 });
      const done = await calls.finish(leaf.id, { response: { a: 2 }, inputTokens: 10, outputTokens: 5, costUsd: 0.25 });
      assert.deepEqual(await calls.get(leaf.id), done);
      assert.deepEqual([done.status, done.costUsd, done.requestRef], ["done", 0.25, leaf.requestRef]);
      const root = await calls.add("chat", {
        type: "root",
        descriptor: { messages: [present(message).id], system: "be kind" },
        response: "hello",
      });
      const descriptor = await nouns.blobs.resolveJson(present(root.requestRef));
      assert.deepEqual((descriptor as { messageIds: unknown }).messageIds, [present(message).id]);
      assert.equal((descriptor as { rendered: unknown }).rendered, false);
      assert.equal(root.costUsd, null);
      assert.equal((await calls.add("chat", { type: "leaf", error: "rate limit" })).status, "failed");
      await refuses("InvalidTransition", () => calls.finish(leaf.id, {}));
      await refuses("NotFound", () => calls.finish("chat#999", {}));
      await refuses("InvalidArgument", () => calls.add("chat", { type: "leaf", costUsd: Number.NaN }));
      // @ts-expect-error The compiler refuses it too.
      await refuses("InvalidArgument", () => calls.start("chat", { type: "root", request: {} }));
      // @ts-expect-error
      await refuses("InvalidArgument", () => calls.add("chat", { type: "leaf", descriptor: { messages: [] } }));
    },
  ),

  prove("SE2 a row shows at each head the version it had there", NEEDS, async (nouns) => {
    const { calls, evals, heads, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "chat" });
    const call = await calls.start("chat", { type: "leaf", request: "q" });
    const run = await evals.start("chat", { code: "1 + 1" });
    const before = await heads.publish("chat");
    await calls.finish(call.id, { response: "a" });
    await evals.finish(run.id, { result: 2 });
    const after = await heads.publish("chat");
    const at = async (head: string) => {
      const view = await sessions.at(`chat@${head}`);
      return [(await view.calls())[0]?.status, (await view.evals())[0]?.status, (await view.calls()).length];
    };
    assert.deepEqual(await at(before.id), ["started", "running", 1]);
    assert.deepEqual(await at(after.id), ["done", "done", 1]);
    assert.deepEqual([before.counts.calls, after.counts.calls, after.counts.evals], [1, 1, 1]);
    await sessions.fork(`chat@${before.id}`, { id: "fork" });
    assert.equal((await (await sessions.at("fork")).calls())[0]?.status, "started");
    await sessions.rewind(`chat@${before.id}`);
    assert.equal((await (await sessions.at("chat")).calls())[0]?.status, "started");
  }),

  prove(
    "SE7 snapshots and evals keep their payloads, and a session takes them along when it goes",
    [...NEEDS, "blobs"],
    async (nouns) => {
      const { evals, snapshots, calls } = nouns.lineage;
      const [message] = await say(nouns, "chat", "code");
      const snapshot = await snapshots.add("chat", { big: "x".repeat(5000) });
      assert.deepEqual(await snapshots.vars(snapshot.id), { big: "x".repeat(5000) });
      const one = await evals.add("chat", { code: "boom()", error: { message: "boom" }, message: present(message).id });
      assert.equal(one.status, "failed");
      const call = await calls.add("chat", { type: "leaf", request: "secret question", response: "secret answer" });
      await nouns.sessions.delete("chat");
      for (const ref of [snapshot.varsRef, one.codeRef, one.errorRef, call.requestRef, call.responseRef]) {
        assert.equal(await nouns.blobs.exists(present(ref)), false);
      }
      assert.equal(await calls.get(call.id), null);
    },
  ),
];
