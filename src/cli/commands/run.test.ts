// holdfast run and the sessions of the agent it starts, with a program that behaves like Claude Code.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { COMPILED } from "../../../test/compiled.ts";
import type { FakeClaude } from "../../../test/fake-claude.ts";
import { projectKey } from "../../coding/claude/key.ts";
import { open } from "../../open.ts";

const CLI = path.resolve(import.meta.dirname, "../main.ts");
const FAKE = path.resolve(import.meta.dirname, "../../../test/fake-claude.ts");
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-run-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let machines = 0;

/** A home, a directory, and `claude` in the PATH; as npm installs programs, a script may stand before it. */
class Machine {
  readonly home = path.join(folder, `home-${++machines}`);
  readonly cwd = path.join(folder, `work-${machines}`);
  readonly bin = path.join(this.home, "bin");

  constructor({ wrapped = false } = {}) {
    mkdirSync(this.bin, { recursive: true });
    mkdirSync(this.cwd);
    const start = `"${process.execPath}" "${FAKE}" "$@"`;
    writeFileSync(path.join(this.bin, "claude"), `#!/bin/sh\n${wrapped ? `${start}\nexit $?` : `exec ${start}`}\n`);
    chmodSync(path.join(this.bin, "claude"), 0o755);
  }

  run(
    fake: FakeClaude,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    watch: (child: ChildProcess) => void = () => {},
  ): Promise<Ran> {
    const child = spawn(process.execPath, [CLI, "run", ...args], {
      cwd: this.cwd,
      env: {
        ...COMPILED,
        PATH: `${this.bin}:/usr/bin:/bin`,
        HOME: this.home,
        FAKE_CLAUDE: JSON.stringify(fake),
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    if (env.STDIN === "open") afterAll(() => child.stdin.destroy());
    else child.stdin.end();
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    watch(child);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    return new Promise((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  }

  /** What the agent was started with. */
  get args(): readonly string[] {
    return JSON.parse(readFileSync(path.join(this.home, "args.json"), "utf8"));
  }

  transcript(sessionId: string): string {
    return path.join(this.home, ".claude/projects", projectKey(this.cwd), `${sessionId}.jsonl`);
  }
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const says = (...texts: string[]): FakeClaude => ({ sessions: texts.map((text) => ({ session: "own", says: text })) });
const newStore = () => path.join(folder, `store-${randomUUID()}.db`);
const lineOf = (store: string, request: string, ...more: string[]) => [
  ...["--store", store, "--request", request, ...more],
  ...["--", "claude", "-p", "go"],
];

/** The words of every capture of a request. */
async function saved(store: string, request: string): Promise<readonly string[]> {
  const hf = await open(store);
  try {
    const { items } = await hf.captures.list({ request, diverged: true });
    const texts = items.map(async ({ id, sessionId }) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of hf.captures.read(id, `project/${sessionId}.jsonl`)) pieces.push(piece);
      return [
        ...Buffer.concat(pieces)
          .toString("utf8")
          .matchAll(/"content":"([^"]*)"/g),
      ]
        .map(([, text]) => text)
        .join();
    });
    return await Promise.all(texts);
  } finally {
    await hf.close();
  }
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

  test("nor one of somebody else who works in the same directory meanwhile", async () => {
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

  test("one that goes on in another session is followed there, and both are kept", async () => {
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

  test("of two machines that go on with it at once, the later one is kept beside", async () => {
    const store = newStore();
    const there = `${store}.there`;
    const slow: FakeClaude = {
      sessions: [
        { session: "own", says: "ONE", until: there },
        { session: "own", says: "HERE" },
      ],
    };
    const here = new Machine().run(slow, lineOf(store, "r", "--every", "100ms"));
    while ((await saved(store, "r")).length === 0) await new Promise((next) => setTimeout(next, 50));
    expect((await new Machine().run(says("THERE"), lineOf(store, "r"))).stderr).toContain("resumed ");
    writeFileSync(there, "");
    expect((await here).stderr).toContain("beside the newest, which has what this has not");
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
    const slow: FakeClaude = {
      sessions: [
        { session: "own", says: "ONE", until: erased },
        { session: "own", says: "TWO" },
      ],
    };
    const running = new Machine().run(slow, lineOf(store, "r", "--every", "100ms"));
    while ((await saved(store, "r")).length === 0) await new Promise((next) => setTimeout(next, 50));
    const hf = await open(store);
    const { items } = await hf.sessions.list();
    await hf.sessions.delete(items[0]?.id ?? "", { everywhere: true });
    writeFileSync(erased, "");
    expect((await running).stderr).toContain("was erased meanwhile");
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

  test("one that ends before it could be seen where it went is told by what was written, but for others' sessions", async () => {
    const store = newStore();
    const machine = new Machine();
    await machine.run(says("FIRST"), lineOf(store, "first"));
    const [session = ""] = (machine.args[1] ?? "").split(" ");
    const hasty = (request: string, wrote: FakeClaude["sessions"]) =>
      machine.run({ hasty: true, waitMs: 600, sessions: wrote ?? [] }, [
        ...["--store", store, "--request", request, "--", "claude", "-c", "-p", "go"],
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

  test("when it cannot be told which of two is its own, none is taken, and that is said", async () => {
    const store = newStore();
    const machine = new Machine();
    const both = [randomUUID(), randomUUID()].map((session) => ({ session, says: "WHOSE" }));
    const line = ["--store", store, "--request", "r", "--", "claude", "-c", "-p", "go"];
    const ran = await machine.run({ silent: true, sessions: both }, line);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain("2 sessions of this directory were worked on at the same time");
    expect(await saved(store, "r")).toEqual([]);
  });
});

describe("CA4 how the agent's session begins", () => {
  test("the session that its command line names is put back when it is in the store and not here", async () => {
    const store = newStore();
    const first = new Machine();
    await first.run(says("FIRST"), lineOf(store, "r"));
    const session = first.args[1] ?? "";
    const line = ["--store", store, "--request", "r", "--", "claude", "--resume", session, "-p", "go"];
    const second = new Machine();
    const ran = await second.run(says("MORE"), line);
    expect(second.args).toEqual(["--resume", session, "-p", "go"]);
    expect(ran.stderr).toContain(`resumed ${session} (1 message); saved 1 file`);
    expect(await saved(store, "r")).toEqual(["FIRST,MORE"]);
    // --continue finds it too, where there is no other.
    const third = new Machine();
    const sessions = [{ session, says: "LAST", waitMs: 400 }];
    await third.run({ sessions }, ["--store", store, "--request", "r", "--", "claude", "-c", "-p", "go"]);
    expect(await saved(store, "r")).toEqual(["FIRST,MORE,LAST"]);
  });

  test("with secrets replaced it goes on where it is, and elsewhere", async () => {
    const store = newStore();
    const key = ["AK", "IAQ3EGRT7KLMNOPZZ7"].join("");
    const machine = new Machine();
    const first = await machine.run(says(`the key is ${key}`), lineOf(store, "r", "--mask-secrets"));
    expect(first.stderr).toContain("1 likely secret replaced");
    const again = await machine.run(says("MORE"), lineOf(store, "r", "--mask-secrets"));
    expect(again.stderr).toContain("resumed ");
    expect(readFileSync(machine.transcript(machine.args[1] ?? ""), "utf8")).toContain(key);
    const other = await new Machine().run(says("THERE"), lineOf(store, "r", "--mask-secrets"));
    expect(other.stderr).toContain("resumed ");
    const back = await machine.run(says("BACK"), lineOf(store, "r", "--mask-secrets"));
    expect(back.stderr).toContain("resumed ");
    expect(await saved(store, "r")).toEqual(["the key is [redacted:aws-key-id],MORE,THERE,BACK"]);
  });

  test("told through its standard input, it is not waited for whoever holds that open", async () => {
    const store = newStore();
    await new Machine().run(says("FIRST"), lineOf(store, "r"));
    const hf = await open(store);
    await hf.captures.deleteForRequest("r");
    await hf.close();
    const line = ["--store", store, "--request", "r", "--", "claude", "-p"];
    const ran = await new Machine().run(says("SECOND"), line, { STDIN: "open" });
    expect(ran.stderr).toContain("told the stored conversation instead");
    const json = [...line, "--input-format", "stream-json"];
    const other = new Machine();
    const h2 = await open(store);
    await h2.captures.deleteForRequest("r");
    await h2.close();
    await other.run(says("THIRD"), json);
    expect(other.args).toContain("--append-system-prompt");
  });

  test("what the environment hands over and is damaged does not stop the agent", async () => {
    const env = { AGENT_SESSION_ID: randomUUID(), AGENT_SESSION_BLOB: "bm90IGEgYnVuZGxl" };
    const machine = new Machine();
    const ran = await machine.run(says("NEW"), ["--out", "s", "--", "claude", "-p", "go"], env);
    expect(readFileSync(path.join(machine.home, "env.json"), "utf8")).not.toContain("AGENT_SESSION_BLOB");
    expect(ran).toMatchObject({ code: 0, stdout: "done" });
    expect(ran.stderr).toMatch(/could not resume \(.*\), began anew; session .*; wrote s /);
  });
});

describe("CA6 a file instead of a store", () => {
  test("is gone on from, again and again, and says so", async () => {
    const file = path.join(folder, "session.hfcap");
    const line = ["--out", file, "--", "claude", "-p", "go"];
    const machine = new Machine();
    expect((await machine.run(says("ONE"), line)).stderr).toContain("; wrote ");
    expect((await machine.run(says("TWO"), line)).stderr).toContain("resumed ");
    const other = new Machine();
    const third = await other.run(says("THREE"), ["--from", file, ...line]);
    expect(third.stderr).toContain("(2 messages)");
    expect(existsSync(path.join(other.cwd, "holdfast.db"))).toBe(false);
    const env = { AGENT_SESSION_FILE: file };
    const lost = await new Machine().run(says("FOUR"), ["--", "claude", "-p", "go"], env);
    expect(lost.stderr).toContain("(3 messages); nothing was saved: give --store URL or --out FILE");
  });

  test("of another session is kept beside, and one that is none is not written over", async () => {
    const file = path.join(folder, "taken");
    writeFileSync(file, "mine");
    const refused = await new Machine().run(says("ONE"), ["--out", file, "--", "claude", "-p", "go"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout).toBe("");
    expect(readFileSync(file, "utf8")).toBe("mine");
  });
});

test("CA4 what happens is logged, an object a line", async () => {
  const store = newStore();
  const first = new Machine();
  const log = path.join(folder, "run.log");
  await first.run(says("ONE"), lineOf(store, "r", "--every", "10m", "--log", log));
  await new Machine().run(says("TWO"), lineOf(store, "r", "--every", "10m", "--log", log));
  const events = readFileSync(log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const own = { sessionId: first.args[1] };
  expect(events.map(({ event }) => event.replace(/^capture\./, "")).filter((event) => event !== "saved")).toEqual([
    ...["start", "session-id", "ended", "found", "session"],
    ...["start", "restored", "session-id", "ended", "found", "session"],
  ]);
  expect(events.find(({ event }) => event === "capture.found")).toMatchObject({ ...own, cwd: first.cwd, files: 1 });
  expect(events.find(({ event }) => event === "capture.saved")).toMatchObject({
    ...own,
    moment: "exit",
    generation: 1,
  });
  expect(events.find(({ event }) => event === "capture.restored")).toMatchObject({ ...own, messages: 1, files: 1 });
});

describe("CA4 the agent's command", () => {
  test("needs no -- before it, and its options are its own", async () => {
    const machine = new Machine();
    const store = newStore();
    const ran = await machine.run(says("ONE"), ["--store", store, "--request", "r", "claude", "-p", "go", "--json"]);
    expect(ran).toMatchObject({ code: 0 });
    expect(machine.args.slice(2)).toEqual(["-p", "go", "--json"]);
    expect(ran.stderr).toContain("holdfast: session ");
  });

  test("that is not there ends as shells say it", async () => {
    const machine = new Machine();
    const ran = await machine.run({}, ["--store", newStore(), "--", "./no/claude", "-p", "go"]);
    expect(ran.code).toBe(127);
    expect(ran.stderr).toContain("cannot be started");
  });

  test("that makes no conversation is left alone", async () => {
    const machine = new Machine();
    const ran = await machine.run({ exit: 3 }, ["--", "claude", "mcp", "list"]);
    expect(ran).toEqual({ code: 3, stdout: "done", stderr: "" });
    expect(machine.args).toEqual(["mcp", "list"]);
    expect(existsSync(path.join(machine.cwd, "holdfast.db"))).toBe(false);
  });

  test("with --json what was done is one document on stderr", async () => {
    const ran = await new Machine().run(says("ONE"), ["--json", ...lineOf(newStore(), "r")]);
    expect(ran.stdout).toBe("done");
    expect(JSON.parse(ran.stderr)).toMatchObject({ start: "new", why: null, saved: [{ request: "r", generation: 1 }] });
  });

  test("without a store of its own one is made, and named", async () => {
    const machine = new Machine();
    const ran = await machine.run(says("ONE"), ["--", "claude", "-p", "go"]);
    expect(ran.stderr).toContain("in the new store ./holdfast.db");
    expect((await machine.run(says("TWO"), ["--", "claude", "-p", "go"])).stderr).not.toContain("new store");
  });
});
