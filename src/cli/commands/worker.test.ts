// holdfast worker through main(): what it loads, what it says, how it stops.
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { enterOpen, leave } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { defineAgent } from "../../index.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
let hf: Holdfast;
beforeEach(async () => {
  ({ cwd, hf } = await enterOpen());
});
afterEach(leave);

const ECHO =
  "{ id: 'echo', version: '1', iterate: (it) => it.input === 'bad' ? it.fail(new Error('no')) : it.done(it.input) }";
const WAITS = "{ id: 'waits', version: '1', iterate: async (it) => it.done(await it.waitFor('go')) }";
const echo = defineAgent({ id: "echo", version: "1", iterate: (it) => it.done() });
const waits = defineAgent({ id: "waits", version: "1", iterate: async (it) => it.done() });

function agents(text: string, name = "agents.mjs"): string {
  writeFileSync(path.join(cwd, name), text);
  return name;
}

/** Works until the condition holds, and stops then. */
async function work(argv: readonly string[], enough: (stdout: string) => boolean, columns?: number) {
  const over = new AbortController();
  let seen = "";
  const ended = await captureOutput(main, ["worker", ...argv, "--poll", "10"], {
    cwd,
    ...(columns === undefined ? {} : { columns }),
    signal: over.signal,
    onStdout: (text) => {
      seen += text;
      if (enough(seen)) over.abort();
    },
  });
  return ended;
}

describe("worker", () => {
  test("claims runs of its agents, prints that, and stops after a signal", async () => {
    const file = agents(`export default [${ECHO}];\nexport const other = ${WAITS};\nexport const version = 1;`);
    const { id } = await hf.runs.start(echo, { session: "a", input: { hello: 1 } });
    const bad = await hf.runs.start(echo, { session: "b", input: "bad" });
    const asleep = await hf.runs.start(waits, { session: "c" });
    const other = await hf.runs.start({ ...echo, version: "2" }, { session: "d" });
    const { code, stdout } = await work(["--agents", file], (text) =>
      [" completed", " failed: no", " waiting signal go", " cannot continue here"].every((words) =>
        text.includes(words),
      ),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^worker_\w+ works for echo 1, waits 1 on /);
    expect(stdout).toMatch(new RegExp(`${id}  a  claimed from iteration 1\n`));
    expect(stdout).toMatch(new RegExp(`${id}  a  completed, after `));
    expect(stdout).toContain(bad.id);
    expect(stdout).toContain(asleep.id);
    expect(stdout).toMatch(new RegExp(`${other.id}  d  cannot continue here: .* begun by version 2, not 1`));
    expect((await hf.runs.result(id))?.value).toEqual({ hello: 1 });
  });

  test("on a terminal it colours its own words, and nothing else", async () => {
    const file = agents(`export default ${WAITS}`);
    await hf.runs.start(waits, { session: "a\u001b[31m" });
    const { stdout } = await work(["--agents", file], (text) => text.includes("waiting"), 80);
    expect(stdout).toContain("  a\\x1b[31m  claimed from iteration 1\n");
    expect(stdout).toContain("  \u001b[33mwaiting signal go\u001b[39m, after ");
    expect(stdout).toMatch(/^\d\d:\d\d:\d\dZ {2}run_/m);
  });

  test("CA5 deletes expired captures at the start and from then on, and says so", async () => {
    const file = agents(`export default ${WAITS}`);
    const saved = async (sessionId: string) => {
      const files = [{ role: "export" as const, path: `export/${sessionId}.json`, content: new Uint8Array(10) }];
      const { id } = await hf.captures.save({ request: "r", agent: "opencode", sessionId, cwd: "/w", files });
      return await hf.captures.expire(id, 1);
    };
    const first = await saved("ses_one");
    let second: Promise<{ id: string }> | undefined;
    const { code, stdout } = await work(["--agents", file, "--sweep", "1s", "--json"], (text) => {
      const swept = text.split('"swept"').length - 1;
      if (swept === 1) second ??= saved("ses_two");
      return swept === 2;
    });
    expect(code).toBe(0);
    const told = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(told.filter(({ event }) => event === "swept").map(({ removed }) => removed)).toMatchObject([
      [{ id: first.id, request: "r", sessionId: "ses_one" }],
      [{ id: (await second)?.id }],
    ]);
    expect(await hf.captures.get(first.id)).toBeNull();
  });

  test("never sweeps with --sweep never, and otherwise at intervals", async () => {
    const file = agents(`export default ${ECHO}`);
    const files = [{ role: "export" as const, path: "export/ses_s.json", content: new Uint8Array(10) }];
    const { id } = await hf.captures.save({ request: "r", agent: "opencode", sessionId: "ses_s", cwd: "/w", files });
    await hf.captures.expire(id, 1);
    await hf.runs.start(echo, { session: "a" });
    const { code, stdout } = await work(["--agents", file, "--sweep", "never"], (text) => text.includes(" completed"));
    expect(code).toBe(0);
    expect(stdout).not.toContain("expired capture");
    expect(await hf.captures.get(id)).not.toBeNull();
    for (const given of ["10ms", "100d", "often"]) {
      expect(await work(["--agents", file, "--sweep", given], () => true)).toMatchObject({ code: 2 });
    }
  });

  test("--json is one document a line", async () => {
    const file = agents(`export const echo = ${ECHO};`);
    const { id } = await hf.runs.start(echo, { session: "a" });
    const { stdout } = await work(["--agents", file, "--json"], (text) => text.includes('"completed"'));
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ event, run }) => [event, run])).toEqual([
      ["started", undefined],
      ["begun", id],
      ["left", id],
    ]);
    expect(lines[2]).toMatchObject({ status: "completed", error: null });
  });

  test("an iteration under way ends; a run that takes longer is released", async () => {
    const slow = "{ id: 'waits', version: '1', iterate: async (it) => { await it.sleep(300); return it.next(null); } }";
    const { id } = await hf.runs.start(waits, { session: "a" });
    const ended = await work(["--agents", agents(`export default ${slow}`)], (text) => text.includes("claimed from"));
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining("released")]);
    expect(await hf.runs.get(id)).toMatchObject({ iteration: 1, owner: null, status: "running" });
    const hangs = "{ id: 'waits', version: '1', iterate: () => new Promise(() => {}) }";
    const cut = await work(["--agents", agents(`export default ${hangs}`, "b.mjs"), "--grace", "50ms"], (text) =>
      text.includes("claimed from"),
    );
    expect([cut.code, (await hf.runs.get(id))?.owner]).toEqual([0, null]);
  });

  test("says what is wrong with what it is given", async () => {
    const refused = async (...argv: string[]) => {
      const { code, stderr } = await captureOutput(main, ["worker", ...argv], { cwd });
      return `${code} ${stderr.split("\n")[0]}`;
    };
    expect(await refused()).toBe("2 holdfast: name the module that exports the agents: --agents FILE");
    expect(await refused("--agents", "none.mjs")).toBe("3 holdfast: no file none.mjs");
    expect(await refused("--agents", agents("export const a = 1;"))).toBe("2 holdfast: agents.mjs exports no agent");
    expect(await refused("--agents", agents("export default { id: 'x' };", "b.mjs"))).toMatch(/^2 .*agent\.version/);
    expect(await refused("--agents", agents("import './nothing.mjs';", "c.mjs"))).toMatch(
      /^2 .*c\.mjs cannot be loaded: /,
    );
    const twice = agents(`export const a = ${ECHO}; export const b = ${ECHO};`, "d.mjs");
    expect(await refused("--agents", twice)).toBe('2 holdfast: two agents have the id "echo"');
    expect(await refused("--agents", twice, "--grace", "soon")).toMatch(/^2 .*--grace takes a time/);
    const good = agents(`export default ${ECHO}`, "e.mjs");
    expect(await refused("--agents", good, "--store", "other.db")).toBe("3 holdfast: no store at other.db");
  });
});
