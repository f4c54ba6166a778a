// Parts of deleted or partly imported sessions are removed with the last session that needs them, in the commit of that
// deletion.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore, lostAfterCommit } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { open } from "../open.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { fileOf } from "../testing/expect.ts";
import { eraseSession } from "./erase-session.ts";
import { shrinkTombstones } from "./tombstones.ts";

const say = (store: Holdfast, session: string, content: string, agent = "ada") =>
  store.history.append({ session, agent }, { role: "user", content });

async function shownBy(store: Holdfast, session: string): Promise<readonly boolean[]> {
  return (await (await store.sessions.at(session)).messages()).map((message) => !("erased" in message));
}

describe.each(ENGINES.map((engine, i) => [i, engine] as const))("what is kept (engine %i)", (_, engine) => {
  let ground: EngineStore;
  let here: Holdfast;
  let home: Holdfast;
  let storage: SqlStorage;
  beforeEach(async () => {
    ground = await engine.fresh();
    [here, home] = [await open(ground.url), await open(":memory:")];
    storage = new SqlStorage(ground.driver, realEnvironment());
  });
  afterEach(async () => {
    await here.close();
    await home.close();
    await ground.end();
  });

  const run = (...texts: readonly string[]) =>
    ground.driver.transact(function* () {
      yield { statements: texts.map((sql) => ({ kind: "query" as const, sql, params: [] })), last: true };
    });
  const rowsOf = async (table: string, id: string) =>
    (await ground.driver.read(`SELECT 1 FROM ${table} WHERE session_no = (SELECT no FROM sessions WHERE id = ?)`, [id]))
      .length;
  const issues = async () => (await here.check()).issues.map(({ kind, rows }) => [kind, ...rows]);

  /** Runs `others` once, after a deletion was decided and before it commits. */
  function interrupted(others: () => Promise<unknown>): Storage {
    let isOver = false;
    return {
      ...lostAfterCommit(storage),
      query: (name, params) => storage.query(name, params),
      async commit(commit) {
        if (!isOver) await others();
        isOver = true;
        return storage.commit(commit);
      },
    };
  }

  /** Leaves the state of a deletion that crashed before it freed the parts that others kept for it. */
  async function leave(id: string): Promise<void> {
    const tables = ["events", "branches", "derivations", "heads"];
    await run(
      ...tables.map((table) => `DELETE FROM ${table} WHERE session_no = (SELECT no FROM sessions WHERE id = '${id}')`),
    );
    const [row] = await storage.query("session.get", { id });
    await storage.commit({ writes: [{ op: "run", statement: "session.tombstone", params: [1, 1, row?.no ?? 0] }] });
  }

  test("LG6 is removed in the commit that deletes the last session that inherits it", async () => {
    await say(here, "source", "secret");
    await here.sessions.fork("source", { id: "fork" });
    await say(here, "fork", "secret too");
    await here.sessions.fork("fork", { id: "last" });
    await here.sessions.delete("source");
    await here.sessions.delete("fork");
    expect([await rowsOf("events", "source"), await rowsOf("events", "fork")]).toEqual([2, 3]);
    const lost = lostAfterCommit(storage);
    await expect(eraseSession(lost, createPayloads(storage), "last", false)).rejects.toMatchObject({
      code: "StoreUnreachable",
    });
    for (const id of ["source", "fork", "last"]) {
      expect([id, await rowsOf("events", id), await rowsOf("remains", id)]).toEqual([id, 0, 0]);
    }
    expect(await issues()).toEqual([]);
  });

  test("LG6 is reported with everything that was removed", async () => {
    const content = "secret ".repeat(1000);
    await say(here, "source", content);
    await here.sessions.fork("source", { id: "fork" });
    await say(here, "fork", content);
    expect(await here.sessions.delete("source")).toMatchObject({ removed: { messages: 0 }, kept: { inherited: 1 } });
    const report = await here.sessions.delete("fork");
    expect(report).toMatchObject({ removed: { messages: 2, blobs: 1 }, kept: { tombstone: 1, blobs: 0 } });
    expect((await here.blobs.list()).items).toEqual([]);
  });

  test.each(["delete", "gc"] as const)(
    "SE10 the checker names parts that were left behind, and %s frees them",
    async (how) => {
      await say(here, "source", "secret");
      await here.sessions.fork("source", { id: "fork" });
      await here.sessions.delete("source");
      await leave("fork");
      expect(await issues()).toEqual([["remains-left", "source"]]);
      if (how === "gc") {
        await here.blobs.gc({ dryRun: true });
        expect(await rowsOf("events", "source")).toBe(2);
        await here.blobs.gc();
      } else expect(await here.sessions.delete("fork")).toMatchObject({ removed: { messages: 1 } });
      expect(await rowsOf("events", "source")).toBe(0);
      expect(await issues()).toEqual([]);
      expect(await here.sessions.delete("fork")).toBeNull();
    },
  );

  test("LG6 everywhere also erases the kept parts of a session that was deleted before", async () => {
    await say(here, "source", "secret");
    await here.state.set("source", { key: "secret" });
    await here.sessions.fork("source", { id: "fork" });
    await here.sessions.delete("source");
    expect(await here.sessions.delete("source")).toBeNull();
    expect(await here.sessions.delete("source", { everywhere: true })).toMatchObject({
      removed: { messages: 1, state: 1 },
      kept: { tombstone: 1, blobs: 0 },
    });
    expect(await shownBy(here, "fork")).toEqual([false]);
    expect(await here.state.get("fork")).toEqual({});
    expect(await issues()).toEqual([]);
    await here.sessions.delete("fork");
    expect(await here.sessions.delete("source", { everywhere: true })).toBeNull();
  });

  test("LG6 everywhere also erases a session that was imported in part with a fork", async () => {
    await say(home, "source", "secret");
    for (const id of ["fork", "other"]) await home.sessions.fork("source", { id });
    const whole = await fileOf(home, "source");
    const other = await fileOf(home, "other");
    await here.sessions.import(await fileOf(home, "fork"));
    expect(await here.sessions.delete("source", { everywhere: true })).toEqual({
      removed: { messages: 1, events: 0, state: 0, annotations: 0, blobs: 0, bytes: expect.any(Number) },
      kept: { blobs: 0, events: 2 },
    });
    await here.sessions.import(other);
    await expect(here.sessions.import(whole)).rejects.toMatchObject({ code: "Conflict" });
    for (const id of ["fork", "other"]) expect([id, await shownBy(here, id)]).toEqual([id, [false]]);
    expect(await issues()).toEqual([]);
    // Cleared in its own session too: then the event is known, and so are the heads that show a placeholder.
    await home.history.clear({ session: "source", agent: "ada" });
    await here.sessions.import(await fileOf(home, "other"));
    expect((await fileOf(here, "other")).equals(await fileOf(home, "other"))).toBe(true);
    expect(await issues()).toEqual([]);
  });

  test("AR1 a name is removed with the last session that names it", async () => {
    for (const id of ["boss", "chief"]) {
      const store = await open(":memory:");
      await store.sessions.create({ id });
      await store.invocations.start(id, { session: { id: "kid" } });
      await here.sessions.import(await fileOf(store, id));
      await store.close();
    }
    await expect(here.sessions.delete("kid")).rejects.toMatchObject({
      code: "Conflict",
      details: { namedBy: ["boss", "chief"] },
    });
    await here.sessions.fork("boss", { id: "fork" });
    await here.sessions.delete("boss", { everywhere: true });
    await here.sessions.delete("chief");
    // An inherited event of the fork still names it.
    await expect(here.sessions.create({ id: "kid" })).rejects.toMatchObject({ code: "SessionDeleted" });
    await here.sessions.delete("fork");
    expect(await here.sessions.create({ id: "kid" })).toMatchObject({ seq: 1 });
    expect(await issues()).toEqual([]);
  });

  test("AR1 a name that was left behind can be deleted", async () => {
    await home.sessions.create({ id: "boss" });
    await home.invocations.start("boss", { session: { id: "kid" } });
    await here.sessions.import(await fileOf(home, "boss"));
    await run("DELETE FROM invocations", "UPDATE sessions SET deleted_at = 1 WHERE id = 'boss'");
    expect(await here.sessions.delete("kid")).toMatchObject({ removed: { names: 1 } });
    expect(await here.sessions.delete("kid")).toBeNull();
  });

  test("AR3 a partly imported session is removed with the last session that inherits it, and its id is free again", async () => {
    await say(home, "source", "secret");
    await home.sessions.fork("source", { id: "fork" });
    await here.sessions.import(await fileOf(home, "fork"));
    await here.sessions.delete("fork");
    expect(await here.sessions.create({ id: "source" })).toMatchObject({ seq: 1 });
    expect(await issues()).toEqual([]);
  });

  test("AR3 a part that was imported whole meanwhile is not treated as a kept part", async () => {
    await say(home, "source", "mine");
    const whole = await fileOf(home, "source");
    await home.sessions.fork("source", { id: "fork" });
    await here.sessions.import(await fileOf(home, "fork"));
    await eraseSession(
      interrupted(() => here.sessions.import(whole)),
      createPayloads(storage),
      "fork",
      false,
    );
    expect(await shownBy(here, "source")).toEqual([true]);
    expect(await issues()).toEqual([]);
  });

  test("AR3 a part that was left behind, and was imported whole meanwhile, is not freed", async () => {
    await say(home, "source", "mine");
    const whole = await fileOf(home, "source");
    await home.sessions.fork("source", { id: "fork" });
    await here.sessions.import(await fileOf(home, "fork"));
    await leave("fork");
    await shrinkTombstones(
      interrupted(() => here.sessions.import(whole)),
      createPayloads(storage),
    );
    expect(await shownBy(here, "source")).toEqual([true]);
    expect(await issues()).toEqual([]);
  });

  test("LG6 a source that is deleted meanwhile keeps nothing for a fork that is deleted too", async () => {
    await say(here, "source", "secret");
    await here.sessions.fork("source", { id: "fork" });
    const others = interrupted(() => here.sessions.delete("source"));
    // The process crashes after its commit.
    const cut: Storage = { ...others, reclaim: () => Promise.reject(new Error("cut off")) };
    await expect(eraseSession(cut, createPayloads(storage), "fork", false)).rejects.toThrow("cut off");
    expect(await rowsOf("events", "source")).toBe(0);
    expect(await issues()).toEqual([]);
  });

  test("SE10 the checker names a message that a clear should have removed, both where it is kept and where it is inherited", async () => {
    await say(here, "source", "one");
    await say(here, "source", "secret", "bob");
    const [row] = await ground.driver.read("SELECT words, sha256, salt FROM events WHERE seq = 3", []);
    await here.history.clear({ session: "source", agent: "bob" });
    await here.sessions.fork("source", { id: "fork" });
    await here.sessions.delete("source");
    expect(await issues()).toEqual([]);
    await ground.driver.transact(function* () {
      const sql = "UPDATE events SET erased_seq = NULL, words = ?, sha256 = ?, salt = ? WHERE erased_seq = 4";
      yield { statements: [{ kind: "query", sql, params: [row?.words, row?.sha256, row?.salt] as never }], last: true };
    });
    expect(await issues()).toContainEqual(["row-mismatch", "source#4"]);
    const { issues: found } = await here.check({ session: "fork" });
    expect(found.map(({ kind, rows }) => [kind, ...rows])).toContainEqual(["row-mismatch", "source#4"]);
  });

  test("SE10 the checker names a head of a session of which only the name is here", async () => {
    await home.sessions.create({ id: "boss" });
    await home.invocations.start("boss", { session: { id: "kid" } });
    await home.heads.publish("boss");
    await here.sessions.import(await fileOf(home, "boss"));
    expect(await issues()).toEqual([]);
    await run("UPDATE invocations SET callee_head_before = (SELECT min(no) FROM heads)");
    expect(await issues()).toEqual([["row-mismatch", "boss#2"]]);
  });
});
