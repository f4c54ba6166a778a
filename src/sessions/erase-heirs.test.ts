// A session that many others continue is erased in as many statements as one that two continue.
import { expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { openOn } from "../open.ts";
import { scaled } from "../testing/scale.ts";

const MANY = scaled({ short: 30, long: 300 });

interface Counts {
  queries: number;
  commits: number;
  writes: number;
}

/** `names`: the session, then its forks. */
async function makeHeirs(hf: Holdfast, source: string, count: number): Promise<readonly string[]> {
  const scope = { session: source, agent: "a" };
  await hf.history.appendMany(scope, [
    { role: "user", content: `first words of ${source}` },
    { role: "user", content: `last words of ${source}` },
  ]);
  const forks: string[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await hf.sessions.fork(source);
    await hf.history.append({ session: id, agent: "a" }, { role: "user", content: `own words of ${n}` });
    forks.push(id);
  }
  return forks;
}

test.each(ENGINES)(
  `LG6 a session with ${MANY} heirs is erased in bounded statements ($name)`,
  async (engine) => {
    const ground = await engine.fresh();
    const counts: Counts = { queries: 0, commits: 0, writes: 0 };
    const hf = await openOn(await ground.another(), {}, (storage) =>
      overrideStorage(storage, {
        query: (name, params) => {
          counts.queries += 1;
          return storage.query(name, params);
        },
        commit: (commit) => {
          counts.commits += 1;
          counts.writes += (commit.writes?.length ?? 0) + (commit.guards?.length ?? 0) + (commit.sessions?.length ?? 0);
          return storage.commit(commit);
        },
      }),
    );
    const countOf = async (work: () => Promise<unknown>): Promise<Counts> => {
      const before = { ...counts };
      await work();
      return {
        queries: counts.queries - before.queries,
        commits: counts.commits - before.commits,
        writes: counts.writes - before.writes,
      };
    };
    try {
      const few = await makeHeirs(hf, "few", 2);
      const erasedFew = [
        await countOf(() => hf.sessions.delete("few")),
        await countOf(() => hf.sessions.delete("few", { everywhere: true })),
      ];
      for (const id of few) await hf.sessions.delete(id);
      const many = await makeHeirs(hf, "many", MANY);
      const textsOf = async (session = "") =>
        (await hf.history.session(session)).map(({ content }) => JSON.stringify(content)).join("\n");
      const erasedMany = [
        await countOf(async () => {
          const report = await hf.sessions.delete("many");
          expect(report?.kept).toMatchObject({ tombstone: 1, inherited: 2 });
        }),
      ];
      for (const id of [many[0], many.at(-1)]) expect(await textsOf(id)).toContain("first words of many");
      erasedMany.push(
        await countOf(async () => {
          const report = await hf.sessions.delete("many", { everywhere: true });
          expect(report?.removed.messages).toBe(2);
        }),
      );
      expect(erasedMany).toEqual(erasedFew);
      for (const id of [many[0], many.at(-1)]) expect(await textsOf(id)).not.toContain("first words of many");
      expect((await hf.search("last words", { limit: 5 })).hits.map(({ snippet }) => snippet.text)).not.toContain(
        "last words of many",
      );
      expect((await hf.check()).issues).toEqual([]);
    } finally {
      await hf.close();
      await ground.end();
    }
  },
  120_000,
);
