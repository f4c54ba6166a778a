// How holdfast run begins: with a program that behaves like Claude Code.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { folder, lineOf, Machine, newStore, saved, says } from "../../../test/run-machine.ts";
import { open } from "../../open.ts";

describe("CA4 how the agent's session begins", () => {
  test("the session that its command line names is restored if it is in the store and not on this machine", async () => {
    const store = newStore();
    const first = new Machine();
    await first.run(says("FIRST"), lineOf(store, "r"));
    const session = first.args[1] ?? "";
    const line = ["--store", store, "--request", "r", "--", "claude", "--resume", session, "-p", "go"];
    const second = new Machine();
    const ran = await second.run(says("MORE"), line);
    expect(second.args).toEqual(["--resume", session, "-p", "go"]);
    expect(ran.stderr).toContain(`resumed ${session} (1 message); saved 1 file`);
    expect(await saved(store, "r")).toEqual(["FIRST,MORE"]);
    // --continue finds it too, where there is no other.
    const third = new Machine();
    const sessions = [{ session, says: "LAST", waitMs: 400 }];
    await third.run({ sessions }, ["--store", store, "--request", "r", "--", "claude", "-c", "-p", "go"]);
    expect(await saved(store, "r")).toEqual(["FIRST,MORE,LAST"]);
  });

  test("with secrets replaced it continues on this machine, and on others", async () => {
    const store = newStore();
    const key = ["AK", "IAQ3EGRT7KLMNOPZZ7"].join("");
    const machine = new Machine();
    const first = await machine.run(says(`the key is ${key}`), lineOf(store, "r", "--mask-secrets"));
    expect(first.stderr).toContain("replaced 1 likely secret");
    const again = await machine.run(says("MORE"), lineOf(store, "r", "--mask-secrets"));
    expect(again.stderr).toContain("resumed ");
    expect(readFileSync(machine.transcript(machine.args[1] ?? ""), "utf8")).toContain(key);
    const other = await new Machine().run(says("THERE"), lineOf(store, "r", "--mask-secrets"));
    expect(other.stderr).toContain("resumed ");
    const back = await machine.run(says("BACK"), lineOf(store, "r", "--mask-secrets"));
    expect(back.stderr).toContain("resumed ");
    expect(await saved(store, "r")).toEqual(["the key is [redacted:aws-key-id],MORE,THERE,BACK"]);
  });

  test("with a prompt on standard input, the run does not wait for a process that keeps the input open", async () => {
    const store = newStore();
    await new Machine().run(says("FIRST"), lineOf(store, "r"));
    const hf = await open(store);
    await hf.captures.deleteForRequest("r");
    await hf.close();
    const line = ["--store", store, "--request", "r", "--", "claude", "-p"];
    const ran = await new Machine().run(says("SECOND"), line, { STDIN: "open" });
    expect(ran.stderr).toContain("gave the agent the stored conversation instead");
    const json = [...line, "--input-format", "stream-json"];
    const other = new Machine();
    const h2 = await open(store);
    await h2.captures.deleteForRequest("r");
    await h2.close();
    await other.run(says("THIRD"), json);
    expect(other.args).toContain("--append-system-prompt");
  });

  test("what the environment hands over and is damaged does not stop the agent", async () => {
    const env = { AGENT_SESSION_ID: randomUUID(), AGENT_SESSION_BLOB: "bm90IGEgYnVuZGxl" };
    const machine = new Machine();
    const ran = await machine.run(says("NEW"), ["--out", "s", "--", "claude", "-p", "go"], env);
    expect(readFileSync(path.join(machine.home, "env.json"), "utf8")).not.toContain("AGENT_SESSION_BLOB");
    expect(ran).toMatchObject({ code: 0, stdout: "done" });
    expect(ran.stderr).toMatch(/could not resume \(.*\), started a new session; session .*; wrote s /);
  });
});

describe("CA6 a file instead of a store", () => {
  test("is gone on from, again and again, and says so", async () => {
    const file = path.join(folder, "session.hfcap");
    const line = ["--out", file, "--", "claude", "-p", "go"];
    const machine = new Machine();
    expect((await machine.run(says("ONE"), line)).stderr).toContain("; wrote ");
    expect((await machine.run(says("TWO"), line)).stderr).toContain("resumed ");
    const other = new Machine();
    const third = await other.run(says("THREE"), ["--from", file, ...line]);
    expect(third.stderr).toContain("(2 messages)");
    expect(existsSync(path.join(other.cwd, "holdfast.db"))).toBe(false);
    const env = { AGENT_SESSION_FILE: file };
    const lost = await new Machine().run(says("FOUR"), ["--", "claude", "-p", "go"], env);
    expect(lost.stderr).toContain("(3 messages); nothing was saved: give --store URL or --out FILE");
  });

  test("of another session is kept beside, and one that is none is not written over", async () => {
    const file = path.join(folder, "taken");
    writeFileSync(file, "mine");
    const refused = await new Machine().run(says("ONE"), ["--out", file, "--", "claude", "-p", "go"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout).toBe("");
    expect(readFileSync(file, "utf8")).toBe("mine");
  });
});

test("CA4 what happens is logged, an object a line", async () => {
  const store = newStore();
  const first = new Machine();
  const log = path.join(folder, "run.log");
  await first.run(says("ONE"), lineOf(store, "r", "--every", "10m", "--log", log));
  await new Machine().run(says("TWO"), lineOf(store, "r", "--every", "10m", "--log", log));
  const events = readFileSync(log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const own = { sessionId: first.args[1] };
  // What is found and saved while the agent works comes when the agent writes.
  const inOrder = events.map(({ event }) => event.replace(/^capture\./, ""));
  expect(inOrder.filter((event) => !["saved", "found", "session"].includes(event))).toEqual([
    "start",
    "session-id",
    "ended",
    "start",
    "restored",
    "session-id",
    "ended",
  ]);
  expect(events.find(({ event }) => event === "capture.found")).toMatchObject({ ...own, cwd: first.cwd, files: 1 });
  expect(events.find(({ event }) => event === "capture.saved")).toMatchObject({
    ...own,
    generation: 1,
  });
  expect(events.find(({ event }) => event === "capture.restored")).toMatchObject({ ...own, messages: 1, files: 1 });
});

describe("CA4 the agent's command", () => {
  test("needs no -- before it, and its options are its own", async () => {
    const machine = new Machine();
    const store = newStore();
    const ran = await machine.run(says("ONE"), ["--store", store, "--request", "r", "claude", "-p", "go", "--json"]);
    expect(ran).toMatchObject({ code: 0 });
    expect(machine.args.slice(2)).toEqual(["-p", "go", "--json"]);
    expect(ran.stderr).toContain("holdfast: session ");
  });

  test("may be started by a shell or by npx, and resumes all the same", async () => {
    const machine = new Machine();
    const store = newStore();
    const bin = path.join(machine.cwd, "node_modules/.bin");
    mkdirSync(bin, { recursive: true });
    renameSync(path.join(machine.bin, "claude"), path.join(bin, "claude"));
    // As npm test has it in its PATH.
    const env = { PATH: `${process.env.PATH}` };
    const line = (...words: string[]) => ["--store", store, "--request", "r", "--", ...words];
    const first = await machine.run(says("ONE"), line("npx", "claude", "-p", "go"), env);
    expect(first).toMatchObject({ code: 0, stdout: "done" });
    expect(machine.args[0]).toBe("--session-id");
    const script = `node_modules/.bin/claude -p 'go on'`;
    const second = await machine.run({ ...says("TWO"), exit: 3 }, line("bash", "-c", script), env);
    expect(second).toMatchObject({ code: 3, stdout: "done" });
    expect(machine.args).toEqual(["--resume", machine.args[1], "-p", "go on"]);
    expect(await saved(store, "r")).toEqual(["ONE,TWO"]);
    const refused = await machine.run({}, line("bash", "-c", "cd / && claude -p go"), env);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    const works = `bash -c 'cd / && holdfast run --store ${store} --request r -- claude -p go'`;
    expect(refused.stderr).toContain(`this works: ${works}`);
  });

  test("that is not there ends as shells say it", async () => {
    const machine = new Machine();
    const ran = await machine.run({}, ["--store", newStore(), "--", "./no/claude", "-p", "go"]);
    expect(ran.code).toBe(127);
    expect(ran.stderr).toContain("cannot be started");
  });

  test("that makes no conversation is left alone", async () => {
    const machine = new Machine();
    const ran = await machine.run({ exit: 3 }, ["--", "claude", "mcp", "list"]);
    expect(ran).toEqual({ code: 3, stdout: "done", stderr: "" });
    expect(machine.args).toEqual(["mcp", "list"]);
    expect(existsSync(path.join(machine.cwd, "holdfast.db"))).toBe(false);
  });

  test("with --json what was done is one document on stderr", async () => {
    const ran = await new Machine().run(says("ONE"), ["--json", ...lineOf(newStore(), "r")]);
    expect(ran.stdout).toBe("done");
    expect(JSON.parse(ran.stderr)).toMatchObject({ start: "new", why: null, saved: [{ request: "r", generation: 1 }] });
  });

  test("without a store of its own one is made, and named", async () => {
    const machine = new Machine();
    const ran = await machine.run(says("ONE"), ["--", "claude", "-p", "go"]);
    expect(ran.stderr).toContain("holdfast: created a store at ./holdfast.db\n");
    expect((await machine.run(says("TWO"), ["--", "claude", "-p", "go"])).stderr).not.toContain("new store");
  });
});
