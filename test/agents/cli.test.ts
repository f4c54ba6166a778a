// `holdfast capture` and `holdfast restore` with the real agents: what was said on a machine that is no more goes on on
// another one, with all that belongs to it.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { captureOutput } from "../../src/cli/output-capture.ts";
import { CLI } from "../command.ts";
import { testLong } from "../long-test.ts";
import { withAgents } from "./agents.ts";
import { fidelityOf, WHOLE } from "./fidelity.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { call, richSession } from "./rich.ts";
import { loadSdk } from "./sdk.ts";

withAgents("the command line with the real agents", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  async function holdfast({ cwd, env }: Machine, ...argv: string[]): Promise<string> {
    const store = path.join(machines.folder, "holdfast.db");
    const { code, stdout, stderr } = await captureOutput(main, argv, { cwd, env: { ...env, HOLDFAST_STORE: store } });
    expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
    return stdout;
  }

  test("CA1 Claude Code: a rich session goes by the store to another home, and has everything", async () => {
    const sdk = await loadSdk(machines);
    const a = machines.add();
    await holdfast(a, "init");
    const session = await richSession(sdk, machines, a);
    await holdfast(a, "capture", "--session-id", session.sessionId, "--request", "issue-7");
    const b = machines.add({ cwd: a.cwd });
    await a.die({ keepsCwd: true });
    expect(await holdfast(b, "restore", "--request", "issue-7")).toBe(`claude --resume ${session.sessionId}\n`);
    const spilled = session.spilled.replace(a.home, b.home);
    expect(await fidelityOf(sdk, machines, b, { ...session, spilled })).toEqual(WHOLE);
    // What was said since comes behind what is there.
    expect(await holdfast(b, "import-local", "--agent", "claude-code")).toMatch(/^imported 1 session, [1-9]/);
    const told = await holdfast(b, "handover", "--session-id", session.sessionId);
    for (const words of ["RICH-1", "edited.txt", "holdfast restore"]) expect(told).toContain(words);
  });

  test("CA2 Claude Code: the hook that the guide shows captures a session when it ends, its last answer included", async () => {
    const guide = fs.readFileSync(new URL("../../docs/guide.md", import.meta.url), "utf8");
    const [, settings = ""] = /^```json\n(\{\n {2}"hooks"[\s\S]*?)^```$/m.exec(guide) ?? [];
    const a = machines.add();
    fs.mkdirSync(path.join(a.home, ".claude"), { recursive: true });
    fs.writeFileSync(path.join(a.home, ".claude/settings.json"), settings);
    const bin = path.join(a.home, "bin");
    fs.mkdirSync(bin);
    fs.writeFileSync(path.join(bin, "holdfast"), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`, {
      mode: 0o755,
    });
    const env = {
      PATH: `${bin}:${a.env.PATH}`,
      HOLDFAST_STORE: path.join(machines.folder, "holdfast.db"),
      HOLDFAST_REQUEST: "by-hook",
    };
    await a.claude("Begin. [[say CODEWORD-6]]", { env }).done();
    const { items } = JSON.parse(await holdfast(a, "captures", "--request", "by-hook", "--json"));
    expect(items).toHaveLength(1);
    expect(await holdfast(a, "messages", items[0].sessionId)).toMatch(/^ +CODEWORD-6$/m);
  });

  testLong("CA6 OpenCode: a session with a child goes by a bundle to another home and directory", {}, async () => {
    const [a, b] = [machines.add(), machines.add()];
    const child = "The child knows CHILD-1. [[say CODEWORD-9 by the child]]";
    const steps = [
      call("bash", { command: "seq 1 30000; echo CODEWORD-8", description: "much output" }),
      call("task", { description: "child", prompt: child, subagent_type: "general" }),
      "[[say noted]]",
    ];
    const said = await a.opencode(`It is CODEWORD-7. ${steps.join(" ")}`).done();
    const { sessionID } = JSON.parse(said.split("\n")[0] ?? "") as { sessionID: string };
    const file = path.join(machines.folder, "session.hfcap");
    await holdfast(a, "capture", "--session-id", sessionID, "--out", file);
    await a.die();
    expect(await holdfast(b, "restore", "--from", file)).toBe(`opencode run --session ${sessionID}\n`);
    const answer = await b.opencode("And? [[recall CODEWORD-\\d]]", { args: ["--session", sessionID] }).done();
    expect(answer).toContain('found=[\\"CODEWORD-7\\",\\"CODEWORD-8\\",\\"CODEWORD-9\\"]');
  });
});
