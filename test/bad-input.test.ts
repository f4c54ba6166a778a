// Bad input, all in one place and on every backend: what cannot be is a typed error that says so, and every table is byte
// for byte as it was before.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ErrorCode } from "../src/contracts/errors.ts";
import type { Head } from "../src/contracts/heads.ts";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import type { Json } from "../src/contracts/json.ts";
import { LIMITS } from "../src/contracts/limits.ts";
import { open } from "../src/open.ts";
import { refuses } from "../src/testing/expect.ts";
import { isLong, scaled } from "../src/testing/scale.ts";
import { ENGINES, type Engine } from "./engines.ts";
import { testLong } from "./long-test.ts";

interface Ground {
  readonly hf: Holdfast;
  /** Everything there is, as text. */
  readonly dump: () => Promise<string>;
  readonly end: () => Promise<void>;
}

const TABLES = {
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  postgres: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
};

function shown(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

async function inTables(engine: Engine): Promise<Ground> {
  const ground = await engine.fresh();
  const hf = await open(ground.url, { durability: "normal" });
  const dump = async () => {
    const names = (await ground.driver.read(TABLES[engine.name], [])).map(({ name }) => String(name)).sort();
    expect(names).toEqual(expect.arrayContaining(["sessions", "events", "blobs", "calls", "invocations", "heads"]));
    const lines: string[] = [];
    for (const name of names) {
      const rows = await ground.driver.read(`SELECT * FROM ${name}`, []);
      // A Buffer says of itself what JSON makes of it before `shown` could.
      const texts = rows.map((row) =>
        JSON.stringify(Object.entries(row).map(([key, value]) => [key, shown("", value)])),
      );
      lines.push(`${name}: ${rows.length}`, ...texts.sort());
    }
    return lines.join("\n");
  };
  const end = async () => {
    await hf.close();
    await ground.end();
  };
  return { hf, dump, end };
}

/** Another process cannot read a store in memory: everything that the store says of itself. */
async function inMemory(): Promise<Ground> {
  const hf = await open(":memory:");
  const dump = async () => {
    const { bytesOnDisk: _, ...stats } = await hf.stats();
    const { items } = await hf.sessions.list({ limit: LIMITS.page });
    const files: string[] = [];
    for (const { id } of items)
      for await (const piece of hf.sessions.export(id)) files.push(Buffer.from(piece).toString("hex"));
    const blobs = await hf.blobs.list({ limit: LIMITS.page });
    return JSON.stringify([stats, items, await hf.agents.list(), blobs, files]);
  };
  return { hf, dump, end: () => hf.close() };
}

const BACKENDS: readonly (readonly [string, () => Promise<Ground>])[] = [
  ["sqlite in memory", inMemory],
  ...ENGINES.map((engine) => [engine.name, () => inTables(engine)] as const),
];

/** Made once: it is shared by all that refuse it. */
const HUGE_MB = scaled({ short: 80, long: 300 });
const HUGE = "x".repeat(HUGE_MB * 1_000_000);

type BadCall = readonly [what: string, codes: ErrorCode | readonly ErrorCode[], call: () => unknown];

/** Whatever is promised is waited for, also an iteration. */
async function settled(made: unknown): Promise<unknown> {
  const value = await made;
  const iterates = typeof value === "object" && value !== null && Symbol.asyncIterator in value;
  return iterates ? (value as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : value;
}

describe.each(BACKENDS)("ST7 bad input on %s is a typed error, and nothing is written", (backend, make) => {
  let ground: Ground;
  let hf: Holdfast;
  let [first, left, now, other]: Head[] = [];
  const id = (head: Head | undefined) => head?.id ?? "";

  beforeAll(async () => {
    ground = await make();
    hf = ground.hf;
    const say = (session: string, content: string) =>
      hf.history.append({ session, agent: "helper" }, { role: "user", content });
    await say("chat", "one");
    first = await hf.heads.publish("chat");
    await say("chat", "two");
    left = await hf.heads.publish("chat");
    await hf.sessions.rewind(`chat@${id(first)}`);
    await say("chat", "three");
    now = await hf.heads.publish("chat");
    await say("other", "one");
    other = await hf.heads.publish("other");
    await hf.sessions.fork("chat", { id: "fork" });
    await hf.sessions.fork("fork", { id: "fork-2" });
    // chat waits for other, which waits for third.
    await hf.sessions.create({ id: "third" });
    await hf.sessions.attach("other", { caller: "chat", mode: "continue" });
    await hf.sessions.attach("third", { caller: "other", mode: "continue" });
    await hf.sessions.setAlias("chat", "main");
  });
  afterAll(() => ground?.end());

  async function refused(asked: readonly BadCall[]): Promise<void> {
    const before = await ground.dump();
    const failures: string[] = [];
    for (const [what, codes, call] of asked) {
      await refuses(codes, () => settled(call()), what).catch((error) => failures.push(error.message));
      // Which one it was, `npm run test:long` says: reading all tables takes much longer than refusing a call.
      if (isLong && (await ground.dump()) !== before) failures.push(`${what} wrote something`);
    }
    if ((await ground.dump()) !== before) failures.push("one of them wrote something");
    expect(failures).toEqual([]);
  }

  test("cycles", () =>
    refused([
      ["continue itself", "Conflict", () => hf.sessions.attach("chat", { caller: "chat", mode: "continue" })],
      ["continue who waits", "Conflict", () => hf.sessions.attach("chat", { caller: "other", mode: "continue" })],
      ["a circle of three", "Conflict", () => hf.sessions.attach("chat", { caller: "third", mode: "continue" })],
      ["by alias", "Conflict", () => hf.sessions.attach("main", { caller: "third", mode: "continue" })],
      ["around work", "Conflict", () => hf.invocations.attach("third", "chat", { mode: "continue" }, () => null)],
      ["a fork that is its own source", "AlreadyExists", () => hf.sessions.fork("chat", { id: "chat" })],
      ["a fork that is its ancestor", "AlreadyExists", () => hf.sessions.fork("fork-2", { id: "chat" })],
      [
        "a branch that is its own source",
        "AlreadyExists",
        () => hf.sessions.attach("chat", { caller: "other", mode: "branch", session: { id: "chat" } }),
      ],
      [
        "a child that is its own caller",
        "AlreadyExists",
        () => hf.invocations.start("chat", { session: { id: "chat" } }),
      ],
      ["back to what is no ancestor", ["Conflict", "InvalidArgument"], () => hf.sessions.rewind(`chat@${id(left)}`)],
    ]));

  test("unknown ids", () => {
    const none = `hd-${"0".repeat(64)}`;
    const nobody: readonly BadCall[] = [
      ["at", "NotFound", () => hf.sessions.at("nobody")],
      ["update", "NotFound", () => hf.sessions.update("nobody", { title: "x" })],
      ["alias", "NotFound", () => hf.sessions.setAlias("nobody", "name")],
      ["fork", "NotFound", () => hf.sessions.fork("nobody")],
      ["resume", "NotFound", () => hf.sessions.resume("nobody")],
      ["rewind", "NotFound", () => hf.sessions.rewind({ session: "nobody", head: none })],
      ["context", "NotFound", () => hf.sessions.context("nobody")],
      ["attach to", "NotFound", () => hf.sessions.attach("nobody", { caller: "chat", mode: "branch" })],
      ["attach by", "NotFound", () => hf.sessions.attach("chat", { caller: "nobody", mode: "branch" })],
      ["spawn", "NotFound", () => hf.invocations.spawn("nobody", {}, () => null)],
      ["publish", "NotFound", () => hf.heads.publish("nobody")],
      ["compact", "NotFound", () => hf.heads.compact("nobody", { agent: "a", summary: "s" })],
      ["heads", "NotFound", () => hf.heads.list("nobody")],
      ["current", "NotFound", () => hf.heads.current("nobody")],
      ["turn", "NotFound", () => hf.turns.begin("nobody")],
      ["call", "NotFound", () => hf.calls.start("nobody", { type: "leaf" })],
      ["leaf", "NotFound", () => hf.calls.leaf("nobody", {}, () => null)],
      ["eval", "NotFound", () => hf.evals.add("nobody", { code: "1" })],
      ["snapshot", "NotFound", () => hf.snapshots.add("nobody", {})],
      ["log", "NotFound", () => hf.log.read("nobody")],
      ["tail", "NotFound", () => hf.log.tail("nobody")],
      ["verify", "NotFound", () => hf.log.verify("nobody")],
      ["annotate", "NotFound", () => hf.log.annotate("nobody", {})],
      ["trace", "NotFound", () => hf.trace("nobody")],
      ["causes", "NotFound", () => hf.causes("nobody#1")],
      ["cost", "NotFound", () => hf.sessions.cost("nobody")],
      ["tree", "NotFound", () => hf.sessions.tree("nobody")],
      ["diff", "NotFound", () => hf.sessions.diff("chat", "nobody")],
      ["export", "NotFound", () => hf.sessions.export("nobody")],
      ["markdown", "NotFound", () => hf.sessions.markdown("nobody")],
      ["check", "NotFound", () => hf.check({ session: "nobody" })],
    ];
    return refused([
      ...nobody,
      ["a head", "NotFound", () => hf.sessions.resume(`chat@${none}`)],
      ["a head of the log", "NotFound", () => hf.log.read(`chat@${none}`)],
      ["a turn", "NotFound", () => hf.turns.finish("chat#99")],
      ["a turn to abort", "NotFound", () => hf.turns.abort("chat#1")],
      ["a call", "NotFound", () => hf.calls.finish("chat#99", {})],
      ["an eval", "NotFound", () => hf.evals.finish("chat#99", {})],
      ["an invocation", "NotFound", () => hf.invocations.finish("chat#99")],
      ["a snapshot", "NotFound", () => hf.snapshots.vars("chat#99")],
      ["a message", "NotFound", () => hf.sessions.fork("chat", { message: "chat#99" })],
      ["a call to spawn for", "NotFound", () => hf.invocations.start("chat", { call: "chat#99" })],
      ["a call of another", "NotFound", () => hf.invocations.start("chat", { call: "other#1" })],
      [
        "a turn to call in",
        ["NotFound", "InvalidArgument"],
        () => hf.calls.add("chat", { type: "leaf", turn: "other#1" }),
      ],
      ["an event", "NotFound", () => hf.causes("chat#99")],
      ["a board", "NotFound", () => hf.tasks.add("nobody", ["one"])],
      ["a blob", "BlobNotFound", () => hf.blobs.resolve(`sha256:${"0".repeat(64)}`)],
    ]);
  });

  test("a head of another session", () => {
    const at = `chat@${id(other)}`;
    return refused([
      ["at", "InvalidArgument", () => hf.sessions.at(at)],
      ["fork", "InvalidArgument", () => hf.sessions.fork(at)],
      ["resume", "InvalidArgument", () => hf.sessions.resume(at)],
      ["rewind", "InvalidArgument", () => hf.sessions.rewind(at)],
      ["context", "InvalidArgument", () => hf.sessions.context(at)],
      ["attach branch", "InvalidArgument", () => hf.sessions.attach(at, { caller: "fork", mode: "branch" })],
      ["attach continue", "InvalidArgument", () => hf.sessions.attach(at, { caller: "fork", mode: "continue" })],
      ["current", "InvalidArgument", () => hf.heads.current(at)],
      ["heads", "InvalidArgument", () => hf.heads.list(at)],
      ["publish on", "Conflict", () => hf.heads.publish("chat", { expect: id(other) })],
      ["log", "InvalidArgument", () => hf.log.read(at)],
      ["anchor", "InvalidArgument", () => hf.log.anchor(at)],
      ["verify", "InvalidArgument", () => hf.log.verify(at)],
      ["trace", "InvalidArgument", () => hf.trace(at)],
      ["cost", "InvalidArgument", () => hf.sessions.cost(at)],
      ["tree", "InvalidArgument", () => hf.sessions.tree(at)],
      ["diff", "InvalidArgument", () => hf.sessions.diff("chat", at)],
      ["markdown", "InvalidArgument", () => hf.sessions.markdown(at)],
      ["one that a fork inherits", "InvalidArgument", () => hf.sessions.at(`fork@${id(first)}`)],
    ]);
  });

  test("a basis that moved", () =>
    refused([
      ["publish", "Conflict", () => hf.heads.publish("chat", { expect: id(first) })],
      ["publish as the first", "Conflict", () => hf.heads.publish("chat", { expect: null })],
      ["compact", "Conflict", () => hf.heads.compact("chat", { agent: "helper", summary: "s", expect: id(first) })],
      ["continue", "Conflict", () => hf.sessions.attach(`chat@${id(first)}`, { caller: "fork", mode: "continue" })],
      ["update", "Conflict", () => hf.sessions.update("chat", { title: "x", version: 99 })],
    ]));

  // It is refused before any engine sees it.
  const testHere = backend === "postgres" ? test : testLong;
  testHere(`a payload of ${HUGE_MB} MB`, { timeout: 600_000 }, async () => {
    const { id: turn } = await hf.turns.begin("third");
    const call = await hf.calls.start("third", { type: "leaf" });
    const running = await hf.evals.start("third", { code: "1" });
    const invocation = await hf.invocations.start("third");
    const scope = { session: "third", agent: "helper" };
    const huge: readonly (readonly [string, () => unknown])[] = [
      ["a message", () => hf.history.append(scope, { role: "user", content: HUGE })],
      ["messages", () => hf.history.appendMany(scope, [{ role: "user", content: HUGE }])],
      ["metadata", () => hf.history.append(scope, { role: "user", content: "x", metadata: { HUGE } })],
      ["a request", () => hf.calls.start("third", { type: "leaf", request: HUGE })],
      ["a descriptor", () => hf.calls.add("third", { type: "root", descriptor: { messages: [], system: HUGE } })],
      ["a response", () => hf.calls.finish(call.id, { response: HUGE })],
      ["a result", () => hf.calls.finish(call.id, { result: [HUGE] })],
      ["a call's error", () => hf.calls.finish(call.id, { error: { HUGE } })],
      ["code", () => hf.evals.start("third", { code: HUGE })],
      ["an eval's result", () => hf.evals.finish(running.id, { result: HUGE })],
      ["an eval's final", () => hf.evals.finish(running.id, { final: HUGE })],
      ["variables", () => hf.snapshots.add("third", { HUGE })],
      ["a head's final", () => hf.heads.publish("third", { final: HUGE })],
      ["a head's variables", () => hf.heads.publish("third", { vars: { HUGE } })],
      ["a head's summary", () => hf.heads.publish("third", { finalSummary: HUGE })],
      ["a turn's final", () => hf.turns.finish(turn, { final: HUGE })],
      ["an aborted turn's", () => hf.turns.abort(turn, { final: HUGE })],
      ["a summary", () => hf.heads.compact("third", { agent: "helper", summary: HUGE })],
      ["an invocation's error", () => hf.invocations.finish(invocation.id, { error: HUGE })],
      ["a label", () => hf.invocations.start("third", { label: HUGE })],
      ["state", () => hf.state.set("third", { k: HUGE })],
      ["a patch", () => hf.state.patch("third", { k: HUGE })],
      ["a note", () => hf.log.annotate("third", { HUGE })],
      ["a title", () => hf.sessions.update("third", { title: HUGE })],
      ["a query", () => hf.query(HUGE)],
      ["a query in EDN", () => hf.query(`[:find ?x :where [?x :session/id "${HUGE}"]]`)],
      ["a query in JSON", () => hf.query({ find: ["?x"], where: [["?x", ":session/id", HUGE]] })],
      ["an input", () => hf.query("[:find ?s :in $ ?id :where [?s :session/id ?id]]", [HUGE])],
    ];
    const codes = ["LimitExceeded", "InvalidQuery", "InvalidArgument"] as const;
    await refused(huge.map(([what, run]) => [what, codes.slice(0, what.startsWith("a query") ? 3 : 1), run]));
    await refused([["an id", "InvalidId", () => hf.sessions.create({ id: HUGE })]]);
  });

  test("garbage and bombs", () => {
    let deep: Json = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}${close.repeat(depth)}`;
    const scope = { session: "third", agent: "helper" };
    const rules = (body: string) => `[:find (count ?n) . :where (n ?n) :rules [[(n ?n) [(ground 1) ?n]] ${body}]]`;
    const garbage = [
      "",
      " ",
      "]",
      "[",
      "{",
      '"',
      "[:find",
      "#inst",
      "\u0000",
      ":",
      "[:find ?x :where]",
      "\ud800",
      "\\",
    ];
    return refused([
      ...garbage.map((text): BadCall => [`EDN ${JSON.stringify(text)}`, "InvalidQuery", () => hf.query(text)]),
      ["EDN explained", "InvalidQuery", () => hf.explain("[:find ?x :where [?x")],
      ["an attribute there is not", "InvalidQuery", () => hf.query("[:find ?x :where [?x :no/such ?y]]")],
      ["a table", "InvalidQuery", () => hf.query("[:find ?x :where [?x :sqlite_master/sql ?y]]")],
      ["a function there is not", "InvalidQuery", () => hf.query("[:find ?x :where [(load_extension 1) ?x]]")],
      ["deep EDN", "LimitExceeded", () => hf.query(nested("[", "]", 400_000))],
      ["deep lists", "LimitExceeded", () => hf.query(nested("(", ")", 100_000))],
      ["deep maps that never end", "LimitExceeded", () => hf.query("{:a ".repeat(100_000))],
      ["deep nots", "LimitExceeded", () => hf.query(`[:find ?x :where ${nested("(not ", ")", 10_000)}]`)],
      ["deep JSON", ["LimitExceeded", "InvalidQuery"], () => hf.query({ find: deep })],
      ["a deep input", ["LimitExceeded", "InvalidQuery"], () => hf.query("[:find ?x :in $ ?x]", [deep])],
      ["many forms", "LimitExceeded", () => hf.query(`[:find ${"?x ".repeat(200_000)}]`)],
      ["many clauses", "LimitExceeded", () => hf.query(`[:find ?x :where ${"[?x :session/id] ".repeat(2000)}]`)],
      [
        "a rule without end",
        "QueryTimeout",
        () => hf.query(rules("[(n ?m) (n ?n) [(+ ?n 1) ?m]]"), [], { timeoutMs: 300 }),
      ],
      [
        "a deep message",
        "InvalidJson",
        () => hf.history.append(scope, { role: "user", content: "x", metadata: { deep } }),
      ],
      ["deep state", "InvalidJson", () => hf.state.set("third", { deep })],
      ["deep variables", "InvalidJson", () => hf.snapshots.add("third", deep)],
      ["a deep final", "InvalidJson", () => hf.heads.publish("third", { final: deep })],
      ["a deep request", "InvalidJson", () => hf.calls.start("third", { type: "leaf", request: deep })],
      ["a deep result", "InvalidJson", () => hf.evals.add("third", { code: "1", result: deep })],
      ["an archive of garbage", "ArchiveCorrupted", () => hf.sessions.import(Buffer.from("garbage"))],
    ]);
  });

  test("and the store is as sound as before", async () => {
    expect(await hf.check()).toMatchObject({ status: "ok" });
    expect((await hf.sessions.get("chat"))?.head).toBe(id(now));
  });
});
