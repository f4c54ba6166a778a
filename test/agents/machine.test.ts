// The machines by themselves: no process and no file of a test outlives it, whatever the agent does.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Machines, startMachines } from "./machine.ts";

describe("a machine", () => {
  let machines: Machines;
  beforeEach(async () => {
    machines = await startMachines({ claude: "/nowhere/claude", sdk: "/nowhere", opencode: "/nowhere/opencode" });
  });
  afterEach(() => machines.remove());

  /** A shell with a child in a session of its own, as agents start tools; the file holds the pids of both. */
  function restless(file: string): string[] {
    return ["-c", `setsid sleep 100 & echo "$$ $!" > '${file}.new'; mv '${file}.new' '${file}'; sleep 100`];
  }

  function alive(file: string): boolean[] {
    const pids = fs.readFileSync(file, "utf8").trim().split(" ");
    return pids.map((pid) => fs.existsSync(`/proc/${pid}/cwd`));
  }

  test("has an environment with nothing of whoever runs the tests", async () => {
    process.env.ANTHROPIC_AUTH_TOKEN = "secret";
    const machine = machines.add();
    const said = await machine.start("sh", ["-c", "env; pwd; cat"], { input: "hello" }).done();
    delete process.env.ANTHROPIC_AUTH_TOKEN;
    const names = said.split("\n").flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
    expect(
      names.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_", ...Object.keys(machine.env)].includes(name)),
    ).toEqual([]);
    expect(said).toContain(`\nHOME=${machine.home}\n`);
    expect(said.endsWith(`${machine.cwd}\nhello`)).toBe(true);
  });

  test("kills, with all it started, a run that has come to a recognisable point", async () => {
    const machine = machines.add();
    const file = path.join(machine.cwd, "pids");
    const running = machine.start("sh", restless(file));
    await running.until(() => fs.existsSync(file));
    expect(alive(file)).toEqual([true, true]);
    expect(await running.kill()).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(alive(file)).toEqual([false, false]);
  });

  test("ends a run at its deadline and says what it said", async () => {
    const machine = machines.add();
    const running = machine.start("sh", ["-c", "echo so far; exec sleep 100"], { timeoutMs: 300 });
    await expect(running.done()).rejects.toThrow("sh -c echo so far; exec sleep 100 ended with its deadline: so far");
  });

  test("says so when a run ends before the point that is waited for, or badly", async () => {
    const machine = machines.add();
    const running = machine.start("sh", ["-c", "echo trouble >&2; exit 3"]);
    await expect(running.until(() => false)).rejects.toThrow("ended too early: trouble");
    await expect(running.done()).rejects.toThrow("ended with 3: trouble");
  });

  test("dies with its processes, its home and its directory", async () => {
    const machine = machines.add();
    const file = path.join(machines.folder, "pids");
    const running = machine.start("sh", restless(file));
    await running.until(() => fs.existsSync(file));
    await machine.die();
    expect(alive(file)).toEqual([false, false]);
    expect([machine.home, machine.cwd].map((place) => fs.existsSync(place))).toEqual([false, false]);
  });
});
