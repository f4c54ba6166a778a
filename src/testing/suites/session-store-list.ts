// Part of the suite of a SessionStore: sessions listed, summed up, found from other projects, deleted.
import assert from "node:assert/strict";
import type { ClaudeSessionStore, FoldSessionSummary, SessionKey } from "../../contracts/session-store.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { entryOf, KEY, type MakeSessionStore, NEEDS } from "./session-store-entries.ts";

export function sessionStoreListCases(over: MakeSessionStore): readonly Case[] {
  return [...projectCases(over), ...deleteCases(over), ...summaryCases(over)];
}

const SUB = { ...KEY, subpath: "subagents/agent-1" };
const ELSEWHERE = { ...KEY, projectKey: "-srv-elsewhere" };

async function idsOf(store: ClaudeSessionStore, projectKey = KEY.projectKey): Promise<readonly string[]> {
  return (await store.listSessions(projectKey)).map(({ sessionId }) => sessionId).sort();
}

function projectCases(over: MakeSessionStore): readonly Case[] {
  return [
    prove("CA12 projects are apart: the same session id in another is another session", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append(KEY, [entryOf(1)]);
      assert.equal(await store.load(ELSEWHERE), null);
      await store.append(ELSEWHERE, [entryOf(2)]);
      assert.deepEqual(await store.load(KEY), [entryOf(1)]);
      assert.deepEqual(await store.load(ELSEWHERE), [entryOf(2)]);
      await store.append({ ...ELSEWHERE, sessionId: "only-there" }, [entryOf(3)]);
      assert.deepEqual(await idsOf(store), [KEY.sessionId]);
      await store.delete(ELSEWHERE);
      assert.deepEqual(await store.load(KEY), [entryOf(1)]);
      assert.deepEqual(await idsOf(store, ELSEWHERE.projectKey), ["only-there"]);
    }),

    prove(
      "CA12 sessions are listed by project, with the time of their last change",
      [...NEEDS, "clock"],
      async (hf) => {
        const store = over(hf);
        const before = hf.clock.now();
        await store.append(KEY, [entryOf(1)]);
        await hf.clock.advance(60_000);
        const between = hf.clock.now();
        await store.append({ ...KEY, sessionId: "later" }, [entryOf(1)]);
        const listed = new Map((await store.listSessions(KEY.projectKey)).map((one) => [one.sessionId, one.mtime]));
        assert.deepEqual([...listed.keys()].sort(), [KEY.sessionId, "later"].sort());
        const [first, second] = [present(listed.get(KEY.sessionId)), present(listed.get("later"))];
        assert.ok(Number.isSafeInteger(first) && first >= before && first < between, `${first}`);
        assert.ok(second >= between && second <= hf.clock.now(), `${second}`);
        await hf.clock.advance(60_000);
        await store.append(KEY, [entryOf(2)]);
        const again = (await store.listSessions(KEY.projectKey)).find(({ sessionId }) => sessionId === KEY.sessionId);
        assert.ok(present(again).mtime > second, "what was appended last is newest");
        assert.deepEqual(await store.listSessions("-nobody"), []);
      },
    ),

    prove("CA12 a session of which there are only subpaths is not listed", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append(SUB, [entryOf(1)]);
      assert.deepEqual(await store.listSessions(KEY.projectKey), []);
    }),

    prove("CA12 a session that was begun and got nothing is not listed", NEEDS, async (hf) => {
      const fails = async () => Promise.reject(new Error("cut off"));
      const cut = over({ ...hf, history: { ...hf.history, appendMany: fails } });
      await assert.rejects(cut.append(KEY, [entryOf(1)]), /cut off/);
      await assert.rejects(cut.append(SUB, [entryOf(1)]), /cut off/);
      const store = over(hf);
      assert.deepEqual([await store.load(KEY), await idsOf(store), await store.listSubkeys(KEY)], [null, [], []]);
      await store.append(KEY, [entryOf(1)]);
      assert.deepEqual(await store.load(KEY), [entryOf(1)]);
    }),

    prove("CA12 subpaths are listed for their session alone, without the main transcript", NEEDS, async (hf) => {
      const store = over(hf);
      assert.deepEqual(await store.listSubkeys(KEY), []);
      await store.append(KEY, [entryOf(1)]);
      assert.deepEqual(await store.listSubkeys(KEY), []);
      await store.append(SUB, [entryOf(1)]);
      await store.append({ ...KEY, subpath: "subagents/agent-2" }, [entryOf(1)]);
      await store.append({ ...KEY, sessionId: "other", subpath: "subagents/agent-3" }, [entryOf(1)]);
      await store.append({ ...ELSEWHERE, subpath: "subagents/agent-4" }, [entryOf(1)]);
      assert.deepEqual((await store.listSubkeys(KEY)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
    }),

    prove("CA12 more sessions than a page holds are all listed", NEEDS, async (hf) => {
      const store = over(hf);
      const ids = range(1100).map((n) => `s${n}`);
      await Promise.all(ids.map((sessionId) => store.append({ ...KEY, sessionId }, [entryOf(1)])));
      assert.deepEqual(await idsOf(store), ids.sort());
    }),

    prove("CA12 stores of different agents see nothing of each other", NEEDS, async (hf) => {
      const [one, two] = [over(hf, { agent: "one" }), over(hf, { agent: "two" })];
      await one.append(KEY, [entryOf(1)]);
      assert.equal(await two.load(KEY), null);
      await two.append(KEY, [entryOf(1, "two")]);
      assert.deepEqual([await one.load(KEY), await two.load(KEY)], [[entryOf(1)], [entryOf(1, "two")]]);
      await two.delete(KEY);
      assert.deepEqual([await idsOf(one), await idsOf(two)], [[KEY.sessionId], []]);
    }),

    prove(
      "CA12 with the option, a store ignores the project: a session continues in another one",
      NEEDS,
      async (hf) => {
        await over(hf).append(KEY, [entryOf(1)]);
        await over(hf).append(SUB, [entryOf(7)]);
        const store = over(hf, { projects: "any" });
        assert.deepEqual(await store.load(ELSEWHERE), [entryOf(1)]);
        assert.deepEqual(await store.listSubkeys(ELSEWHERE), ["subagents/agent-1"]);
        assert.deepEqual(await idsOf(store, "-a-third"), [KEY.sessionId]);
        await store.append(ELSEWHERE, [entryOf(2)]);
        await store.append({ ...ELSEWHERE, subpath: "subagents/agent-1" }, [entryOf(8)]);
        assert.deepEqual(await store.load({ ...KEY, projectKey: "-a-third" }), [entryOf(1), entryOf(2)]);
        assert.deepEqual(await over(hf).load(KEY), [entryOf(1), entryOf(2)], "it is still its first project's");
        assert.deepEqual(await over(hf).load(SUB), [entryOf(7), entryOf(8)]);
        await store.delete({ ...KEY, projectKey: "-a-third" });
        assert.deepEqual([await over(hf).load(KEY), await over(hf).load(SUB), await idsOf(store)], [null, null, []]);
      },
    ),

    prove(
      "CA12 not looking at the project, a store takes the session of the own project first",
      [...NEEDS, "clock"],
      async (hf) => {
        await over(hf).append(KEY, [entryOf(1)]);
        await hf.clock.advance(1);
        await over(hf).append(ELSEWHERE, [entryOf(2)]);
        const store = over(hf, { projects: "any" });
        assert.deepEqual(await store.load(KEY), [entryOf(1)]);
        assert.deepEqual(await store.load(ELSEWHERE), [entryOf(2)]);
        assert.deepEqual(await store.load({ ...KEY, projectKey: "-a-third" }), [entryOf(2)], "else the newest");
        assert.deepEqual(await idsOf(store), [KEY.sessionId], "and lists it once");
      },
    ),

    prove("CA12 an option that is none is refused", NEEDS, async (hf) => {
      const options = [{ projects: "all" }, { agent: "" }, { fold: 1 }, { request: "\0" }, { project: "any" }];
      for (const one of options) {
        await refuses(["InvalidArgument", "InvalidId"], async () => over(hf, one as object), JSON.stringify(one));
      }
    }),
  ];
}

function deleteCases(over: MakeSessionStore): readonly Case[] {
  return [
    prove("CA12 deleting a session takes its subpaths along", NEEDS, async (hf) => {
      const store = over(hf);
      const kept = { ...KEY, sessionId: "kept" };
      for (const key of [KEY, SUB, { ...KEY, subpath: "b" }, kept, { ...kept, subpath: "b" }]) {
        await store.append(key, [entryOf(1)]);
      }
      await store.delete(KEY);
      for (const key of [KEY, SUB, { ...KEY, subpath: "b" }]) assert.equal(await store.load(key), null);
      assert.deepEqual([await store.listSubkeys(KEY), await idsOf(store)], [[], ["kept"]]);
      assert.deepEqual([await store.load(kept), await store.listSubkeys(kept)], [[entryOf(1)], ["b"]]);
      assert.equal((await hf.sessions.list()).items.length, 2, "nothing else is left of it");
    }),

    prove("CA12 deleting a subpath takes nothing else along", NEEDS, async (hf) => {
      const store = over(hf);
      for (const key of [KEY, SUB, { ...KEY, subpath: "b" }]) await store.append(key, [entryOf(1)]);
      await store.delete(SUB);
      assert.deepEqual([await store.load(KEY), await store.load(SUB)], [[entryOf(1)], null]);
      assert.deepEqual(await store.listSubkeys(KEY), ["b"]);
    }),

    prove("CA12 deleting what is not there does nothing", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append({ ...KEY, sessionId: "kept" }, [entryOf(1)]);
      await store.delete(KEY);
      await store.delete(SUB);
      assert.deepEqual(await idsOf(store), ["kept"]);
    }),

    prove("CA12 what was deleted can be written again, and begins empty", NEEDS, async (hf) => {
      const store = over(hf);
      for (const n of range(4)) {
        await store.append(KEY, [entryOf(1), entryOf(2, `time ${n}`)]);
        await store.append(SUB, [entryOf(n)]);
        assert.deepEqual(await store.load(KEY), [entryOf(1), entryOf(2, `time ${n}`)]);
        assert.deepEqual(await over(hf).load(SUB), [entryOf(n)]);
        assert.deepEqual([await idsOf(store), await store.listSubkeys(KEY)], [[KEY.sessionId], [SUB.subpath]]);
        await (n % 2 === 0 ? store : over(hf)).delete(KEY);
        assert.deepEqual([await store.load(KEY), await store.load(SUB), await idsOf(store)], [null, null, []]);
      }
    }),

    prove("CA12 one handle continues after another has deleted the session", [...NEEDS, "another"], async (hf) => {
      const [one, two] = [over(hf), over(await hf.another())];
      await one.append(KEY, [entryOf(1)]);
      await two.append(KEY, [entryOf(2)]);
      await two.delete(KEY);
      await Promise.all([one.append(KEY, [entryOf(3)]), two.append(KEY, [entryOf(3)])]);
      assert.deepEqual(await one.load(KEY), [entryOf(3)]);
      assert.equal((await hf.sessions.list()).items.length, 1, "there is one of it");
    }),
  ];
}

/** A fold whose result depends on every entry and on their order. */
const tally: FoldSessionSummary = (before, key, entries, options) => {
  const { count = 0, order = "" } = (before?.data ?? {}) as { count?: number; order?: string };
  const data = { count: count + entries.length, order: order + entries.map(({ n }) => `${n},`).join("") };
  return { sessionId: key.sessionId, mtime: options?.mtime ?? 0, data: { ...data, nothing: undefined } };
};

/** One that most entries leave as it is. */
const firstOf: FoldSessionSummary = (before, key, entries, options) => ({
  sessionId: key.sessionId,
  mtime: options?.mtime ?? 0,
  data: { first: before?.data.first ?? entries[0]?.n, odd: "\u0000\ud800" },
});

function summaryCases(over: MakeSessionStore): readonly Case[] {
  const summed = (hf: Parameters<MakeSessionStore>[0], fold = tally) => {
    const store = over(hf, { fold });
    const summaries = present(store.listSessionSummaries, "listSessionSummaries");
    return { ...store, summaries: () => summaries(KEY.projectKey) };
  };
  const order = (...numbers: readonly number[]) => ({
    count: numbers.length,
    order: numbers.map((n) => `${n},`).join(""),
  });
  return [
    prove("CA13 summaries are there when there is something that makes them", NEEDS, async (hf) => {
      assert.ok(!("listSessionSummaries" in over(hf)));
      assert.deepEqual(await summed(hf).summaries(), []);
    }),

    prove("CA13 a summary is what the fold makes of the main transcript", NEEDS, async (hf) => {
      const folded: unknown[] = [];
      const store = summed(hf, (before, key, entries, options) => {
        folded.push(...entries.map(({ n }) => n));
        return tally(before, key, entries, options);
      });
      await store.append(KEY, [entryOf(1), entryOf(2)]);
      await store.append(SUB, [entryOf(7)]);
      await store.append(KEY, [entryOf(2), entryOf(3)]);
      await store.append({ ...KEY, sessionId: "other" }, [entryOf(4)]);
      await store.append(ELSEWHERE, [entryOf(5)]);
      const found = (await store.summaries()).map(({ sessionId, data }) => ({ sessionId, data }));
      assert.deepEqual(
        found.sort((a, b) => a.sessionId.localeCompare(b.sessionId)),
        [
          { sessionId: KEY.sessionId, data: order(1, 2, 3) },
          { sessionId: "other", data: order(4) },
        ],
      );
      assert.deepEqual(folded, [1, 2, 3, 4, 5], "nothing of a subpath");
    }),

    prove("CA13 both lists give the same time", [...NEEDS, "clock"], async (hf) => {
      for (const [i, fold] of [tally, firstOf].entries()) {
        const store = summed(hf, fold);
        const key = { ...KEY, sessionId: `s${i}` };
        for (const n of range(40)) {
          await hf.clock.advance(1000);
          await store.append(key, [entryOf(n)]);
          const [listed, summaries] = [await store.listSessions(KEY.projectKey), await store.summaries()];
          const at = (all: readonly { sessionId: string; mtime: number }[]) =>
            all.find(({ sessionId }) => sessionId === key.sessionId)?.mtime;
          assert.equal(at(summaries), at(listed));
          assert.ok(present(at(listed)) >= hf.clock.now() - 1000, "it was appended to just now");
        }
      }
    }),

    prove("CA13 what a fold gives is kept as it is", NEEDS, async (hf) => {
      const store = summed(hf, firstOf);
      for (const n of range(40)) await store.append(KEY, [entryOf(n)]);
      const [summary] = await summed(hf, firstOf).summaries();
      assert.deepEqual(summary?.data, { first: 0, odd: "\u0000\ud800" });
    }),

    prove("CA13 what was appended without a fold is folded later, once", NEEDS, async (hf) => {
      await over(hf).append(KEY, [entryOf(1), entryOf(2)]);
      assert.deepEqual((await summed(hf).summaries())[0]?.data, order(1, 2));
      await over(hf).append(KEY, [entryOf(3)]);
      await summed(hf).append(KEY, [entryOf(4)]);
      await over(hf).append(
        KEY,
        range(30).map((n) => entryOf(n + 5)),
      );
      const all = order(...range(34).map((n) => n + 1));
      assert.deepEqual((await summed(hf).summaries())[0]?.data, all);
      assert.deepEqual((await summed(hf).summaries())[0]?.data, all);
      const listed = await over(hf).listSessions(KEY.projectKey);
      assert.equal((await summed(hf).summaries())[0]?.mtime, listed[0]?.mtime);
    }),

    prove(
      "CA13 handles that append at once fold every entry once, in the order of the transcript",
      [...NEEDS, "another"],
      async (hf) => {
        const stores = [summed(hf), summed(await hf.another()), summed(await hf.another())];
        await Promise.all(
          stores.map(async (store, i) => {
            for (const n of range(15)) await store.append(KEY, [entryOf(i * 100 + n)]);
          }),
        );
        const entries = present(await present(stores[0]).load(KEY));
        const [summary] = await present(stores[0]).summaries();
        assert.deepEqual(summary?.data, order(...entries.map(({ n }) => Number(n))));
        assert.equal(entries.length, 45);
      },
    ),

    prove("CA13 a summary goes with its session, and leaves the session's own state alone", NEEDS, async (hf) => {
      const store = summed(hf);
      await store.append(KEY, [entryOf(1)]);
      const session = present((await hf.sessions.list()).items[0]).id;
      await hf.state.patch(session, { mine: true });
      await store.append(KEY, [entryOf(2)]);
      assert.equal(await hf.state.getKey(session, "mine"), true);
      await store.delete(KEY);
      assert.deepEqual(await store.summaries(), []);
      await store.append(KEY, [entryOf(3)]);
      assert.deepEqual((await store.summaries())[0]?.data, order(3));
    }),

    prove("CA13 a summary takes nothing back that was written meanwhile", NEEDS, async (hf) => {
      let times = 0;
      const getVersioned: typeof hf.state.getVersioned = async (session) => {
        const read = await hf.state.getVersioned(session);
        if (times++ < 2) await hf.state.patch(session, { [`mine${times}`]: times });
        return read;
      };
      const store = summed({ ...hf, state: { ...hf.state, getVersioned } });
      await store.append(KEY, [entryOf(1)]);
      await store.append(KEY, [entryOf(2)]);
      const state = await hf.state.get(present((await hf.sessions.list()).items[0]).id);
      assert.deepEqual([state.mine1, state.mine2], [1, 2]);
      assert.deepEqual((await store.summaries())[0]?.data, order(1, 2));
    }),

    prove("CA13 a summary is folded under the session's own name, wherever it is asked for", NEEDS, async (hf) => {
      const keys: SessionKey[] = [];
      const fold: FoldSessionSummary = (before, key, entries, options) => {
        keys.push(key);
        return tally(before, key, entries, options);
      };
      const store = over(hf, { fold, projects: "any" });
      await store.append(KEY, [entryOf(1)]);
      await over(hf, { projects: "any" }).append(ELSEWHERE, [entryOf(2)]);
      const [summary] = await present(store.listSessionSummaries)("-a-third");
      assert.deepEqual([summary?.sessionId, summary?.data], [KEY.sessionId, order(1, 2)]);
      assert.deepEqual([...new Set(keys.map(({ sessionId }) => sessionId))], [KEY.sessionId]);
    }),
  ];
}
