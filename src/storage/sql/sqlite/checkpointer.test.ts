// The thread that checkpoints: what it does for the WAL, how it ends, and what happens where it cannot be had.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Holdfast } from "../../../contracts/holdfast.ts";
import { open } from "../../../open.ts";
import { range } from "../../../testing/expect.ts";
import { Checkpointer } from "./checkpointer.ts";
import { isBusy } from "./errors.ts";

const scope = { session: "s", agent: "a" };
/** What a page takes in the WAL. */
const FRAME_BYTES = 4096 + 24;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-checkpointer-"));
  mkdirSync(path.join(folder, "here"));
  file = path.join(folder, "here", "store.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const walFrames = () => statSync(`${file}-wal`).size / FRAME_BYTES;

/** Enough in one commit for the thread to be started, and less than a commit would checkpoint by itself. */
function rush(hf: Holdfast): Promise<unknown> {
  return hf.history.appendMany(
    scope,
    Array.from({ length: 4200 }, (_, i) => ({ role: "user", content: `rush ${i}` }) as const),
  );
}

/** Until the file alone holds every page of the database. */
async function movedIn(db: DatabaseSync): Promise<void> {
  const pages = () => Number(db.prepare("PRAGMA page_count").get()?.page_count);
  await expect.poll(() => statSync(file).size / 4096 - pages(), { timeout: 20_000 }).toBe(0);
}

test("ST6 after a commit of many, a thread moves the WAL into the database", async () => {
  const hf = await open(file, { durability: "normal" });
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    await rush(hf);
    await movedIn(db);
  } finally {
    db.close();
    await hf.close();
  }
});

test("ST11 the WAL stays short when single writers follow many", async () => {
  const hf = await open(file, { durability: "normal" });
  try {
    await rush(hf);
    for (let i = 0; i < 3000; i++) await hf.history.append(scope, { role: "user", content: `alone ${i}` });
    // A commit cannot checkpoint while the thread does, which takes long on a busy machine. Without either, it is twice as long.
    expect(walFrames()).toBeLessThan(8000);
  } finally {
    await hf.close();
  }
});

test("ST11 a WAL that got long is begun anew, for which writers wait", async () => {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF");
  db.exec("CREATE TABLE t (x); BEGIN");
  const insert = db.prepare("INSERT INTO t VALUES (zeroblob(4000))");
  for (let i = 0; i < 8000; i++) insert.run();
  db.exec("COMMIT");
  const checkpointer = new Checkpointer(file);
  /** This is the only writer, and no other kind of checkpoint blocks a writer. */
  const mustWait = () => {
    checkpointer.ask();
    try {
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
      return false;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return true;
    }
  };
  try {
    await expect.poll(() => range(1000).some(mustWait), { interval: 1, timeout: 20_000 }).toBe(true);
  } finally {
    await checkpointer.close();
    db.close();
  }
});

test("ST6 a closed store has no thread left", async () => {
  const threads: Worker[] = [];
  const started = (thread: Worker) => void threads.push(thread);
  process.on("worker", started);
  try {
    const hf = await open(file, { durability: "normal" });
    await rush(hf);
    await hf.close();
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
  } finally {
    process.off("worker", started);
  }
});

/** In a process of its own, which is to end well and say nothing but how many messages were sent and kept. */
function unwrapOutcome(flags: readonly string[], before: string, after: string): void {
  const program = `
    import { renameSync } from "node:fs";
    import { open } from ${JSON.stringify(path.resolve(import.meta.dirname, "../../../open.ts"))};
    const hf = await open(process.argv[1], { durability: "normal" });
    await hf.history.count({ session: "s", agent: "a" });
    ${before}
    let next = 0;
    const lane = async () => {
      while (next < 5000) await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "m" + next++ });
    };
    await Promise.all(Array.from({ length: 40 }, lane));
    console.log(JSON.stringify({ sent: next, kept: await hf.history.count({ session: "s", agent: "a" }) }));
    ${after}`;
  const argv = [...flags, "--no-warnings", "--input-type=module", "--eval", program, file];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { encoding: "utf8", timeout: 40_000 });
  expect([status, stderr]).toEqual([0, ""]);
  const { sent, kept } = JSON.parse(stdout);
  expect(sent).toBeGreaterThanOrEqual(5000);
  expect(kept).toBe(sent);
}

test("ST1 where no thread may be started, a commit that happened is not called failed and not done again", () => {
  // Allowed everything but threads.
  unwrapOutcome(["--permission", "--allow-fs-read=*", "--allow-fs-write=*"], "", "await hf.close();");
});

test("ST1 a thread that cannot open the file fails alone", () => {
  // Existing connections continue; the thread finds nothing under the old name.
  const folders = [path.dirname(file), path.join(folder, "there")].map((one) => JSON.stringify(one));
  unwrapOutcome([], `renameSync(${folders.join(", ")});`, "await hf.close();");
});

test("ST6 a process that leaves its store open ends all the same", () => {
  unwrapOutcome([], "", "");
});
