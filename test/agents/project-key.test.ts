// Where the real Claude Code keeps the transcript of a session, for working directories with names that have broken
// others. The rule is stated here once more, in the test's own words: it must hold for the agent, not for our code.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { withAgents } from "./agents.ts";
import { type Machines, startMachines } from "./machine.ts";

/** Every UTF-16 unit that is no ASCII letter or digit becomes "-"; beyond 200 of them, 200 and a hash of the whole. */
function expectedKey(realPath: string): string {
  const plain = Array.from({ length: realPath.length }, (_, i) => {
    const unit = realPath.charAt(i);
    return /^[a-zA-Z0-9]$/.test(unit) ? unit : "-";
  }).join("");
  if (plain.length <= 200) return plain;
  let hash = 0n;
  for (let i = 0; i < realPath.length; i++) hash = BigInt.asIntN(32, hash * 31n + BigInt(realPath.charCodeAt(i)));
  return `${plain.slice(0, 200)}-${(hash < 0n ? -hash : hash).toString(36)}`;
}

withAgents("Claude Code keeps a session under the key of its working directory", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  /** One turn in that directory, in a home of its own; the path of the one transcript it left, below `projects`. */
  async function transcriptFor(cwd: string): Promise<string[]> {
    const machine = machines.add({ cwd });
    // As a shell leaves it: a symlink in PWD must not win over the real path.
    await machine.claude("hello [[say hi]]", { env: { PWD: cwd } }).done();
    const projects = path.join(machine.home, ".claude", "projects");
    const names = fs.readdirSync(projects, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".jsonl"));
  }

  async function expectKey(cwd: string, key: string): Promise<void> {
    const transcripts = await transcriptFor(cwd);
    expect(transcripts).toHaveLength(1);
    expect(path.dirname(transcripts[0] ?? "")).toBe(key);
  }

  const each = [
    ["dots", "dot.dir/.hidden"],
    ["underscores", "under_score"],
    ["spaces", "with two  spaces"],
    ["accents", "é-ünïcødé"],
    ["accents as marks of their own, which Linux keeps", "e\u0301"],
    ["other scripts", "日本"],
    ["characters of two units", "a😀b"],
    ["what shells and queries mean something by", "it's 100% $HOME;#[x]"],
    ["capital letters", "MixedCase"],
  ] as const;
  const all = ["all of these", each.map(([, name]) => name).join("+")] as const;
  test.each(scaled({ short: [all], long: [all, ...each] }))("with %s", async (_, name) => {
    const cwd = path.join(machines.folder, name);
    await expectKey(cwd, expectedKey(cwd));
  });

  test("by the real path where a symlink leads there", async () => {
    const real = path.join(machines.folder, "real.place");
    const link = path.join(machines.folder, "link");
    fs.mkdirSync(real);
    fs.symlinkSync(real, link);
    await expectKey(link, expectedKey(real));
  });

  test.each(scaled({ short: [200, 201], long: [199, 200, 201, 260] }))("with %i characters", async (length) => {
    const cwd = pathOfLength(machines.folder, length, "d");
    expect(cwd).toHaveLength(length);
    await expectKey(cwd, expectedKey(cwd));
  });

  test("with over 200 characters that are not ASCII", async () => {
    const cwd = pathOfLength(machines.folder, 230, "é");
    await expectKey(cwd, expectedKey(cwd));
  });
});

/** Names of at most 60 characters, so that they are allowed everywhere. */
function pathOfLength(folder: string, length: number, character: string): string {
  let result = folder;
  while (result.length < length) {
    const missing = length - result.length - 1;
    // A slash must be followed by something.
    const size = missing > 60 && missing < 62 ? 50 : Math.min(60, missing);
    result = `${result}/${character.repeat(size)}`;
  }
  return result;
}
