// Short contents and the index of their hashes, beside deletes, other handles and writers that never stop.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Message } from "../../contracts/messages.ts";
import { open } from "../../open.ts";

/** More than are looked through without having them indexed. */
const MANY = 2500;
const UNKNOWN_REF = `sha256:${"ab".repeat(32)}`;

const say = (session: string, text: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ role: "user", content: `${session} ${text} ${i}` }) as const);

for (const engine of ENGINES) {
  describe(`short contents on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    let other: Holdfast;
    beforeEach(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url);
      other = await open(ground.url);
    });
    afterEach(async () => {
      await hf.close();
      await other.close();
      await ground.end();
    });

    test("LG6 nothing of an erased hash stays in the index, also if another handle fills it meanwhile", async () => {
      for (let round = 0; round < 4; round++) {
        const scope = { session: `s${round}`, agent: "a" };
        await hf.history.appendMany(scope, say(scope.session, "erased", MANY));
        const looking = other.blobs.exists(UNKNOWN_REF);
        await Promise.all([round % 2 === 0 ? hf.sessions.delete(scope.session) : hf.history.clear(scope), looking]);
        await other.blobs.exists(UNKNOWN_REF);
      }
      const [left] = await ground.driver.read(
        "SELECT count(*) AS n FROM word_refs r WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.no = r.event_no AND e.words IS NOT NULL)",
        [],
      );
      expect(left?.n).toBe(0);
    });

    test("LG6 what was indexed leaves the index, be it cleared, cleared by its run or deleted", async () => {
      const cleared = { session: "cleared", agent: "a" };
      const run = { session: "run", agent: "a" };
      const deleted = { session: "deleted", agent: "a" };
      for (const scope of [cleared, run, deleted]) {
        await hf.history.appendMany(scope, say(scope.session, "erased", MANY), { run: "r" });
      }
      const indexed = async () => (await ground.driver.read("SELECT count(*) AS n FROM word_refs", []))[0]?.n;
      // One lookup indexes all of them, in as many commits as it takes.
      await hf.blobs.exists(UNKNOWN_REF);
      await expect.poll(indexed, { timeout: 20_000 }).toBe(3 * MANY);
      await hf.history.clear(cleared);
      expect(await indexed()).toBe(2 * MANY);
      await hf.history.clearRun(run, "r");
      expect(await indexed()).toBe(MANY);
      await hf.sessions.delete(deleted.session);
      expect(await indexed()).toBe(0);
    });

    test("BL1 contents whose hashes begin alike are told apart", async () => {
      const scope = { session: "s", agent: "a" };
      const [other, said] = (await hf.history.appendMany(scope, say("s", "alike", 2))) as [Message, Message];
      const alike = `${said.ref.slice(0, -2)}${said.ref.endsWith("00") ? "01" : "00"}`;
      const prefix = Buffer.from(said.ref.slice("sha256:".length), "hex").subarray(0, 8);
      await ground.driver.transact(function* () {
        const sql = "INSERT INTO word_refs (prefix, event_no) SELECT ?, no FROM events WHERE words IS NOT NULL";
        const done = "UPDATE counters SET n = (SELECT max(no) FROM events) WHERE name = 'word_refs'";
        const statements = [
          { kind: "query", sql, params: [prefix] },
          { kind: "query", sql: done, params: [] },
        ] as const;
        yield { statements, last: true };
      });
      expect(other.seq).toBeLessThan(said.seq);
      expect(await hf.blobs.resolveJson(said.ref)).toEqual({ content: said.content });
      expect((await hf.blobs.stat(said.ref))?.references).toBe(1);
      expect(await hf.blobs.exists(alike)).toBe(false);
    });

    test("BL1 refs resolve though the newest rows are deleted while the index is filled", async () => {
      for (let round = 0; round < 6; round++) {
        const gone = { session: `gone${round}`, agent: "a" };
        await hf.history.appendMany(gone, say(gone.session, "gone", MANY));
        await Promise.all([other.blobs.exists(UNKNOWN_REF), hf.sessions.delete(gone.session)]);
        const kept = { session: `kept${round}`, agent: "a" };
        const [message] = await hf.history.appendMany(kept, say(kept.session, "kept", 3));
        await other.blobs.exists(UNKNOWN_REF);
        expect(await hf.blobs.resolveJson((message as Message).ref)).toEqual({ content: message?.content });
        expect((await hf.blobs.stat((message as Message).ref))?.references).toBe(1);
      }
    });
  });
}

describe("short contents on SQLite", () => {
  test("ST11 a lookup waits for no writer", async () => {
    const ground = await ENGINES.find((one) => one.name === "sqlite")?.fresh();
    if (ground === undefined) throw new Error("no SQLite among the engines");
    const hf = await open(ground.url, { busyMs: 0 });
    const { ref } = await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hello" });
    const writer = new DatabaseSync(ground.url);
    writer.exec("BEGIN IMMEDIATE");
    try {
      expect(await hf.blobs.exists(ref)).toBe(true);
      expect(await hf.blobs.resolveJson(ref)).toEqual({ content: [{ type: "text", text: "hello" }] });
      expect((await hf.blobs.stat(ref))?.references).toBe(1);
      expect(await hf.blobs.exists(UNKNOWN_REF)).toBe(false);
    } finally {
      writer.exec("ROLLBACK");
      writer.close();
      await hf.close();
      await ground.end();
    }
  });
});
