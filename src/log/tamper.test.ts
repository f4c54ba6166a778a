// Changes rows as a fault or a careless editor would, and tests that verification finds the place.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { toHex } from "../core/bytes.ts";
import { genesis, nextHash } from "../core/hashing.ts";
import { open } from "../open.ts";

/** The columns as after a clear, up to the seq of the event that cleared the message. */
const ERASED_BY =
  "UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq =";

const scope = { session: "chat", agent: "helper" };

for (const engine of ENGINES) {
  describe(`a tampered log on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    const run = (sql: string, params: readonly (string | number | Uint8Array)[] = []) =>
      ground.driver.transact(function* () {
        yield { statements: [{ kind: "query", sql, params }], last: true };
      });
    const hashOf = async (seq: number) => {
      const [row] = await ground.driver.read("SELECT hash FROM events WHERE seq = ?", [seq]);
      return row?.hash as Uint8Array;
    };
    const bodyOf = async (seq: number) => {
      const [row] = await ground.driver.read("SELECT body FROM events WHERE seq = ?", [seq]);
      return row?.body as Uint8Array;
    };

    beforeEach(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url);
      for (let i = 1; i < 10; i++) await hf.history.append(scope, { role: "user", content: `message ${i}` });
    });
    afterEach(async () => {
      await hf.close();
      await ground.end();
    });

    test.each([
      ["LG2 an event's type", "UPDATE events SET type = 'session/updated' WHERE seq = 5", 5],
      ["LG2 an event's time", "UPDATE events SET at = at + 1 WHERE seq = 5", 5],
      ["LG2 an event's hash", "UPDATE events SET hash = (SELECT hash FROM events WHERE seq = 4) WHERE seq = 5", 5],
      ["LG2 an event's body", "UPDATE events SET body = (SELECT body FROM events WHERE seq = 4) WHERE seq = 5", 5],
      ["LG2 a message's role", "UPDATE events SET role = 'system' WHERE seq = 5", 5],
      ["LG2 a message's agent", "UPDATE events SET agent_no = 2 WHERE seq = 5", 5],
      ["LG2 a message's run", "UPDATE events SET run = 'r' WHERE seq = 5", 5],
      ["LG2 a message's key", "UPDATE events SET key = 'k' WHERE seq = 5", 5],
      [
        "LG2 a message's content under another hash",
        "UPDATE events SET sha256 = (SELECT sha256 FROM events WHERE seq = 4) WHERE seq = 5",
        5,
      ],
      ["LG2 a message's salt", "UPDATE events SET salt = (SELECT salt FROM events WHERE seq = 4) WHERE seq = 5", 5],
      ["LG2 a message's words", "UPDATE events SET words = (SELECT words FROM events WHERE seq = 4) WHERE seq = 5", 5],
      ["LG6 a message half erased", "UPDATE events SET erased_seq = 9 WHERE seq = 5", 5],
      ["LG6 a message erased by no clearing event", `${ERASED_BY} 9 WHERE seq = 5`, 5],
      ["LG6 a message erased by an event that is not there", `${ERASED_BY} 99 WHERE seq = 5`, 5],
      ["LG2 an event on another branch", "UPDATE events SET branch = 2 WHERE seq = 5", 5],
      ["LG2 the last event on another branch", "UPDATE events SET branch = 2 WHERE seq = 10", 10],
      ["LG2 a session row on another branch", "UPDATE sessions SET branch = 2", 10],
      ["LG2 all on another branch", "UPDATE events SET branch = 2", 1],
      ["LG2 a message's content in a blob beside its words", "UPDATE events SET content = 1 WHERE seq = 5", 5],
      ["LG1 a removed event", "DELETE FROM events WHERE seq = 5", 5],
      ["LG2 the first event removed", "DELETE FROM events WHERE seq = 1", 1],
      ["LG2 a cut-off tail", "DELETE FROM events WHERE seq > 7", 8],
      ["LG2 the whole log gone", "DELETE FROM events", 1],
      ["LG2 a session row that says less", "UPDATE sessions SET seq = 7", 7],
      ["LG2 a session row that says more", "UPDATE sessions SET seq = 12", 11],
      [
        "LG2 a session row with another chain",
        "UPDATE sessions SET chain = (SELECT hash FROM events WHERE seq = 9)",
        10,
      ],
    ])("%s is found, and the first bad seq is reported", async (_, sql, badSeq) => {
      expect(await hf.log.verify("chat")).toMatchObject({ ok: true, seq: 10 });
      await run(sql);
      expect(await hf.log.verify("chat")).toMatchObject({ ok: false, badSeq });
    });

    test.each([
      "agent_no = 1",
      "run = 'r'",
      "key = 'k'",
      "sha256 = hash",
      "salt = hash",
      "words = hash",
      "content = 1",
      "chars = 1",
      "erased_seq = 9",
    ])("LG2 a message's column is found in an event that adds none: %s", async (column) => {
      await run(`UPDATE events SET ${column} WHERE seq = 1`);
      expect(await hf.log.verify("chat")).toMatchObject({ ok: false, badSeq: 1 });
    });

    test("LG6 a cleared message must name the event that cleared it, and no other", async () => {
      const other = { ...scope, agent: "other" };
      await hf.history.append(other, { role: "user", content: "stays" });
      await hf.history.append(scope, { role: "user", content: "of a run" }, { run: "r" });
      await hf.history.append(scope, { role: "user", content: "of another" }, { run: "q" });
      await hf.history.clearRun(scope, "r");
      await hf.history.clear(scope);
      await hf.history.append(scope, { role: "user", content: "later" });
      const anchor = { ...(await hf.log.anchor("chat")), seq: 3, hash: toHex(await hashOf(3)) };
      expect(await hf.log.verify("chat")).toMatchObject({ ok: true, seq: 16 });
      expect(await hf.log.verify("chat", { from: anchor })).toMatchObject({ ok: true, seq: 16 });
      for (const [seq, by] of [
        [11, 15], // another agent's
        [13, 14], // another run's
        [16, 15], // cleared before it was there
      ] as const) {
        const [before] = await ground.driver.read("SELECT * FROM events WHERE seq = ?", [seq]);
        await run(`${ERASED_BY} ? WHERE seq = ?`, [by, seq]);
        expect(await hf.log.verify("chat")).toMatchObject({ ok: false, badSeq: seq });
        await run("DELETE FROM events WHERE seq = ?", [seq]);
        const columns = Object.keys(before ?? {}).filter((name) => name !== "no");
        const cells = columns.map((name) => before?.[name] as string | number | Uint8Array);
        const places = columns.map((name) => (before?.[name] === null ? "NULL" : "?"));
        await run(
          `INSERT INTO events (${columns.join(", ")}) VALUES (${places.join(", ")})`,
          cells.filter((cell) => cell !== null),
        );
        expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
      }
    });

    test("LG2 two swapped events are found", async () => {
      await run("UPDATE events SET seq = 100 WHERE seq = 5");
      await run("UPDATE events SET seq = 5 WHERE seq = 6");
      await run("UPDATE events SET seq = 6 WHERE seq = 100");
      expect(await hf.log.verify("chat")).toMatchObject({ ok: false, badSeq: 5 });
    });

    test("LG2 any changed byte of a body is found", async () => {
      const body = await bodyOf(6);
      for (let at = 0; at < body.byteLength; at += 7) {
        const changed = Uint8Array.from(body);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await run("UPDATE events SET body = ? WHERE seq = 6", [changed]);
        expect(await hf.log.verify("chat")).toMatchObject({ ok: false, badSeq: 6 });
      }
      await run("UPDATE events SET body = ? WHERE seq = 6", [body]);
      expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
    });

    test("LG4 an editor that rehashes everything is found only with an anchor that was kept elsewhere", async () => {
      const anchor = await hf.log.anchor("chat");
      let chain: Uint8Array = genesis("chat");
      for (let seq = 1; seq <= 10; seq++) {
        let body = await bodyOf(seq);
        if (seq === 4) body = Buffer.from(Buffer.from(body).toString().replace('"role":"user"', '"role":"tool"'));
        chain = nextHash(chain, body);
        await run("UPDATE events SET body = ?, hash = ? WHERE seq = ?", [body, chain, seq]);
        if (seq === 4) await run("UPDATE events SET role = 'tool' WHERE seq = 4");
      }
      await run("UPDATE sessions SET chain = ?", [chain]);
      expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
      expect(await hf.log.verify("chat", { anchor })).toMatchObject({ ok: false, badSeq: 10 });
    });

    test("LG3 an unknown field is kept and ignored; an unknown schema version is refused", async () => {
      const body = JSON.parse(Buffer.from(await bodyOf(10)).toString());
      const [before] = await ground.driver.read("SELECT hash FROM events WHERE seq = 9", []);
      const rewrite = async (value: unknown) => {
        const bytes = Buffer.from(JSON.stringify(value));
        const hash = nextHash(before?.hash as Uint8Array, bytes);
        await run("UPDATE events SET body = ?, hash = ? WHERE seq = 10", [bytes, hash]);
        await run("UPDATE sessions SET chain = ?", [hash]);
      };
      await rewrite({ ...body, later: { than: "this version" } });
      expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
      expect((await hf.log.read("chat", { after: 9 }))[0]).toMatchObject({ seq: 10, type: "message/added" });
      await rewrite({ ...body, v: 2 });
      await expect(hf.log.read("chat", { after: 9 })).rejects.toMatchObject({ code: "UnsupportedSchemaVersion" });
    });
  });
}
