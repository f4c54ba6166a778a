// persistentQuery with the real SDK: everything of a session through the store's captures, and its entries as they come.
import * as fs from "node:fs";
import * as path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { claudeFiles, persistentQuery } from "../../src/adapters/claude/entry.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { withAgents } from "./agents.ts";
import { copyOf, eventually, withStore } from "./holdfast.ts";
import { type Machine, type Machines, type Running, startMachinesWithStore } from "./machine.ts";
import { call, TASK } from "./rich.ts";
import { loadSdk, sdkOptions } from "./sdk.ts";

withAgents("persistentQuery", (agents) => {
  let machines: Machines;
  let hf: Holdfast;
  beforeAll(async () => {
    const started = await startMachinesWithStore(agents);
    ({ machines, hf } = started);
    return started.remove;
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
      hf,
      query: sdk.query as never,
      prompt: prompt as never,
      options: options as never,
      request: "ticket-7",
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

  interface AgentReply {
    readonly resumed: string | null;
    readonly problems: readonly string[];
    readonly said: string;
  }

  /** A process of its own, which can be killed. */
  function program(machine: Machine, store: string, prompt: string, everyMs = 600_000): Running {
    const { env: _, ...settings } = sdkOptions(machines, machine);
    const sdk = path.join(agents.sdk, "sdk.mjs");
    const args = [sdk, store, prompt, String(everyMs), JSON.stringify(settings)];
    const env = { CLAUDE_CONFIG_DIR: path.join(machine.home, ".claude") };
    return machine.start(process.execPath, [path.join(import.meta.dirname, "sdk-program.ts"), ...args], { env });
  }

  async function askAgain(store: string, prompt: string, machine = machines.add()): Promise<AgentReply> {
    return JSON.parse((await program(machine, store, prompt).done()).trim());
  }

  /** Until the mirror has what the tool printed; then everything on the machine is killed, before anything is captured. */
  async function killedInMidTurn(store: string, word: string, machine = machines.add()): Promise<void> {
    const echo = call("Bash", { command: `echo ${word}-OUT`, description: "echo" });
    const slow = call("Bash", { command: "echo slow; sleep 60", description: "wait" });
    const running = program(machine, store, `The word is ${word}. ${echo} ${slow}`);
    const isMirrored = async () => {
      if (!fs.existsSync(store)) return false;
      return withStore(store, async (other) => {
        const { items } = await other.sessions.list({ tag: "claude-session" });
        const all = await Promise.all(items.map(({ id }) => other.history.session(id)));
        return JSON.stringify(all).includes(`"command":"echo slow;`);
      });
    };
    await eventually(isMirrored, "the tool call in the mirror");
    await running.kill();
  }

  test("CA14 killed before its first capture, the session goes on from the mirror, and that is told", async () => {
    const store = path.join(machines.folder, "killed.db");
    const a = machines.add();
    await killedInMidTurn(store, "CODEWORD-61", a);
    await a.die();
    const second = await askAgain(store, "And? [[recall CODEWORD-6\\d(-OUT)?]]");
    expect(second.resumed).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.said).toContain("CODEWORD-61-OUT");
    expect(second.problems).toEqual([
      expect.stringMatching(/^restore: no file of session .* was captured: .*mirrored entries/),
    ]);
    // That one was captured at its end.
    const third = await askAgain(store, "And again? [[recall CODEWORD-6\\d(-OUT)?]]");
    expect(third).toMatchObject({ resumed: second.resumed, problems: [] });
    expect(third.said).toContain("CODEWORD-61-OUT");
    const told = await withStore(store, async (other) => {
      expect((await other.captures.list({ diverged: true })).items).toHaveLength(1);
      return other.check();
    });
    expect(told.issues).toEqual([]);
  });

  test("CA14 what was mirrored behind the last capture is there as well, also where its files are still here", async () => {
    const store = path.join(machines.folder, "behind.db");
    await askAgain(store, "The word is CODEWORD-62. [[say noted]]");
    const a = machines.add();
    await killedInMidTurn(store, "CODEWORD-63", a);
    const here = await askAgain(
      copyOf(store, path.join(machines.folder, "here.db")),
      "Here? [[recall CODEWORD-6\\d]]",
      a,
    );
    expect(here.problems).toEqual([]);
    await a.die();
    const elsewhere = await askAgain(store, "And? [[recall CODEWORD-6\\d]]");
    expect(elsewhere.problems).toEqual([expect.stringMatching(/^restore: the last \d+ entries .* were not captured/)]);
    for (const { resumed, said } of [here, elsewhere]) {
      expect(resumed).toMatch(/^[0-9a-f-]{36}$/);
      expect(said).toMatch(/CODEWORD-62.*CODEWORD-63/s);
    }
  });
});
