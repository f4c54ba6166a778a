// Hostile suite: ids are plain data. Quotes, path pieces, wildcards and marks of any script name what they name and
// nothing else, and come back character by character.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const IDS = [
  "'",
  '"',
  "`",
  "a'; DROP TABLE sessions; --",
  "' OR '1'='1",
  "%",
  "_",
  "*",
  "?1",
  "$1",
  ":name",
  "\\",
  "\\'",
  "../../etc/passwd",
  "..\\..\\windows",
  "/",
  ".",
  "%2e%2e%2f",
  "a b",
  " a",
  "a",
  "A",
  "a ",
  "\t\r\n",
  "\u0001\u001f\u007f",
  "\u202eright to left\u2066",
  "\ufeff",
  "\u200b",
  "é",
  "e\u0301",
  "ß",
  "ﬃ",
  "İ",
  "ı",
  "😀",
  "👩‍👩‍👧‍👦",
  "\u{10ffff}",
  "\uffff",
  "\ue000",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "true",
  "0",
  "00",
  "1e3",
  "{}",
  "a#1",
  `sha256:${"0".repeat(64)}`,
  "x".repeat(LIMITS.idBytes),
  "😀".repeat(LIMITS.idBytes / 4),
];

export const hostileIdCases: readonly Case[] = [
  prove("ST5 any Unicode names a session, an agent, a run and a key", ["history", "sessions"], async (nouns) => {
    const { history, sessions } = nouns;
    for (const id of IDS) {
      const input = { role: "user", content: id, key: id } as const;
      const message = await history.append({ session: id, agent: id }, input, { run: id });
      assert.equal(message.id, `${id}#${message.seq}`);
      await history.append({ session: "shared", agent: id }, input, { run: id });
    }
    for (const id of IDS) {
      const what = JSON.stringify(id.slice(0, 40));
      const mine = await history.get({ session: id, agent: id }, { run: id });
      assert.deepEqual(
        mine.map(({ session, agent, run, key, content: [block] }) => [session, agent, run, key, block]),
        [[id, id, id, id, { type: "text", text: id }]],
        what,
      );
      assert.equal(present(await sessions.get(id)).id, id, what);
      assert.equal(await history.count({ session: "shared", agent: id }), 1, what);
      assert.equal(await history.count({ session: "shared", agent: id }, { run: id }), 1, what);
      assert.equal((await history.byAgent(id)).length, 2, what);
    }
    assert.equal((await sessions.list()).items.length, IDS.length + 1);
    await history.clear({ session: "shared", agent: "%" });
    await history.clearRun({ session: "shared", agent: "_" }, "_");
    assert.equal((await history.session("shared")).length, IDS.length - 2, "wildcards are no wildcards");
  }),

  prove("ST5 any Unicode is an alias, a tag and a request", ["sessions"], async ({ sessions }) => {
    for (const [n, id] of IDS.entries()) {
      await sessions.create({ id: `s${n}`, tags: [id, "all"], request: id, agent: id, metadata: { [id]: id } });
      await sessions.setAlias(`s${n}`, id);
    }
    for (const [n, id] of IDS.entries()) {
      const what = JSON.stringify(id.slice(0, 40));
      const session = present(await sessions.get(id), what);
      assert.equal(session.id, `s${n}`, what);
      assert.deepEqual(
        [session.tags, session.aliases, session.request, session.agent],
        [[id, "all"], [id], id, id],
        what,
      );
      assert.deepEqual(Object.entries(session.metadata), [[id, id]], what);
      for (const filter of [{ tag: id }, { request: id }, { agent: id }]) {
        const { items } = await sessions.list(filter);
        assert.deepEqual(
          items.map((item) => item.id),
          [`s${n}`],
          what,
        );
      }
    }
    assert.equal((await sessions.list({ tag: "all" })).items.length, IDS.length);
    for (const id of IDS) assert.equal(await sessions.removeAlias(id), true);
  }),

  prove("ST5 any Unicode is a key of state", ["state"], async ({ state }) => {
    for (const id of IDS) await state.patch("chat", { [id]: id });
    for (const id of IDS) assert.equal(await state.getKey("chat", id), id);
    const all = await state.get("chat");
    assert.deepEqual(Object.keys(all).toSorted(), IDS.toSorted());
    await state.patch("chat", {}, { remove: ["%", "_", "*"] });
    assert.equal(Object.keys(await state.get("chat")).length, IDS.length - 3);
  }),

  prove("ST5 any Unicode names an agent and its blocks", ["agents"], async ({ agents }) => {
    for (const id of IDS) {
      await agents.create({ id, tags: [id], agentType: id, toolIds: [id] });
      await agents.saveBlocks(id, [{ label: id, value: id, description: id }]);
    }
    await agents.saveBlocks(
      "all",
      IDS.map((label) => ({ label, value: label })),
    );
    for (const id of IDS) {
      const what = JSON.stringify(id.slice(0, 40));
      const agent = present(await agents.get(id), what);
      assert.deepEqual([agent.id, agent.tags, agent.agentType, agent.toolIds], [id, [id], id, [id]], what);
      const { items } = await agents.list({ tag: id, agentType: id });
      assert.deepEqual(items, [agent], what);
      const block = present(await agents.getBlock(id, id), what);
      assert.deepEqual([block.label, block.value, block.description], [id, id, id], what);
      assert.equal((await agents.appendBlock("all", id, "!")).value, `${id}!`, what);
    }
    assert.deepEqual(
      (await agents.loadBlocks("all")).map(({ label }) => label),
      IDS,
    );
  }),

  prove("ST5 any Unicode names a conversation and its boards, and is text of a task", ["tasks"], async ({ tasks }) => {
    for (const id of IDS) {
      const options = { agent: id, label: id, parent: id };
      await tasks.create("shared", [id], options);
      const board = await tasks.create(id, [`${id}\u0000`], options);
      await tasks.move(board.id, present(board.tasks[0]).id, "blocked", { note: `${id}\u0000` });
    }
    assert.equal((await tasks.boards("shared")).length, IDS.length);
    for (const id of IDS) {
      const board = present(await tasks.root(id));
      const { session, agent, label, parent } = board;
      assert.deepEqual([session, agent, label, parent], [id, id, id, id]);
      assert.deepEqual([board.tasks[0]?.title, board.tasks[0]?.note], [`${id}\u0000`, `${id}\u0000`]);
    }
  }),

  prove("ST5 any Unicode names the session of a log", ["sessions", "log"], async ({ sessions, log }) => {
    for (const id of IDS) {
      await sessions.create({ id });
      const event = await log.annotate(id, { [id]: id }, { agent: id, run: id });
      assert.deepEqual([event.session, event.agent, event.run], [id, id, id]);
      const report = await log.verify(id, { anchor: await log.anchor(id) });
      assert.ok(report.ok && report.session === id && report.events === 2);
    }
  }),

  prove("ST5 JSON as deep as it may be comes back", ["state", "history", "sessions", "blobs"], async (nouns) => {
    const deep = JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`);
    await nouns.state.set("chat", { deep });
    assert.deepEqual(await nouns.state.getKey("chat", "deep"), deep);
    const content = [{ type: "opaque", value: deep }] as const;
    await nouns.history.append({ session: "chat", agent: "a" }, { role: "user", content });
    assert.deepEqual((await nouns.history.session("chat"))[0]?.content, content);
    await nouns.sessions.update("chat", { metadata: deep });
    assert.deepEqual(present(await nouns.sessions.get("chat")).metadata, deep);
    assert.deepEqual(await nouns.blobs.resolveJson(await nouns.blobs.storeJson(deep)), deep);
  }),

  prove(
    "ST5 half a character in JSON comes back or is refused",
    ["state", "blobs", "sessions", "history"],
    async (nouns) => {
      const value = { "text \ud800": ["\udc00", "a\ud83dz"] };
      const codes = ["InvalidJson", "InvalidText", "InvalidId"] as const;
      const attempts = [
        async () => nouns.blobs.resolveJson(await nouns.blobs.storeJson(value)),
        async () => (await nouns.sessions.create({ metadata: value })).metadata,
        async () => {
          await nouns.state.set("chat", { value });
          return nouns.state.getKey("chat", "value");
        },
        async () => {
          const content = [{ type: "opaque", value }] as const;
          await nouns.history.append({ session: "json", agent: "a" }, { role: "user", content });
          const [block] = present((await nouns.history.session("json"))[0]).content;
          return block?.type === "opaque" ? block.value : undefined;
        },
      ];
      for (const attempt of attempts) {
        const read = await attempt().catch((error) => refuses(codes, () => Promise.reject(error)).then(() => value));
        assert.equal(JSON.stringify(read), JSON.stringify(value));
      }
      const scope = { session: "speech", agent: "a" };
      const said = await nouns.history
        .append(scope, { role: "user", content: "half \ud83d" })
        .catch((error) => refuses("InvalidText", () => Promise.reject(error)).then(() => null));
      assert.deepEqual(await nouns.history.get(scope), said === null ? [] : [said]);
      assert.ok(said === null || JSON.stringify(said.content).includes("half \\ud83d"));
    },
  ),

  prove("ST8 offsets and positions beyond everything give nothing", ["history", "log", "agents"], async (nouns) => {
    const scope = { session: "chat", agent: "a" };
    await nouns.history.append(scope, { role: "user", content: "hi" });
    const far = Number.MAX_SAFE_INTEGER;
    assert.deepEqual(await nouns.history.get(scope, { offset: far }), []);
    assert.deepEqual(await nouns.history.get(scope, { after: far }), []);
    assert.deepEqual(await nouns.history.get(scope, { since: far }), []);
    assert.deepEqual(await nouns.history.session("chat", { offset: far, limit: 1 }), []);
    assert.deepEqual(await nouns.log.read("chat", { after: far }), []);
    assert.deepEqual(await nouns.history.byAgent("a", { since: far }), []);
  }),

  prove("ST5 a thousand ids made at once are all different", ["sessions"], async ({ sessions }) => {
    const made = await Promise.all(range(1_000).map(() => sessions.create()));
    assert.equal(new Set(made.map(({ id }) => id)).size, 1_000);
  }),
];
