// Counts the queries of reads in a session that was forked many times. Reads of the end of the lineage do not cost more
// with depth, and reads of the whole lineage take a few queries.
import { afterEach, describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { openOn } from "../open.ts";
import type { Driver } from "../storage/sql/driver.ts";
import { bound } from "../testing/sim/driver.ts";

const AGENT = "ada";
const PER_BRANCH = 5;
const LAST = 20;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

class QueryCounter {
  queries = 0;
  rows = 0;

  counting(driver: Driver): Driver {
    return {
      ...bound(driver),
      read: async (sql, params) => {
        const rows = await driver.read(sql, params);
        this.queries++;
        this.rows += rows.length;
        return rows;
      },
    };
  }

  async of(run: () => Promise<unknown>): Promise<{ readonly queries: number; readonly rows: number }> {
    [this.queries, this.rows] = [0, 0];
    await run();
    return { queries: this.queries, rows: this.rows };
  }
}

/** Makes forks of forks, each with messages of its own. All of them inherit the state that the first session set. */
async function forked(hf: Holdfast, name: string, depth: number): Promise<string> {
  for (let at = 0; at <= depth; at++) {
    const session = `${name}-${at}`;
    if (at > 0) await hf.sessions.fork(`${name}-${at - 1}`, { id: session });
    const messages = Array.from({ length: PER_BRANCH }, (_, n) => ({ role: "user", content: `${at}.${n}` }) as const);
    await hf.history.appendMany({ session, agent: AGENT }, messages);
    if (at === 0) await hf.state.set(session, { colour: "red" });
  }
  return `${name}-${depth}`;
}

function texts(messages: readonly { readonly content: readonly unknown[] }[]): readonly unknown[] {
  return messages.map(({ content }) => (content[0] as { readonly text?: string }).text);
}

describe.each(ENGINES)("a deep lineage on $name", (engine) => {
  const DEEP = engine.name === "sqlite" ? 300 : 100;

  test("SE2 the last messages at a great depth take as many queries and rows as at a small one", async () => {
    const ground = await engine.fresh();
    ends.push(() => ground.end());
    const asked = new QueryCounter();
    const hf = await openOn(asked.counting(ground.driver), {});
    ends.push(() => hf.close());
    const [flat, deep] = [await forked(hf, "flat", 20), await forked(hf, "deep", DEEP)];
    const expected = Array.from({ length: LAST }, (_, i) => {
      const n = (DEEP + 1) * PER_BRANCH - LAST + i;
      return `${Math.floor(n / PER_BRANCH)}.${n % PER_BRANCH}`;
    });
    const last = (session: string) => hf.history.get({ session, agent: AGENT }, { last: LAST });
    const lastAt = async (session: string) => (await hf.sessions.at(session)).messages({ last: LAST });
    expect(texts(await last(deep))).toEqual(expected);
    for (const read of [last, lastAt]) {
      const [atFlat, atDeep] = [await asked.of(() => read(flat)), await asked.of(() => read(deep))];
      expect(atDeep.queries).toBeLessThanOrEqual(atFlat.queries);
      expect(atDeep.rows).toBeLessThanOrEqual(atFlat.rows);
    }
    const all: readonly [string, (session: string) => Promise<unknown>, unknown][] = [
      ["count", (session) => hf.history.count({ session, agent: AGENT }), (DEEP + 1) * PER_BRANCH],
      ["state", (session) => hf.state.get(session), { colour: "red" }],
      ["counts", async (session) => (await (await hf.sessions.at(session)).counts()).messages, (DEEP + 1) * PER_BRANCH],
      ["session", async (session) => (await hf.sessions.get(session))?.messages, (DEEP + 1) * PER_BRANCH],
    ];
    for (const [name, read, value] of all) {
      expect(await read(deep), name).toEqual(value);
      expect((await asked.of(() => read(deep))).queries, name).toBe((await asked.of(() => read(flat))).queries);
    }
  });
});
