// Sessions suite: delete erases everything the session holds, says what it removed and kept, and leaves a tombstone.
import assert from "node:assert/strict";
import { noise, present, prose, refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

/** A session with something in every noun. */
async function fill(
  store: Pick<CaseContext, "sessions" | "history" | "state" | "tasks" | "log">,
  id: string,
): Promise<void> {
  const scope = { session: id, agent: "helper" };
  await store.sessions.create({ id, tags: ["t"], request: "req", metadata: { secret: id } });
  await store.sessions.setAlias(id, `${id}-alias`);
  await store.history.append(scope, { role: "user", content: `the secret of ${id}` });
  const source = { data: noise(1_000, id.length), mediaType: "image/png" };
  await store.history.append(scope, { role: "user", content: [{ type: "image", source }] });
  await store.state.set(id, { secret: id });
  await store.tasks.create(id, ["one", "two"]);
  await store.log.annotate(id, { note: `secret note on ${id}` });
}

export const sessionDeleteCases: readonly Case[] = [
  prove("LG6 deleting a session that is not there is null", ["sessions"], async ({ sessions }) => {
    assert.equal(await sessions.delete("nobody"), null);
    await sessions.create({ id: "chat" });
    assert.ok((await sessions.delete("chat")) !== null);
    assert.equal(await sessions.delete("chat"), null);
  }),

  prove("LG6 a deleted session is none, by id, alias and in lists", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "chat", agent: "a", tags: ["t"], request: "r" });
    await sessions.create({ id: "kept", agent: "a", tags: ["t"], request: "r" });
    await sessions.setAlias("chat", "name");
    await sessions.delete("chat");
    assert.equal(await sessions.get("chat"), null);
    assert.equal(await sessions.get("name"), null);
    for (const filter of [{}, { agent: "a" }, { tag: "t" }, { request: "r" }, { status: "open" }] as const) {
      const { items } = await sessions.list(filter);
      assert.deepEqual(
        items.map(({ id }) => id),
        ["kept"],
      );
    }
    await sessions.setAlias("kept", "name");
    assert.equal(present(await sessions.get("name")).id, "kept", "its alias is free again");
  }),

  prove("LG6 a deleted id is never used again", ["sessions", "history", "state", "tasks"], async (nouns) => {
    const { sessions, history, state, tasks } = nouns;
    await sessions.create({ id: "chat" });
    await sessions.delete("chat");
    await refuses("SessionDeleted", () => sessions.create({ id: "chat" }));
    await refuses("SessionDeleted", () =>
      history.append({ session: "chat", agent: "a" }, { role: "user", content: "x" }),
    );
    await refuses("SessionDeleted", () => state.set("chat", { a: 1 }));
    await refuses("SessionDeleted", () => state.patch("chat", { a: 1 }));
    await refuses("SessionDeleted", () => tasks.create("chat", ["x"]));
    await refuses(["SessionDeleted", "NotFound"], () => sessions.update("chat", { title: "x" }));
    await refuses(["SessionDeleted", "NotFound"], () => sessions.setAlias("chat", "name"));
    assert.equal(await sessions.get("chat"), null);
  }),

  prove(
    "LG6 delete erases what the session holds and nothing else",
    ["sessions", "history", "state", "tasks", "log", "blobs"],
    async (store) => {
      await fill(store, "gone");
      await fill(store, "kept!");
      const board = present(await store.tasks.root("gone"));
      const messages = await store.history.session("gone");
      const erasure = present(await store.sessions.delete("gone"));
      assert.equal(erasure.removed.messages, 2);
      assert.ok((erasure.removed.blobs ?? 0) >= 2, JSON.stringify(erasure));
      assert.deepEqual(await store.history.session("gone"), []);
      assert.deepEqual(await store.state.get("gone"), {});
      assert.equal((await store.state.getVersioned("gone")).version, 0);
      assert.equal(await store.tasks.get(board.id), null);
      assert.equal(await store.tasks.root("gone"), null);
      assert.deepEqual(await store.tasks.boards("gone"), []);
      for (const { ref } of messages) await refuses(["BlobNotFound", "BlobExpired"], () => store.blobs.resolve(ref));

      assert.equal((await store.history.session("kept!")).length, 2);
      assert.deepEqual(await store.state.get("kept!"), { secret: "kept!" });
      assert.equal(present(await store.tasks.root("kept!")).tasks.length, 2);
      assert.equal(present(await store.sessions.get("kept!-alias")).id, "kept!");
      assert.equal((await store.log.verify("kept!")).ok, true);
    },
  ),

  prove("LG6 blobs shared with a live session stay", ["sessions", "history", "blobs"], async (nouns) => {
    const { sessions, history, blobs } = nouns;
    const input = { role: "user", content: "said in both" } as const;
    await history.append({ session: "gone", agent: "a" }, input);
    const kept = await history.append({ session: "kept", agent: "a" }, input);
    await sessions.delete("gone");
    assert.ok((await blobs.resolve(kept.ref)).byteLength > 0);
    assert.deepEqual(await history.session("kept"), [kept]);
  }),

  prove(
    "LG6 a delete beside writers that never stop also erases their last messages",
    ["sessions", "history", "blobs", "another"],
    async ({ sessions, history, blobs, another }) => {
      const other = await another();
      const refs: string[] = [];
      let messages = 0;
      const lane = async (to: Pick<CaseContext, "history">, name: string) => {
        for (let n = 0; ; n++) {
          const data = new TextEncoder().encode(`${name} ${n} ${"z".repeat(2000)}`);
          const content = [{ type: "document", source: { data, mediaType: "text/plain" } }] as const;
          const message = await to.history.append({ session: "chat", agent: "a" }, { role: "user", content });
          messages += 1;
          const [block] = message.content;
          if (block?.type === "document") refs.push(message.ref, present(block.source.ref));
        }
      };
      const lanes = [0, 1, 2, 3, 4, 5].map((n) =>
        refuses("SessionDeleted", () => lane(n % 2 ? other : { history }, `${n}`)),
      );
      while (messages < 30) await new Promise((next) => setImmediate(next));
      const { removed, kept } = present(await sessions.delete("chat"));
      await Promise.all(lanes);
      assert.equal(removed.messages, messages, "the report is of what was there");
      assert.equal(removed.events, messages + 1);
      assert.deepEqual(kept, { tombstone: 1, blobs: 0 });
      for (const ref of refs) assert.equal(await blobs.stat(ref), null);
    },
  ),

  prove(
    "LG6 what was refused leaves nothing behind",
    ["sessions", "history", "state", "agents", "stats"],
    async (nouns) => {
      const { sessions, history, state, agents, stats } = nouns;
      const large = Buffer.from(prose(1_500_000, 3)).toString();
      await state.set("chat", { small: 1 });
      assert.equal(await state.compareAndSet("chat", 99, { large }), null);
      await sessions.delete("chat");
      await refuses("SessionDeleted", () => state.set("chat", { large }));
      await refuses("SessionDeleted", () => state.patch("chat", { large }));
      const message = { role: "user", content: large } as const;
      await refuses("SessionDeleted", () => history.append({ session: "chat", agent: "a" }, message));
      const image = { type: "image", source: { data: noise(1_500_000, 4), mediaType: "image/png" } } as const;
      await refuses("SessionDeleted", () =>
        history.append({ session: "chat", agent: "a" }, { role: "user", content: [image] }),
      );
      assert.equal((await stats()).blobs.storedBytes, 0);
      const value = "é".repeat(900_000);
      await Promise.all([1, 2].map(() => agents.saveBlocks("a", [{ label: "notes", value, limit: 1_000_000 }])));
      await agents.delete("a");
      assert.equal((await stats()).blobs.storedBytes, 0);
    },
  ),

  prove("LG6 appends and a delete at once end in one order", ["sessions", "history"], async ({ sessions, history }) => {
    const scope = { session: "chat", agent: "a" };
    await history.append(scope, { role: "user", content: "first" });
    const append = (n: number) => history.append(scope, { role: "user", content: `${n}` });
    const early = [0, 1, 2, 3].map(append);
    const deleted = sessions.delete("chat");
    const late = [4, 5, 6, 7].map(append);
    const done = await Promise.allSettled([...early, deleted, ...late]);
    for (const one of done) {
      if (one.status === "rejected") await refuses("SessionDeleted", () => Promise.reject(one.reason));
    }
    assert.ok((await deleted) !== null);
    assert.deepEqual(await history.session("chat"), []);
    assert.equal(await sessions.get("chat"), null);
  }),
];
