// Every kind of issue: planted damage is named by exactly its kind; and with that one check left out, it
// goes unnoticed, so that each check is needed and each test would miss it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { KINDS } from "../../src/check/kinds.ts";
import { isLong } from "../../src/testing/scale.ts";
import { casesFor, ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";
import { DAMAGES } from "./damages.ts";

for (const engine of ENGINES) {
  describe(`damage on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    test("SE10 nothing is named where nothing was planted", async () => {
      expect((await store.check("deep")).issues).toEqual([]);
      expect((await store.hf.check({ mode: "quick" })).counts).toMatchObject({ invocations: 7 });
    });

    const kinds = Object.keys(DAMAGES) as (keyof typeof DAMAGES)[];
    // On PostgreSQL, `npm test` tries one kind of each thing that is damaged: a head, a branch, an invocation.
    test.each(casesFor(engine, kinds, (kind) => kind.split("-")[0] ?? ""))(
      "SE10 %s is named, and nothing else is",
      async (kind) => {
        const { mode, hint } = KINDS[kind];
        await DAMAGES[kind](store);
        const report = await store.check(mode);
        expect([...new Set(report.issues.map((issue) => issue.kind))]).toEqual([kind]);
        expect(report).toMatchObject({ status: "issues", mode, issueCount: report.issues.length });
        for (const issue of report.issues) expect(issue.hint).toBe(hint);
        // That the check is needed does not depend on the engine, and a check on PostgreSQL takes long.
        if (engine.name === "sqlite" || isLong) {
          const without = await store.check(mode, kind);
          expect(without, "with this check left out").toMatchObject({ status: "ok", issues: [], issueCount: 0 });
          // A deep check has been made above.
          if (mode === "deep") return;
          const deep = await store.hf.check();
          expect(deep.issues.map((issue) => issue.kind)).toContain(kind);
        }
      },
    );
  });
}
