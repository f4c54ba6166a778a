// An agent that works on although its `holdfast run` was killed with -9, and runs that wait for another one or went apart from it:
// the next run knows of both, and goes on from the right line.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { CLI } from "../command.ts";
import { testLong } from "../long-test.ts";
import { withAgents } from "./agents.ts";
import { eventually, holdfast, runClaude, savedTranscript, newStore as storeFor, withStore } from "./holdfast.ts";
import { type Machines, type Machine as RealMachine, startMachines } from "./machine.ts";
import { claimIn } from "./orphan-cases.ts";
import { call } from "./rich.ts";

withAgents("CA21 `holdfast run` is killed with -9 while the real Claude Code works", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  test.each(scaled({ short: ["sqlite"], long: ["sqlite", "postgres"] } as const))(
    "the next run names the agent that works on, and with --wait goes on from what it leaves (%s)",
    async (engine) => {
      const store = await storeFor(machines, engine);
      const machine = machines.add();
      const [marker, go] = ["begun", "go"].map((name) => path.join(machines.folder, `${engine}-${name}`));
      const command = `touch '${marker}'; while [ ! -e '${go}' ]; do sleep 0.1; done; echo CODEWORD-61`;
      const prompt = `ASKED-1 ${call("Bash", { command, description: "wait" })} [[say ANSWER-1]]`;
      const first = runClaude(machine, { store: store.url, prompt, more: ["--every", "200ms"] });
      await first.until(() => existsSync(marker ?? ""));
      await eventually(async () => (await savedTranscript(store.url)).includes("ASKED-1"), "a save in mid-turn");
      process.kill(first.pid, "SIGKILL");

      const refused = await runClaude(machine, { store: store.url, prompt: "NEVER" }).ended;
      expect(refused).toMatchObject({ code: 9, stdout: "" });
      const [, pid = ""] = /end it with `kill (\d+)`/.exec(refused.stderr) ?? [];
      expect(refused.stderr).toMatch(new RegExp(`process ${first.pid} .*was killed.* process ${pid}, .*--wait`, "s"));
      expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toContain(`HOME=${machine.home}`);

      const next = "ASKED-2 [[recall CODEWORD-\\d+]]";
      const waiting = runClaude(machine, { store: store.url, prompt: next, more: ["--wait"] });
      await sleep(1000);
      writeFileSync(go ?? "", "");
      const ran = await waiting.ended;
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("CODEWORD-61") });
      expect(ran.stderr).toMatch(/process \d+, the agent of .*waiting until it ends.*resumed /s);
      await withStore(store.url, async ({ captures }) => {
        expect((await captures.list({ diverged: true })).items).toHaveLength(1);
      });
      const text = await savedTranscript(store.url);
      for (const word of ["ASKED-1", "ANSWER-1", "ASKED-2"]) expect(text).toContain(word);
      await store.remove();
    },
  );

  test("the agent ends with the line that the message names", async () => {
    const store = await storeFor(machines, "sqlite");
    const machine = machines.add();
    const marker = path.join(machines.folder, "endless");
    const slow = call("Bash", { command: `touch '${marker}'; sleep 600`, description: "wait" });
    const first = runClaude(machine, { store: store.url, prompt: `ASKED-1 CODEWORD-62 ${slow}` });
    await first.until(() => existsSync(marker));
    process.kill(first.pid, "SIGKILL");
    const refused = await runClaude(machine, { store: store.url, prompt: "NEVER" }).ended;
    const [, line = "false"] = /end it with `([^`]+)`/.exec(refused.stderr) ?? [];
    await machine.start("/bin/sh", ["-c", line]).done();
    const next = "ASKED-2 [[recall CODEWORD-\\d+]]";
    const ran = await runClaude(machine, { store: store.url, prompt: next, more: ["--wait"] }).ended;
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("CODEWORD-62") });
    expect(await savedTranscript(store.url)).toContain("ASKED-2");
  });

  test("a run in the home that went apart says what to do, and each of it works", async () => {
    const store = await storeFor(machines, "sqlite");
    const home = machines.add();
    await runClaude(home, { store: store.url, prompt: "COMMON-1 [[say ok]]" }).done();
    const sessionId = await withStore(store.url, async ({ captures }) => {
      return (await captures.latest("r-1", "claude-code"))?.sessionId ?? "";
    });
    await runClaude(machines.add(), { store: store.url, prompt: "CODEWORD-71 elsewhere [[say ok]]" }).done();
    await home.claude("CODEWORD-72 here [[say ok]]", { args: ["--resume", sessionId] }).done();

    const apart = await runClaude(home, { store: store.url, prompt: "[[say told]]" }).ended;
    expect(apart).toMatchObject({ code: 0, stderr: expect.stringContaining("could not resume") });
    const commands = [...apart.stderr.matchAll(/`holdfast (run [^`]+)`/g)].map(([, one = ""]) => one);
    expect(commands, apart.stderr).toHaveLength(2);
    // What is only here is in the store now, once.
    const texts = await withStore(store.url, async ({ captures }) => {
      const { items } = await captures.list({ sessionId, diverged: true });
      return items.map(({ diverged, fileCount }) => ({ diverged, fileCount }));
    });
    expect(texts).toEqual([expect.objectContaining({ diverged: true }), expect.objectContaining({ diverged: false })]);
    const words: string[][] = [];
    for (const line of commands) {
      const prompt = "-p --dangerously-skip-permissions '[[recall CODEWORD-\\d+]]'";
      const ran = await home.start("/bin/sh", ["-c", `"${process.execPath}" "${CLI}" ${line} ${prompt}`]).ended;
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      words.push([...ran.stdout.matchAll(/CODEWORD-\d+/g)].map(([word]) => word));
    }
    expect(words).toEqual([["CODEWORD-72"], ["CODEWORD-71"]]);
  });
});

withAgents("CA21 `holdfast run` is killed with -9 while the real OpenCode works", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  const go = (machine: RealMachine, store: string, prompt: string, more: readonly string[] = []) =>
    holdfast(machine, ["run", "--request", "r-1", "--store", store, ...more, "--", "opencode", "run"], {
      input: prompt,
    });
  const sessionsIn = (store: string) =>
    withStore(store, async ({ captures }) => (await captures.list({ request: "r-1", diverged: true })).items);

  testLong("the next run names the agent, and with --wait goes on from what it leaves", {}, async () => {
    const { url: store } = await storeFor(machines, "sqlite");
    const machine = machines.add();
    const [marker, end] = ["begun", "end"].map((name) => path.join(machines.folder, `opencode-${name}`));
    const command = `touch '${marker}'; while [ ! -e '${end}' ]; do sleep 0.1; done; echo CODEWORD-63`;
    const first = go(machine, store, `ASKED-1 ${call("bash", { command, description: "wait" })}`);
    await first.until(() => existsSync(marker ?? ""));
    await eventually(async () => (await sessionsIn(store)).length > 0, "a save in mid-turn");
    process.kill(first.pid, "SIGKILL");
    const refused = await go(machine, store, "NEVER").ended;
    expect(refused).toMatchObject({ code: 9, stderr: expect.stringMatching(/end it with `kill \d+`/) });
    const waiting = go(machine, store, "[[recall CODEWORD-\\d+]]", ["--wait"]);
    await sleep(500);
    writeFileSync(end ?? "", "");
    const ran = await waiting.ended;
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("CODEWORD-63") });
    expect(await sessionsIn(store)).toHaveLength(1);
  });

  testLong("also when it was killed before OpenCode had made its session", {}, async () => {
    const { url: store } = await storeFor(machines, "sqlite");
    const machine = machines.add();
    const [marker, end] = ["early", "early-end"].map((name) => path.join(machines.folder, `opencode-${name}`));
    const command = `touch '${marker}'; while [ ! -e '${end}' ]; do sleep 0.1; done; echo CODEWORD-64`;
    const first = go(machine, store, `ASKED-1 ${call("bash", { command, description: "wait" })}`);
    await eventually(() => claimIn(store).includes('"worker":"'), "the agent is named");
    process.kill(first.pid, "SIGKILL");
    expect(await sessionsIn(store)).toEqual([]);
    await eventually(() => existsSync(marker ?? ""), "the agent works on");
    const waiting = go(machine, store, "[[recall CODEWORD-\\d+]]", ["--wait"]);
    await sleep(500);
    writeFileSync(end ?? "", "");
    const ran = await waiting.ended;
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("CODEWORD-64") });
    expect(await sessionsIn(store)).toHaveLength(1);
  });

  testLong("a run in the home that went apart says what to do, and it works", {}, async () => {
    const { url: store } = await storeFor(machines, "sqlite");
    const home = machines.add();
    await go(home, store, "COMMON-1 [[say ok]]").done();
    const [first] = await sessionsIn(store);
    const sessionId = first?.sessionId ?? "";
    await go(machines.add(), store, "CODEWORD-73 elsewhere [[say ok]]").done();
    await home.opencode("CODEWORD-74 here [[say ok]]", { args: ["--session", sessionId] }).done();
    const apart = await go(home, store, "[[say told]]").ended;
    const [, line = ""] = /`holdfast (run [^`]+ --session \S+)`/.exec(apart.stderr) ?? [];
    // Without a terminal, OpenCode takes its prompt as `run`.
    const piped = line.replace("-- opencode ", "-- opencode run ");
    const [, remove = ""] = /`(opencode session delete \S+)`/.exec(apart.stderr) ?? [];
    expect(remove, apart.stderr).not.toBe("");
    expect((await sessionsIn(store)).filter((one) => one.sessionId === sessionId)).toHaveLength(2);
    const again = () =>
      home.start("/bin/sh", ["-c", `"${process.execPath}" "${CLI}" ${piped}`], { input: "[[recall CODEWORD-\\d+]]" })
        .ended;
    expect((await again()).stdout).toContain("CODEWORD-74");
    await home.start("/bin/sh", ["-c", remove]).done();
    const stored = await again();
    expect(stored.stdout, stored.stderr).toContain("CODEWORD-73");
  });
});
