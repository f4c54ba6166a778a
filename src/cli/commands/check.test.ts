// holdfast check and holdfast trace on a real store: tables, JSON and exit codes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { realEnvironment } from "../../core/environment.ts";
import { open } from "../../open.ts";
import { openSqlite } from "../../storage/sql/sqlite/driver.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const cli = (...argv: string[]) => captureOutput(main, argv, { cwd });
const LIVE = { durability: "full", busyMs: 10_000, environment: realEnvironment() } as const;

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.sessions.create({ id: "chat-1" });
  await hf.sessions.setAlias("chat-1", "one");
  const turn = await hf.turns.begin("chat-1");
  await hf.history.append({ session: "chat-1", agent: "ada" }, { role: "user", content: "hello" });
  await hf.turns.finish(turn.id, { final: 1 });
  await hf.sessions.fork("chat-1", { id: "chat-2" });
  await hf.close();
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("trace prints events with what caused them, of other sessions too", async () => {
  const { stdout, code } = await cli("trace", "one");
  expect(code).toBe(EXIT.ok);
  expect(stdout).toMatch(/^chat-1#4 .*message\/added +user message of ada +chat-1#3$/m);
  const events = JSON.parse((await cli("trace", "chat-2", "--json", "--type", "derivation/added")).stdout).events;
  expect(events).toMatchObject([{ id: "chat-2#2", causeEventIds: ["chat-1#5"], row: { kind: "derivation" } }]);
  expect((await cli("trace", "--causes", "chat-2#2")).stdout).toMatch(/^chat-2#2 [\s\S]*chat-1#5[\s\S]*chat-1#3/m);
  const walk = await cli("trace", "--causes", "chat-1#5");
  const shown = [...walk.stdout.matchAll(/^chat-1#(\d+)/gm)].map(([, seq]) => Number(seq));
  // Its turn and the message before it are equally near.
  expect(shown).toEqual([5, 4, 3]);
  expect(walk.stderr).toContain("nearest causes first, and among equally near ones the newest");
  const narrow = await captureOutput(main, ["trace", "chat-1"], { cwd, columns: 48, env: { NO_COLOR: "1" } });
  expect(narrow.stdout).toMatch(/^EVENT +TYPE +WHAT +CAUSED[\s\S]*no room for TIME/m);
  expect((await cli("trace", "chat-1", "--type", "head/creatd")).stderr).toMatch(/no head\/creatd in .*head\/created/);
  expect((await cli("trace")).code).toBe(EXIT.usage);
  expect((await cli("trace", "chat-1", "--causes", "chat-1#1")).code).toBe(EXIT.usage);
  expect((await cli("trace", "--causes", "chat-1#99")).code).toBe(EXIT.notFound);
});

test("check says that all is well, and what it looked at", async () => {
  const { stdout, code } = await cli("check");
  expect([code, stdout]).toEqual([EXIT.ok, expect.stringMatching(/^all good: deep check of 2 sessions, 7 events/)]);
  expect(JSON.parse((await cli("check", "--quick", "--json")).stdout)).toMatchObject({ mode: "quick", status: "ok" });
  expect((await cli("check", "--session", "one")).stdout).toMatch(/^all good: deep check of 1 session, 5 events/);
  expect((await cli("check", "one")).stdout).toMatch(/^all good: deep check of 1 session, 5 events/);
  expect((await cli("check", "one", "--session", "one")).code).toBe(EXIT.usage);
  expect((await cli("check", "--session", "nobody")).code).toBe(EXIT.notFound);
});

test("check names damage with rows and hints, and exits with 5", async () => {
  const driver = await openSqlite({ ...LIVE, path: path.join(cwd, "holdfast.db") });
  await driver.transact(function* () {
    const sql = "UPDATE sessions SET messages = 7, head_no = 99 WHERE id = 'chat-1'";
    yield { statements: [{ kind: "query", sql, params: [] }], last: true };
  });
  await driver.close();
  const { stdout, code } = await cli("check");
  expect(code).toBe(EXIT.damage);
  expect(stdout).toMatch(/message-count-wrong +chat-1 +\{"counted": 1, "stored": 7\}/);
  expect(stdout).toContain("current-head-missing: Publish a head");
  expect(stdout).toMatch(/2 issues found/);
  const quick = await cli("check", "--quick", "--json");
  expect(quick.code).toBe(EXIT.damage);
  expect(JSON.parse(quick.stdout).issues).toMatchObject([{ kind: "current-head-missing", rows: ["chat-1"] }]);
  expect((await cli("check", "--session", "chat-2")).code).toBe(EXIT.ok);
});

test("check never breaks an id, however narrow the terminal", async () => {
  const driver = await openSqlite({ ...LIVE, path: path.join(cwd, "holdfast.db") });
  await driver.transact(function* () {
    yield { statements: [{ kind: "query", sql: "UPDATE heads SET fingerprint = 'x'", params: [] }], last: true };
  });
  const [head] = await driver.read("SELECT id FROM heads", []);
  await driver.close();
  for (const columns of [40, 80, 120]) {
    const { stdout, code } = await captureOutput(main, ["check"], { cwd, columns, env: { NO_COLOR: "1" } });
    expect(code).toBe(EXIT.damage);
    expect(stdout, `${columns} columns`).toContain(String(head?.id));
  }
});
