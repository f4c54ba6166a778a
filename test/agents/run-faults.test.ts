// holdfast run while its store fails or signals arrive: it is over within its grace time, the agent's own result stays, and what
// was saved and what was not is said. The agent is a program that behaves like Claude Code, so that moments can be chosen.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { CLI } from "../command.ts";
import type { FakeClaude } from "../fake-claude.ts";
import { type Frozen, freeze } from "../freeze.ts";
import { folder, lineOf, Machine, newStore, type ProgramResult, saved, says } from "../run-machine.ts";
import { withAgents } from "./agents.ts";
import { type Machines, MODEL, type Machine as RealMachine, startMachines } from "./machine.ts";

const GRACE_MS = 3000;
/** Starting and ending a process on a busy machine; without a bound it takes two minutes. */
const SLACK_MS = 12_000;
const GRACE = ["--grace", `${GRACE_MS}ms`];

let server: PostgresServer;
let frozen: Frozen | null = null;
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: "off" } });
});
afterEach(() => {
  frozen?.thaw();
  frozen = null;
});
afterAll(() => server.stop());

let schemas = 0;
const newSchema = () => `${server.url}?schema=faults_${++schemas}`;

/** Waits in the middle of its turn, after it has written something, until the file is there. */
const waits = (go: string): FakeClaude => ({ sessions: [{ session: "own", says: "SAID", until: go }] });
const goFile = (machine: Machine) => path.join(machine.home, "go");
/** It has written its arguments, and then the first line of its transcript. */
const begun = (machine: Machine) => until(() => machine.hasSpoken());

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries > 1500) throw new Error("it does not come to that");
    await sleep(20);
  }
}

interface Case {
  readonly machine: Machine;
  readonly child: ChildProcess;
  readonly ended: Promise<ProgramResult>;
}

function start(fake: (machine: Machine) => FakeClaude, args: readonly string[], machine = new Machine()): Case {
  let child: ChildProcess | undefined;
  const ended = machine.run(fake(machine), args, {}, (one) => {
    child = one;
  });
  if (child === undefined) throw new Error("bug: it was not started");
  return { machine, child, ended };
}

async function timed<T>(act: () => Promise<T>): Promise<readonly [T, number]> {
  const from = performance.now();
  return [await act(), performance.now() - from];
}

describe("CA20 a store that is not there when the agent should start", () => {
  test("PostgreSQL that is down stops it at once, with a code of its own, and the agent is not started", async () => {
    const { machine, ended } = start(() => says("NEVER"), lineOf("postgres://u:p@127.0.0.1:9/x", "r"));
    const ran = await ended;
    expect(ran).toMatchObject({ code: 6, stdout: "" });
    expect(ran.stderr).toMatch(/cannot reach .*; the agent was not started.*--wait-store/s);
    expect(existsSync(path.join(machine.home, "args.json"))).toBe(false);
  });

  test("PostgreSQL that accepts and never answers stops it within the grace time", async () => {
    const store = newSchema();
    await (await open(store)).close();
    frozen = await freeze(server.pid());
    const { machine, ended } = start(() => says("NEVER"), lineOf(store, "r", "--grace", "1s"));
    const [ran, took] = await timed(() => ended);
    expect(ran).toMatchObject({ code: 6, stdout: "" });
    expect(took).toBeLessThan(1000 + SLACK_MS);
    expect(existsSync(path.join(machine.home, "args.json"))).toBe(false);
  });

  test("--wait-store waits until it is there, and says that it waits", async () => {
    const own = await startPostgres({ settings: { fsync: "off" } });
    try {
      const store = own.url;
      await own.shutDown();
      const { ended, child } = start(() => says("LATE"), lineOf(store, "r", "--wait-store", "60s"));
      let said = "";
      child.stderr?.on("data", (text) => {
        said += text;
      });
      await until(() => said.includes("waiting for the store"));
      await own.restart();
      expect(await ended).toMatchObject({ code: 0, stdout: "done" });
      expect(await saved(store, "r")).toEqual(["LATE"]);
    } finally {
      await own.stop();
    }
  });

  test("--wait-store ends with the same code when its time is over, and at once with a signal", async () => {
    const store = "postgres://u:p@127.0.0.1:9/x";
    const over = await start(() => says("NEVER"), lineOf(store, "r", "--wait-store", "700ms")).ended;
    expect(over).toMatchObject({ code: 6, stdout: "" });
    const { child, ended } = start(() => says("NEVER"), lineOf(store, "r", "--wait-store", "10m"));
    child.stderr?.once("data", () => child.kill("SIGTERM"));
    expect(await ended).toMatchObject({ code: 143, stdout: "" });
  });
});

describe("CA20 a store that stands still while the agent works", () => {
  test("is given up when the agent has ended: its own exit code, within the grace time, and what is missing is said", async () => {
    const store = newSchema();
    const { machine, ended } = start((one) => ({ ...waits(goFile(one)), exit: 3 }), lineOf(store, "r", ...GRACE));
    await until(async () => (await saved(store, "r")).length > 0);
    frozen = await freeze(server.pid());
    const [ran, took] = await timed(() => {
      writeFileSync(goFile(machine), "");
      return ended;
    });
    expect(ran).toMatchObject({ code: 3, stdout: "done" });
    expect(took).toBeLessThan(GRACE_MS + SLACK_MS);
    expect(ran.stderr).toMatch(/did not answer within the grace time of 3 s/);
    expect(ran.stderr).toMatch(/holdfast capture --session-id/);
  });

  test("and --out is written all the same, with everything", async () => {
    const store = newSchema();
    const out = path.join(folder, "frozen.hfcap");
    const { machine, ended } = start((one) => waits(goFile(one)), lineOf(store, "r", ...GRACE, "--out", out));
    await begun(machine);
    frozen = await freeze(server.pid());
    writeFileSync(goFile(machine), "");
    const ran = await ended;
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(`wrote ${out}`);
    const next = await new Machine().run(says("MORE"), ["--from", out, "--", "claude", "-p", "go"]);
    expect(next.stderr).toContain("(1 message)");
  });

  test.each(scaled({ short: ["SIGTERM"], long: ["SIGTERM", "SIGINT", "SIGHUP"] }) as NodeJS.Signals[])(
    "and %s in mid-turn is obeyed within the grace time",
    async (signal) => {
      const { machine, child, ended } = start((one) => waits(goFile(one)), lineOf(newSchema(), "r", ...GRACE));
      await begun(machine);
      frozen = await freeze(server.pid());
      const [ran, took] = await timed(() => {
        child.kill(signal);
        return ended;
      });
      expect(ran.code).toBeGreaterThan(128);
      expect(took).toBeLessThan(GRACE_MS + SLACK_MS);
    },
  );

  test("and a second signal after the agent's end ends it at once", async () => {
    const store = newSchema();
    const { machine, child, ended } = start((one) => waits(goFile(one)), lineOf(store, "r", "--grace", "5m"));
    await begun(machine);
    frozen = await freeze(server.pid());
    child.stdout?.once("data", async () => {
      await sleep(500);
      child.kill("SIGTERM");
      await sleep(200);
      child.kill("SIGTERM");
    });
    writeFileSync(goFile(machine), "");
    const ran = await ended;
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/is not saved: a second signal came before the store \S+ had answered/);
  });

  test("--must-save says so with a code of its own, and only where the agent itself ended well", async () => {
    for (const [exit, code] of [
      [0, 8],
      [5, 5],
    ] as const) {
      const line = lineOf(newSchema(), "r", ...GRACE, "--must-save");
      const { machine, ended } = start((one) => ({ ...waits(goFile(one)), exit }), line);
      await begun(machine);
      frozen = await freeze(server.pid());
      writeFileSync(goFile(machine), "");
      expect((await ended).code).toBe(code);
      frozen.thaw();
    }
    const well = await new Machine().run(says("WELL"), lineOf(newStore(), "r", "--must-save"));
    expect(well.code).toBe(0);
  });

  test("a SQLite file that another process has locked is given up in the same way", async () => {
    const store = newStore();
    // What it says last cannot be saved yet when the file is locked.
    const both = (one: Machine) => [...(waits(goFile(one)).sessions ?? []), { session: "own", says: "LAST" }];
    const { machine, ended } = start((one) => ({ sessions: both(one) }), lineOf(store, "r", ...GRACE, "--must-save"));
    await begun(machine);
    const other = new DatabaseSync(store, { timeout: 10_000 });
    other.exec("BEGIN IMMEDIATE");
    const [ran, took] = await timed(() => {
      writeFileSync(goFile(machine), "");
      return ended;
    });
    other.close();
    expect(ran).toMatchObject({ code: 8, stdout: "done" });
    expect(took).toBeLessThan(GRACE_MS + SLACK_MS);
    expect(ran.stderr).toContain("grace time");
  });

  test("PostgreSQL that was restarted meanwhile gets everything", async () => {
    const own = await startPostgres({ settings: { fsync: "off" } });
    try {
      const { machine, ended } = start((one) => waits(goFile(one)), lineOf(own.url, "r", "--every", "100ms"));
      await begun(machine);
      await own.kill();
      await own.restart();
      writeFileSync(goFile(machine), "");
      const ran = await ended;
      expect(ran.code).toBe(0);
      expect(ran.stderr).toContain("; saved 1 file");
      expect(await saved(own.url, "r")).toEqual(["SAID"]);
    } finally {
      await own.stop();
    }
  });
});

describe("CA20 signals", () => {
  const cases = (["SIGTERM", "SIGINT", "SIGHUP"] as const).flatMap((signal) =>
    (["SQLite", "PostgreSQL"] as const).map((engine) => [signal, engine] as const),
  );
  test.each(scaled({ short: cases.slice(0, 1), long: cases }))(
    "an agent that does not obey %s is ended, and its session is saved on %s",
    async (signal, engine) => {
      const store = engine === "SQLite" ? newStore() : newSchema();
      const line = lineOf(store, "r", ...GRACE, "--every", "10m");
      const { child, machine, ended } = start((one) => ({ ...waits(goFile(one)), deaf: true }), line);
      await begun(machine);
      const [ran, took] = await timed(() => {
        child.kill(signal);
        return ended;
      });
      expect(ran.code).toBe(137);
      expect(took).toBeLessThan(GRACE_MS + SLACK_MS);
      expect(ran.stderr).toMatch(/did not end within .*; saved|saved .*did not end within/s);
      expect(await saved(store, "r")).toEqual(["SAID"]);
    },
  );
});

withAgents("CA20 the real Claude Code in the middle of a tool call", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  const faults = ["PostgreSQL that stands still", "PostgreSQL", "SQLite"] as const;
  const cases = faults.flatMap((fault) => signals.map((signal) => [signal, fault] as const));
  test.each(scaled({ short: cases.slice(0, 1), long: cases }))(
    "%s ends it within the grace time, with %s; what was saved is resumed elsewhere",
    async (signal, fault) => {
      const store = fault === "SQLite" ? newStore() : newSchema();
      const run = (machine: RealMachine, prompt: string) => {
        const line = ["claude", "-p", "--model", MODEL, "--dangerously-skip-permissions", prompt];
        const options = ["--store", store, "--request", "r", "--grace", "5s"];
        return machine.start(process.execPath, [CLI, "run", ...options, "--", ...line]);
      };
      const a = machines.add();
      const marker = path.join(a.cwd, "begun");
      const slow = `[[tool Bash {"command":"touch ${marker}; sleep 60","description":"wait"}]]`;
      const running = run(a, `The word is CODEWORD-80. ${slow}`);
      await running.until(() => existsSync(marker));
      await until(async () => (await saved(store, "r")).length > 0);
      if (fault === "PostgreSQL that stands still") frozen = await freeze(server.pid());
      const [ran, took] = await timed(() => {
        process.kill(running.pid, signal);
        return running.ended;
      });
      expect(took).toBeLessThan(5000 + SLACK_MS);
      // Asked by SIGINT, Claude Code itself ends with 0.
      expect(ran.code).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[signal]);
      expect(ran.stderr).toMatch(frozen === null ? /; saved 1 file/ : /is not saved: the store .* grace time of 5 s/);
      frozen?.thaw();
      await a.die();
      const second = await run(machines.add(), "What was it? [[recall CODEWORD-\\d+]]").ended;
      expect(second.stdout).toContain("CODEWORD-80");
      expect(second.stderr).toContain("holdfast: resumed ");
    },
  );
});

describe("CA6 --out", () => {
  test("whose directory is missing is told before the agent starts, with the line that makes it", async () => {
    const { machine, ended } = start(() => says("NEVER"), ["--out", "no/such/s.hfcap", "--", "claude", "-p", "go"]);
    const ran = await ended;
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain("mkdir -p no/such");
    expect(existsSync(path.join(machine.home, "args.json"))).toBe(false);
    const isDirectory = await new Machine().run(says("NEVER"), ["--out", folder, "--", "claude", "-p", "go"]);
    expect(isDirectory).toMatchObject({ code: 2, stdout: "" });
  });

  test("a directory that went away meanwhile is told, and the store has the session", async () => {
    const store = newStore();
    const outs = path.join(folder, "outs");
    mkdirSync(outs);
    const line = lineOf(store, "r", "--out", path.join(outs, "s.hfcap"));
    const { machine, ended } = start((one) => waits(goFile(one)), line);
    await begun(machine);
    rmSync(outs, { recursive: true });
    writeFileSync(goFile(machine), "");
    const ran = await ended;
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/saved 1 file.*not written.*no directory/s);
    expect(await saved(store, "r")).toEqual(["SAID"]);
  });
});

describe("CA4 --must-resume", () => {
  test("ends with a code of its own before the agent starts, and says why", async () => {
    const store = newStore();
    const first = start(() => says("NEVER"), lineOf(store, "r", "--must-resume"));
    const none = await first.ended;
    expect(none).toMatchObject({ code: 7, stdout: "" });
    expect(none.stderr).toMatch(/nothing is stored for request "r"/);
    expect(existsSync(path.join(first.machine.home, "args.json"))).toBe(false);
    await new Machine().run(says("FIRST"), lineOf(store, "r"));
    const there = await new Machine().run(says("MORE"), lineOf(store, "r", "--must-resume"));
    expect(there).toMatchObject({ code: 0, stdout: "done" });
    expect(there.stderr).toContain("resumed ");
    const hf = await open(store);
    await hf.captures.deleteForRequest("r");
    await hf.close();
    const gone = await new Machine().run(says("NEVER"), lineOf(store, "r", "--must-resume"));
    expect(gone).toMatchObject({ code: 7, stdout: "" });
    expect(gone.stderr).toMatch(/without --must-resume/);
  });

  test("lets a session that is only on this machine be resumed by the agent itself", async () => {
    const store = newStore();
    const machine = new Machine();
    await machine.run(says("HERE"), lineOf(store, "other"));
    const session = machine.args[1] ?? "";
    const line = () => ["--store", newStore(), "--request", "r", "--must-resume", "--", "claude", "--resume", session];
    expect(await machine.run(says("MORE"), line())).toMatchObject({ code: 0 });
    const elsewhere = await new Machine().run(says("NEVER"), line());
    expect(elsewhere).toMatchObject({ code: 7, stdout: "" });
    expect(elsewhere.stderr).toContain(`session ${session} is neither on this machine nor in the store`);
  });
});

describe("CA21 one run at a time works on a request", () => {
  const engines = [
    ["SQLite", () => newStore()],
    ["PostgreSQL", () => newSchema()],
  ] as const;

  test.each(engines)("on %s a second one is told who is at work, and is not started", async (_, storeOf) => {
    const store = storeOf();
    const first = start((one) => waits(goFile(one)), lineOf(store, "r"));
    await begun(first.machine);
    const second = start(() => says("NEVER"), lineOf(store, "r"));
    const refused = await second.ended;
    expect(refused).toMatchObject({ code: 9, stdout: "" });
    expect(refused.stderr).toMatch(new RegExp(`Process ${first.child.pid} on \\S+ works on request "r" since 20`));
    expect(existsSync(path.join(second.machine.home, "args.json"))).toBe(false);
    expect(await new Machine().run(says("OTHER"), lineOf(store, "other"))).toMatchObject({ code: 0 });
    // --wait resumes what the first one leaves, and --beside does not wait.
    expect(await new Machine().run(says("BESIDE"), lineOf(store, "r", "--beside"))).toMatchObject({ code: 0 });
    const waiting = start(() => says("MORE"), lineOf(store, "r", "--wait"));
    let said = "";
    waiting.child.stderr?.on("data", (text) => {
      said += text;
    });
    await until(() => said.includes("waiting until it ends"));
    writeFileSync(goFile(first.machine), "");
    expect((await first.ended).code).toBe(0);
    const resumed = await waiting.ended;
    expect(resumed).toMatchObject({ code: 0, stdout: "done" });
    expect(resumed.stderr).toContain("resumed ");
  });

  test("one that was killed with -9 stops the next one while its agent works, which is named", async () => {
    const store = newStore();
    const first = start((one) => waits(goFile(one)), lineOf(store, "r"));
    await begun(first.machine);
    await until(async () => (await saved(store, "r")).length > 0);
    const gone = once(first.child, "exit");
    first.child.kill("SIGKILL");
    await gone;
    const [entry = ""] = readdirSync(path.join(first.machine.home, ".claude/sessions"));
    const agent = path.parse(entry).name;
    const refused = await new Machine().run(says("NEVER"), lineOf(store, "r"));
    expect(refused).toMatchObject({ code: 9, stdout: "" });
    expect(refused.stderr).toContain(`end it with \`kill ${agent}\``);
    writeFileSync(goFile(first.machine), "");
    await first.ended;
  });

  test("one that was killed with -9 does not stop the next one on its machine", async () => {
    const store = newStore();
    const first = start((one) => waits(goFile(one)), lineOf(store, "r"));
    await begun(first.machine);
    await until(async () => (await saved(store, "r")).length > 0);
    first.child.kill("SIGKILL");
    writeFileSync(goFile(first.machine), "");
    await first.ended;
    const next = await new Machine().run(says("NEXT"), lineOf(store, "r"));
    expect(next.code).toBe(0);
    expect(next.stderr).toMatch(/^holdfast: resumed /);
  });

  test("a signal ends the waiting", async () => {
    const store = newStore();
    const first = start((one) => waits(goFile(one)), lineOf(store, "r"));
    await begun(first.machine);
    const waiting = start(() => says("NEVER"), lineOf(store, "r", "--wait"));
    waiting.child.stderr?.once("data", () => waiting.child.kill("SIGTERM"));
    expect(await waiting.ended).toMatchObject({ code: 143, stdout: "" });
    writeFileSync(goFile(first.machine), "");
    await first.ended;
  });
});

test("CA2 killed right after the first line is on disk, that line is in the store", async () => {
  const store = newStore();
  const { machine, child, ended } = start((one) => waits(goFile(one)), lineOf(store, "r", "--every", "10m"));
  await begun(machine);
  const transcript = machine.transcript(machine.args[1] ?? "");
  await until(() => existsSync(transcript) && readFileSync(transcript, "utf8").includes("SAID"));
  await until(async () => (await saved(store, "r")).length > 0);
  child.kill("SIGKILL");
  writeFileSync(goFile(machine), "");
  await ended;
  expect(await saved(store, "r")).toEqual(["SAID"]);
});
