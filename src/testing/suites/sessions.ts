// The suite of the sessions contract: identity, change and aliases here, lists and deletion in the files beside.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { sessionRaceCases } from "./races.ts";
import { sessionDeleteCases } from "./sessions-delete.ts";
import { sessionListCases } from "./sessions-list.ts";

export function runSessionsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [
    ...createCases,
    ...updateCases,
    ...aliasCases,
    ...sessionListCases,
    ...sessionDeleteCases,
    ...sessionRaceCases,
  ];
  runCases(`sessions: ${name}`, cases, make, options);
}

const createCases: readonly Case[] = [
  prove("ST5 a session has the id it was given and all that was said of it", ["sessions"], async ({ sessions }) => {
    const metadata = JSON.parse('{"z":1,"a":[null,{"__proto__":1}]}');
    const input = {
      id: "chat-42",
      agent: "helper",
      title: "Über 'Tide'",
      tags: ["b", "a"],
      metadata,
      request: "req-1",
    };
    const session = await sessions.create(input);
    const { id, agent, title, status, tags, aliases, request, messages } = session;
    assert.deepEqual(
      { id, agent, title, request },
      { id: "chat-42", agent: "helper", title: "Über 'Tide'", request: "req-1" },
    );
    assert.deepEqual(
      { status, tags, aliases, messages },
      { status: "open", tags: ["b", "a"], aliases: [], messages: 0 },
    );
    assert.equal(JSON.stringify(session.metadata), JSON.stringify(metadata));
    assert.equal(session.createdAt, session.updatedAt);
    assert.deepEqual(await sessions.get("chat-42"), session);
  }),

  prove("ST5 what is not given is null or empty, and the id is made", ["sessions"], async ({ sessions }) => {
    const made = await Promise.all([sessions.create(), sessions.create({}), sessions.create({ title: "t" })]);
    assert.equal(new Set(made.map(({ id }) => id)).size, 3);
    for (const session of made) {
      assert.ok(session.id.length > 0);
      const { agent, request, tags, metadata, status } = session;
      const expected = { agent: null, request: null, tags: [], metadata: {}, status: "open" };
      assert.deepEqual({ agent, request, tags, metadata, status }, expected);
      assert.deepEqual(await sessions.get(session.id), session);
    }
    assert.equal(made[0]?.title, null);
  }),

  prove("ST7 an id that is taken is AlreadyExists and changes nothing", ["sessions"], async ({ sessions }) => {
    const first = await sessions.create({ id: "chat", title: "first" });
    await refuses("AlreadyExists", () => sessions.create({ id: "chat", title: "second" }));
    assert.deepEqual(await sessions.get("chat"), first);
  }),

  prove("ST2 one id created 16 times at once is one session", ["sessions"], async ({ sessions }) => {
    const done = await Promise.allSettled(range(16).map((n) => sessions.create({ id: "chat", title: `${n}` })));
    const made = done.filter((one) => one.status === "fulfilled").map(({ value }) => value);
    assert.equal(made.length, 1);
    for (const one of done) {
      if (one.status === "rejected") await refuses("AlreadyExists", () => Promise.reject(one.reason));
    }
    assert.deepEqual(await sessions.get("chat"), made[0]);
  }),

  prove("ST11 an unknown session is null", ["sessions"], async ({ sessions }) => {
    assert.equal(await sessions.get("nobody"), null);
  }),

  prove("LG1 the log begins with the session's creation", ["sessions", "log"], async ({ sessions, log }) => {
    const session = await sessions.create({ id: "chat", agent: "helper" });
    assert.equal(session.seq, 1);
    assert.match(session.chain, /^[0-9a-f]{64}$/);
    const [event] = await log.read("chat");
    assert.equal(event?.type, "session/created");
    assert.equal(event?.hash, session.chain);
  }),

  prove("ST2 the first message makes its session, with its agent", ["sessions", "history"], async (nouns) => {
    await nouns.history.append({ session: "chat", agent: "helper" }, { role: "user", content: "hi" });
    const session = present(await nouns.sessions.get("chat"));
    assert.equal(session.agent, "helper");
    assert.equal(session.messages, 1);
    assert.equal(session.status, "open");
    await refuses("AlreadyExists", () => nouns.sessions.create({ id: "chat" }));
  }),
];

const updateCases: readonly Case[] = [
  prove("ST2 update changes only what is given, and the version grows", ["sessions"], async ({ sessions }) => {
    const input = { id: "chat", agent: "helper", title: "old", tags: ["a"], metadata: { k: 1 }, request: "r" };
    const first = await sessions.create(input);
    const second = await sessions.update("chat", { title: "new" });
    assert.equal(second.title, "new");
    assert.ok(second.version > first.version);
    const { tags, metadata, agent, request, status, createdAt } = first;
    const unchanged = { tags, metadata, agent, request, status, createdAt };
    const { version: _v, updatedAt: _u, seq: _s, chain: _c, title: _t, ...rest } = second;
    assert.deepEqual({ ...rest, ...unchanged }, rest);
    const third = await sessions.update("chat", {
      title: null,
      tags: ["b", "c"],
      metadata: { x: null },
      status: "closed",
    });
    assert.equal(third.title, null);
    assert.deepEqual(third.tags, ["b", "c"]);
    assert.deepEqual(third.metadata, { x: null });
    assert.equal(third.status, "closed");
    assert.ok(third.version > second.version);
    assert.deepEqual(await sessions.get("chat"), third);
    assert.equal((await sessions.update("chat", { status: "open" })).status, "open");
  }),

  prove("ST3 updatedAt is the time of the change", ["sessions", "clock"], async ({ sessions, clock }) => {
    const first = await sessions.create({ id: "chat" });
    await clock.advance(60_000);
    const second = await sessions.update("chat", { title: "t" });
    assert.equal(second.createdAt, first.createdAt);
    assert.ok(second.updatedAt >= first.createdAt + 60_000);
  }),

  prove("ST2 a version that has passed is a Conflict and changes nothing", ["sessions"], async ({ sessions }) => {
    const { version } = await sessions.create({ id: "chat" });
    const second = await sessions.update("chat", { title: "mine", version });
    await refuses("Conflict", () => sessions.update("chat", { title: "theirs", version }));
    assert.deepEqual(await sessions.get("chat"), second);
    assert.equal((await sessions.update("chat", { title: "next", version: second.version })).title, "next");
  }),

  prove("ST2 of 16 updates on one version at once exactly one holds", ["sessions"], async ({ sessions }) => {
    const { version } = await sessions.create({ id: "chat" });
    const done = await Promise.allSettled(range(16).map((n) => sessions.update("chat", { title: `${n}`, version })));
    const held = done.filter((one) => one.status === "fulfilled").map(({ value }) => value);
    assert.equal(held.length, 1);
    assert.equal(present(await sessions.get("chat")).title, held[0]?.title);
  }),

  prove("ST2 updates of different fields at once all hold", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "chat" });
    await Promise.all([
      sessions.update("chat", { title: "t" }),
      sessions.update("chat", { tags: ["x"] }),
      sessions.update("chat", { metadata: { m: 1 } }),
      sessions.update("chat", { status: "closed" }),
    ]);
    const { title, tags, metadata, status } = present(await sessions.get("chat"));
    assert.deepEqual(
      { title, tags, metadata, status },
      { title: "t", tags: ["x"], metadata: { m: 1 }, status: "closed" },
    );
  }),

  prove("ST2 messages and state do not change a session's version", ["sessions", "history", "state"], async (nouns) => {
    const { version, seq } = await nouns.sessions.create({ id: "chat" });
    await nouns.history.append({ session: "chat", agent: "a" }, { role: "user", content: "hi" });
    await nouns.state.set("chat", { a: 1 });
    const after = present(await nouns.sessions.get("chat"));
    assert.equal(after.version, version);
    assert.ok(after.seq > seq);
  }),

  prove("ST7 a session that is not there cannot be updated", ["sessions"], async ({ sessions }) => {
    await refuses("NotFound", () => sessions.update("nobody", { title: "t" }));
    assert.equal(await sessions.get("nobody"), null);
  }),

  prove("LG1 a change of a session is an event of its log", ["sessions", "log"], async ({ sessions, log }) => {
    await sessions.create({ id: "chat" });
    const updated = await sessions.update("chat", { title: "t" });
    const events = await log.read("chat");
    assert.deepEqual(
      events.map(({ type }) => type),
      ["session/created", "session/updated"],
    );
    assert.equal(updated.seq, 2);
    assert.equal(updated.chain, events[1]?.hash);
  }),
];

const aliasCases: readonly Case[] = [
  prove("ST5 a session is found by its aliases", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "chat" });
    await sessions.setAlias("chat", "support");
    await sessions.setAlias("chat", "latest");
    const session = present(await sessions.get("support"));
    assert.equal(session.id, "chat");
    assert.deepEqual(session.aliases.toSorted(), ["latest", "support"]);
    assert.deepEqual(await sessions.get("latest"), session);
    assert.deepEqual(await sessions.get("chat"), session);
  }),

  prove("ST2 setting an alias again to the same session changes nothing", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "chat" });
    await sessions.setAlias("chat", "support");
    await sessions.setAlias("chat", "support");
    assert.deepEqual(present(await sessions.get("chat")).aliases, ["support"]);
  }),

  prove("ST2 an alias of another session moves only when asked to", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "one" });
    await sessions.create({ id: "two" });
    await sessions.setAlias("one", "name");
    await refuses(["AlreadyExists", "Conflict"], () => sessions.setAlias("two", "name"));
    await refuses(["AlreadyExists", "Conflict"], () => sessions.setAlias("two", "name", { move: false }));
    assert.equal(present(await sessions.get("name")).id, "one");
    await sessions.setAlias("two", "name", { move: true });
    assert.equal(present(await sessions.get("name")).id, "two");
    assert.deepEqual(present(await sessions.get("one")).aliases, []);
    assert.deepEqual(present(await sessions.get("two")).aliases, ["name"]);
  }),

  prove("ST2 of 8 sessions that want one alias at once exactly one gets it", ["sessions"], async ({ sessions }) => {
    await Promise.all(range(8).map((n) => sessions.create({ id: `s${n}` })));
    const done = await Promise.allSettled(range(8).map((n) => sessions.setAlias(`s${n}`, "name")));
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 1);
    const owner = present(await sessions.get("name")).id;
    assert.equal(done[Number(owner.slice(1))]?.status, "fulfilled");
  }),

  prove("ST5 removeAlias says whether there was one", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "chat" });
    await sessions.setAlias("chat", "name");
    assert.equal(await sessions.removeAlias("name"), true);
    assert.equal(await sessions.get("name"), null);
    assert.deepEqual(present(await sessions.get("chat")).aliases, []);
    assert.equal(await sessions.removeAlias("name"), false);
    assert.equal(await sessions.removeAlias("never"), false);
  }),

  prove("ST7 an alias needs a session that is there", ["sessions"], async ({ sessions }) => {
    await refuses("NotFound", () => sessions.setAlias("nobody", "name"));
    assert.equal(await sessions.get("name"), null);
  }),

  prove("ST5 an id is found before an alias of the same name", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "one" });
    await sessions.create({ id: "two" });
    await sessions.setAlias("one", "two").catch((error) =>
      refuses(["AlreadyExists", "Conflict"], () => {
        throw error;
      }),
    );
    assert.equal(present(await sessions.get("two")).id, "two");
  }),

  prove("LG1 aliases are events of the logs they concern", ["sessions", "log"], async ({ sessions, log }) => {
    await sessions.create({ id: "chat" });
    await sessions.setAlias("chat", "name");
    await sessions.removeAlias("name");
    const types = (await log.read("chat")).map(({ type }) => type);
    assert.deepEqual(types, ["session/created", "alias/set", "alias/removed"]);
  }),
];
