// holdfast import-local: all sessions of coding agents on a machine, again and again.
import { chmodSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { newFolder, OTHER, SESSION, transcript, write } from "../../../test/coding/claude-tree.ts";
import { startFakeEmbeddings } from "../../../test/fake-embeddings.ts";
import { exported, newMachine, removeMachines } from "../../../test/opencode-machine.ts";
import { cli, enter, leave, within } from "../../../test/shell.ts";
import type { OutputCaptureOptions } from "../output-capture.ts";

let store: string;
let home: string;
let projects: string;
beforeEach(async () => {
  store = await enter();
  home = newFolder();
  projects = path.join(home, ".claude", "projects");
});
afterEach(leave);
afterAll(removeMachines);

const local = (argv: readonly string[] = [], { env, ...options }: OutputCaptureOptions = {}) =>
  cli(["import-local", ...argv], { cwd: store, env: { HOME: home, ...env }, ...options });

async function importEvents(...argv: string[]) {
  const { stdout } = await local([...argv, "--json"]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const file = (id: string, key = "-w") => path.join(projects, key, `${id}.jsonl`);
const sessionText = (id: string, messages: number) => transcript(messages, "/w").replaceAll(SESSION, id);

test("brings every session in once, and then what was added", async () => {
  write(file(SESSION), sessionText(SESSION, 4));
  write(file(OTHER, "-other"), sessionText(OTHER, 2));
  write(path.join(projects, "-w", SESSION, "subagents/agent-a1.jsonl"), transcript(2, "/w", { isSidechain: true }));
  const first = await local();
  expect(first).toMatchObject({ code: 0, stdout: "imported 2 sessions, 8 new messages\n" });
  await within(async (hf) => {
    const session = await hf.sessions.get(`claude-code/${SESSION}`);
    expect(session).toMatchObject({ request: "local", messages: 4, title: "message 0" });
    expect((await hf.captures.list()).items).toEqual([]);
  });
  expect((await local()).stdout).toBe("imported 0 sessions, 0 new messages\n  unchanged  2\n");
  write(file(SESSION), sessionText(SESSION, 6));
  expect(await importEvents()).toMatchObject([
    { event: "unchanged", sessionId: OTHER },
    { event: "imported", agent: "claude-code", sessionId: SESSION, session: `claude-code/${SESSION}`, messages: 2 },
    { event: "end", imported: 1, unchanged: 1, failed: 0, messages: 2 },
  ]);
  write(path.join(projects, "-w", SESSION, "subagents/agent-a1.jsonl"), transcript(4, "/w", { isSidechain: true }));
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 1, messages: 2 });
});

test("the JSON line at the end says how many texts an embedder that fails left waiting", async () => {
  write(file(SESSION), sessionText(SESSION, 2));
  const server = await startFakeEmbeddings(() => ({ status: 401, json: {} }));
  const end = (await importEvents("--embedder", `openai:${server.url}/v1#m@8`)).at(-1);
  await server.close();
  const note = expect.stringContaining("HTTP 401; 2 texts have no embedding");
  expect(end).toMatchObject({ event: "end", messages: 2, embedding: { waiting: 2, note } });
});

test("of Claude Code 2.0, too, what a sub-agent added is brought in, and to its session alone", async () => {
  write(file(SESSION), sessionText(SESSION, 4));
  write(file(OTHER), sessionText(OTHER, 2));
  const flat = path.join(projects, "-w", "agent-0abc123.jsonl");
  write(flat, transcript(1, "/w", { isSidechain: true }));
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 2, messages: 7 });
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 0, unchanged: 2 });
  write(flat, transcript(2, "/w", { isSidechain: true }));
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 1, unchanged: 1, messages: 1 });
});

test("what did not change is not read", async () => {
  write(file(SESSION), sessionText(SESSION, 4));
  const when = new Date("2026-01-01");
  utimesSync(file(SESSION), when, when);
  await local();
  // As long as before and of the same time: only who reads it would see the difference.
  write(file(SESSION), sessionText(SESSION, 4).replaceAll("message 3", "MESSAGE 3").replaceAll('"u3"', '"v3"'));
  utimesSync(file(SESSION), when, when);
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 0, unchanged: 1 });
  utimesSync(file(SESSION), when, new Date("2026-01-02"));
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 1, unchanged: 0 });
});

test("a session that fails stops no other, and sets the exit code", async () => {
  write(file(SESSION), sessionText(SESSION, 2));
  write(file(OTHER), sessionText(OTHER, 2));
  utimesSync(file(SESSION), new Date("2026-01-01"), new Date("2026-01-01"));
  // Another's session has the name: a fork has a past that is no conversation of this agent.
  await cli(["messages", "add", "chat", "--agent", "a", "hello"]);
  await cli(["fork", "chat", `claude-code/${SESSION}`]);
  const { code, stdout, stderr } = await local();
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^Claude Code ${SESSION}: not imported: `));
  expect(stdout).toBe("imported 1 session, 2 new messages\n  failed  1\n");
  expect(await importEvents()).toMatchObject([
    { event: "failed", sessionId: SESSION, code: "InvalidArgument" },
    {},
    { failed: 1 },
  ]);
});

test("empty ones make no session, erased ones stay so, and old ones are left out", async () => {
  write(file(SESSION), '{"type":"queue-operation"}\n\u0000garbage');
  write(file(OTHER), sessionText(OTHER, 2));
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 1, empty: 1 });
  await within(async (hf) => {
    expect(await hf.sessions.get(`claude-code/${SESSION}`)).toBeNull();
    await hf.sessions.delete(`claude-code/${OTHER}`);
  });
  expect((await importEvents()).at(-1)).toMatchObject({ imported: 0, empty: 1, erased: 1 });
  utimesSync(file(OTHER), new Date("2020-01-01"), new Date("2020-01-01"));
  expect((await importEvents("--since", "1d")).at(-1)).toMatchObject({ imported: 0, empty: 1, erased: 0 });
  expect(await local(["--since", "monday"])).toMatchObject({ code: 2 });
});

test("each can have a request of its own", async () => {
  write(file(SESSION), sessionText(SESSION, 2));
  await importEvents("--request-prefix", "me/");
  await within(async (hf) =>
    expect(await hf.sessions.get(`claude-code/${SESSION}`)).toMatchObject({ request: `me/${SESSION}` }),
  );
});

test("likely secrets are masked when asked to", async () => {
  const secret = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3fG5"}`;
  write(file(SESSION), sessionText(SESSION, 2).replace("message 0", `token ${secret}`));
  await importEvents("--mask-secrets");
  const { stdout } = await cli(["messages", `claude-code/${SESSION}`]);
  expect(stdout).toContain("token [redacted:github-token]");
});

test("a transcript that is in several directories is taken once, the longest", async () => {
  write(file(SESSION), sessionText(SESSION, 2));
  write(file(SESSION, "-x"), sessionText(SESSION, 4));
  expect(await importEvents()).toMatchObject([{ event: "imported", messages: 4 }, { imported: 1 }]);
});

test("OpenCode's come with those below them; without its program the others are imported all the same", async () => {
  const machine = newMachine("new");
  home = path.join(machine.root, "home");
  projects = path.join(home, ".claude", "projects");
  write(file(SESSION), sessionText(SESSION, 2));
  for (const session of [exported("ses_root", 4), exported("ses_child", 2, "ses_root"), exported("ses_other", 1)]) {
    writeFileSync(path.join(machine.root, "put.json"), JSON.stringify(session));
    await machine.with({}).text(["import", path.join(machine.root, "put.json")]);
  }
  const bare = await local(["--json"], { env: { PATH: "/nonexistent" } });
  expect(bare.code).toBe(1);
  expect(bare.stdout).toContain('"event":"imported","agent":"claude-code"');
  expect(bare.stdout).toContain('"event":"failed","agent":"opencode","sessionId":null,"code":"MissingDependency"');

  const bin = path.join(machine.root, "bin");
  mkdirSync(bin);
  const fake = path.resolve(import.meta.dirname, "../../../test/fake-opencode.ts");
  writeFileSync(path.join(bin, "opencode"), `#!/bin/sh\nexec '${process.execPath}' '${fake}' "$@"\n`);
  chmodSync(path.join(bin, "opencode"), 0o755);
  const log = path.join(machine.root, "commands");
  rmSync(log, { force: true });
  const env = { PATH: `${bin}:${process.env.PATH}`, FAKE_LOG: log };
  const argv = ["--agent", "opencode"];
  // The fake's answers are never complete: only prompts are there to be imported.
  const first = await local(argv, { env });
  expect(first).toMatchObject({ code: 0, stdout: "imported 2 sessions, 4 new messages\n" });
  expect(machine.commands().filter((command) => command.startsWith("export"))).toHaveLength(3);
  rmSync(log);
  expect((await local(argv, { env })).stdout).toBe("imported 0 sessions, 0 new messages\n  unchanged  2\n");
  expect(machine.commands()).toEqual(["db select"]);
});

test("OpenCode's old files: one that is damaged stops no other", async () => {
  const storage = path.join(home, ".local/share/opencode/storage");
  const info = (id: string) => JSON.stringify({ id, directory: "/w", title: id, time: { created: 1, updated: 2 } });
  write(path.join(storage, "session/p/ses_a.json"), '{"id":');
  write(path.join(storage, "session/p/ses_b.json"), info("ses_b"));
  write(path.join(storage, "session/p/ses_c.json"), info("ses_c"));
  for (const id of ["b", "c"]) {
    const message = { id: `msg_${id}`, sessionID: `ses_${id}`, role: "user", time: { created: 1 } };
    write(path.join(storage, `message/ses_${id}/msg_${id}.json`), JSON.stringify(message));
    const part = { id: `prt_${id}`, sessionID: `ses_${id}`, messageID: `msg_${id}`, type: "text", text: "hello" };
    write(path.join(storage, `part/msg_${id}/prt_${id}.json`), id === "b" ? "{" : JSON.stringify(part));
  }
  const lines = await importEvents();
  expect(lines.map(({ event, sessionId }) => [event, sessionId])).toEqual([
    ["failed", null],
    ["failed", "ses_b"],
    ["imported", "ses_c"],
    ["end", undefined],
  ]);
});

test("stops between two sessions after a signal", async () => {
  for (const id of [SESSION, OTHER]) write(file(id), sessionText(id, 2));
  const { code, stdout } = await local(["--json"], { signal: AbortSignal.abort() });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ event: "end", imported: 0, stopped: true });
});
