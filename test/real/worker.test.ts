// `holdfast worker` as a real process: killed with -9 while it works on runs, another finishes them; told to stop, it drains.
// And `holdfast demo`, which tells the same story.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { COMPILED } from "../compiled.ts";
import { steady, stubborn } from "./agents.ts";
import { ENGINES, TestStores } from "./stores.ts";

const ENTRY = path.resolve(import.meta.dirname, "../../src/cli/entry.ts");
const AGENTS = path.join(import.meta.dirname, "agents.ts");
const RUNS = scaled({ short: 6, long: 12 });
const stores = new TestStores();
const started: ChildProcess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => stores.remove());

function cli(
  url: string,
  world: string,
  ...argv: string[]
): { child: ChildProcess; ended: Promise<unknown[]>; output(): string } {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_|VITEST)/.test(name));
  const env = { ...Object.fromEntries(inherited), ...COMPILED, HOLDFAST_STORE: url, HOLDFAST_TEST_WORLD: world };
  const child = spawn(process.execPath, [ENTRY, ...argv], { stdio: ["ignore", "pipe", "pipe"], env });
  started.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
  return { child, ended: once(child, "close"), output: () => text };
}

const worker = (url: string, world: string) => cli(url, world, "worker", "--agents", AGENTS, "--poll", "50", "--json");

interface Effect {
  readonly tool: string;
  readonly run: string;
  readonly n: number;
  readonly key: string;
  readonly again: boolean;
}

const effectsIn = (world: string): Effect[] =>
  readFileSync(world, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await sleep(20);
  }
}

async function place(engine: (typeof ENGINES)[number]): Promise<{ url: string; world: string; store: Holdfast }> {
  const url = await stores.fresh(engine);
  const world = stores.file("world");
  writeFileSync(world, "");
  return { url, world, store: await open(url) };
}

describe.each(ENGINES)("holdfast worker on %s", (engine) => {
  test("RU3 killed with -9 in the middle of its runs, and a second one finishes them", async () => {
    const { url, world, store } = await place(engine);
    const sessions = Array.from({ length: RUNS }, (_, n) => `s${n}`);
    for (const session of sessions) await store.runs.start(steady, { session, leaseMs: 500 });
    const first = worker(url, world);
    await until("work begins", () => effectsIn(world).length >= RUNS + 4);
    first.child.kill("SIGKILL");
    expect((await first.ended)[1], first.output()).toBe("SIGKILL");
    const second = worker(url, world);
    const isOver = async () => (await store.runs.list({ status: "completed" })).items.length === sessions.length;
    await until(`all end: ${second.output()}`, isOver);
    second.child.kill("SIGTERM");
    expect((await second.ended)[0], second.output()).toBe(0);

    expect(second.output()).toContain('"status":"recovering"');
    const effects = effectsIn(world);
    for (const { id, session } of (await store.runs.list()).items) {
      const events = await store.log.read(session, { limit: 1000 });
      expect(events.filter(({ type }) => type === "run/completed")).toHaveLength(1);
      expect((await store.history.session(session)).length, "no message twice").toBe(5);
      const own = effects.filter(({ run }) => run === id);
      expect([...new Set(own.map(({ n }) => n))], "nothing left out, in order").toEqual([1, 2, 3, 4, 5]);
      // Only what was in doubt was done once more, under the same key, and was told so.
      const fresh = own.filter(({ again }) => !again);
      expect([new Set(own.map(({ key }) => key)).size, new Set(fresh.map(({ key }) => key)).size]).toEqual([
        5,
        fresh.length,
      ]);
    }
    expect((await store.check()).issues).toEqual([]);
    await store.close();
  });

  test("RU13 told to stop twice it gives back at once, and says so by its exit", async () => {
    const { url, world, store } = await place(engine);
    const { id } = await store.runs.start(stubborn, { session: "s" });
    const { child, ended, output } = worker(url, world);
    await until("it hangs", () => effectsIn(world).length === 1);
    child.kill("SIGTERM");
    await sleep(300);
    expect(child.exitCode, "it waits for the iteration to end").toBe(null);
    child.kill("SIGTERM");
    expect(await ended, output()).toEqual([4, null]);
    expect(await store.runs.get(id)).toMatchObject({ owner: null, status: "running" });
    await store.close();
  });

  test("RU6 the demo holds", async () => {
    const url = await stores.fresh(engine);
    const { ended, output } = cli(url, "", "demo", "--json", "--store", url);
    expect((await ended)[0], output()).toBe(0);
    const args = JSON.parse(output());
    expect(args.claims.filter(({ holds }: { holds: boolean }) => !holds)).toEqual([]);
    expect(args.payments).toHaveLength(3);
  });
});
