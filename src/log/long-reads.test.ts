// The event loop runs during long reads, exports and imports. With a clock on which every row takes a millisecond, it
// must run at least once for every few rows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testLong } from "../../test/long-test.ts";
import type { Environment } from "../contracts/environment.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { realEnvironment } from "../core/environment.ts";
import { open } from "../open.ts";

const MESSAGES = 3000;
const scope = { session: "long", agent: "ada" };
/** Rows between two passes of the event loop, at most; a slice is ten milliseconds. */
const MOST_ROWS = 40;

function slowClock(): Environment {
  const real = realEnvironment();
  let now = 0;
  return { ...real, monotonic: () => now++ };
}

/** Passes of the event loop while something is done. */
async function countPasses(run: () => Promise<unknown>): Promise<number> {
  let passes = 0;
  let isOver = false;
  const pass = () => {
    passes++;
    if (!isOver) setImmediate(pass);
  };
  setImmediate(pass);
  try {
    await run();
  } finally {
    isOver = true;
  }
  return passes;
}

async function fill(hf: Holdfast, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1000) {
    const batch = Array.from({ length: Math.min(1000, count - done) }, (_, i) => ({
      role: "user" as const,
      content: `message ${done + i}`,
    }));
    await hf.history.appendMany(scope, batch);
  }
}

async function exported(hf: Holdfast): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of hf.sessions.export(scope.session)) pieces.push(piece);
  return pieces;
}

async function replay(hf: Holdfast): Promise<number> {
  let seen = 0;
  for await (const _ of hf.log.tail(scope.session)) if (++seen > MESSAGES) break;
  return seen;
}

const READS: Readonly<Record<string, (hf: Holdfast) => Promise<unknown>>> = {
  verify: (hf) => hf.log.verify(scope.session),
  "the whole history": (hf) => hf.history.get(scope),
  "the last of a history": (hf) => hf.history.get(scope, { last: MESSAGES }),
  "a context": (hf) => hf.sessions.context(scope.session),
  "a context with a budget": (hf) => hf.sessions.context(scope.session, { budget: 1e9 }),
  "the messages at a point": async (hf) => (await hf.sessions.at(scope.session)).messages(),
  "the replay of a tail": replay,
  Markdown: (hf) => hf.sessions.markdown(scope.session),
  "an export": exported,
};

describe.each(["a file", ":memory:"])("the event loop beside long work on SQLite, %s", (place) => {
  let folder: string;
  let hf: Holdfast;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "holdfast-long-reads-"));
    hf = await open(place === ":memory:" ? place : path.join(folder, "store.db"), { environment: slowClock() });
    await fill(hf, MESSAGES);
  });
  afterAll(async () => {
    await hf.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(Object.keys(READS))("ST15 runs during %s", async (name) => {
    const passes = await countPasses(async () => READS[name]?.(hf));
    expect(passes).toBeGreaterThan(MESSAGES / MOST_ROWS);
  });

  test("ST15 runs during an import, and no reader sees half of it", async () => {
    const pieces = await exported(hf);
    const to = place === ":memory:" ? place : path.join(folder, "other.db");
    const other = await open(to, { environment: slowClock() });
    const seen = new Set<number>();
    let isOver = false;
    const watch = async () => {
      while (!isOver) {
        seen.add(await other.history.count(scope));
        await new Promise((done) => setTimeout(done, 1));
      }
    };
    const watching = watch();
    const passes = await countPasses(() => other.sessions.import(pieces));
    isOver = true;
    await watching;
    expect(passes).toBeGreaterThan(MESSAGES / MOST_ROWS);
    expect([...seen].filter((count) => count !== 0 && count !== MESSAGES)).toEqual([]);
    expect(await other.history.get(scope)).toEqual(await hf.history.get(scope));
    expect(await other.check({ mode: "deep" })).toMatchObject({ issueCount: 0 });
    await other.close();
  });
});

testLong(
  "HI1 messages() and markdown() return more messages than a call may have arguments",
  { timeout: 120_000 },
  async () => {
    const hf = await open(":memory:");
    await fill(hf, 130_000);
    expect(await (await hf.sessions.at(scope.session)).messages()).toHaveLength(130_000);
    expect((await hf.sessions.markdown(scope.session)).match(/^## /gm)).toHaveLength(130_000);
    await hf.close();
  },
);
