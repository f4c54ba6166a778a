// holdfast run with the real OpenCode: every version that is supported begins, dies with its machine, and goes on elsewhere
// with all that it had; and the program is not started more often than it must be.
import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentAt } from "../../scripts/agents.ts";
import { readContent } from "../../src/coding/capture-source.ts";
import { open } from "../../src/open.ts";
import { isLong } from "../../src/testing/scale.ts";
import { CLI } from "../command.ts";
import { testLong } from "../long-test.ts";
import { type Engine, TestStores } from "../real/stores.ts";
import { withAgents } from "./agents.ts";
import { type Machine, Machines, type Running, startMachines } from "./machine.ts";
import { CountedProgram, dataOf, type OpenCodeState, openCodeState } from "./opencode-state.ts";
import { call } from "./rich.ts";

const NEWEST = "1.18.33";
/** The first that is supported, the first with a database, and two with other schemas. */
const OLDER = ["1.1.65", "1.2.27", "1.14.41", "1.17.19"];
const TIMEOUT = { timeout: 300_000 };

/** Large output, a changed file, tasks and a sub-agent. */
const richPrompt = ({ cwd }: Machine) => `The word is CODEWORD-7. ${stepsIn(cwd).join(" ")}`;
const stepsIn = (cwd: string) => [
  call("write", { filePath: path.join(cwd, "created.txt"), content: "new" }),
  call("bash", { command: "seq 1 30000; echo CODEWORD-8", description: "much output" }),
  call("todowrite", {
    todos: [
      { id: "1", content: "Write the report", status: "pending", priority: "high" },
      { id: "2", content: "Read it, 'é", status: "completed", priority: "low" },
    ],
  }),
  call("task", { description: "child", prompt: "[[say CODEWORD-9 by the child]]", subagent_type: "general" }),
  "[[say noted]]",
];
const RECALL = "What was it? [[recall CODEWORD-\\d+]]";
const WORDS = ["CODEWORD-7", "CODEWORD-8", "CODEWORD-9"];

withAgents("holdfast run with OpenCode", (agents) => {
  const places = new TestStores();
  let newest: Machines;
  const others = new Map<string, Machines>();
  const counted = new Map<string, CountedProgram>();

  beforeAll(async () => {
    newest = await startMachines(agents);
    for (const version of [NEWEST, ...(isLong ? OLDER : [])]) {
      const real = version === NEWEST ? agents.opencode : await agentAt("opencode", version);
      const program = new CountedProgram(path.join(newest.folder, version), real);
      counted.set(version, program);
      others.set(version, new Machines({ ...agents, opencode: program.program }, newest.api));
    }
  }, 600_000);
  afterAll(async () => {
    for (const machines of others.values()) await machines.remove();
    await newest.remove();
    await places.remove();
  });

  function machineOf(version: string, cwd?: string): Machine {
    const machines = others.get(version);
    if (machines === undefined) throw new Error(`bug: OpenCode ${version} is not there`);
    return machines.add(cwd === undefined ? {} : { cwd });
  }

  const startsOf = (version: string) => counted.get(version)?.starts();

  function go(machine: Machine, store: string, prompt: string, more: readonly string[] = []): Running {
    const line = ["run", "--request", "r", "--store", store, ...more, "--", "opencode", "run", "--format", "json"];
    return machine.start(process.execPath, [CLI, ...line], { input: prompt });
  }

  /** In the repository: outside of one they are in OpenCode's own folder. */
  async function repository(machine: Machine): Promise<void> {
    const name = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"];
    await machine.start("git", ["init", "--quiet"]).done();
    await machine.start("git", [...name, "commit", "--quiet", "--allow-empty", "--message", "first"]).done();
  }

  /** Plan mode keeps its plan in a file that is named by the session. */
  function planOf(machine: Machine, state: OpenCodeState, inRepository: boolean): string {
    const [root] = [...state.sessions.values()].filter((row) => (row.parent_id ?? row.parentID ?? null) === null);
    const time = root?.time as { created: number } | undefined;
    const name = `${root?.time_created ?? time?.created}-${root?.slug}.md`;
    return inRepository
      ? path.join(machine.cwd, ".opencode", "plans", name)
      : path.join(dataOf(machine), "plans", name);
  }

  async function movesFrom(version: string, to: string, engine: Engine, inRepository: boolean): Promise<void> {
    const store = await places.fresh(engine);
    for (const program of counted.values()) program.starts();
    const a = machineOf(version);
    if (inRepository) await repository(a);
    const first = await go(a, store, richPrompt(a)).ended;
    expect(first).toMatchObject({ code: 0 });
    expect(first.stderr).toMatch(/holdfast: session ses_\w+; saved /);
    expect(startsOf(version)).toEqual(["run"]);

    const plan = planOf(a, openCodeState(a), inRepository);
    fs.mkdirSync(path.dirname(plan), { recursive: true });
    fs.writeFileSync(plan, "# The plan\n\nCODEWORD-6\n");
    const again = await go(a, store, "And? [[say well]]").ended;
    expect(again.stderr).toMatch(/holdfast: resumed ses_\w+/);
    expect(startsOf(version)).toEqual(["run"]);
    const before = openCodeState(a);
    const outputs = namedOutputs(a, before);
    expect(outputs.size).toBeGreaterThan(0);
    await a.die();

    const b = machineOf(to, `else where.${version}-${engine}`);
    if (inRepository) await repository(b);
    const second = await go(b, store, RECALL).ended;
    expect(second.stderr).toMatch(/holdfast: resumed ses_\w+/);
    for (const word of WORDS) expect(second.stdout).toContain(word);
    if (version === to) {
      const children = before.sessions.size - 1;
      expect(startsOf(to)).toEqual(
        to === "1.1.65" ? [...Array(1 + children).fill("import"), "run"] : ["import", "run"],
      );
      expectSame(openCodeState(b), before);
    }
    startsOf(to);
    expect(outputsOn(b)).toEqual(outputs);
    expect(fs.readFileSync(planOf(b, openCodeState(b), inRepository), "utf8")).toBe("# The plan\n\nCODEWORD-6\n");
    if (!isLong) return;
    // What was put back there is known there: it goes on as its own.
    const third = await go(b, store, RECALL).ended;
    expect(third.stderr).toMatch(/holdfast: resumed ses_\w+/);
    expect(startsOf(to)).toEqual(["run"]);
  }

  /** Killed with everything on its machine, in the middle of a tool call. */
  async function survivesKill(version: string, engine: Engine): Promise<void> {
    const store = await places.fresh(engine);
    const a = machineOf(version);
    const marker = path.join(a.cwd, "begun");
    const slow = call("bash", { command: `touch '${marker}'; sleep 200`, description: "wait" });
    const running = go(a, store, `The word is CODEWORD-75. ${slow}`, ["--every", "1s"]);
    await running.until(() => fs.existsSync(marker));
    for (let saved = ""; !saved.includes("sleep 200"); saved = await savedExport(store)) await sleep(200);
    await running.kill();
    await a.die();
    startsOf(version);
    const b = machineOf(version);
    const second = await go(b, store, RECALL).ended;
    expect(second.stdout).toContain("CODEWORD-75");
    expect(second.stderr).toMatch(/holdfast: resumed ses_\w+/);
    expect(startsOf(version)).toEqual(["import", "run"]);
  }

  /** Everything is imported when the last step fails: spilled output is not written through a link. */
  async function undoes(version: string): Promise<void> {
    const store = await places.fresh("sqlite");
    const a = machineOf(version);
    await go(a, store, richPrompt(a)).done();
    await a.die();
    const b = machineOf(version);
    await b.opencode("[[say another session]]").done();
    const before = openCodeState(b);
    fs.rmSync(path.join(dataOf(b), "tool-output"), { recursive: true, force: true });
    fs.symlinkSync(b.cwd, path.join(dataOf(b), "tool-output"));
    const failed = await b.start(process.execPath, [CLI, "restore", "--request", "r", "--store", store]).ended;
    expect(failed.stderr).toContain("cannot be written");
    expect(openCodeState(b)).toEqual(before);
    fs.rmSync(path.join(dataOf(b), "tool-output"));
    await b.start(process.execPath, [CLI, "restore", "--request", "r", "--store", store]).done();
    expect(openCodeState(b).sessions.size).toBe(before.sessions.size + 2);
  }

  test("CA2 killed in mid-turn, all up to the running tool call is there", TIMEOUT, () =>
    survivesKill(NEWEST, "postgres"),
  );

  test(
    "CA9 CA10 a session goes on in another home and directory with everything it had, and one extra start",
    TIMEOUT,
    () => movesFrom(NEWEST, NEWEST, "sqlite", true),
  );

  testLong("CA10 the same on PostgreSQL, outside of a repository", TIMEOUT, () =>
    movesFrom(NEWEST, NEWEST, "postgres", false),
  );

  describe("all versions", () => {
    for (const version of [NEWEST, ...OLDER]) {
      testLong(`CA10 a restore into ${version} that fails leaves nothing behind`, TIMEOUT, () => undoes(version));
    }
  });

  describe("older versions", () => {
    for (const version of OLDER) {
      for (const engine of ["sqlite", "postgres"] as const) {
        testLong(`CA10 a session of ${version} goes on with ${version}, stored on ${engine}`, TIMEOUT, () =>
          movesFrom(version, version, engine, engine === "sqlite"),
        );
      }
      testLong(`CA2 ${version} killed in mid-turn: all up to the running tool call is there`, TIMEOUT, () =>
        survivesKill(version, "sqlite"),
      );
      testLong(`CA10 a session of ${version} goes on with ${NEWEST}`, TIMEOUT, () =>
        movesFrom(version, NEWEST, "sqlite", true),
      );
      testLong(`CA10 a session of ${NEWEST} goes on with ${version}`, TIMEOUT, () =>
        movesFrom(NEWEST, version, "sqlite", true),
      );
    }
  });
});

/** "" as long as there is none. */
async function savedExport(store: string): Promise<string> {
  const hf = await open(store);
  try {
    const [capture] = (await hf.captures.list()).items;
    if (capture === undefined) return "";
    return Buffer.from(
      await readContent({ read: (name) => hf.captures.read(capture.id, name) }, `export/${capture.sessionId}.json`),
    ).toString("utf8");
  } finally {
    await hf.close();
  }
}

/** OpenCode 1.17 now and then writes an output twice; the session names one of the two files. */
function namedOutputs(machine: Machine, { parts }: OpenCodeState): ReadonlyMap<string, string> {
  const text = JSON.stringify([...parts.values()]);
  return new Map([...outputsOn(machine)].filter(([name]) => text.includes(name)));
}

function outputsOn(machine: Machine): ReadonlyMap<string, string> {
  const folder = path.join(dataOf(machine), "tool-output");
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return new Map(names.toSorted().map((name) => [name, fs.readFileSync(path.join(folder, name), "utf8")]));
}

/** Row for row. The session itself has gone on since: its title, its counts of tokens and its times are others. */
function expectSame(after: OpenCodeState, before: OpenCodeState): void {
  for (const kind of ["messages", "parts", "todos"] as const) {
    for (const [id, row] of before[kind]) expect(after[kind].get(id), `${kind} ${id}`).toEqual(row);
  }
  for (const [id, row] of before.sessions) {
    const now = after.sessions.get(id);
    if ((row.parent_id ?? row.parentID ?? null) !== null) expect(now, id).toEqual(row);
    else for (const name of ["slug", "time_created", "permission", "version"]) expect(now?.[name]).toEqual(row[name]);
  }
}
