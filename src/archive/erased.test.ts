// What was deleted or erased does not come back with an archive that is older.
import { beforeEach, describe, expect, test } from "vitest";
import { casesFor, ENGINES, type EngineStore, openPair } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fileOf } from "../testing/expect.ts";

const say = (store: Holdfast, session: string, content: string) =>
  store.history.append({ session, agent: "ada" }, { role: "user", content });

describe.each(ENGINES.map((engine, i) => [i, engine] as const))("an older archive (engine %i)", (_, engine) => {
  let ground: EngineStore;
  let here: Holdfast;
  let home: Holdfast;
  beforeEach(async () => {
    const pair = await openPair(engine);
    ({ here, home, ground } = pair);
    return pair.close;
  });

  /** Forks of a source that says one more thing before each. */
  async function forks(): Promise<readonly Buffer[]> {
    const files: Buffer[] = [];
    for (const n of [0, 1, 2]) {
      await say(home, "source", `secret ${n}`);
      await home.sessions.fork("source", { id: `fork ${n}` });
      files.push(await fileOf(home, `fork ${n}`));
    }
    return files;
  }

  test.each([false, true])("AR3 of a fork brings nothing of a deleted session (everywhere: %s)", async (everywhere) => {
    const [first, second, third] = (await forks()) as [Buffer, Buffer, Buffer];
    await here.sessions.import(await fileOf(home, "source"));
    await here.sessions.import(second);
    await here.sessions.delete("source", { everywhere });
    const before = await here.stats();
    await expect(here.sessions.import(third)).rejects.toMatchObject({
      code: "Conflict",
      retryable: false,
      message: expect.stringContaining("was deleted in this store"),
      details: { kind: "session", id: "source" },
    });
    expect((await here.stats()).nouns).toEqual(before.nouns);
    // What is kept of it serves as it is.
    await here.sessions.import(first);
    const shown = await (await here.sessions.at("fork 0")).messages();
    expect(shown.map((message) => "erased" in message)).toEqual([everywhere]);
    expect((await here.check()).issues).toEqual([]);
    await here.sessions.delete("fork 0");
    await here.sessions.delete("fork 1");
    await expect(here.sessions.import(third)).rejects.toMatchObject({ code: "Conflict" });
    expect((await here.check()).issues).toEqual([]);
  });

  test("AR3 forks of one session that is not here come at once", async () => {
    const files = await forks();
    const stores = await Promise.all(files.map(() => open(ground.url)));
    try {
      for (const round of [1, 2]) {
        const all = await Promise.allSettled(files.map((file, i) => stores[i]?.sessions.import(file)));
        expect(all.map((one) => (one.status === "rejected" ? one.reason : "ok"))).toEqual(["ok", "ok", "ok"]);
        for (const n of [0, 1, 2]) {
          const messages = await (await here.sessions.at(`fork ${n}`)).messages();
          expect([round, messages.length]).toEqual([round, n + 1]);
        }
      }
      expect((await here.check()).issues).toEqual([]);
    } finally {
      for (const store of stores) await store.close();
    }
  });

  test.each([false, true])("AR3 does not make a part grow that came erased (everywhere: %s)", async (everywhere) => {
    const [, , third] = (await forks()) as [Buffer, Buffer, Buffer];
    if (everywhere) await home.sessions.delete("source", { everywhere });
    else await home.history.clear({ session: "source", agent: "ada" });
    await here.sessions.import(await fileOf(home, "fork 0"));
    await expect(here.sessions.import(third)).rejects.toMatchObject({
      code: "Conflict",
      message: expect.stringContaining("was erased in this store"),
    });
    expect(await here.sessions.get("fork 2")).toBeNull();
    // As it is now, it comes.
    await here.sessions.import(await fileOf(home, "fork 2"));
    const shown = await (await here.sessions.at("fork 2")).messages();
    expect(shown.map((message) => "erased" in message)).toEqual([true, true, true]);
    expect((await here.check()).issues).toEqual([]);
  });

  test("AR3 completes a part also when notes went with a deletion that kept the rest", async () => {
    await say(home, "source", "kept");
    await home.log.annotate("source", { note: "gone" });
    await say(home, "source", "kept too");
    const whole = await fileOf(home, "source");
    await home.sessions.fork("source", { id: "fork" });
    await home.sessions.delete("source");
    await here.sessions.import(await fileOf(home, "fork"));
    expect((await here.sessions.import(whole)).sessions[0]?.outcome).toBe("imported");
    expect((await fileOf(here, "source")).equals(whole)).toBe(true);
    expect((await here.check()).issues).toEqual([]);
  });

  const SECRETS: readonly (readonly [what: string, write: (store: Holdfast) => Promise<unknown>])[] = [
    ["a message", (store) => say(store, "source", "secret")],
    ["state", (store) => store.state.set("source", { key: "secret" })],
    ["state that expires", (store) => store.state.set("source", { key: "secret" }, { ttlMs: 1_000_000 })],
    ["a final value", (store) => store.heads.publish("source", { final: "secret" })],
    ["a label", (store) => store.invocations.start("source", { label: "secret" })],
    ["an annotation", (store) => store.log.annotate("source", { note: "secret" })],
    ["a call", (store) => store.calls.add("source", { type: "leaf", request: { note: "secret" } })],
  ];
  const secrets = casesFor(engine, SECRETS, ([what]) => (what === "an annotation" ? what : "erased everywhere"));
  test.each(secrets)("AR3 does not complete a part with %s that was erased since", async (_what, write) => {
    await home.sessions.create({ id: "source" });
    await write(home);
    const whole = await fileOf(home, "source");
    await home.sessions.fork("source", { id: "fork" });
    const early = await fileOf(home, "fork");
    await home.sessions.delete("source", { everywhere: true });
    await here.sessions.import(await fileOf(home, "fork"));
    const before = await here.stats();
    await expect(here.sessions.import(whole)).rejects.toMatchObject({
      code: "Conflict",
      message: expect.stringContaining("was erased in this store"),
    });
    expect((await here.stats()).nouns).toEqual(before.nouns);
    expect((await here.check()).issues).toEqual([]);
    // The same, and nothing was erased.
    const other = await open(":memory:");
    await other.sessions.import(early);
    expect((await other.sessions.import(whole)).sessions[0]?.outcome).toBe("imported");
    expect((await other.check()).issues).toEqual([]);
    await other.close();
  });

  /** What a session shows; null where something was erased. */
  async function shownBy(store: Holdfast, session: string): Promise<readonly (string | null)[]> {
    const messages = await (await store.sessions.at(session)).messages();
    return messages.map((message) => ("erased" in message ? null : JSON.stringify(message.content)));
  }

  /** A source of which something was cleared between two forks; the first also as it was before. */
  async function cleared(): Promise<Readonly<Record<"before" | "first" | "second" | "third", Buffer>>> {
    await say(home, "source", "one");
    const content = [{ type: "text" as const, text: `secret ${"long ".repeat(400)}` }];
    await home.history.append({ session: "source", agent: "bob" }, { role: "user", content: "secret", key: "k" });
    await home.history.append({ session: "source", agent: "bob" }, { role: "user", content });
    await home.sessions.fork("source", { id: "first" });
    const before = await fileOf(home, "first");
    await home.history.clear({ session: "source", agent: "bob" });
    await home.sessions.fork("source", { id: "second" });
    await say(home, "second", "own");
    await home.heads.publish("second");
    await say(home, "source", "two");
    await home.sessions.fork("source", { id: "third" });
    const [first, second, third] = [
      await fileOf(home, "first"),
      await fileOf(home, "second"),
      await fileOf(home, "third"),
    ];
    return { before, first, second, third };
  }

  const orders = [
    ["grows", ["before", "second"]],
    ["grows twice", ["before", "second", "third"]],
    ["is as long", ["second", "before"]],
    ["is longer", ["third", "before", "second"]],
    ["is here already", ["before", "first"]],
    ["came late", ["third", "first", "before", "second"]],
  ] as const;
  const arrivals = casesFor<(typeof orders)[number]>(engine, orders, ([, [first]]) => first);
  test.each(arrivals)("AR3 what an archive knows to be erased goes where the part %s", async (_how, order) => {
    const files = await cleared();
    for (const name of order) await here.sessions.import(files[name]);
    for (const id of new Set(order.map((name) => (name === "before" ? "first" : name)))) {
      expect([id, await shownBy(here, id)]).toEqual([id, await shownBy(home, id)]);
      expect((await fileOf(here, id)).equals(await fileOf(home, id))).toBe(true);
    }
    expect((await here.check()).issues).toEqual([]);
    expect((await here.blobs.list()).items).toEqual([]);
  });

  test("AR3 what an archive knows to be erased goes from what was kept of a deleted session", async () => {
    await say(home, "source", "secret");
    const whole = await fileOf(home, "source");
    for (const id of ["fork", "other"]) await home.sessions.fork("source", { id });
    const early = await fileOf(home, "fork");
    await home.history.clear({ session: "source", agent: "ada" });
    await here.sessions.import(whole);
    await here.sessions.import(early);
    await here.sessions.delete("source");
    expect(await shownBy(here, "fork")).toEqual([expect.stringContaining("secret")]);
    await here.sessions.import(await fileOf(home, "other"));
    for (const id of ["fork", "other"]) expect([id, await shownBy(here, id)]).toEqual([id, [null]]);
    expect((await here.check()).issues).toEqual([]);
  });

  test.each(secrets)("AR3 %s that was erased since goes here too", async (what, write) => {
    await home.sessions.create({ id: "source" });
    await write(home);
    for (const id of ["fork", "other"]) await home.sessions.fork("source", { id });
    await here.sessions.import(await fileOf(home, "fork"));
    await home.sessions.delete("source", { everywhere: what !== "an annotation" });
    await here.sessions.import(await fileOf(home, "other"));
    for (const id of ["fork", "other"]) expect((await fileOf(here, id)).equals(await fileOf(home, id))).toBe(true);
    expect((await here.check()).issues).toEqual([]);
    expect((await here.blobs.list()).items).toEqual([]);
  });
});
