// Killing with -9 while sessions are spawned, attached to and forked: each of them is there whole or not at all, and
// whatever was acknowledged is there.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { type Child, Children } from "./process.ts";
import { ENGINES, TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);
afterEach(() => children.end());
afterAll(() => stores.remove());

const KILLS = scaled({ short: 8, long: 24 });

/** What children knew to be true. */
class ReportedFacts {
  readonly begun = new Map<string, string>();
  readonly ended = new Set<string>();
  readonly forked = new Map<string, string>();
  readonly heads: (readonly [session: string, head: string])[] = [];

  note(line: string): void {
    const [word, first = "", second = ""] = line.split(" ");
    if (word === "begun") this.begun.set(first, second);
    else if (word === "ended") this.ended.add(first);
    else if (word === "forked") this.forked.set(first, second);
    else if (word === "head") this.heads.push([first, second]);
  }

  get count(): number {
    return this.begun.size + this.ended.size + this.forked.size + this.heads.length;
  }

  async compare(store: Holdfast): Promise<void> {
    for (const [id, callee] of this.begun) {
      const invocation = await store.invocations.get(id);
      assert.ok(invocation, `the acknowledged invocation ${id} is lost`);
      assert.equal(invocation.callee, callee);
      assert.ok(await store.sessions.get(callee), `the session ${callee} of ${id} is lost`);
      if (this.ended.has(id)) assert.notEqual(invocation.status, "running", `the end of ${id} is lost`);
    }
    for (const [id, source] of this.forked) {
      assert.ok(await store.sessions.get(id), `the acknowledged fork ${id} is lost`);
      const [inherited] = await store.history.session(id);
      assert.equal(inherited?.session, source);
    }
    for (const [session, head] of this.heads) {
      assert.equal((await store.heads.get(head))?.session, session, `the acknowledged head ${head} is lost`);
    }
  }
}

/** A spawned session and the invocation that made it are one commit: neither is ever there alone. */
async function expectWhole(store: Holdfast): Promise<void> {
  const alone = await store.query(
    "[:find [?id ...] :where [?s :session/kind :spawned] [?s :session/id ?id] (not [_ :invocation/callee-session ?s])]",
  );
  expect(alone).toEqual([]);
  const report = await store.check();
  expect(report.issues).toEqual([]);
  expect(report.counts.invocations ?? 0).toBeGreaterThan(0);
}

async function killSoon(child: Child, run: number): Promise<void> {
  if (run % 8 === 7) await sleep(randomInt(0, 250));
  else {
    await child.heard("begun");
    await sleep(randomInt(0, 250));
  }
  const { signal } = await child.kill();
  expect(signal, child.errors || "the spawner ended by itself").toBe("SIGKILL");
}

describe.each(ENGINES)("killed spawners on %s", (engine) => {
  test(`ST1 SE3 killed ${KILLS} times while it spawns, attaches and forks, nothing acknowledged is lost, and nothing is half`, async () => {
    const url = await stores.fresh(engine);
    await (await open(url)).close();
    const known = new ReportedFacts();
    for (let run = 0; run < KILLS; run++) {
      const args = { url, name: `r${run}`, lanes: 3 };
      await killSoon(children.start({ script: "spawner.ts", args, onLine: (line) => known.note(line) }), run);
      if (run % 8 !== 3) continue;
      const store = await open(url);
      await known.compare(store);
      await expectWhole(store);
      await store.close();
    }
    expect(known.count).toBeGreaterThan(scaled({ short: 6, long: 100 }));
    const store = await open(url);
    await known.compare(store);
    await expectWhole(store);
    await store.close();
  });
});
