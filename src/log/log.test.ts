// The log below the public API: results are made from the commit.
import { describe, expect, test } from "vitest";
import { ENGINES, lostAfterCommit } from "../../test/engines.ts";
import { realEnvironment } from "../core/environment.ts";
import { createSessionLookup } from "../core/session-lookup.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { createLog } from "./log.ts";

for (const engine of ENGINES) {
  describe(`the log on ${engine.name}`, () => {
    test("ST2 an annotation is answered from its commit, not by reading back", async () => {
      const ground = await engine.fresh();
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const payloads = createPayloads(storage);
      const lookup = createSessionLookup(storage, { url: "here", storeId: "here" });
      try {
        const events = [{ session: "s", type: "session/created", at: 1 }];
        await storage.commit({ sessions: [{ id: "s", mode: "create", at: 1 }], events });
        const notes = [{}, { agent: "helper" }, { agent: "helper", run: "r-1" }];
        for (const [i, by] of notes.entries()) {
          const answer = await createLog(lostAfterCommit(storage), payloads, lookup).annotate(
            "s",
            { i, text: "é" },
            by,
          );
          expect(answer).toMatchObject({ session: "s", seq: i + 2, type: "annotation", ...by });
          expect(await createLog(storage, payloads, lookup).read("s", { after: i + 1 })).toEqual([answer]);
        }
        expect(await createLog(storage, payloads, lookup).verify("s")).toMatchObject({ ok: true, seq: 4 });
      } finally {
        await ground.end();
      }
    });
  });
}
