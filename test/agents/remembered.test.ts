// What the real Claude Code and the store remember of a conversation: after moves with rewritten paths, after `holdfast run` was
// killed beside its agent, and when the last save was never imported.

import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withAgents } from "./agents.ts";
import { eventually, holdfast, newStore, runClaude, savedTranscript, withStore } from "./holdfast.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { call } from "./rich.ts";

withAgents("a conversation", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  /** By `run`; the fourth in steps of their own. The first leaves files that its transcript names by their paths. */
  async function turnOn(machine: Machine, store: string, n: number): Promise<string> {
    const spill = call("Bash", { command: "seq 1 20000", description: "spills" });
    const edit = call("Write", { file_path: path.join(machine.cwd, "a.txt"), content: "one" });
    const prompt = `The word is CODEWORD-8${n}. ${n === 1 ? `${spill} ${edit}` : ""} [[recall CODEWORD-8\\d]]`;
    if (n < 4) {
      const ran = await runClaude(machine, { store, prompt, more: ["--rewrite-paths"] }).ended;
      expect(ran).toMatchObject({ code: 0, stderr: expect.not.stringContaining("beside") });
      return ran.stdout;
    }
    const named = ["--request", "r-1", "--store", store];
    const resume = await holdfast(machine, ["restore", "--rewrite-paths", ...named]).done();
    const [, id = ""] = /claude --resume (\S+)/.exec(resume) ?? [];
    const said = await machine.claude(prompt, { args: ["--resume", id] }).done();
    const captured = await holdfast(machine, ["capture", "--session-id", id, ...named]).ended;
    expect(captured).toMatchObject({ code: 0, stderr: expect.not.stringContaining("another machine") });
    return said;
  }

  test.each(["sqlite", "postgres"] as const)(
    "CA3 with --rewrite-paths it goes on through four directories, in generations of one capture (%s)",
    async (engine) => {
      const store = await newStore(machines, engine);
      const words: string[] = [];
      for (let n = 1; n <= 4; n++) {
        const machine = machines.add({ cwd: `moved-${engine}-${n}/in it` });
        const ran = await turnOn(machine, store.url, n);
        for (const word of words) expect(ran, `machine ${n}`).toContain(word);
        words.push(`CODEWORD-8${n}`);
        await machine.die();
      }
      await withStore(store.url, async (hf) => {
        const { items } = await hf.captures.list({ diverged: true });
        expect(items).toHaveLength(1);
        expect(items[0]?.generation).toBeGreaterThanOrEqual(4);
        expect((await hf.check()).issues).toEqual([]);
      });
      const text = await savedTranscript(store.url);
      for (const word of words) expect(text).toContain(word);
      expect(text, "paths of a machine that is gone").not.toContain(`/home-1/.claude/projects/`);
      await store.remove();
    },
  );

  test("CA7 `holdfast run` is killed beside its agent, which works on while the request is run again: nothing wedges", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const machine = machines.add();
    const marker = path.join(machine.cwd, "begun");
    const slow = call("Bash", { command: `touch '${marker}'; sleep 8; echo WOKEN-1`, description: "wait" });
    const first = runClaude(machine, { store, prompt: `ASKED-1 ${slow} [[say ANSWER-1]]`, more: ["--every", "200ms"] });
    await first.until(() => fs.existsSync(marker));
    await eventually(async () => (await savedTranscript(store)).includes("sleep 8"), "a save in mid-turn");
    process.kill(first.pid, "SIGKILL");
    const second = await runClaude(machine, { store, prompt: "ASKED-2 [[say ANSWER-2]]", more: ["--every", "200ms"] })
      .ended;
    expect(second).toMatchObject({ code: 0 });
    const transcript = () => newestTranscript(machine.home);
    await eventually(() => fs.readFileSync(transcript(), "utf8").includes(`"text":"ANSWER-1"`), "the orphan's answer");
    for (const n of [3, 4]) {
      const ran = await runClaude(machine, { store, prompt: `ASKED-${n} [[say ANSWER-${n}]]` }).ended;
      expect(ran).toMatchObject({ code: 0 });
      expect(ran.stderr, `run ${n}`).not.toMatch(/not saved|could not|already/);
    }
    const sessionId = path.basename(transcript(), ".jsonl");
    const captured = await holdfast(machine, [
      "capture",
      "--session-id",
      sessionId,
      "--request",
      "r-1",
      "--store",
      store,
    ]).ended;
    expect(captured).toMatchObject({ code: 0 });
    const told = await holdfast(machine, ["handover", "--request", "r-1", "--store", store]).done();
    expect(told).toContain("ASKED-4");
    expect(told).toContain("ANSWER-4");
    await withStore(store, async (hf) => {
      expect((await hf.check()).issues).toEqual([]);
      const [capture] = (await hf.captures.list()).items;
      const keys = (await hf.history.session(capture?.session ?? "")).map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
    });
  });
});

function newestTranscript(home: string): string {
  const folder = path.join(home, ".claude/projects");
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\/[0-9a-f-]{36}\.jsonl$/.test(name));
  const times = files.map((name) => [path.join(folder, name), fs.statSync(path.join(folder, name)).mtimeMs] as const);
  return times.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}
