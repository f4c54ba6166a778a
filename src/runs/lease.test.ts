// A lease is taken as it was seen: between the look and the claim its holder may have shown that he is there.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type Ground } from "../../test/engines.ts";
import { realEnvironment } from "../core/environment.ts";
import { open } from "../open.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { agent } from "../testing/suites/runs-agents.ts";
import { claimRun, freeRun, heartbeat } from "./lease.ts";
import { existingRun } from "./rows.ts";

const FOREVER = Number.POSITIVE_INFINITY;

for (const engine of ENGINES) {
  describe(`leases on ${engine.name}`, () => {
    let ground: Ground;
    let storage: SqlStorage;
    beforeEach(async () => {
      ground = await engine.fresh();
      const hf = await open(ground.url);
      await hf.runs.start(
        agent((it) => it.done(null)),
        { session: "s", id: "r" },
      );
      await hf.close();
      storage = new SqlStorage(ground.driver, realEnvironment());
    });
    afterEach(() => ground.end());

    test("RU3 after a sign of life nobody takes the lease, nor frees the run, by what he saw before", async () => {
      const held = await claimRun(storage, await existingRun(storage, "r"), "first");
      const seen = await existingRun(storage, "r");
      expect(await heartbeat(storage, held, FOREVER)).toBe("ok");
      await expect(claimRun(storage, seen, "second")).rejects.toMatchObject({ code: "LeaseLost" });
      expect(await freeRun(storage, seen)).toBeNull();
      expect(await existingRun(storage, "r")).toMatchObject({ owner: "first", epoch: held.epoch });
      expect(await claimRun(storage, await existingRun(storage, "r"), "second")).toMatchObject({ owner: "second" });
      expect(await heartbeat(storage, held, FOREVER)).toBe("lost");
    });
  });
}
