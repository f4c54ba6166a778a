// Who runs a coding agent and then asks what it did: by the names that were printed, on 80 columns.
import { mkdirSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newFolder, SESSION, write, writeRichSession } from "../../../test/coding/claude-tree.ts";
import { rich as richTranscript } from "../../../test/coding/transcripts.ts";
import { cli, enter, leave, within } from "../../../test/shell.ts";
import { projectKey } from "../../coding/claude/key.ts";
import type { CaptureOptions } from "../capture.ts";

let store: string;
beforeEach(async () => {
  store = await enter();
});
afterEach(leave);

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

const at = ({ home, work }: Pick<Machine, "home" | "work">, options: CaptureOptions = {}): CaptureOptions => ({
  cwd: work,
  ...options,
  env: { HOME: home, HOLDFAST_STORE: path.join(store, "holdfast.db"), NO_COLOR: "1", ...options.env },
});

async function ran(here: Machine, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv, at(here));
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  return stdout;
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
    const messages = async (id: string) => JSON.parse((await cli(["messages", id, "--json"])).stdout).session;
    expect(await messages(SESSION)).toBe(ours);
    await within((hf) => hf.sessions.create({ id: "opencode/ses_root" }));
    expect(await messages("ses_root")).toBe("opencode/ses_root");
    await within((hf) => hf.sessions.create({ id: SESSION }));
    expect(await messages(SESSION)).toBe(SESSION);
  });

  test("a request where a session is meant is told how to list its sessions", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "fix 42");
    const { code, stderr } = await cli(["messages", "fix 42"]);
    expect(code).toBe(3);
    expect(stderr).toContain("`holdfast sessions --request 'fix 42'` lists its sessions");
    expect((await cli(["messages", "fix-43"])).stderr).toContain("`holdfast sessions` lists those there are");
  });
});

describe("tables on 80 columns", () => {
  test("sessions shows whole ids, titles and when they changed; requests where there is room", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "fix-42");
    await within((hf) => hf.sessions.update(ours, { title: "Mend the tests of the login" }));
    const { stdout } = await cli(["sessions"], terminal);
    expect(stdout).toMatch(/^SESSION +CHANGED +TITLE$/m);
    expect(stdout).toMatch(new RegExp(`^${ours}  just now  Mend the tests of t…$`, "m"));
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

  test("trace says the session once, also to a file", async () => {
    await ran(rich(), "capture", "--session-id", SESSION, "--request", "r");
    const { stdout } = await cli(["trace", SESSION]);
    expect(stdout).toMatch(/^#4 +2\d{3}-\d\d-\d\d .* #3$/m);
    expect(stdout).not.toMatch(new RegExp(`^${ours}#`, "m"));
  });
});
