// Who runs a coding agent and then asks what it did: by the names that were printed, on 80 columns.
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import * as path from "node:path";
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
import { rich as richTranscript } from "../../../test/coding/transcripts.ts";
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
function machine() {
  const root = newFolder();
  const [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const folder of [home, work]) mkdirSync(folder);
  return { home, work, configDir: path.join(home, ".claude"), key: projectKey(work) };
}

function rich() {
  const made = machine();
  writeRichSession(made, made.work);
  return made;
}

type Machine = ReturnType<typeof machine>;

const transcriptOf = ({ configDir, key }: Machine, id = SESSION) =>
  path.join(configDir, "projects", key, `${id}.jsonl`);

const at = (
  { home, work }: Pick<Machine, "home" | "work">,
  options: OutputCaptureOptions = {},
): OutputCaptureOptions => ({
  cwd: work,
  ...options,
  env: { HOME: home, HOLDFAST_STORE: path.join(store, "holdfast.db"), NO_COLOR: "1", ...options.env },
});

async function ran(here: Machine, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv, at(here));
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  return stdout;
}

/** The program of OpenCode, which is not where it is looked for. */
function fakeOpenCode(): string {
  const program = path.join(newFolder(), "oc");
  const fake = path.resolve(import.meta.dirname, "../../../test/fake-opencode.ts");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${fake}' "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}

const terminal = { columns: 80, env: { NO_COLOR: "1" } };
const ours = `claude-code/${SESSION}`;

describe("names", () => {
  test("what the agent calls its session names ours, unless a session has that id itself", async () => {
    const here = rich();
    await ran(here, "capture", "--session-id", SESSION, "--request", "fix-42");
    for (const command of ["messages", "handover", "log", "trace", "cost", "heads", "tasks"]) {
      expect(await cli([command, SESSION]), command).toMatchObject({
        code: 0,
        stderr: expect.not.stringMatching("no "),
      });
    }
    expect((await cli(["trace", "--causes", `${SESSION}#2`, "--json"])).stdout).toContain(`claude-code/${SESSION}#2`);
    const messages = async (id: string) => JSON.parse((await cli(["messages", id, "--json"])).stdout).session;
    expect(await messages(SESSION)).toBe(ours);
    await within((hf) => hf.sessions.create({ id: "opencode/ses_root" }));
    expect(await messages("ses_root")).toBe("opencode/ses_root");
    await within((hf) => hf.sessions.create({ id: SESSION }));
    expect(await messages(SESSION)).toBe(SESSION);
  });

  test("the error for a request in place of a session says how to list its sessions", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "fix 42");
    const { code, stderr } = await cli(["messages", "fix 42"]);
    expect(code).toBe(3);
    expect(stderr).toContain("`holdfast sessions --request 'fix 42'` lists its sessions");
    expect((await cli(["messages", "fix-43"])).stderr).toContain("`holdfast sessions` lists all sessions");
  });
});

describe("tables on 80 columns", () => {
  test("sessions shows whole ids, and titles, requests and messages beside them", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "fix-42");
    await within((hf) => hf.sessions.update(ours, { title: "Mend the tests of the login" }));
    const { stdout } = await cli(["sessions"], terminal);
    expect(stdout).toMatch(/^SESSION +.*MESSAGES +CHANGED +REQUEST +TITLE$/m);
    expect(stdout).toMatch(new RegExp(`^${ours}\n +.* just now +fix-42 +Mend the tests o…$`, "m"));
    const below = stdout.split("\n").filter((line) => line.startsWith(`${ours}/`));
    expect(below.length).toBeGreaterThan(0);
    for (const line of stdout.split("\n")) if (!line.startsWith(`${ours}/`)) expect(line.length).toBeLessThan(81);
    expect((await cli(["sessions"], { ...terminal, columns: 120 })).stdout).toMatch(/ REQUEST +TITLE\n[\s\S]* fix-42 /);
    await cli(["sessions", "create", "chat"]);
    await within(async (hf) => {
      for (const { id } of (await hf.sessions.list()).items) if (id !== "chat") await hf.sessions.delete(id);
    });
    expect((await cli(["sessions"], terminal)).stdout).not.toContain("REQUEST");
  });

  test("tags that a program made do not make every line as wide as they are", async () => {
    await within((hf) => hf.sessions.create({ id: "s", title: "t", tags: [`a:${"x".repeat(100)}`, "b"] }));
    for (const line of (await cli(["sessions"])).stdout.split("\n")) expect(line.length).toBeLessThan(120);
  });

  test("cost shows whole ids, and what the calls took", async () => {
    const here = machine();
    write(transcriptOf(here), richTranscript().text.replaceAll(/1{8}-\S{27}/g, SESSION));
    await ran(here, "capture", "--session-id", SESSION, "--request", "r");
    const { stdout } = await cli(["cost"], terminal);
    expect(stdout).toContain(`\n${ours}\n`);
    expect(stdout).toMatch(/^SESSION +MODEL +CALLS +IN +OUT +/m);
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThan(81);
  });

  test("trace names events in full, also to a file", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "r");
    const { stdout } = await cli(["trace", SESSION]);
    expect(stdout).toMatch(new RegExp(`^${ours}#4 +2\\d{3}-\\d\\d-\\d\\d .* ${ours}#3$`, "m"));
  });
});

describe("capture", () => {
  test("makes the store when there is something to save, and says so", async () => {
    const here = rich();
    const env = { HOLDFAST_STORE: path.join(here.work, "new.db") };
    const none = await cli(["capture", "--session-id", OTHER, "--request", "r"], at(here, { env }));
    expect(none.code).toBe(3);
    expect(existsSync(env.HOLDFAST_STORE)).toBe(false);
    const first = await cli(["capture", "--session-id", SESSION, "--request", "r"], at(here, { env }));
    expect(first).toMatchObject({ code: 0, stderr: `created a store at ${env.HOLDFAST_STORE}\n` });
    expect(await cli(["capture", "--session-id", SESSION, "--request", "r"], at(here, { env }))).toMatchObject({
      code: 0,
      stderr: "",
    });
    const other = { HOLDFAST_STORE: path.join(here.work, "other.db") };
    const dry = await cli(["import-local", "--dry-run"], at(here, { env: other }));
    expect(dry).toMatchObject({ code: 0, stderr: "" });
    expect(dry.stdout).toMatch(new RegExp(`^${ours} {2}.*\nwould read 1 session; nothing was written\n$`));
    expect(existsSync(other.HOLDFAST_STORE)).toBe(false);
    const imported = await cli(["import-local"], at(here, { env: other }));
    expect(imported).toMatchObject({ code: 0, stderr: `created a store at ${other.HOLDFAST_STORE}\n` });
    const again = await cli(["import-local", "--dry-run", "--json"], at(here, { env: other }));
    expect(
      again.stdout
        .split("\n")
        .slice(0, 2)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { event: "unchanged", session: ours },
      { event: "end", dryRun: true, imported: 0, unchanged: 1, foreseen: 0 },
    ]);
  });

  test("--latest is the session of the directory that changed last", async () => {
    const here = rich();
    write(transcriptOf(here, OTHER), transcript(2, here.work).replaceAll(SESSION, OTHER));
    utimesSync(transcriptOf(here, OTHER), new Date("2026-01-01"), new Date("2026-01-01"));
    const asked = ["capture", "--latest", "--request", "r"];
    expect(await ran(here, ...asked)).toMatch(new RegExp(`^captured ${SESSION} `));
    utimesSync(transcriptOf(here, OTHER), new Date("2099-01-01"), new Date("2099-01-01"));
    expect(await ran(here, ...asked, "--agent", "claude-code")).toMatch(new RegExp(`^captured ${OTHER} `));
    const elsewhere = await cli([...asked, "--cwd", here.home], at(here));
    expect(elsewhere).toMatchObject({ code: 3, stderr: expect.stringContaining("--session-id") });
    expect(await cli([...asked, "--session-id", SESSION], at(here))).toMatchObject({ code: 2 });
  });

  test("--latest asks OpenCode as well", async () => {
    const one = newMachine("new");
    const here = { ...machine(), home: path.join(one.root, "home"), work: one.cwd };
    for (const session of [exported("ses_root", 5), exported("ses_child", 2, "ses_root")]) {
      write(path.join(one.root, "put.json"), JSON.stringify(session));
      await one.with({}).text(["import", path.join(one.root, "put.json")]);
    }
    const env = { HOLDFAST_OPENCODE: path.relative(here.work, fakeOpenCode()), PATH: process.env.PATH };
    const { stderr, stdout } = await cli(["capture", "--latest", "--request", "r"], at(here, { env }));
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^captured ses_root as cap_/);
    const missing = await cli(["capture", "--session-id", "ses_root", "--request", "r"], at(here));
    expect(missing).toMatchObject({ code: 6, stderr: expect.stringContaining("HOLDFAST_OPENCODE=/path/to/opencode") });
    const dry = await cli(["restore", "--request", "r", "--dry-run"], at(here, { env }));
    expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining("nothing was written") });
  });

  test("a transcript that is not there, or is none, is named", async () => {
    const here = rich();
    const none = await cli(["capture", "--transcript", "/nope", "--request", "r"], at(here));
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining("no file /nope") });
    write(path.join(here.work, "notes.jsonl"), "{}\n");
    const other = await cli(["capture", "--transcript", "notes.jsonl", "--request", "r"], at(here));
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('not "notes"') });
  });

  test("prints on 80 columns what it did, and the same secret once", async () => {
    const here = rich();
    const secret = (n: number) => `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3fG"}${n}`;
    const lines = Array.from({ length: 12 }, (_, i) => `token ${secret(i % 2)}\n`).join("");
    write(path.join(here.configDir, "projects", here.key, SESSION, "tool-results/toolu_2.txt"), lines);
    const { stdout, stderr } = await cli(["capture", "--latest", "--request", "r"], at(here, { columns: 80 }));
    for (const line of `${stdout}${stderr}`.split(/\n|\r/)) expect(line.length, line).toBeLessThan(81);
    expect(stdout).toMatch(new RegExp(`^captured ${SESSION} as cap_\\w+\n  generation 1: 12 files, `));
    expect(stderr).toContain("warning: found 12 likely secrets");
    expect(stderr).toMatch(/^ {2}github-token \S+\(40 bytes\), in 12 places$/m);
    expect(stderr.match(/toolu_2\.txt:\d+$/gm)).toHaveLength(3);
    expect(stderr).toMatch(/^ {4}and 9 more$/m);
  });
});

describe("restore", () => {
  test("hints can be followed as they are", async () => {
    const here = rich();
    await ran(here, "capture", "--latest", "--request", "r");
    const nothing = await cli(["restore", "--request", "nothere"], at(here));
    expect(nothing.code).toBe(3);
    expect(nothing.stderr).not.toContain("handover");
    write(transcriptOf(here), transcript(6, "/somewhere else"));
    const apart = await cli(["restore", "--request", "r"], at(here));
    expect(apart).toMatchObject({ code: 4, stderr: expect.stringContaining("restore with --overwrite") });
    await cli(["captures", "rm", "--request", "r", "--yes"], at(here));
    const told = await cli(["restore", "--request", "r"], at(here));
    expect(told).toMatchObject({ code: 3, stderr: expect.stringContaining("`holdfast handover --request r`") });
    const nowhere = await cli(["restore", "--request", "r", "--cwd", "/nonexistent"], at(here));
    expect(nowhere).toMatchObject({ code: 3, stderr: expect.stringContaining("no directory /nonexistent") });
  });

  test("--dry-run prints which files it would write, and writes nothing; --overwrite says what it kept", async () => {
    const here = rich();
    await ran(here, "capture", "--latest", "--request", "r");
    const other = machine();
    const before = snapshot(path.dirname(other.home));
    const dry = await cli(["restore", "--request", "r", "--dry-run"], at(other));
    expect(dry.code).toBe(0);
    expect(dry.stdout.trimEnd().split("\n")).toHaveLength(11);
    expect(dry.stdout).toContain(`would write ${transcriptOf(other)}\n`);
    expect(dry.stderr).toBe(
      `dry run: nothing was written; \`claude --resume ${SESSION}\` would continue the session\n`,
    );
    expect((await cli(["restore", "--request", "r", "--dry-run"], at(here))).stderr).toContain("exists here unchanged");
    expect(snapshot(path.dirname(other.home))).toEqual(before);
    write(transcriptOf(other), transcript(6, "/somewhere else"));
    expect(await cli(["restore", "--request", "r", "--dry-run"], at(other))).toMatchObject({ code: 4 });
    const would = await cli(["restore", "--request", "r", "--overwrite", "--dry-run"], at(other));
    expect(would.stderr).toMatch(/would keep the present file as \S+\.jsonl\.holdfast-\w+/);
    expect(readFileSync(transcriptOf(other), "utf8")).toBe(transcript(6, "/somewhere else"));
    const done = await cli(["restore", "--request", "r", "--overwrite"], at(other));
    const kept = /the previous file is kept as (\S+)\n/.exec(done.stderr)?.[1] ?? "";
    expect(readFileSync(kept, "utf8")).toBe(transcript(6, "/somewhere else"));
  });
});

describe("captures", () => {
  async function saved(request: string): Promise<string> {
    await ran(rich(), "capture", "--latest", "--request", request);
    return within(async (hf) => (await hf.captures.latest(request))?.id ?? "");
  }

  test("CA5 an expired capture that no sweep deleted is listed, and a command that looks for it says so", async () => {
    const [a, b] = [await saved("r"), await saved("s")];
    await within((hf) => hf.captures.expire(a, Date.now() - 2 * 3_600_000));
    expect((await cli(["captures"])).stderr).toBe(
      "1 has expired and can still be kept: `holdfast captures --expired`\n",
    );
    expect((await cli(["captures", "ls", "--expired"])).stdout).toMatch(new RegExp(`^${a} +r +.* 2 h ago `, "m"));
    expect((await cli(["captures", "--expired", "--request", "s"])).stdout).toBe("no expired captures\n");
    const words = `${a} expired 2 h ago and was not swept yet`;
    const keep = `\`holdfast captures keep ${a}\``;
    const here = machine();
    for (const way of [
      ["--request", "r"],
      ["--capture", a],
    ]) {
      const { code, stderr } = await cli(["restore", ...way], at(here));
      expect(code).toBe(3);
      expect(stderr).toContain(words);
      expect(stderr).toContain(keep);
    }
    expect(await cli(["captures", "show", a])).toMatchObject({ code: 0, stderr: `${words}: ${keep} keeps it\n` });
    await cli(["captures", "keep", a]);
    expect((await cli(["captures"])).stderr).toBe("");
    await ran(here, "restore", "--request", "r");
    expect(b).not.toBe(a);
  });

  test("CA8 what is kept beside is not passed over in silence", async () => {
    const a = await saved("r");
    await within(async (hf) => {
      const files = [{ role: "transcript" as const, path: `project/${SESSION}.jsonl`, content: Buffer.from("{}\n") }];
      const given = { request: "r", agent: "claude-code" as const, sessionId: SESSION, cwd: "/w", files };
      await hf.captures.save({ ...given, basis: { id: a, generation: 7 }, onConflict: "keep" });
    });
    expect((await cli(["captures"])).stderr).toBe("1 more is kept beside: `holdfast captures --beside`\n");
    expect((await cli(["captures", "--beside"])).stderr).toBe("");
    expect((await cli(["captures", "--request", "r", "--agent", "claude-code"])).stderr).toBe(
      "1 more is kept beside: `holdfast captures --beside --request r --agent claude-code`\n",
    );
  });

  test("the first characters of an id name it, and a request is not mistaken for one", async () => {
    const [a, b] = [await saved("r"), await saved("s")];
    let same = 0;
    while (a[same] === b[same]) same++;
    const [short, both] = [a.slice(0, Math.max(8, same + 1)), a.slice(0, same)];
    expect(JSON.parse((await cli(["captures", "show", `${short}…`, "--json"])).stdout).id).toBe(a);
    expect((await cli(["captures", "keep", short])).stdout).toBe(`${a} expires never\n`);
    if (same >= 8) expect((await cli(["captures", "keep", both])).stderr).toContain(`2 captures begin with ${both}`);
    expect(await cli(["captures", "show", a.slice(0, 7)])).toMatchObject({ code: 3 });
    expect((await cli(["captures", "show", "r"])).stderr).toContain("`holdfast captures --request r`");
    expect((await cli(["captures", "rm", short, "--yes"])).stdout).toContain(`deleted ${a} `);
  });

  test("keep refuses a time that is over", async () => {
    const a = await saved("r");
    const { code, stderr } = await cli(["captures", "keep", a, "--until", "2020-01-01"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("is in the past: nothing was changed"),
    });
    expect((await cli(["captures", "keep", a, "--ttl", "forever"])).stderr).toContain("or never");
    expect((await cli(["captures"])).stdout).toContain("in 7 d");
  });

  test("paths are broken behind a slash, and lines that tell what goes between words", async () => {
    const a = await saved("a-request-with-a-name-of-its-own");
    const { stdout } = await cli(["captures", "show", a], terminal);
    expect(stdout).toMatch(new RegExp(` project/${SESSION}\\.jsonl$`, "m"));
    expect(stdout).toMatch(/^ +agent-a1b2\.meta\.json$/m);
    const gone = await cli(["captures", "rm", a, "--yes"], terminal);
    expect(gone.stdout).toBe(`deleted ${a} of request a-request-with-a-name-of-its-own\n  (${SESSION})\n`);
  });
});

test.each(["capture", "restore", "captures", "handover", "import-local"])(
  "the help of %s fits 80 columns",
  async (name) => {
    const { stdout } = await cli([name, "--help"], terminal);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  },
);

test("the error for an ambiguous slip proposes both", async () => {
  expect((await cli(["runn"])).stderr).toContain('did you mean "runs" or "run"?');
});
