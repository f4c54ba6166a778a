// Who works with requests by the names that were printed: what was imported first, a store that is not there yet, a
// variable that is not set, and another agent on the same request.
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newFolder, SESSION, transcript, write } from "../../../test/coding/claude-tree.ts";
import { postgresUrl } from "../../../test/engines.ts";
import { exported } from "../../../test/opencode-machine.ts";
import { lineOf, Machine, newStore, says } from "../../../test/run-machine.ts";
import { cli, enter, leave, within } from "../../../test/shell.ts";
import { projectKey } from "../../coding/claude/session-files.ts";

let store: string;
beforeEach(async () => {
  store = await enter();
});
afterEach(leave);

const ours = `claude-code/${SESSION}`;

/** A home of Claude Code with one session, which has a sub-agent, and the directory that it worked in. */
function machine() {
  const root = newFolder();
  const [home, work] = [path.join(root, "home"), path.join(root, "work")];
  mkdirSync(work);
  const folder = path.join(home, ".claude/projects", projectKey(work));
  write(path.join(folder, `${SESSION}.jsonl`), transcript(4, work));
  write(path.join(folder, SESSION, "subagents/agent-a1.jsonl"), transcript(2, work, { isSidechain: true }));
  const env = { HOME: home, HOLDFAST_STORE: path.join(store, "holdfast.db"), NO_COLOR: "1" };
  const at = (...argv: string[]) => cli(argv, { cwd: work, env });
  return { work, folder, at };
}

describe("CA7 a session that import-local read", () => {
  test("belongs to the request that captures it first, with its sub-agents, and stays there", async () => {
    const { at, folder, work } = machine();
    expect((await at("import-local")).code).toBe(0);
    expect((await at("capture", "--latest", "--request", "lat")).code).toBe(0);
    const told = (await at("handover", "--request", "lat")).stdout;
    expect(told).toContain("- Request: `lat`\n");
    expect(told).toContain("    holdfast run --request lat -- claude\n");
    expect((await at("sessions", "--request", "lat")).stdout).toMatch(
      new RegExp(`^${ours}/agent-a1 .*\n${ours} .* lat `, "m"),
    );
    expect((await at("messages", "lat")).stderr).toContain("`holdfast sessions --request lat` lists its sessions");
    write(path.join(folder, `${SESSION}.jsonl`), transcript(6, work));
    expect((await at("import-local")).stdout).toContain("imported 1 session, 2 new messages");
    await within(async (hf) => expect((await hf.sessions.get(ours))?.request).toBe("lat"));
    expect((await at("check")).code).toBe(0);
    await at("capture", "--latest", "--request", "other");
    await within(async (hf) => expect((await hf.sessions.get(ours))?.request).toBe("lat"));
  });
});

describe("a store that is not there", () => {
  test("CA4 run makes it and says so before the agent starts", async () => {
    const at = newStore();
    const first = await new Machine().run(says("ONE"), lineOf(at, "r"));
    expect(first.stderr).toMatch(new RegExp(`^holdfast: created a store at ${at}\n`));
    const again = await new Machine().run(says("TWO"), lineOf(at, "r"));
    expect(again.stderr).not.toContain("created");
    const schema = new URL(postgresUrl());
    schema.searchParams.set("schema", `run_${randomBytes(4).toString("hex")}`);
    const machine = new Machine();
    const shared = await machine.run(says("ONE"), lineOf(schema.href, "r"));
    expect(shared.stderr).toMatch(/^holdfast: created a store at postgres/);
    expect((await machine.run(says("TWO"), lineOf(schema.href, "r"))).stderr).not.toContain("created");
    const other = newStore();
    const json = await new Machine().run(says("ONE"), lineOf(other, "r", "--json"));
    expect(JSON.parse(json.stderr)).toMatchObject({ createdStore: true, isSaved: true });
  });
});

describe("an empty request", () => {
  test.each([
    ["capture", "--latest", "--request", ""],
    ["restore", "--request="],
    ["handover", "--request", ""],
    ["captures", "--request", ""],
    ["sessions", "--request", ""],
    ["run", "--request", "", "--", "claude", "-p", "x"],
  ])("%s %s %s is refused before anything is made", async (...argv) => {
    const { work } = machine();
    const file = path.join(work, "new.db");
    const { code, stderr } = await cli(argv, { cwd: work, env: { HOME: work, HOLDFAST_STORE: file } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("--request is empty: give an ID (is the variable set that you passed?)"),
    });
    expect(existsSync(file)).toBe(false);
  });
});

describe("another agent on the same request", () => {
  /** `opencode run …` says what it was given, and leaves a session. */
  function withOpenCode(): Machine {
    const here = new Machine();
    const fake = `'${process.execPath}' '${path.resolve(import.meta.dirname, "../../../test/fake-opencode.ts")}'`;
    const put = path.join(here.home, "put.json");
    // As OpenCode calls a session that it has given no title.
    const text = JSON.stringify(exported("ses_root", 2)).replace(
      "title of ses_root",
      "New session - 2026-01-02T03:04:05.678Z",
    );
    writeFileSync(put, text);
    const program = path.join(here.bin, "opencode");
    writeFileSync(
      program,
      `#!/bin/sh\nif [ "$1" = run ]; then printf '%s\\n' "$@"; exec ${fake} import ${put} >/dev/null; fi\nexec ${fake} "$@"\n`,
    );
    chmodSync(program, 0o755);
    return here;
  }

  test("CA4 gets the other agent's conversation, and the line names that agent", async () => {
    const at = newStore();
    await new Machine().run(says("TURN LEFT"), lineOf(at, "fix-42"));
    const here = withOpenCode();
    const line = (...more: string[]) => ["--store", at, "--request", "fix-42", ...more, "--", "opencode", "run", "hi"];
    const refused = await here.run({}, line("--must-resume"));
    expect(refused.code).toBe(7);
    expect(refused.stderr).not.toContain("nothing is stored");
    expect(refused.stderr).toContain(
      'request "fix-42" has a conversation of Claude Code, which OpenCode cannot resume',
    );
    expect(refused.stderr).toContain(`\`holdfast handover --request fix-42 --agent claude-code --store ${at}\``);
    const ran = await here.run({}, line());
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("TURN LEFT") });
    expect(ran.stderr).toContain('(request "fix-42" has a conversation of Claude Code, which OpenCode cannot resume)');
    expect(ran.stderr).toContain("gave the agent the stored conversation instead; session ses_root");
    const told = await cli(["handover", "--request", "fix-42", "--agent", "opencode", "--store", at]);
    expect(told.stdout).toMatch(/^- Continues: `claude-code\//m);
    const listed = await cli(["sessions", "--request", "fix-42", "--json", "--store", at]);
    const titles = JSON.parse(listed.stdout).items.map(({ title }: { title: string }) => title);
    expect(titles).toContainEqual(expect.stringMatching(/^message 0 of ses_root/));
    // Each agent resumes the session that it has itself.
    expect((await new Machine().run(says("MORE"), lineOf(at, "fix-42"))).stderr).toContain("holdfast: resumed ");
    expect((await here.run({}, line())).stderr).toContain("holdfast: resumed ses_root");
  });
});

describe("hints", () => {
  test.each(["find", "grep", "continue", "chat"])(
    "%s, which is no command, leads to those that do it",
    async (name) => {
      const { code, stderr } = await cli([name, "login"]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/`holdfast (messages SESSION|run --request ID)/);
      expect(stderr).toContain("`holdfast handover --request ID`");
    },
  );

  test("a command for a store with a password can be pasted, or says what to fill in", async () => {
    const url = new URL(postgresUrl());
    url.searchParams.set("schema", `hint_${randomBytes(4).toString("hex")}`);
    await cli(["init", "--store", url.href]);
    const asked = ["messages", "nope", "--store", url.href];
    const typed = await cli(asked);
    expect(typed.stderr).toContain(":***@");
    expect(typed.stderr).toContain("(replace *** by the password)");
    const set = await cli(asked, { env: { HOLDFAST_STORE: url.href } });
    expect(set.stderr).toContain("hint: `holdfast sessions` lists all sessions\n");
  });
});
