// Power loss on SQLite, which a kill does not show because the system keeps what a killed process wrote. Two ways: what
// the disk may hold after a cut is rebuilt from the files, and the sync before each acknowledgement is seen by strace.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { isLong } from "../../src/testing/scale.ts";
import { examine, type FoundMessage, textOf } from "./examine.ts";
import { Children } from "./process.ts";
import { TestStores } from "./stores.ts";
import { callsIn, judge, straceCommand, straceTrouble, type Verdict } from "./strace.ts";
import { boundaries, type Files, frameSize, LOSSES, readFiles, salts, writeFiles } from "./wal.ts";

const stores = new TestStores();
const children = new Children(stores.folder);

afterEach(() => children.end());
afterAll(() => stores.remove());

/** Messages of one writer that are there again after the files were opened as they are. */
async function recovered(path: string, files: Files): Promise<readonly FoundMessage[]> {
  writeFiles(path, files);
  const store = await open(path);
  try {
    return (await store.sessions.get("chat")) === null ? [] : await examine(store, "chat");
  } finally {
    await store.close();
  }
}

function append(store: Holdfast, n: number, writer = "writer"): Promise<unknown> {
  return store.history.append({ session: "chat", agent: writer }, { role: "user", content: textOf(writer, n) });
}

describe("what is left after the power was cut", () => {
  interface Recording {
    readonly files: Files;
    /** Length of the log when each message was acknowledged. */
    readonly lengths: readonly number[];
    /** When there was no message yet. */
    readonly start: number;
  }

  /** Messages one by one, and no checkpoint in between: the file of the database stays as it was. */
  async function record(path: string, messages: number): Promise<Recording> {
    const store = await open(path);
    const length = () => fs.statSync(`${path}-wal`).size;
    const start = length();
    const lengths: number[] = [];
    const before = fs.readFileSync(path);
    for (let n = 0; n < messages; n++) {
      await append(store, n);
      lengths.push(length());
    }
    const files = readFiles(path);
    expect(files.db.equals(before), "a checkpoint came in between: record fewer messages").toBe(true);
    await store.close();
    return { files, lengths, start };
  }

  // In `npm test` each cut loses one of what may be lost, in turn; in test:long all of them.
  test("ST1 wherever the log is cut or torn behind an acknowledgement, what was acknowledged until then is there", async () => {
    const { files, lengths, start } = await record(stores.file(), 40);
    const copy = stores.fleeting("copy");
    const cuts = boundaries(files.wal, start);
    expect(cuts.length).toBeGreaterThan(100);
    const losses = Object.entries(LOSSES);
    for (const [i, end] of cuts.entries()) {
      const promised = lengths.filter((length) => length <= end).length;
      for (const [what, lose] of isLong ? losses : losses.slice(i % losses.length, (i % losses.length) + 1)) {
        const found = await recovered(copy, { db: files.db, wal: lose(files.wal, end) });
        const at = `cut at ${end}, ${what}`;
        expect(found.length, `${at}: acknowledged were ${promised}`).toBeGreaterThanOrEqual(promised);
        expect(
          found.map(({ n }) => n),
          at,
        ).toEqual(found.map((_, i) => i));
      }
    }
  });

  test("ST1 the message is in the log when it is acknowledged: one frame less and it is not there", async () => {
    const { files, lengths } = await record(stores.file(), 10);
    const copy = stores.fleeting("copy");
    for (const [n, length] of lengths.entries()) {
      const whole = await recovered(copy, { db: files.db, wal: files.wal.subarray(0, length) });
      const short = await recovered(copy, { db: files.db, wal: files.wal.subarray(0, length - frameSize(files.wal)) });
      expect([whole.length, short.length]).toEqual([n + 1, n]);
    }
  });

  interface Moment {
    readonly messages: number;
    readonly files: Files;
  }

  /** Enough to come past several checkpoints; copies of both files around each, and now and then in between. */
  async function recordAcrossCheckpoints(path: string): Promise<readonly Moment[]> {
    const store = await open(path);
    const moments: Moment[] = [];
    let previous: Moment | undefined;
    let keep = 0;
    let seen = fs.statSync(path).mtimeMs;
    for (let n = 0; n < 600; n++) {
      await append(store, n);
      const moment = { messages: n + 1, files: readFiles(path) };
      const now = fs.statSync(path).mtimeMs;
      if (now !== seen) {
        if (previous !== undefined) moments.push(previous);
        keep = 3;
      }
      seen = now;
      if (keep-- > 0 || n % 60 === 0) moments.push(moment);
      previous = moment;
    }
    await store.close();
    return moments;
  }

  /** Some pages as they were before the checkpoint, some as it wrote them: they may reach the disk in any order. */
  function halfWritten(before: Buffer, after: Buffer, page: number): Buffer {
    const mixed = Buffer.from(after);
    for (let at = 0; at < before.length; at += page) {
      if ((at / page) % 2 === 0) before.copy(mixed, at, at, Math.min(at + page, before.length));
    }
    return mixed;
  }

  test("ST1 the same across checkpoints, also when the checkpoint itself is only half on the disk", async () => {
    const moments = await recordAcrossCheckpoints(stores.file());
    const copy = stores.fleeting("copy");
    const starts = new Set(moments.map(({ files }) => salts(files.wal)));
    expect(starts.size, "the log never started again from its beginning").toBeGreaterThan(1);
    let halves = 0;
    for (const [i, { messages, files }] of moments.entries()) {
      expect(await recovered(copy, files), `copied at message ${messages}`).toHaveLength(messages);
      const before = moments[i - 1]?.files;
      // As long as the log was not started again, it holds all that the checkpoint takes from it.
      if (before === undefined || salts(before.wal) !== salts(files.wal) || before.db.equals(files.db)) continue;
      halves++;
      const db = halfWritten(before.db, files.db, frameSize(files.wal) - 24);
      expect(await recovered(copy, { db, wal: files.wal }), `half a checkpoint, ${messages}`).toHaveLength(messages);
      expect(await recovered(copy, { db: before.db, wal: files.wal }), `none of it, ${messages}`).toHaveLength(
        messages,
      );
    }
    expect(halves, "no checkpoint was seen").toBeGreaterThan(0);
  });
});

const trouble = straceTrouble();
const disk = "what the system was asked to put on the disk";

describe.skipIf(trouble !== null)(trouble === null ? disk : `${disk} (skipped: ${trouble})`, () => {
  const APPENDS = 20;

  async function traced(durability: "full" | "normal"): Promise<Verdict> {
    const url = stores.file("traced");
    const report = path.join(stores.folder, `${path.basename(url)}.strace`);
    const child = children.start({
      script: "writer.ts",
      args: { url, writer: "writer", session: "chat", count: APPENDS, asks: true, pauseMs: 5, durability },
      under: straceCommand(report),
    });
    await child.done();
    return judge(callsIn(fs.readFileSync(report, "utf8")), `${url}-wal`);
  }

  test("ST1 every acknowledgement comes after a sync of the log, and the first after one of its folder", async () => {
    expect(await traced("full")).toEqual({ acknowledged: APPENDS, unsynced: [], folderSynced: true });
  });

  test("ST1 durability: normal does not sync, which shows that the test above would notice", async () => {
    const { acknowledged, unsynced } = await traced("normal");
    expect(acknowledged).toBe(APPENDS);
    expect(unsynced).toHaveLength(APPENDS);
  });
});
