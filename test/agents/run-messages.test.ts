// What `holdfast run` says and ends with: which secrets are in what it saved, that the agent was not started and what to do, and the
// exit code after a signal.
import type { ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLI } from "../command.ts";
import { postgresUrl } from "../engines.ts";
import type { FakeClaude } from "../fake-claude.ts";
import { folder, lineOf, Machine, newStore, type ProgramResult, says } from "../run-machine.ts";
import { withAgents } from "./agents.ts";
import { eventually, newStore as storeFor } from "./holdfast.ts";
import { type Machines, MODEL, startMachines } from "./machine.ts";
import { call } from "./rich.ts";

describe("CA1 secrets in what was saved", () => {
  const github = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"}`;
  const text = (n: number) => `token ${github.slice(0, -1)}${n} and AKIAIOSFODNN7EXAMPL${n}`;

  test("are told by kind, count and file, with the flag that masks them", async () => {
    const machine = new Machine();
    const ran = await machine.run(says(text(2), text(3)), lineOf(newStore(), "r"));
    const file = `project/${machine.args[1]}.jsonl`;
    expect(ran.stderr).toContain(
      `found 4 likely secrets (2 aws-key-id, 2 github-token in ${file}); --mask-secrets replaces them in the saved copy`,
    );
    expect(ran.stderr).not.toContain(github.slice(0, 12));
    const masked = await new Machine().run(says(text(2)), lineOf(newStore(), "r", "--mask-secrets"));
    expect(masked.stderr).toContain("replaced 2 likely secrets (1 aws-key-id, 1 github-token in project/");
    const json = await new Machine().run(says(text(2)), lineOf(newStore(), "r", "--json"));
    expect(JSON.parse(json.stderr)).toMatchObject({
      secrets: 2,
      secretKinds: [
        { kind: "aws-key-id", count: 1, files: [expect.stringMatching(/^project\//)] },
        { kind: "github-token", count: 1, files: [expect.stringMatching(/^project\//)] },
      ],
    });
  });
});

describe("CA20 a store that cannot be opened", () => {
  const refused = async (store: string, ...more: string[]) => {
    const machine = new Machine();
    const ran = await machine.run(says("NEVER"), lineOf(store, "r", ...more));
    expect(existsSync(path.join(machine.home, "args.json"))).toBe(false);
    expect(ran).toMatchObject({ stdout: "", stderr: expect.stringContaining("the agent was not started") });
    return ran;
  };

  test("because of a wrong password says that the agent was not started, and not to wait", async () => {
    const url = new URL(postgresUrl());
    url.password = "wrong";
    const ran = await refused(url.href, "--wait-store", "60s");
    expect(ran.code).toBe(6);
    expect(ran.stderr).toMatch(
      /password authentication failed.*; the agent was not started\n.*Check user and password/s,
    );
    expect(ran.stderr).not.toContain("--wait-store");
  });

  test("because its database or directory is missing, or the file is no store, says so too", async () => {
    const url = new URL(postgresUrl());
    url.pathname = "/no_such_database";
    const missing = await refused(url.href);
    expect(missing.stderr).toContain("createdb");
    expect((await refused(path.join(folder, "no/such/store.db"))).stderr).not.toContain("--wait-store");
    const file = path.join(folder, "notes.txt");
    writeFileSync(file, "these are notes and no store ".repeat(100));
    expect((await refused(file)).stderr).not.toContain("--wait-store");
  });

  test("because the server is down says to wait", async () => {
    expect((await refused("postgres://u:p@127.0.0.1:9/x")).stderr).toContain("--wait-store");
  });
});

describe("CA20 an agent that a signal ended and that says 0", () => {
  function start(fake: FakeClaude, args: readonly string[], machine = new Machine()) {
    let child: ChildProcess | undefined;
    const ended: Promise<ProgramResult> = machine.run(fake, args, {}, (one) => {
      child = one;
    });
    return { machine, ended, kill: (signal: NodeJS.Signals) => child?.kill(signal) };
  }
  const never = path.join(folder, "never");
  const waits: FakeClaude = { sessions: [{ session: "own", says: "SAID", until: never }] };

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("ends with the code of %s, %i", async (signal, code) => {
    const { machine, ended, kill } = start({ ...waits, graceful: true }, lineOf(newStore(), "r"));
    await eventually(() => machine.hasSpoken(), "it speaks");
    kill(signal);
    expect(await ended).toMatchObject({ code, stderr: expect.stringContaining("saved 1 file") });
  });

  test("and one that says another code keeps it", async () => {
    const { machine, ended, kill } = start({ ...waits, graceful: true, exit: 3 }, lineOf(newStore(), "r"));
    await eventually(() => machine.hasSpoken(), "it speaks");
    kill("SIGINT");
    expect(await ended).toMatchObject({ code: 3 });
  });
});

withAgents("CA20 the real Claude Code that Ctrl-C ends", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  const ways = ["by a program", ...(existsSync("/usr/bin/script") ? ["at a terminal"] : [])];
  test.each(ways)("gives 130 when SIGINT comes %s", async (how) => {
    const store = await storeFor(machines, "sqlite");
    const machine = machines.add();
    const marker = path.join(machine.cwd, "begun");
    const prompt = `ASKED-1 ${call("Bash", { command: `touch ${marker}; sleep 60`, description: "wait" })}`;
    const claude = ["claude", "-p", "--model", MODEL, "--dangerously-skip-permissions", prompt];
    const line = [CLI, "run", "--store", store.url, "--request", "r", "--", ...claude];
    if (how === "by a program") {
      const running = machine.start(process.execPath, line);
      await running.until(() => existsSync(marker));
      process.kill(running.pid, "SIGINT");
      expect(await running.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("; saved 1 file") });
      return;
    }
    // A terminal of its own, in which Ctrl-C is typed once the marker is there.
    const quoted = [process.execPath, ...line].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const typed = `while [ ! -e '${marker}' ]; do sleep 0.1; done; printf '\\003'; sleep 3`;
    const outer = `(${typed}) | script -qefc "$LINE" /dev/null; echo "CODE $?"`;
    const running = machine.start("/bin/sh", ["-c", outer], { env: { LINE: quoted } });
    const ran = await running.ended;
    expect(ran.stdout).toMatch(/;\s+saved\s+1\s+file/);
    expect(ran.stdout).toContain("CODE 130");
  });
});
