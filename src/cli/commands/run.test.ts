// holdfast run and the sessions of the agent it starts, with a program that behaves like Claude Code.
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { FakeClaude } from "../../../test/fake-claude.ts";
import { lineOf, Machine, newStore, type ProgramResult, saved, says } from "../../../test/run-machine.ts";
import { open } from "../../open.ts";

/** A run of request r whose agent says ONE, which is saved already, and `next` once the file exists. */
async function runUntilSaved(
  store: string,
  file: string,
  next: string,
): Promise<{ readonly ended: Promise<ProgramResult> }> {
  const sessions = [
    { session: "own", says: "ONE", until: file },
    { session: "own", says: next },
  ];
  const ended = new Machine().run({ sessions }, lineOf(store, "r", "--every", "100ms"));
  while ((await saved(store, "r")).length === 0) await sleep(50);
  return { ended };
}

describe("CA8 holdfast run saves the sessions of the agent it started", () => {
  test("and never one that lay there before, however long its own is in coming", async () => {
    const store = newStore();
    const machine = new Machine();
    await machine.run(says("PRIVATE"), lineOf(store, "other"));
    const late = await machine.run({ waitMs: 700, ...says("OWN") }, lineOf(store, "mine", "--every", "50ms"));
    expect(late).toMatchObject({ code: 0 });
    expect(await saved(store, "mine")).toEqual(["OWN"]);
    expect(await saved(store, "other")).toEqual(["PRIVATE"]);
  });

  test("nor the session of another agent that works in the same directory meanwhile", async () => {
    const store = newStore();
    const machine = new Machine();
    const theirs = { session: randomUUID(), says: "THEIRS", waitMs: 200 };
    const slow: FakeClaude = { waitMs: 600, ...says("OWN") };
    const mine = machine.run(slow, lineOf(store, "mine", "--every", "50ms"));
    await new Machine().run({}, lineOf(store, "nobody"));
    await machine.run({ silent: true, sessions: [theirs] }, ["--out", "theirs", "--", "claude", "-p", "x"]);
    expect(await mine).toMatchObject({ code: 0 });
    expect(await saved(store, "mine")).toEqual(["OWN"]);
  });

  test("an agent that left none has nothing saved, which is said", async () => {
    const store = newStore();
    const machine = new Machine();
    await machine.run(says("PRIVATE"), lineOf(store, "other"));
    const none = await machine.run({ exit: 7 }, lineOf(store, "mine"));
    expect(none.code).toBe(7);
    expect(none.stderr).toContain("nothing was saved");
    expect(await saved(store, "mine")).toEqual([]);
  });

  test("an agent that continues in another session is followed there, and both are kept", async () => {
    const store = newStore();
    const cleared = randomUUID();
    const sessions = [
      // Left before anybody looks, as a busy machine may have it.
      { session: "own", says: "BEFORE" },
      { session: cleared, says: "AFTER", waitMs: 1500 },
    ];
    for (const wrapped of [false, true]) {
      const request = `cleared-${wrapped}`;
      const ran = await new Machine({ wrapped }).run({ sessions }, lineOf(store, request, "--every", "10s"));
      expect(ran.stderr).toContain(`session ${cleared}; saved 1 file`);
      expect(ran.stderr).toContain("and 1 session it worked in before");
      expect(await saved(store, request)).toEqual(["AFTER", "BEFORE"]);
      const next = new Machine();
      expect((await next.run(says("MORE"), lineOf(store, request))).stderr).toContain(`resumed ${cleared}`);
    }
  });

  test("if two machines continue it at once, the later result is kept beside the newest", async () => {
    const store = newStore();
    const there = `${store}.there`;
    const { ended: here } = await runUntilSaved(store, there, "HERE");
    expect((await new Machine().run(says("THERE"), lineOf(store, "r", "--beside"))).stderr).toContain("resumed ");
    writeFileSync(there, "");
    expect((await here).stderr).toContain("beside the newest, which has other changes");
    expect((await saved(store, "r")).toSorted()).toEqual(["ONE,HERE", "ONE,THERE"]);
  });

  test("one that was begun and in which nothing was said stands before no other", async () => {
    const store = newStore();
    await new Machine().run(says("REAL"), lineOf(store, "r"));
    const begun = await new Machine().run(says(""), [
      "--store",
      store,
      "--request",
      "r",
      "claude",
      "--session-id",
      randomUUID(),
    ]);
    expect(begun.stderr).toContain("nothing was saved");
    expect((await new Machine().run(says("MORE"), lineOf(store, "r"))).stderr).toContain("resumed ");
    expect(await saved(store, "r")).toEqual(["REAL,MORE"]);
  });

  test("one that is erased while the agent works is not brought back", async () => {
    const store = newStore();
    const erased = `${store}.erased`;
    const { ended: running } = await runUntilSaved(store, erased, "TWO");
    const hf = await open(store);
    const { items } = await hf.sessions.list();
    await hf.sessions.delete(items[0]?.id ?? "", { everywhere: true });
    writeFileSync(erased, "");
    expect((await running).stderr).toContain("was erased while the agent worked");
    expect((await hf.sessions.list()).items).toEqual([]);
    expect((await hf.captures.list({ diverged: true })).items).toEqual([]);
    await hf.close();
  });

  test("one that chooses its session itself, by --continue, is followed by what it says, or by what it wrote", async () => {
    for (const silent of [false, true]) {
      const store = newStore();
      const machine = new Machine();
      await machine.run(says("FIRST"), lineOf(store, "first"));
      const [session = ""] = (machine.args[1] ?? "").split(" ");
      const line = ["--store", store, "--request", "second", "--", "claude", "-c", "-p", "go"];
      const more = await machine.run({ silent, sessions: [{ session, says: "MORE", waitMs: 400 }] }, line);
      expect(machine.args).toEqual(["-c", "-p", "go"]);
      expect(more.stderr).toContain(`session ${session}; saved`);
      expect(await saved(store, "second")).toEqual(["FIRST,MORE"]);
    }
  });

  test("a session of an agent that ends before it is observed is found by its files, without the sessions of others", async () => {
    const store = newStore();
    const machine = new Machine();
    await machine.run(says("FIRST"), lineOf(store, "first"));
    const [session = ""] = (machine.args[1] ?? "").split(" ");
    const hasty = (request: string, wrote: FakeClaude["sessions"]) =>
      machine.run({ hasty: true, waitMs: 600, sessions: wrote ?? [] }, [
        "--store",
        store,
        "--request",
        request,
        "--",
        "claude",
        "-c",
        "-p",
        "go",
      ]);
    const more = await hasty("second", [{ session, says: "MORE" }]);
    expect(more.stderr).toContain(`session ${session}; saved`);
    expect(await saved(store, "second")).toEqual(["FIRST,MORE"]);
    // Somebody else is at work in it, and the agent wrote nothing.
    const others = path.join(machine.home, ".claude/sessions", `${process.pid}.json`);
    writeFileSync(others, JSON.stringify({ pid: process.pid, sessionId: session, startedAt: Date.now() }));
    const begun = path.join(machine.home, "args.json");
    rmSync(begun);
    const nothing = hasty("third", []);
    while (!existsSync(begun)) await sleep(20);
    appendFileSync(machine.transcript(session), "{}\n");
    expect((await nothing).stderr).toContain("nothing was saved");
    expect(await saved(store, "third")).toEqual([]);
  });

  test("one that is called by its title is followed by the id that it says", async () => {
    const store = newStore();
    const line = ["--store", store, "--request", "r", "--", "claude", "--resume", "auth-refactor", "-p", "go"];
    const own = { session: randomUUID(), says: "TITLED", waitMs: 500 };
    const { stderr } = await new Machine().run({ sessions: [own] }, line);
    expect(stderr).toContain(`session ${own.session}; saved`);
    expect(stderr).not.toContain("is not saved");
    expect(await saved(store, "r")).toEqual(["TITLED"]);
  });

  test("where the store was removed meanwhile, nothing is said to be saved", async () => {
    const store = newStore();
    const machine = new Machine();
    const go = path.join(machine.home, "go");
    const running = machine.run({ after: go, ...says("OWN") }, lineOf(store, "r"));
    while (!existsSync(path.join(machine.home, "args.json"))) await sleep(20);
    for (const end of ["", "-wal", "-shm"]) rmSync(`${store}${end}`, { force: true });
    writeFileSync(go, "");
    const { code, stderr } = await running;
    expect(code).toBe(0);
    expect(stderr).toMatch(/nothing was saved; .*was removed while the agent worked/);
  });

  test("what was erased before the first save of a resumed run does not come back", async () => {
    const store = newStore();
    await new Machine().run(says("PERSONAL"), lineOf(store, "r"));
    const machine = new Machine();
    const go = path.join(machine.home, "go");
    const running = machine.run({ after: go, ...says("MORE") }, lineOf(store, "r", "--every", "10m"));
    while (!existsSync(path.join(machine.home, "args.json"))) await sleep(20);
    const hf = await open(store);
    for (const { id } of (await hf.sessions.list()).items) await hf.sessions.delete(id);
    await hf.close();
    writeFileSync(go, "");
    expect((await running).stderr).toContain("was erased while the agent worked");
    expect(await saved(store, "r")).toEqual([]);
  });

  test("a named session is restored from the capture of its own request", async () => {
    const store = newStore();
    const first = new Machine();
    await first.run(says("SHARED"), lineOf(store, "a"));
    const session = first.args[1] ?? "";
    const resume = (request: string) => [
      "--store",
      store,
      "--request",
      request,
      "--",
      "claude",
      "--resume",
      session,
      "-p",
      "x",
    ];
    await new Machine().run({ sessions: [{ session, says: "SECRET" }] }, resume("b"));
    const again = new Machine();
    await again.run({ sessions: [{ session, says: "MINE" }] }, resume("a"));
    expect(readFileSync(again.transcript(session), "utf8")).not.toContain("SECRET");
    expect(await saved(store, "a")).toEqual(["SHARED,MINE"]);
    expect(await saved(store, "b")).toEqual(["SHARED,SECRET"]);
  });

  test("a signal while the last of it is saved lets that be finished", async () => {
    const store = newStore();
    const line = lineOf(store, "r", "--every", "10m");
    const ran = await new Machine().run(says("LONG"), line, { PADDING: "20000000" }, (child) => {
      child.stdout?.once("data", () => setTimeout(() => child.kill("SIGTERM"), 200));
    });
    expect([0, 143]).toContain(ran.code);
    expect(ran.stderr).toContain("saved 1 file");
    expect(await saved(store, "r")).toHaveLength(1);
  });

  test.each([
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
    ["SIGUSR2", 140],
    ["SIGINT", 130],
  ] as const)("%s reaches the agent, and it ends as that says", async (signal, code) => {
    const machine = new Machine();
    const ran = await machine.run({ waitMs: 60_000 }, lineOf(newStore(), "r"), {}, (child) => {
      const timer = setInterval(() => {
        if (existsSync(path.join(machine.home, "env.json")) && child.kill(signal)) clearInterval(timer);
      }, 50);
    });
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain("nothing was saved");
  });

  test("if either of two sessions may be its own, none is saved, and the output says so", async () => {
    const store = newStore();
    const machine = new Machine();
    const both = [randomUUID(), randomUUID()].map((session) => ({ session, says: "WHOSE" }));
    const line = ["--store", store, "--request", "r", "--", "claude", "-c", "-p", "go"];
    const ran = await machine.run({ silent: true, sessions: both }, line);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain("2 sessions of this directory changed during the run");
    expect(await saved(store, "r")).toEqual([]);
  });
});
