// The SessionStore of the Claude Agent SDK, written by several processes at once and by one that is killed.
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { claudeSessionStore } from "../../src/adapters/claude/entry.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { counted, KEY } from "./claude-entries.ts";
import { Children } from "./process.ts";
import { ENGINES, TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);

afterEach(() => children.end());
afterAll(() => stores.remove());

const SIZE = 4;

async function transcriptOf(url: string): Promise<{ found: string[]; seen: unknown }> {
  const hf = await open(url);
  const store = claudeSessionStore(hf, { fold: counted });
  const found = ((await store.load(KEY)) ?? []).map(({ uuid }) => String(uuid));
  const [summary] = (await store.listSessionSummaries?.(KEY.projectKey)) ?? [];
  expect((await hf.check()).issues).toEqual([]);
  expect((await hf.sessions.list()).items).toHaveLength(1);
  await hf.close();
  return { found, seen: summary?.data.seen };
}

/** Each batch as it was given, without anything between. */
function expectWhole(found: readonly string[], writer: number): void {
  for (const [i, uuid] of found.entries()) {
    const [of, n] = uuid.split("-").map(Number);
    if (of === writer && Number(n) % SIZE !== 0) expect(found[i - 1]).toBe(`${of}-${Number(n) - 1}`);
  }
}

describe.each(ENGINES)("the session store of several processes (%s)", (engine) => {
  test("CA11 CA13 no batch is lost or torn, and the summary has every entry once, in order", async () => {
    const url = await stores.fresh(engine);
    const batches = scaled({ short: 15, long: 40 });
    const running = [1, 2].map((writer) =>
      children.start({ script: "claude-writer.ts", args: { url, writer, batches, size: SIZE } }),
    );
    await Promise.all(running.map((child) => child.done()));
    const { found, seen } = await transcriptOf(url);
    for (const writer of [1, 2]) {
      const own = found.filter((uuid) => uuid.startsWith(`${writer}-`));
      expect(own).toEqual(Array.from({ length: batches * SIZE }, (_, n) => `${writer}-${n}`));
      expectWhole(found, writer);
    }
    expect(seen).toBe(found.map((uuid) => `${uuid} `).join(""));
  });

  test("CA11 a process that is killed has left every batch it was answered, and none in part", async () => {
    const url = await stores.fresh(engine);
    let acknowledged = 0;
    const child = children.start({
      script: "claude-writer.ts",
      args: { url, writer: 1, batches: 100_000, size: SIZE },
      onLine: (line) => {
        if (line.startsWith("ack")) acknowledged++;
        if (acknowledged === 30) child.kill();
      },
    });
    await child.ended();
    const { found, seen } = await transcriptOf(url);
    expect(acknowledged).toBeGreaterThanOrEqual(30);
    expect(found.length).toBeGreaterThanOrEqual(acknowledged * SIZE);
    expect(found).toEqual(Array.from({ length: found.length }, (_, n) => `1-${n}`));
    expect(found.length % SIZE).toBe(0);
    expect(seen).toBe(found.map((uuid) => `${uuid} `).join(""));
  });
});
