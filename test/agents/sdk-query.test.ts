// persistentQuery with the real SDK: everything of a session through the store's captures, and its entries as they come.

import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claudeFiles, persistentQuery } from "../../src/adapters/claude/entry.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { withAgents } from "./agents.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { call, TASK } from "./rich.ts";
import { loadSdk, sdkOptions } from "./sdk.ts";

withAgents("persistentQuery", (agents) => {
  let machines: Machines;
  let hf: Holdfast;
  beforeAll(async () => {
    machines = await startMachines(agents);
    hf = await open(path.join(machines.folder, "store.db"));
  });
  afterAll(async () => {
    await hf.close();
    await machines.remove();
  });

  async function ask(
    machine: Machine,
    prompt: string,
  ): Promise<{ said: string; resumed: string | null; problems: unknown[] }> {
    const sdk = await loadSdk(machines);
    const env = { ...machine.env, CLAUDE_CONFIG_DIR: path.join(machine.home, ".claude") };
    const options = { ...sdkOptions(machines, machine), env };
    let resumed: string | null = null;
    const problems: unknown[] = [];
    let said = "";
    const messages = persistentQuery({
      ...{ hf, query: sdk.query as never, prompt: prompt as never, options: options as never, request: "ticket-7" },
      ...claudeFiles({ hf, request: "ticket-7", cwd: machine.cwd, env }),
      onStart: (start) => {
        ({ resumed } = start);
      },
      onProblem: (problem) => problems.push(problem),
    });
    for await (const message of messages as AsyncIterable<object>) said += JSON.stringify(message);
    return { said, resumed, problems };
  }

  test("CA14 on another machine the SDK goes on with conversation and task list, and every entry is in the store", async () => {
    const a = machines.add();
    const create = `${call("ToolSearch", { query: "select:TaskCreate" })} ${call("TaskCreate", { subject: TASK, description: "d" })}`;
    const first = await ask(a, `The word is CODEWORD-5. ${create} [[say noted]]`);
    expect(first).toMatchObject({ resumed: null, problems: [] });
    await a.die();
    const b = machines.add();
    const list = `${call("ToolSearch", { query: "select:TaskList" })} ${call("TaskList", {})}`;
    const second = await ask(b, `And? ${list} [[recall CODEWORD-\\d+]]`);
    expect(second.problems).toEqual([]);
    expect(second.resumed).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.said).toContain("CODEWORD-5");
    expect(second.said).toContain(TASK);
    const { items } = await hf.captures.list({ request: "ticket-7" });
    expect(items).toHaveLength(1);
    expect(items[0]?.generation).toBeGreaterThan(1);
  });
});
