// The thread that writes large commits: beside other writers, without a thread, under another name, and when it dies.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Holdfast } from "../../../contracts/holdfast.ts";
import { open } from "../../../open.ts";
import { fileOf } from "../../../testing/expect.ts";
import { scaled } from "../../../testing/scale.ts";

const MESSAGES = 2500;
const scope = { session: "large", agent: "ada" };
const OPEN = JSON.stringify(path.resolve(import.meta.dirname, "../../../open.ts"));

let archive: Uint8Array;
let folder: string;
let file: string;
beforeAll(async () => {
  const home = await open(":memory:");
  const messages = Array.from({ length: MESSAGES }, (_, i) => ({ role: "user" as const, content: `message ${i}` }));
  await home.history.appendMany(scope, messages);
  archive = await fileOf(home, scope.session);
  await home.close();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-writer-thread-"));
  mkdirSync(path.join(folder, "here"));
  file = path.join(folder, "here", "store.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Threads that are started meanwhile. */
async function threadsDuring(run: () => Promise<unknown>, onStart?: (thread: Worker) => void): Promise<Worker[]> {
  const threads: Worker[] = [];
  const started = (thread: Worker) => {
    threads.push(thread);
    onStart?.(thread);
  };
  process.on("worker", started);
  try {
    await run();
  } finally {
    process.off("worker", started);
  }
  return threads;
}

async function expectWhole(hf: Holdfast): Promise<void> {
  expect(await hf.history.count(scope)).toBe(MESSAGES);
  expect(await hf.check({ mode: "deep" })).toMatchObject({ issueCount: 0 });
}

test("ST6 a large import is written by a thread that ends with it, and handles that write meanwhile wait by timers", async () => {
  const [hf, other] = [await open(file), await open(file)];
  const threads = await threadsDuring(async () => {
    const appends = Array.from({ length: 20 }, (_, i) =>
      other.history.append({ session: `s${i}`, agent: "ada" }, { role: "user", content: "beside" }),
    );
    await Promise.all([hf.sessions.import([archive]), ...appends]);
  });
  expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
  await expectWhole(other);
  await hf.close();
  await other.close();
});

test("ST6 two handles that import the same at once: one writes it, the other finds it there", async () => {
  const handles = [await open(file), await open(file)];
  const reports = await Promise.all(handles.map((hf) => hf.sessions.import([archive])));
  expect(reports.map(({ sessions }) => sessions[0]?.outcome).toSorted()).toEqual(["imported", "there"]);
  for (const hf of handles) await expectWhole(hf);
  for (const hf of handles) await hf.close();
});

test("ST6 a large import waits for the write lock as long as busyMs says, and then leaves nothing", async () => {
  const hf = await open(file, { busyMs: 50 });
  const holder = new DatabaseSync(file);
  holder.exec("BEGIN IMMEDIATE");
  await expect(hf.sessions.import([archive])).rejects.toMatchObject({ code: "StoreBusy" });
  holder.exec("ROLLBACK");
  holder.close();
  expect(await hf.history.count(scope)).toBe(0);
  await hf.sessions.import([archive]);
  await expectWhole(hf);
  await hf.close();
});

test("ST1 when the thread dies in the middle, nothing is written, and the next import writes all of it", async () => {
  const hf = await open(file);
  const dying = (thread: Worker) => {
    let answers = 0;
    thread.on("message", () => {
      // It is open, all rows are there, and the transaction has begun.
      if (++answers === 12) void thread.terminate();
    });
  };
  await threadsDuring(
    () => expect(hf.sessions.import([archive])).rejects.toMatchObject({ code: "StoreUnreachable", retryable: true }),
    dying,
  );
  expect(await hf.history.count(scope)).toBe(0);
  await hf.sessions.import([archive]);
  await expectWhole(hf);
  await hf.close();
});

test("ST1 where another file has taken the store's name, the import still goes into the store", async () => {
  const hf = await open(file);
  await hf.history.append({ session: "before", agent: "ada" }, { role: "user", content: "hello" });
  // Both connections have the WAL open; what SQLite opens later it finds by its name.
  expect(await hf.history.count(scope)).toBe(0);
  renameSync(path.join(folder, "here"), path.join(folder, "there"));
  mkdirSync(path.join(folder, "here"));
  const stranger = await open(file);
  await hf.sessions.import([archive]);
  expect(await stranger.sessions.list()).toMatchObject({ items: [] });
  await stranger.close();
  await hf.close();
  const again = await open(path.join(folder, "there", "store.db"), { create: false });
  await expectWhole(again);
  await again.close();
});

test("ST1 where no thread may be started, the import is written all the same", () => {
  const from = path.join(folder, "archive");
  writeFileSync(from, archive);
  const program = `
    import { readFileSync } from "node:fs";
    import { open } from ${OPEN};
    const hf = await open(process.argv[1]);
    await hf.sessions.import([readFileSync(process.argv[2])]);
    console.log(await hf.history.count(${JSON.stringify(scope)}));
    await hf.close();`;
  // Allowed everything but threads.
  const allowed = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*"];
  const argv = [...allowed, "--no-warnings", "--input-type=module", "--eval", program, file, from];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { encoding: "utf8", timeout: 40_000 });
  expect([status, stderr, stdout.trim()]).toEqual([0, "", String(MESSAGES)]);
});

test("ST1 a process that is killed during a large import leaves all of it or nothing", {
  timeout: 120_000,
}, async () => {
  const from = path.join(folder, "archive");
  writeFileSync(from, archive);
  const program = `
    import { readFileSync } from "node:fs";
    import { open } from ${OPEN};
    const hf = await open(process.argv[1]);
    process.on("worker", (thread) => thread.on("message", () => process.stdout.write("+")));
    await hf.sessions.import([readFileSync(process.argv[2])]);
    process.stdout.write("!");
    setInterval(() => {}, 1000);`;
  const argv = ["--no-warnings", "--input-type=module", "--eval", program];
  const counts = new Set<number>();
  for (const answers of scaled({ short: [8, 14], long: [2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 99] })) {
    const store = path.join(folder, `killed-${answers}.db`);
    const child = spawn(process.execPath, [...argv, store, from], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (text) => {
        said += String(text);
        if (said.length >= answers || said.endsWith("!")) child.kill("SIGKILL");
      });
      child.on("exit", () => resolve());
    });
    const hf = await open(store);
    const count = await hf.history.count(scope);
    counts.add(count);
    if (said.endsWith("!")) expect(count).toBe(MESSAGES);
    expect(await hf.check({ mode: "deep" })).toMatchObject({ issueCount: 0 });
    await hf.close();
  }
  expect([...counts].filter((count) => count !== 0 && count !== MESSAGES)).toEqual([]);
});
