// Changes rows as a failing disk or a careless editor would. Every read fails with StoreCorrupted and names the damaged
// row; a write that relies on the row is refused before anything is written.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { TABLES, type TableName } from "../contracts/storage/tables.ts";
import type { Board } from "../contracts/tasks.ts";
import { open } from "../open.ts";
import type { Param } from "../storage/sql/driver.ts";
import { sha256 } from "./bytes.ts";
import { decodeRow, jsonObject, jsonTexts, optional, utf8, whole } from "./decode.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const NOT_UTF8 = new Uint8Array([0x68, 0xff, 0x69]);
const scope = { session: "chat", agent: "helper" };

describe("decoding a row", () => {
  test("ST7 the error names the row, the column and what to do", () => {
    const name = { kind: "task", board: "b", task: "t" };
    const run = () => decodeRow(name, { title: NOT_UTF8 }, { title: utf8 });
    expect(run).toThrow('the stored task (board "b", task "t") is damaged: its title is not UTF-8 text');
    expect(run).toThrow(
      expect.objectContaining({
        code: "StoreCorrupted",
        details: { ...name, column: "title" },
        hint: expect.stringContaining("holdfast verify"),
      }),
    );
  });

  test.each([
    ["a number that is none", { n: "7" }, { n: whole }],
    ["a number beyond what we write", { n: 2 ** 60 }, { n: whole }],
    ["a column that is not there", {}, { n: whole }],
    ["text in place of bytes", { n: "{}" }, { n: jsonObject }],
    ["a list in place of an object", { n: bytes("[]") }, { n: jsonObject }],
    ["null in place of an object", { n: bytes("null") }, { n: jsonObject }],
    ["a list of other things than texts", { n: bytes('["a",1]') }, { n: jsonTexts }],
    ["half a JSON", { n: bytes('{"a":') }, { n: optional(jsonObject) }],
    ["no bytes at all", { n: bytes("") }, { n: optional(jsonObject) }],
  ])("ST7 %s is damage", (_, row, shape) => {
    expect(() => decodeRow({ kind: "thing", id: 1 }, row, shape)).toThrow("the stored thing (id 1) is damaged: its n");
  });
});

for (const engine of ENGINES) {
  describe(`damaged rows on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    let board: Board;
    const ids: Record<string, unknown> = {};
    const run = (sql: string, params: readonly Param[]) =>
      ground.driver.transact(function* () {
        yield { statements: [{ kind: "query", sql, params }], last: true };
      });

    beforeAll(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url);
      const described = { tags: ["t"], metadata: { m: 1 } };
      await hf.agents.create({ id: "helper", name: "n", system: "s", model: "m", toolIds: ["x"], ...described });
      const [block] = await hf.agents.saveBlocks("helper", [{ label: "notes", value: "v", description: "d" }]);
      await hf.sessions.create({ id: "chat", agent: "helper", title: "t", request: "r", ...described });
      await hf.history.append(scope, { role: "user", content: "hi" }, { run: "r" });
      await hf.state.set("chat", { k: 1 });
      board = await hf.tasks.create("chat", ["one"], { label: "l" });
      await hf.blobs.store(NOT_UTF8, { ttlMs: null });
      await hf.blobs.store(bytes("not JSON"), { ttlMs: null });
      Object.assign(ids, { board: board.id, task: board.tasks[0]?.id, block: block?.id });
    });
    afterAll(async () => {
      await hf.close();
      await ground.end();
    });

    /** Sets the column to this value in every row of its table while `look` runs. */
    async function withDamage(table: TableName, column: string, value: Param, look: () => Promise<void>) {
      const key = table === "events" ? ["no"] : TABLES[table].key;
      // Only messages may have a role.
      const some = column === "role" ? " WHERE role IS NOT NULL" : "";
      const rows = await ground.driver.read(`SELECT ${[column, ...key].join(", ")} FROM ${table}${some}`, []);
      await run(`UPDATE ${table} SET ${column} = ?${some}`, [value]);
      try {
        await look();
      } finally {
        const where = key.map((name) => `${name} = ?`).join(" AND ");
        for (const row of rows) {
          const params = [column, ...key].map((name) => row[name] as Param);
          await run(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, params);
        }
      }
    }

    const task = () => String(ids.task);
    const reads: Readonly<Record<string, () => Promise<unknown>>> = {
      "log.read": () => hf.log.read("chat"),
      "log.tail": async () => {
        for await (const event of hf.log.tail("chat")) return event;
      },
      "log.anchor": () => hf.log.anchor("chat"),
      "log.verify": () => hf.log.verify("chat"),
      "sessions.get": () => hf.sessions.get("chat"),
      "sessions.list": () => hf.sessions.list(),
      "agents.get": () => hf.agents.get("helper"),
      "agents.list": () => hf.agents.list(),
      "blocks.load": () => hf.agents.loadBlocks("helper"),
      "block.get": () => hf.agents.getBlock("helper", "notes"),
      "block.versions": () => hf.agents.blockVersions("helper", "notes"),
      "tasks.list": () => hf.tasks.get(board.id),
      "tasks.main": () => hf.tasks.root("chat"),
      "tasks.boards": () => hf.tasks.boards("chat"),
      "tasks.status": () => hf.tasks.move(board.id, task(), "planned"),
      "state.get": () => hf.state.get("chat"),
      "state.key": () => hf.state.getKey("chat", "k"),
      "state.versioned": () => hf.state.getVersioned("chat"),
      "history.get": () => hf.history.get(scope),
      "history.session": () => hf.history.session("chat"),
      "history.byAgent": () => hf.history.byAgent("helper"),
    };
    const LOG = ["log.read", "log.tail"];
    const SESSION = ["sessions.get", "sessions.list"];
    const AGENT = ["agents.get", "agents.list"];
    const BLOCK = ["blocks.load", "block.get"];
    const BOARD = ["tasks.list", "tasks.main", "tasks.boards"];
    const TASK = [...BOARD, "tasks.status"];
    const STATE = ["state.get", "state.key", "state.versioned"];
    const HISTORY = ["history.get", "history.session", "history.byAgent"];
    const blobNo = async (content: Uint8Array) => {
      const [row] = await ground.driver.read("SELECT no FROM blobs WHERE body = ?", [content]);
      return Number(row?.no);
    };

    test.each<[TableName, string, Param, readonly string[], Record<string, unknown>]>([
      ["events", "body", NOT_UTF8, LOG, { kind: "event", session: "chat", seq: 1 }],
      ["events", "body", bytes("{"), LOG, { kind: "event", session: "chat", seq: 1 }],
      ["events", "body", bytes("null"), LOG, { kind: "event", session: "chat", seq: 1 }],
      ["events", "body", bytes("{}"), LOG, { kind: "event", session: "chat", seq: 1, column: "v" }],
      ["events", "body", bytes('{"v":1,"data":7}'), LOG, { session: "chat", seq: 1, column: "data" }],
      ["events", "body", bytes('{"v":1,"agent":7}'), LOG, { session: "chat", seq: 1, column: "agent" }],
      ["events", "body", bytes('{"v":1,"commitments":{"a":1}}'), LOG, { seq: 1, column: "commitments" }],
      ["events", "hash", bytes("short"), LOG, { session: "chat", seq: 1, column: "hash" }],
      ["sessions", "chain", bytes("short"), [...SESSION, "log.anchor"], { kind: "session", session: "chat" }],
      ["sessions", "tags", bytes('{"a":1}'), SESSION, { kind: "session", session: "chat", column: "tags" }],
      ["sessions", "metadata", bytes("x"), SESSION, { session: "chat", column: "metadata" }],
      ["sessions", "title", NOT_UTF8, SESSION, { session: "chat", column: "title" }],
      ["sessions", "status", "ajar", SESSION, { session: "chat", column: "status" }],
      ["sessions", "updated_at", 2 ** 60, SESSION, { session: "chat", column: "updated_at" }],
      ["sessions", "state_seq", 2 ** 60, ["state.get", "state.versioned"], { session: "chat", column: "state_seq" }],
      ["agents", "name", NOT_UTF8, AGENT, { kind: "agent", agent: "helper", column: "name" }],
      ["agents", "system", NOT_UTF8, AGENT, { agent: "helper", column: "system" }],
      ["agents", "tool_ids", bytes("[1]"), AGENT, { agent: "helper", column: "tool_ids" }],
      ["agents", "metadata", bytes("[]"), AGENT, { agent: "helper", column: "metadata" }],
      ["agents", "version", 2 ** 60, AGENT, { agent: "helper", column: "version" }],
      ["state", "value", 1_000_000, STATE, { kind: "state", session: "chat", key: "k", seq: 3, column: "value" }],
      ["state", "value", null, STATE, { kind: "state", session: "chat", key: "k", seq: 3, column: "value" }],
      ["block_versions", "value", 1_000_000, BLOCK, { kind: "block", column: "value" }],
      ["blocks", "version", 7, BLOCK, { kind: "block", column: "value" }],
      ["agent_blocks", "block_id", "gone", ["blocks.load"], { kind: "block", block: "gone" }],
      ["blocks", "description", NOT_UTF8, BLOCK, { kind: "block", column: "description" }],
      ["block_versions", "edit", "guessed", ["block.versions"], { kind: "block version", version: 1, column: "edit" }],
      ["boards", "label", NOT_UTF8, BOARD, { kind: "board", session: "chat", column: "label" }],
      ["tasks", "title", NOT_UTF8, TASK, { kind: "task", column: "title" }],
      ["tasks", "note", NOT_UTF8, TASK, { kind: "task", column: "note" }],
      ["tasks", "status", "done", TASK, { kind: "task", column: "status" }],
      ["events", "role", "robot", HISTORY, { kind: "message", session: "chat", seq: 2, column: "role" }],
    ])(
      "ST7 a damaged or dangling %s.%s (%j) is StoreCorrupted and names its row",
      async (table, column, value, names, details) => {
        await withDamage(table, column, value, async () => {
          for (const name of names) {
            const error = (await reads[name]?.().catch((thrown: unknown) => thrown)) as HoldfastError;
            expect(error, name).toMatchObject({ code: "StoreCorrupted", details, hint: expect.any(String) });
            if (table === "blocks") expect(error.details.block).toBe(ids.block);
            if (table === "boards" || table === "tasks") expect(error.details.board).toBe(ids.board);
            if (table === "tasks") expect(error.details.task).toBe(ids.task);
          }
        });
        for (const name of names) await reads[name]?.();
      },
    );

    test.each<[TableName, string, Uint8Array, readonly string[], Record<string, unknown>]>([
      ["state", "value", bytes("not JSON"), STATE, { kind: "state", session: "chat", key: "k", seq: 3 }],
      ["block_versions", "value", NOT_UTF8, [...BLOCK, "block.versions"], { kind: "block" }],
    ])(
      "ST7 a row of %s whose %s has the bytes of another blob is StoreCorrupted",
      async (table, column, content, names, details) => {
        await withDamage(table, column, await blobNo(content), async () => {
          for (const name of names) {
            const error = await reads[name]?.().catch((thrown: unknown) => thrown);
            expect(error, name).toMatchObject({ code: "StoreCorrupted", details });
          }
        });
      },
    );

    test("ST7 a message whose words are not JSON is StoreCorrupted", async () => {
      const { seq } = await hf.history.append(
        { session: "frayed", agent: "helper" },
        { role: "user", content: "fine" },
      );
      const words = bytes("not JSON");
      await run("UPDATE events SET words = ?, sha256 = ? WHERE seq = ? AND role IS NOT NULL AND run IS NULL", [
        words,
        sha256(words),
        seq,
      ]);
      const damaged = { code: "StoreCorrupted", details: { kind: "message", session: "frayed", seq } };
      await expect(hf.history.session("frayed")).rejects.toMatchObject(damaged);
      await hf.sessions.delete("frayed");
    });

    test("ST7 an old version of a block whose blob is missing is reported, not skipped", async () => {
      await hf.agents.saveBlocks("worn", [{ label: "notes", value: "old" }]);
      const { id } = await hf.agents.rethinkBlock("worn", "notes", "new");
      await run("UPDATE block_versions SET value = 1000000 WHERE block_id = ? AND version = 1", [id]);
      expect((await hf.agents.getBlock("worn", "notes"))?.value).toBe("new");
      const damaged = { code: "StoreCorrupted", details: { kind: "block version", block: id, version: 1 } };
      await expect(hf.agents.blockVersions("worn", "notes")).rejects.toMatchObject(damaged);
      await expect(hf.agents.restoreBlock("worn", "notes", 1)).rejects.toMatchObject(damaged);
      expect(await hf.agents.delete("worn")).toMatchObject({ removed: { agents: 1, blocks: 1 } });
    });

    test("ST7 a patch that keeps a damaged value is refused; a patch that replaces or removes the value is not", async () => {
      const damage = "UPDATE state SET value = 1000000 WHERE key = 'bad' AND until_seq IS NULL";
      const { version } = await hf.state.set("worn", { bad: 1, good: 2 });
      await run(damage, []);
      const details = { kind: "state", session: "worn", key: "bad" };
      await expect(hf.state.patch("worn", { good: 3 })).rejects.toMatchObject({ code: "StoreCorrupted", details });
      expect((await hf.sessions.get("worn"))?.seq).toBe(version);
      expect((await hf.state.patch("worn", { bad: 4 })).value).toEqual({ good: 2, bad: 4 });
      await run(damage, []);
      expect((await hf.state.patch("worn", {}, { remove: ["bad"] })).value).toEqual({ good: 2 });
    });

    test("ST7 a change of a damaged row is refused, unless it replaces the damaged value", async () => {
      const { version } = (await hf.sessions.get("chat")) ?? {};
      await withDamage("sessions", "tags", bytes("{"), async () => {
        await expect(hf.sessions.update("chat", { title: "new" })).rejects.toMatchObject({ code: "StoreCorrupted" });
      });
      expect(await hf.sessions.get("chat")).toMatchObject({ title: "t", version });
      await run("UPDATE sessions SET tags = ?", [bytes("{")]);
      expect(await hf.sessions.update("chat", { tags: ["t"] })).toMatchObject({ title: "t", tags: ["t"] });
      await withDamage("agents", "metadata", bytes("{"), async () => {
        await expect(hf.agents.update("helper", { name: "x" })).rejects.toMatchObject({ code: "StoreCorrupted" });
      });
      expect((await hf.agents.get("helper"))?.name).toBe("n");
      await run("UPDATE agents SET metadata = ?", [bytes("{")]);
      expect(await hf.agents.update("helper", { metadata: { m: 1 } })).toMatchObject({ name: "n", metadata: { m: 1 } });
    });

    test("ST7 whatever a column contains, a read answers or fails with a HoldfastError", async () => {
      const WRONG = {
        int: [-1, 2 ** 60],
        text: ["", "odd"],
        bytes: [NOT_UTF8, bytes("null"), bytes("{}"), bytes("")],
        blobref: [1_000_000],
        serial: [],
      } as const;
      const nouns = ["agents", "blocks", "block_versions", "sessions", "events", "state", "boards", "tasks"];
      for (const table of nouns as TableName[]) {
        for (const [column, type] of Object.entries(TABLES[table].columns)) {
          // These columns are in unique indexes, so all rows cannot have one value.
          if ((TABLES[table].key as readonly string[]).includes(column) || ["no", "key"].includes(column)) continue;
          for (const value of WRONG[type as keyof typeof WRONG]) {
            await withDamage(table, column, value, async () => {
              for (const [name, read] of Object.entries(reads)) {
                if (name === "log.tail" || name === "tasks.status") continue;
                const error = await read().then(
                  () => null,
                  (thrown: unknown) => thrown,
                );
                if (error !== null) expect(error, `${name} of ${table}.${column}`).toBeInstanceOf(HoldfastError);
              }
            });
          }
        }
      }
    });
  });
}
