// capture, restore, captures and handover through main(): sessions of coding agents from one machine to another.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  newFolder,
  OTHER,
  SESSION,
  snapshot,
  transcript,
  write,
  writeRichSession,
} from "../../../test/coding/claude-tree.ts";
import { Transcript } from "../../../test/coding/transcripts.ts";
import { exported, newMachine, removeMachines } from "../../../test/opencode-machine.ts";
import { cli, enter, leave, within } from "../../../test/shell.ts";
import { projectKey } from "../../coding/claude/session-files.ts";
import type { OutputCaptureOptions } from "../output-capture.ts";

let store: string;
beforeEach(async () => {
  store = await enter();
});
afterEach(leave);
afterAll(removeMachines);

/** A user of Claude Code, with a directory to work in. */
function machine(): { home: string; work: string; configDir: string; key: string } {
  const root = newFolder();
  const [home, work] = [path.join(root, "home"), path.join(root, "work.dir")];
  for (const folder of [home, work]) mkdirSync(folder);
  return { home, work, configDir: path.join(home, ".claude"), key: projectKey(work) };
}

function rich() {
  const made = machine();
  writeRichSession(made, made.work);
  return made;
}

type Here = { home: string; work: string };

const at = ({ home, work }: Here, options: OutputCaptureOptions = {}): OutputCaptureOptions => ({
  cwd: work,
  ...options,
  env: { HOME: home, HOLDFAST_STORE: path.join(store, "holdfast.db"), ...options.env },
});

async function ran(here: Here, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv, at(here));
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  return stdout;
}

const events = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const noStore = { HOLDFAST_STORE: "/nonexistent/holdfast.db" };
const SECRET = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3fG5"}`;

describe("capture and restore", () => {
  test("CA1 a session goes to another machine, byte for byte, with its conversation in a session", async () => {
    const one = rich();
    const stdout = await ran(one, "capture", "--session-id", SESSION, "--request", "issue-7");
    expect(stdout).toMatch(
      new RegExp(
        `^captured ${SESSION} as cap_\\w+\\n  generation 1: 11 files, .* stored\\), kept for 7 d\\n` +
          `  9 new messages in session claude-code/${SESSION}\\n$`,
      ),
    );
    const other = machine();
    const back = await cli(["restore", "--request", "issue-7"], at(other));
    expect(back).toMatchObject({ code: 0, stdout: `claude --resume ${SESSION}\n` });
    expect(back.stderr).toMatch(/^Claude Code \S+ restored: 11 files, .*, 6 messages, in /);
    const below = (tree: ReturnType<typeof machine>) => {
      const project = snapshot(path.join(tree.configDir, "projects", tree.key));
      return [...project].filter(([name]) => name !== "").map(([name, what]) => [name, what.replace(/^\d+ /, "")]);
    };
    expect(below(other).filter(([, what]) => what?.startsWith("sha256"))).toEqual(
      below(one).filter(([, what]) => what?.startsWith("sha256")),
    );
    await within(async (hf) => {
      const session = await hf.sessions.get(`claude-code/${SESSION}`);
      expect(session).toMatchObject({ request: "issue-7", messages: 6, title: "message 0" });
    });
  });

  test("CA2 what was added is a new generation, and its messages come behind those that are there", async () => {
    const here = rich();
    await ran(here, "capture", "--session-id", SESSION, "--request", "r");
    const file = path.join(here.configDir, "projects", here.key, `${SESSION}.jsonl`);
    write(file, transcript(8, here.work));
    const again = events(await ran(here, "capture", "--transcript", file, "--request", "r", "--json"));
    expect(again.map(({ event }) => event)).toEqual([
      "start",
      "session",
      "directory",
      "files",
      "secrets",
      "saved",
      "conversation",
    ]);
    expect(again[5]).toMatchObject({ generation: 2, request: "r", session: `claude-code/${SESSION}` });
    expect(again[6]).toMatchObject({ messages: 2 });
    // The path says where Claude Code keeps its sessions, whoever runs the command.
    await ran({ ...here, home: newFolder() }, "capture", "--transcript", file, "--request", "r", "--dry-run");
  });

  test("a dry run logs the same events and writes nothing", async () => {
    const here = rich();
    write(path.join(here.configDir, "projects", here.key, SESSION, "tool-results/toolu_2.txt"), `token ${SECRET}\n`);
    const before = snapshot(path.dirname(here.home));
    const argv = ["capture", "--session-id", SESSION, "--request", "r", "--out", "a.hfcap", "--dry-run"];
    const told = events(await ran(here, ...argv, "--json"));
    expect(told.map(({ event }) => event)).toEqual(["start", "session", "directory", "files", "secrets", "dry-run"]);
    const [start, session, directory, files, secrets] = told;
    expect(start).toEqual({ event: "start", agent: "claude-code", request: "r", out: "a.hfcap", dryRun: true });
    expect(session).toMatchObject({ sessionId: SESSION, agentVersion: "2.1.325" });
    expect(directory).toMatchObject({ cwd: here.work, configDir: here.configDir, key: here.key });
    expect(files.files).toBe(12);
    expect(files.roles).toMatchObject({
      transcript: { files: 1 },
      subagent: { files: 3 },
      "tool-result": { files: 2 },
    });
    expect(secrets.secrets).toMatchObject([
      { kind: "github-token", line: 1, path: expect.stringContaining("toolu_2") },
    ]);
    const { stdout } = await cli(argv, at(here));
    expect(stdout).toMatch(/^files {9}12 files, /m);
    expect(stdout).toMatch(/^secrets {7}github-token ghp_…\(40 bytes\)\n +project\/.*toolu_2\.txt:1$/m);
    expect(stdout).not.toContain(SECRET);
    expect(snapshot(path.dirname(here.home))).toEqual(before);
    expect(await cli(argv, at(here, { env: { ...noStore } }))).toMatchObject({ code: 0 });
    await within(async (hf) => {
      expect((await hf.captures.list()).items).toEqual([]);
      expect((await hf.sessions.list()).items).toEqual([]);
    });
  });

  test("CA1 likely secrets are reported without being shown, and masked in files and conversation when asked to", async () => {
    const here = machine();
    const file = path.join(here.configDir, "projects", here.key, `${SESSION}.jsonl`);
    write(file, transcript(4, here.work).replace("message 2", `my token is ${SECRET}`));
    const plain = await cli(["capture", "--session-id", SESSION, "--request", "r"], at(here));
    expect(plain.stderr).toMatch(
      /^warning: found 1 likely secret; --mask-secrets replaces them\n {2}github-token \S+\(40 bytes\)\n {4}project\/\S+:4\n/,
    );
    expect(plain.stderr + plain.stdout).not.toContain(SECRET);
    await ran(here, "capture", "--session-id", SESSION, "--request", "r", "--no-session");
    write(file, readFileSync(file, "utf8").replaceAll(SESSION, OTHER));
    write(file.replace(SESSION, OTHER), readFileSync(file));
    await ran(here, "capture", "--session-id", OTHER, "--request", "r", "--mask-secrets");
    const messages = await ran(here, "messages", `claude-code/${OTHER}`, "--json");
    expect(messages).toContain("my token is [redacted:github-token]");
    expect(messages).not.toContain(SECRET);
    const other = machine();
    await ran(other, "restore", "--session-id", OTHER);
    const put = readFileSync(path.join(other.configDir, "projects", other.key, `${OTHER}.jsonl`), "utf8");
    expect(put).toContain("my token is [redacted:github-token]");
    expect(put).not.toContain(SECRET);
    await ran(here, "capture", "--session-id", OTHER, "--mask-secrets", "--out", "masked.hfcap");
    const third = machine();
    await ran(third, "restore", "--from", path.join(here.work, "masked.hfcap"));
    expect(readFileSync(path.join(third.configDir, "projects", third.key, `${OTHER}.jsonl`), "utf8")).toBe(put);
  });

  test("CA1 a secret that one file reveals is masked in all files, in bundles and conversations, and known at a restore", async () => {
    const here = machine();
    const project = path.join(here.configDir, "projects", here.key);
    const text = transcript(4, here.work).replace("message 2", "the pass is hunter2pass");
    write(path.join(project, `${SESSION}.jsonl`), text);
    write(path.join(project, SESSION, "tool-results", "a.txt"), "curl --user me:hunter2pass https://host\n");
    await ran(here, "capture", "--session-id", SESSION, "--request", "r", "--mask-secrets");
    const messages = await ran(here, "messages", `claude-code/${SESSION}`, "--json");
    expect(messages).toContain("the pass is [redacted:password]");
    expect(messages).not.toContain("hunter2pass");
    await ran(here, "capture", "--session-id", SESSION, "--mask-secrets", "--out", "masked.hfcap");
    const other = machine();
    await ran(other, "restore", "--from", path.join(here.work, "masked.hfcap"));
    const put = path.join(other.configDir, "projects", other.key);
    expect(readFileSync(path.join(put, `${SESSION}.jsonl`), "utf8")).toContain("the pass is [redacted:password]");
    expect(readFileSync(path.join(put, SESSION, "tool-results", "a.txt"), "utf8")).not.toContain("hunter2pass");
    // What is here is what was captured, with the secrets in it: it stays.
    await ran(here, "restore", "--session-id", SESSION);
    expect(readFileSync(path.join(project, `${SESSION}.jsonl`), "utf8")).toBe(text);
  });

  test("CA6 a bundle goes by file, pipe and base64, and needs no store", async () => {
    const here = rich();
    const outside = (options: OutputCaptureOptions = {}) => at(here, { ...options, env: { ...noStore } });
    const made = await cli(["capture", "--session-id", SESSION, "--out", "a.hfcap"], outside());
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^wrote .* to a\.hfcap\n$/) });
    const file = path.join(here.work, "a.hfcap");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await cli(["capture", "--session-id", SESSION, "--out", "a.hfcap"], outside())).toMatchObject({ code: 4 });
    const bytes = readFileSync(file);
    const base64 = bytes.toString("base64");
    const wrapped = base64.replace(/.{76}/g, "$&\n");
    for (const [from, stdin] of [
      [file, ""],
      ["-", bytes],
      ["-", `${wrapped}\n`],
      [`base64:${base64}`, ""],
    ] as const) {
      const other = machine();
      const input = (async function* () {
        yield stdin;
      })();
      const back = await cli(["restore", "--from", from], at(other, { stdin: input, env: { ...noStore } }));
      expect(back).toMatchObject({ code: 0, stdout: `claude --resume ${SESSION}\n` });
      const put = readFileSync(path.join(other.configDir, "projects", other.key, `${SESSION}.jsonl`), "utf8");
      expect(put).toBe(transcript(6, here.work));
    }
    const besides = await ran(here, "capture", "--session-id", SESSION, "--request", "r", "--out", "b.hfcap");
    expect(besides).toMatch(/^captured [\s\S]*\n {2}wrote .* to b\.hfcap\n$/);
  });

  test("a transcript alone, in gzip and base64, is restored under the given id", async () => {
    const text = transcript(4, "/elsewhere");
    for (const bytes of [gzipSync(text), Buffer.from(text)]) {
      const here = machine();
      const from = `base64:${bytes.toString("base64")}`;
      expect(await cli(["restore", "--from", from], at(here))).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--session-id"),
      });
      const back = await cli(["restore", "--from", from, "--session-id", SESSION, "--json"], at(here));
      expect(JSON.parse(back.stdout)).toMatchObject({
        messages: 4,
        capture: null,
        resume: `claude --resume ${SESSION}`,
      });
      const file = path.join(here.configDir, "projects", here.key, `${SESSION}.jsonl`);
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });

  test.each([
    ["nothing", Buffer.alloc(0)],
    ["gzip that is cut off", gzipSync(transcript(40, "/w")).subarray(0, 60)],
    ["gzip of something else", gzipSync("hello")],
    ["a bundle that is cut off", Buffer.concat([Buffer.from("hfcap\u0000\u0001\n"), Buffer.from("x")])],
    ["other text", Buffer.from("hello, world")],
    ["a picture", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ])("%s is refused, and nothing is written", async (_, bytes) => {
    const here = machine();
    const file = path.join(here.work, "handed");
    writeFileSync(file, bytes);
    const before = snapshot(path.dirname(here.home));
    for (const more of [[], ["--session-id", SESSION]]) {
      const back = await cli(["restore", "--from", file, ...more], at(here));
      expect(back).toMatchObject({ code: 5, stdout: "" });
    }
    expect(snapshot(path.dirname(here.home))).toEqual(before);
  });

  test("restore takes the directory of the agent, and refuses a session that diverged", async () => {
    const here = rich();
    await ran(here, "capture", "--session-id", SESSION, "--request", "r");
    const other = machine();
    const elsewhere = path.join(other.home, "it's here");
    mkdirSync(elsewhere);
    const back = await cli(["restore", "--session-id", SESSION, "--cwd", elsewhere], at(other));
    expect(back.stdout).toBe(`cd '${other.home}/it'\\''s here' && claude --resume ${SESSION}\n`);
    const file = path.join(other.configDir, "projects", projectKey(elsewhere), `${SESSION}.jsonl`);
    write(file, transcript(6, "/somewhere else"));
    expect(await cli(["restore", "--request", "r", "--cwd", elsewhere], at(other))).toMatchObject({ code: 4 });
    expect(await cli(["restore", "--request", "r", "--cwd", elsewhere, "--overwrite"], at(other))).toMatchObject({
      code: 0,
    });
    expect(readFileSync(file, "utf8")).toBe(transcript(6, here.work));
  });

  test("CA5 the error for a missing or expired capture says what to do", async () => {
    const here = rich();
    await ran(here, "capture", "--session-id", SESSION, "--request", "r");
    const none = await cli(["restore", "--request", "other"], at(here));
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining("no capture of request") });
    expect(await cli(["restore", "--capture", "cap_none"], at(here))).toMatchObject({ code: 3 });
    const id = await within(async (hf) => {
      const capture = await hf.captures.latest("r");
      await hf.captures.expire(capture?.id ?? "", 1);
      return capture?.id ?? "";
    });
    expect(await cli(["restore", "--request", "r"], at(here))).toMatchObject({ code: 3 });
    const expired = await cli(["restore", "--capture", id], at(here));
    expect(expired).toMatchObject({ code: 3, stderr: expect.stringContaining(`holdfast captures keep ${id}`) });
    expect(await cli(["handover", "--request", "r"], at(here))).toMatchObject({ code: 0 });
  });

  test.each([
    [["capture", "--request", "r"], "--session-id"],
    [["capture", "--session-id", SESSION], "--request"],
    [["capture", "--session-id", "what", "--request", "r"], "UUIDs"],
    [["capture", "--session-id", SESSION, "--out", "-", "--json"], "--out FILE"],
    [["capture", "--session-id", SESSION, "--request", "r", "--ttl", "soon"], "--ttl"],
    [["capture", "--session-id", SESSION, "--out", "a", "--ttl", "1d"], "--request"],
    [["capture", "--transcript", "a", "--agent", "opencode", "--request", "r"], "--session-id"],
    [["capture", "--session-id", SESSION, "--agent", "codex", "--request", "r"], "claude-code or opencode"],
    [["restore"], "--request ID"],
    [["restore", "--capture", "c", "--request", "r"], "--capture"],
    [["restore", "--from", "f", "--request", "r"], "--from"],
    [["handover"], "--request ID"],
    [["handover", "s", "--request", "r"], "give exactly one of"],
    [["captures", "rm"], "--request ID"],
    [["captures", "keep", "c", "--until", "tomorrow"], "2027-01-31"],
  ])("%j is a mistake that is told", async (argv, words) => {
    const { code, stdout, stderr } = await cli(argv, at(machine()));
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(words) });
  });

  test("CA8 a conversation that cannot be imported is reported, and the capture is stored", async () => {
    const here = rich();
    await ran(here, "messages", "add", "chat", "--agent", "a", "hello");
    // Another's session has the name: a fork has a past that is no conversation of this agent.
    await ran(here, "fork", "chat", `claude-code/${SESSION}`);
    const { code, stdout, stderr } = await cli(
      ["capture", "--session-id", SESSION, "--request", "r", "--json"],
      at(here),
    );
    expect(code).toBe(4);
    const saved = events(stdout).find(({ event }) => event === "saved");
    expect(JSON.parse(stderr)).toMatchObject({ code: "Conflict", details: { capture: saved.capture } });
    expect(JSON.parse(stderr).hint).toContain(`holdfast restore --capture ${saved.capture}`);
    await ran(machine(), "restore", "--capture", saved.capture);
    await ran(here, "capture", "--session-id", SESSION, "--request", "r", "--no-session");
  });

  test("a session that is not on this machine is not found", async () => {
    expect(await cli(["capture", "--session-id", SESSION, "--request", "r"], at(machine()))).toMatchObject({ code: 3 });
  });

  test("OpenCode's sessions go the same way", async () => {
    const [one, other] = [newMachine(), newMachine()];
    const bin = newFolder();
    const fake = path.resolve(import.meta.dirname, "../../../test/fake-opencode.ts");
    writeFileSync(path.join(bin, "opencode"), `#!/bin/sh\nexec '${process.execPath}' '${fake}' "$@"\n`);
    chmodSync(path.join(bin, "opencode"), 0o755);
    const on = ({ root, cwd }: typeof one) =>
      at({ home: path.join(root, "home"), work: cwd }, { env: { PATH: `${bin}:${process.env.PATH}` } });
    for (const session of [exported("ses_root", 5), exported("ses_child", 2, "ses_root")]) {
      writeFileSync(path.join(one.root, "put.json"), JSON.stringify(session));
      await one.with({}).text(["import", path.join(one.root, "put.json")]);
    }
    const saved = await cli(["capture", "--session-id", "ses_root", "--request", "r"], on(one));
    expect(saved.stderr).toBe("");
    expect(saved.stdout).toMatch(/^captured ses_root as cap_\w+\n {2}generation 1: 2 files, /);
    const back = await cli(["restore", "--request", "r"], on(other));
    expect(back).toMatchObject({ code: 0, stdout: "opencode run --session ses_root\n" });
    expect(await other.rows("select id from session order by id")).toEqual([{ id: "ses_child" }, { id: "ses_root" }]);
    expect(await cli(["restore", "--request", "r", "--overwrite"], on(other))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("opencode session delete ses_root"),
    });
    const wrong = await cli(["restore", "--request", "r", "--agent", "claude-code"], on(other));
    expect(wrong).toMatchObject({ code: 3 });
    const missing = await cli(["capture", "--session-id", "ses_none", "--request", "r"], on(one));
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining("OpenCode has no session ses_none") });
  });
});

describe("captures", () => {
  async function saved(request: string, ttl = "7d"): Promise<string> {
    const here = rich();
    const told = await ran(here, "capture", "--session-id", SESSION, "--request", request, "--ttl", ttl, "--json");
    return events(told).find(({ event }) => event === "saved").capture;
  }

  test("ls and show fit the terminal and say how long they are kept", async () => {
    expect((await cli(["captures"])).stdout).toBe("no captures\n");
    const [a, b] = [await saved("issue-7"), await saved("issue-8", "never")];
    const { stdout } = await cli(["captures"], { columns: 100, env: { NO_COLOR: "1" } });
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(stdout).toMatch(new RegExp(`^${b} +issue-8 +.* +never .*\n${a} +issue-7 +.* +in 7 d `, "m"));
    const page = JSON.parse((await cli(["captures", "ls", "--request", "issue-7", "--json"])).stdout);
    expect(page).toMatchObject({ items: [{ id: a, agent: "claude-code" }], next: null });
    const shown = (await cli(["captures", "show", a])).stdout;
    expect(shown).toMatch(/^agent +Claude Code 2\.1\.325$/m);
    expect(shown).toMatch(/^tool-result +5\.0 kB +.* project\/.*\/tool-results\/toolu_1\.txt$/m);
    expect(await cli(["captures", "show", "cap_none"])).toMatchObject({ code: 3 });
  });

  test("keep, rm and sweep: what goes is said, and asked for first", async () => {
    const [a, b, c] = [await saved("r"), await saved("s"), await saved("t")];
    expect((await cli(["captures", "keep", a])).stdout).toBe(`${a} expires never\n`);
    expect((await cli(["captures", "keep", a, "--ttl", "30d"])).stdout).toBe(`${a} expires in 30 d\n`);
    await within((hf) => hf.captures.expire(a, 1));
    const shown = await cli(["captures", "show", a]);
    expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining(`holdfast captures keep ${a}`) });
    const dry = await cli(["captures", "sweep", "--dry-run"]);
    expect(dry.stdout).toMatch(
      new RegExp(`^dry run: nothing was changed\nexpired ${a} of request r \\(${SESSION}\\)\n`),
    );
    expect(JSON.parse((await cli(["captures", "show", a, "--json"])).stdout)).toMatchObject({ id: a, files: null });
    expect((await cli(["captures", "sweep"])).stdout).toContain(`deleted ${a} `);
    expect(await cli(["captures", "show", a])).toMatchObject({ code: 3 });
    expect(await cli(["captures", "rm", b])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await cli(["captures", "show", b])).toMatchObject({ code: 0 });
    expect((await cli(["captures", "rm", b, "--yes"])).stdout).toContain(`deleted ${b} `);
    expect((await cli(["captures", "rm", "--request", "t", "--yes"])).stdout).toContain(`deleted ${c} `);
    expect((await cli(["captures", "rm", "--request", "t", "--yes"])).stdout).toBe(
      "there were no captures to delete\n",
    );
    await within(async (hf) => expect((await hf.sessions.get(`claude-code/${SESSION}`))?.messages).toBe(6));
  });

  test("prefer chooses between two machines that went on from the same one", async () => {
    await saved("r");
    const beside = await within(async (hf) => {
      const newest = await hf.captures.latest("r");
      const files = [{ role: "transcript" as const, path: `project/${SESSION}.jsonl`, content: Buffer.from("{}\n") }];
      const stale = { id: newest?.id ?? "", generation: 7 };
      const given = { request: "r", agent: "claude-code" as const, sessionId: SESSION, cwd: "/w", files };
      return (await hf.captures.save({ ...given, basis: stale, onConflict: "keep" })).id;
    });
    expect((await cli(["captures", "--json"])).stdout).not.toContain(beside);
    expect((await cli(["captures", "--beside"])).stdout).toMatch(new RegExp(`${beside} .* yes `));
    expect((await cli(["captures", "prefer", beside])).stdout).toBe(`${beside} is the newest of ${SESSION} now\n`);
    expect(JSON.parse((await cli(["captures", "--json"])).stdout).items).toMatchObject([{ id: beside }]);
  });

  test("CA5 gc sweeps before it collects, and says so", async () => {
    const a = await saved("r");
    await within((hf) => hf.captures.expire(a, 1));
    expect((await cli(["gc", "--dry-run"])).stdout).toMatch(/^ {2}captures +1 expired capture \(.*\)$/m);
    expect(await cli(["captures", "show", a])).toMatchObject({ code: 0 });
    const report = JSON.parse((await cli(["gc", "--json"])).stdout);
    expect(report).toMatchObject({
      dryRun: false,
      captures: { removed: [{ id: a, request: "r", sessionId: SESSION }] },
    });
    expect(await cli(["captures", "show", a])).toMatchObject({ code: 3 });
    expect((await cli(["gc"])).stdout).not.toContain("captures");
  });
});

describe("handover", () => {
  test("summarises prompts and work, whichever way the session is named", async () => {
    const here = machine();
    const said = new Transcript("h");
    said.prompt("fix the \u001b[31mred\u001b[0m bug");
    said.tools("Bash");
    said.say("it is fixed");
    write(
      path.join(here.configDir, "projects", here.key, `${SESSION}.jsonl`),
      said.text.replaceAll(/1{8}-\S{27}/g, SESSION),
    );
    const told = events(await ran(here, "capture", "--session-id", SESSION, "--request", "r", "--json"));
    const id = told.find(({ event }) => event === "saved").capture;
    const session = `claude-code/${SESSION}`;
    const ways = [["--request", "r"], ["--session-id", SESSION], ["--capture", id], [session]];
    for (const way of ways) {
      const { code, stdout } = await cli(["handover", ...way]);
      expect(code).toBe(0);
      expect(stdout).toContain("it is fixed");
      expect(stdout).toContain(`    holdfast restore --capture ${id}`);
      expect(stdout).not.toContain("\u001b");
    }
    await cli(["captures", "rm", id, "--yes"]);
    for (const way of ways.filter(([option]) => option !== "--capture")) {
      const { code, stdout } = await cli(["handover", ...way]);
      expect(code, way.join(" ")).toBe(0);
      expect(stdout).toContain("it is fixed");
      expect(stdout).not.toContain("holdfast restore");
    }
    expect((await cli(["handover", session, "--out", "H.md"])).stdout).toBe(
      `wrote the handover of session ${session} to H.md\n`,
    );
    expect(existsSync(path.join(store, "H.md"))).toBe(true);
    expect(await cli(["handover", session, "--out", "H.md"])).toMatchObject({ code: 4 });
    expect(await cli(["handover", "--request", "other"])).toMatchObject({ code: 3 });
    const document = JSON.parse((await cli(["handover", session, "--json"])).stdout);
    expect(document).toMatchObject({ session, capture: null, markdown: expect.stringContaining("# Handover") });
  });
});
