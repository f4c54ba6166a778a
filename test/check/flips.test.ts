// Bits changed anywhere in a store's file: each is named by check(), refused by open(), or every read of every verb gives
// what it gave before.
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { DamagedFile, type Flip, type Verdict } from "./damaged-file.ts";

const FLIPS = scaled({ short: 15, long: 2_000 });
const IS_LONG = FLIPS > 100;
/** More than a tenth of the bits are named, about a fifth as a rule. */
const NAMED = FLIPS / 10;
/** A few bits may all miss what a check names, so that more are drawn, at most as many as make such bad luck impossible. */
const MOST_FLIPS = scaled({ short: 4 * FLIPS, long: FLIPS });
const INDEX_FLIPS = scaled({ short: 12, long: 500 });

let seed = 1;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
}

let file: DamagedFile;
beforeAll(async () => {
  file = await DamagedFile.fill();
});
afterAll(() => file.end());

type Counts = Record<Verdict["outcome"], number>;

async function judgeAll(flips: Iterable<Flip>, isEnough: (counts: Counts) => boolean = () => false) {
  const outcomes: Counts = { refused: 0, named: 0, unaffected: 0, silent: 0 };
  let judged = 0;
  const missed: string[] = [];
  /** Rows that differ, and that no read shows. */
  const unread: string[] = [];
  for (const flip of flips) {
    const verdict = await file.judge(flip);
    outcomes[verdict.outcome]++;
    judged++;
    if ("changed" in verdict && verdict.changed.length > 0) {
      const found = verdict.outcome === "silent" ? missed : unread;
      found.push(`byte ${flip.at}, bit ${flip.bit}: ${verdict.changed.join(", ")}`);
    }
    if (judged >= FLIPS && isEnough(outcomes)) break;
  }
  if (IS_LONG) console.log(JSON.stringify({ bytes: file.bytes.length, flips: judged, outcomes, unread }));
  return { outcomes, missed };
}

describe("a changed bit", () => {
  test("SE10 anywhere in the file is named, refused or changes nothing that any verb reads", {
    timeout: 3_600_000,
  }, async () => {
    const flips = Array.from({ length: MOST_FLIPS }, () => ({ at: random(file.bytes.length), bit: random(8) }));
    const { outcomes, missed } = await judgeAll(flips, ({ named }) => named > NAMED);
    expect(missed).toEqual([]);
    expect(outcomes.named).toBeGreaterThan(NAMED);
  });

  test("SE10 in a page of an index is named, or every read goes on as before", { timeout: 3_600_000 }, async () => {
    const flips = indexFlips(INDEX_FLIPS);
    const { outcomes, missed } = await judgeAll(flips);
    expect(missed).toEqual([]);
    expect(outcomes.named + outcomes.refused).toBeGreaterThan(INDEX_FLIPS / 3);
  });

  test("SE10 that hides a session from get() is named with the index, and REINDEX mends it", async () => {
    const index = "sqlite_autoindex_sessions_1";
    const page = pagesOf(index)[0] ?? 0;
    const bytes = file.bytes.subarray((page - 1) * 4096, page * 4096);
    const at = (page - 1) * 4096 + bytes.indexOf("chat");
    expect(bytes.indexOf("chat")).toBeGreaterThan(0);
    file.write([{ at, bit: 1 }]);
    const hf = await open(file.path, { create: false });
    try {
      expect(await hf.sessions.get("chat"), "hidden").toBeNull();
      const { issues, engine } = await hf.check();
      expect(engine).toEqual({ check: "integrity_check", notRun: null });
      expect(issues[0]).toMatchObject({
        kind: "index-damaged",
        rows: [index],
        hint: expect.stringContaining("REINDEX"),
      });
      expect((await hf.check({ mode: "quick" })).engine).toBeNull();
    } finally {
      await hf.close();
    }
    run(`REINDEX ${index}`);
    const mended = await open(file.path, { create: false });
    expect((await mended.check()).issues).toEqual([]);
    await mended.close();
  });

  test("SE10 a missing index and a changed table are named, and nothing is read through them", async () => {
    file.write();
    run("DROP INDEX sessions_agent");
    run("ALTER TABLE tasks ADD COLUMN more TEXT");
    const hf = await open(file.path, { create: false });
    const { issues } = await hf.check();
    await hf.close();
    expect(issues.map(({ kind, rows }) => [kind, rows])).toEqual([
      ["schema-damaged", ["sessions_agent"]],
      ["schema-damaged", ["tasks"]],
    ]);
  });

  /** A database of more than 2 MB is looked at by a thread. */
  const SIZES: readonly (readonly [size: string, more: number])[] = [
    ["small", 0],
    ["large", 3_000_000],
  ];

  test.each(SIZES)(
    "SE10 a page that cannot be read is named, and the rest is checked all the same (%s)",
    async (_, more) => {
      const [page = 0] = pagesOf("calls");
      // The kind of page, in the first byte of a b-tree's page.
      file.write([{ at: (page - 1) * 4096, bit: 3 }]);
      run(`CREATE TABLE more AS SELECT zeroblob(${more}) AS bytes`);
      const hf = await open(file.path, { create: false });
      const { issues, counts } = await hf.check();
      await hf.close();
      expect(issues.filter(({ kind }) => kind === "page-damaged").map(({ rows }) => rows)).toContainEqual(["chat"]);
      expect(counts.blobs).toBeGreaterThan(0);
    },
  );

  test.each(SIZES)("SE10 a damaged table of sessions is named, and not an error of the check (%s)", async (_, more) => {
    const [page = 0] = pagesOf("sessions");
    file.write([{ at: (page - 1) * 4096, bit: 3 }]);
    run(`CREATE TABLE more AS SELECT zeroblob(${more}) AS bytes`);
    const hf = await open(file.path, { create: false });
    const { issues } = await hf.check();
    await hf.close();
    expect(issues.map(({ kind, rows }) => [kind, rows])).toContainEqual(["page-damaged", ["sessions"]]);
  });

  test.each(SIZES)(
    "SE10 a file whose first page is wrong is named as such, and not an error of the check (%s)",
    async (_, more) => {
      file.write();
      run(`CREATE TABLE more AS SELECT zeroblob(${more}) AS bytes`);
      const hf = await open(file.path, { create: false });
      try {
        const bytes = readFileSync(file.path);
        // The handle has read the schema; who opens the file now finds none.
        bytes.fill(0xff, 100, 4096);
        writeFileSync(file.path, bytes);
        expect((await hf.check()).issues.map(({ kind }) => kind)).toContain("page-damaged");
      } finally {
        await hf.close();
      }
    },
  );
});

function run(sql: string): void {
  const db = new DatabaseSync(file.path);
  db.exec(sql);
  db.close();
}

function pagesOf(name: string): readonly number[] {
  file.write();
  const db = new DatabaseSync(file.path, { readOnly: true });
  const rows = db.prepare("SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno").all(name);
  db.close();
  return rows.map(({ pageno }) => Number(pageno));
}

/** In the cells of the pages of all indexes, and not in the free middle of a page. */
function indexFlips(count: number): readonly Flip[] {
  file.write();
  const db = new DatabaseSync(file.path, { readOnly: true });
  const pages = db
    .prepare(
      "SELECT pageno, payload FROM dbstat WHERE payload > 0 AND name IN (SELECT name FROM sqlite_master WHERE type = 'index')",
    )
    .all();
  db.close();
  return Array.from({ length: count }, () => {
    const { pageno = 1, payload = 1 } = pages[random(pages.length)] ?? {};
    return { at: Number(pageno) * 4096 - 1 - random(Number(payload)), bit: random(8) };
  });
}
