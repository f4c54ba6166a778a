// What a hint says to do is done here as it says, on the damage it is for: afterwards there is no issue left.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { KINDS } from "../../src/check/kinds.ts";
import type { CheckIssue } from "../../src/contracts/check.ts";
import { isLong } from "../../src/testing/scale.ts";
import { ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";
import { DAMAGES } from "./damages.ts";

type Follow = (store: DamagedStore, issue: CheckIssue) => Promise<unknown>;

const publish: Follow = ({ hf }, { rows }) => hf.heads.publish(rows[0] ?? "");

const FOLLOWED: Partial<Record<keyof typeof DAMAGES, readonly [says: string, follow: Follow]>> = {
  "current-head-missing": ["heads.publish()", publish],
  "current-head-foreign": ["heads.publish()", publish],
  "current-head-aborted": ["heads.publish()", publish],
  "current-head-wrong": ["heads.publish()", publish],
  "derived-moved-source": ["heads.publish()", publish],
  "alias-target-missing": [
    "sessions.setAlias() and move: true",
    ({ hf }, { rows: [name = ""] }) => hf.sessions.setAlias("chat", name, { move: true }),
  ],
  "alias-missing": [
    "set the lost alias again, then correct sessions.alias_count",
    async ({ hf, run }, { rows: [session = ""] }) => {
      await hf.sessions.setAlias(session, "the-chat");
      await run("UPDATE sessions SET alias_count = 1 WHERE id = ?", session);
    },
  ],
  "cache-id-missing": [
    "sessions.cache_id",
    ({ run }, { rows }) =>
      run(
        "UPDATE sessions SET cache_id = (SELECT coalesce(cache_id, id) FROM sessions WHERE id = 'chat') WHERE id = ?",
        rows[0] ?? "",
      ),
  ],
  "column-unreadable": [
    "set the column to NULL",
    async ({ hf, run }, { rows: [id = ""], details: { table, column } }) => {
      await run(`UPDATE ${table} SET ${column} = NULL WHERE id = ?`, id);
      await hf.sessions.update(id, { metadata: { a: 1 } });
    },
  ],
  "counter-missing": [
    "coalesce(max(epoch), 1)",
    ({ run }) => run("INSERT INTO counters (name, n) VALUES ('gc', (SELECT coalesce(max(epoch), 1) FROM blobs))"),
  ],
  "agent-tags-wrong": ["agents.update()", ({ hf }, { rows }) => hf.agents.update(rows[0] ?? "", { tags: [] })],
  "vector-page-wrong": ["vectors.rebuild()", ({ hf }, { rows }) => hf.vectors.rebuild(rows[0] ?? "")],
  "metadata-index-wrong": ["vectors.rebuild()", ({ hf }, { rows }) => hf.vectors.rebuild(rows[0] ?? "")],
  "text-index-marks-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-range-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-stray": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-item-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-segment-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-page-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "text-index-text-wrong": ["reindex()", ({ hf }) => hf.reindex()],
  "state-held-twice": [
    "state.until_seq",
    ({ run }, { rows, details: { until, branch, key } }) =>
      run(
        "UPDATE state SET until_seq = ? WHERE seq = ? AND branch = ? AND key = ? AND session_no = " +
          "(SELECT no FROM sessions WHERE id = 'chat')",
        Number(until),
        Number(rows[0]?.split("#")[1]),
        Number(branch),
        String(key),
      ),
  ],
};

const ALL = Object.keys(FOLLOWED) as (keyof typeof DAMAGES)[];
/** Several kinds of damage have the same hint: `npm test` follows each hint once on each engine. */
const ONE_PER_HINT = [...new Map(ALL.toReversed().map((kind) => [FOLLOWED[kind]?.[0], kind])).values()].toReversed();

for (const engine of ENGINES) {
  describe(`hints followed on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    test("ST7 a name whose session is gone can be moved and removed", async () => {
      const { hf, run } = store;
      const gone = "(SELECT no FROM sessions WHERE id = 'left')";
      await run("INSERT INTO aliases (name, session_no, created_at) VALUES ('nowhere', 99999, 1)");
      await run(`INSERT INTO aliases (name, session_no, created_at) VALUES ('deleted', ${gone}, 1)`);
      for (const name of ["nowhere", "deleted"]) {
        expect(await hf.sessions.get(name)).toBeNull();
        await expect(hf.sessions.setAlias("chat", name)).rejects.toMatchObject({ code: "AlreadyExists" });
        await hf.sessions.setAlias("fork", name, { move: true });
        expect(await hf.sessions.get(name)).toMatchObject({ id: "fork" });
        expect(await hf.sessions.removeAlias(name)).toBe(true);
        await run("INSERT INTO aliases (name, session_no, created_at) VALUES (?, 99999, 1)", name);
        expect(await hf.sessions.removeAlias(name)).toBe(true);
        expect(await hf.sessions.removeAlias(name)).toBe(false);
      }
      expect((await hf.check()).issues).toEqual([]);
    });

    test.each(isLong ? ALL : ONE_PER_HINT)("SE10 %s is over when its hint was followed", async (kind) => {
      const [says, follow] = FOLLOWED[kind] ?? ["", async () => {}];
      expect(KINDS[kind].hint).toContain(says);
      await DAMAGES[kind](store);
      const issues = (await store.hf.check()).issues.filter((issue) => issue.kind === kind);
      expect(issues.length).toBeGreaterThan(0);
      for (const issue of issues) await follow(store, issue);
      expect((await store.hf.check()).issues).toEqual([]);
    });
  });
}
