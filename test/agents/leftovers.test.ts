// What an agent leaves on its disk when its `holdfast run` was killed, and the line that a run goes on from which waited for another.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { COMPILED } from "../compiled.ts";
import { exported } from "../opencode-machine.ts";
import { lineOf, Machine, newStore, saved, says } from "../run-machine.ts";
import { eventually, withStore } from "./holdfast.ts";
import { begun, type Case, claimAndDie, claimIn, goFile, isSaved, start } from "./orphan-cases.ts";

describe("CA21 what an agent wrote after its `holdfast run` was killed", () => {
  test("is in the store before the next agent starts", async () => {
    const [store, go] = [newStore(), goFile()];
    const said = { session: "own", says: "SAID", until: go };
    const first = start({ sessions: [said, { session: "own", says: "LATER" }] }, lineOf(store, "r"));
    await isSaved(store, "SAID");
    first.child.kill("SIGKILL");
    writeFileSync(go, "");
    await first.ended;
    const end = goFile();
    const idle = { sessions: [{ session: randomUUID(), says: "", until: end }], exit: 3 };
    const next = start(idle, lineOf(store, "r", "--every", "10m"), first.machine);
    // It says nothing, so that no save follows from what it does.
    await isSaved(store, "SAID,LATER");
    writeFileSync(end, "");
    expect(await next.ended).toMatchObject({ code: 3 });
  });

  test("also when nothing of its session had been saved", async () => {
    const [store, go] = [newStore(), goFile()];
    const sessions = [
      { session: "own", says: "", until: go },
      { session: "own", says: "LATER" },
    ];
    const first = start({ sessions }, lineOf(store, "r"));
    await begun(first.machine);
    const session = first.machine.args[1] ?? "?";
    await eventually(() => existsSync(first.machine.transcript(session)), "its transcript begins");
    await sleep(500);
    first.child.kill("SIGKILL");
    writeFileSync(go, "");
    await first.ended;
    const next = await first.machine.run({ sessions: [] }, lineOf(store, "r"));
    expect(next.stderr).toContain(`resumed ${session} (1 message)`);
    expect(await saved(store, "r")).toEqual(["LATER"]);
  });

  /** A run is killed before its agent says anything; then the agent says LATER and ends. Its session. */
  async function leaveUnsaved(store: string): Promise<{ readonly machine: Machine; readonly session: string }> {
    const go = goFile();
    const began = { session: "own", says: "", until: go };
    const { machine, child, ended } = start(
      { sessions: [began, { session: "own", says: "LATER" }] },
      lineOf(store, "r"),
    );
    await begun(machine);
    await eventually(() => claimIn(store).includes('"worker":"'), "the agent is named");
    child.kill("SIGKILL");
    writeFileSync(go, "");
    await ended;
    return { machine, session: machine.args[1] ?? "?" };
  }

  test("also when the next run is killed before it has saved that", async () => {
    const store = newStore();
    const { machine, session } = await leaveUnsaved(store);
    await claimAndDie(store, "claude-code");
    const next = await machine.run({ sessions: [] }, lineOf(store, "r"));
    expect(next.stderr).toContain(`resumed ${session} (1 message)`);
    expect(await saved(store, "r")).toEqual(["LATER"]);
  });

  test("and a save of it that fails is said, and tried again by the next run", async () => {
    const store = newStore();
    const { machine, session } = await leaveUnsaved(store);
    const database = new DatabaseSync(store);
    const refuses = `BEFORE INSERT ON captures WHEN NEW.agent_session = '${session}'`;
    database.exec(`CREATE TRIGGER full ${refuses} BEGIN SELECT raise(ABORT, 'disk full'); END`);
    const failed = await machine.run({ sessions: [] }, lineOf(store, "r"));
    expect(failed.stderr).toMatch(
      /the work of an earlier run in session \S+ could not be saved \(.*disk full.*\); the next run tries again/s,
    );
    expect(failed.stderr).toContain(`holdfast capture --session-id ${session} --request r`);
    const json = await machine.run(says("NEW"), lineOf(store, "r", "--json"));
    const { unsaved, sessionId } = JSON.parse(json.stderr);
    expect(unsaved).toEqual([session]);
    database.exec("DROP TRIGGER full");
    database.close();
    // It is saved now; what the run between did is later than that, and is gone on with.
    const next = await machine.run(says("MORE"), lineOf(store, "r"));
    expect(next.stderr).toContain(`resumed ${sessionId} (1 message)`);
    expect((await saved(store, "r")).toSorted()).toEqual(["LATER", "NEW,MORE"]);
    expect(claimIn(store)).toContain('"unsaved":[]');
  });

  test("and OpenCode's session, whose id no run knew, is found by when it began", async () => {
    const [store, machine] = [newStore(), new Machine()];
    const fake = path.resolve(import.meta.dirname, "../fake-opencode.ts");
    const program = path.join(machine.bin, "opencode");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${fake}" "$@"\n`, { mode: 0o755 });
    const begin = (id: string, created: number) => {
      const { info, messages } = exported(id, 2);
      const file = path.join(machine.home, `${id}.json`);
      writeFileSync(file, JSON.stringify({ info: { ...info, time: { created, updated: created } }, messages }));
      const env = { ...process.env, ...COMPILED, HOME: machine.home };
      execFileSync(program, ["import", file], { cwd: machine.cwd, env, stdio: "ignore" });
    };
    const run = () =>
      machine.run({}, ["--store", store, "--request", "r", "--", "opencode", "run", "hi"], { FAKE_CLAUDE: "{}" });
    const sessions = () =>
      withStore(store, async ({ captures }) => (await captures.list()).items.map(({ sessionId }) => sessionId));
    begin("ses_before", Date.now() - 60_000);
    await claimAndDie(store, "opencode");
    begin("ses_left", Date.now());
    await run();
    expect(await sessions()).toEqual(["ses_left"]);
    await claimAndDie(store, "opencode");
    for (const id of ["ses_one", "ses_other"]) begin(id, Date.now());
    expect((await run()).stderr).toMatch(/any of ses_one, ses_other may be that session; save the right one with/);
    expect(await sessions()).toEqual(["ses_left"]);
  });

  test("and what went apart from the newest is kept beside it, once", async () => {
    const [store, go] = [newStore(), goFile()];
    const said = { session: "own", says: "SAID", until: go };
    const first = start({ sessions: [said, { session: "own", says: "LATER" }] }, lineOf(store, "r"));
    await isSaved(store, "SAID");
    first.child.kill("SIGKILL");
    expect(await new Machine().run(says("BESIDE"), lineOf(store, "r", "--beside"))).toMatchObject({ code: 0 });
    writeFileSync(go, "");
    await first.ended;
    for (let n = 0; n < 2; n++) {
      const next = await first.machine.run({ sessions: [] }, lineOf(store, "r"));
      expect(next.stderr).toMatch(/could not resume .*continued differently/);
      expect((await saved(store, "r")).toSorted()).toEqual(["SAID,BESIDE", "SAID,LATER"]);
    }
    const json = await first.machine.run({ sessions: [] }, lineOf(store, "r", "--json"));
    expect(JSON.parse(json.stderr)).toMatchObject({
      apart: { sessionId: expect.any(String), capture: expect.stringMatching(/^cap_/) },
    });
  });
});

test("CA21 --wait goes on from what the awaited run left, also when a run beside it saved last", async () => {
  const [store, go] = [newStore(), goFile()];
  const said = { session: "own", says: "SAID", until: go };
  const first = start({ sessions: [said, { session: "own", says: "AFTER" }] }, lineOf(store, "r"));
  await isSaved(store, "SAID");
  const waiting = start(says("MORE"), lineOf(store, "r", "--wait"));
  let told = "";
  waiting.child.stderr?.on("data", (text) => {
    told += text;
  });
  await eventually(() => told.includes("waiting until it ends"), "it waits");
  expect(await new Machine().run(says("BESIDE"), lineOf(store, "r", "--beside"))).toMatchObject({ code: 0 });
  writeFileSync(go, "");
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(await waiting.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("(2 messages)") });
  expect((await saved(store, "r")).toSorted()).toEqual(["SAID,AFTER,MORE", "SAID,BESIDE"]);
});

test("CA21 --wait goes on from that line also when the awaited run waited too, and could not start its agent", async () => {
  const [store, go] = [newStore(), goFile()];
  const said = { session: "own", says: "SAID", until: go };
  const first = start({ sessions: [said, { session: "own", says: "AFTER" }] }, lineOf(store, "r"));
  await isSaved(store, "SAID");
  const waits = async (one: Case) => {
    let told = "";
    one.child.stderr?.on("data", (text) => {
      told += text;
    });
    await eventually(() => told.includes("waiting until it ends"), "it waits");
    return one;
  };
  const second = await waits(start({}, lineOf(store, "r", "--wait")));
  rmSync(path.join(second.machine.bin, "claude"));
  expect(await new Machine().run(says("BESIDE"), lineOf(store, "r", "--beside"))).toMatchObject({ code: 0 });
  writeFileSync(go, "");
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(await second.ended).toMatchObject({ code: 127 });
  expect(claimIn(store)).toMatch(/"capture":"cap_/);
  const holder = await waitedFor(store);
  const third = await waits(start(says("MORE"), lineOf(store, "r", "--wait")));
  await holder();
  expect(await third.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("(2 messages)") });
  expect((await saved(store, "r")).toSorted()).toEqual(["SAID,AFTER,MORE", "SAID,BESIDE"]);
});

/** Claims the request in this process; what is returned releases it. */
async function waitedFor(store: string): Promise<() => Promise<void>> {
  const hf = await open(store);
  const claim = await hf.captures.claim("r", "claude-code");
  return async () => {
    await claim.release();
    await hf.close();
  };
}

/** Begins a transaction. A process that is stopped within one of its own would keep all others out. */
async function stopBetweenCommits(child: Case["child"], database: DatabaseSync): Promise<void> {
  for (;;) {
    child.kill("SIGSTOP");
    try {
      return database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (!String(error).includes("database is locked")) throw error;
    }
    child.kill("SIGCONT");
    await sleep(5);
  }
}

test("CA21 a run that is stopped is said to be stopped, and keeps its claim", async () => {
  const [store, go] = [newStore(), goFile()];
  const first = start({ sessions: [{ session: "own", says: "SAID", until: go }] }, lineOf(store, "r"));
  await isSaved(store, "SAID");
  const database = new DatabaseSync(store);
  await stopBetweenCommits(first.child, database);
  const { name, value } = database.prepare("SELECT * FROM holdfast_meta WHERE name LIKE 'claim:%'").get() ?? {};
  const record = JSON.parse(String(value));
  const silent = JSON.stringify({ ...record, at: record.at - 72_000 });
  database.prepare("UPDATE holdfast_meta SET value = ? WHERE name = ?").run(silent, String(name));
  database.exec("COMMIT");
  database.close();
  const refused = await new Machine().run(says("NEVER"), lineOf(store, "r"));
  first.child.kill("SIGCONT");
  writeFileSync(go, "");
  expect(refused).toMatchObject({ code: 9, stderr: expect.stringContaining("it is stopped (Ctrl-Z), or it hangs") });
  expect(refused.stderr).toContain(`kill -CONT ${first.child.pid}`);
  expect(refused.stderr).not.toContain("was killed");
  expect(await first.ended).toMatchObject({ code: 0 });
});
