// A claim is valid only for the lease that the worker saw: its owner may have sent a heartbeat between the read and the
// claim.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import { realEnvironment } from "../core/environment.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { open, openOn } from "../open.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import type { Driver } from "../storage/sql/driver.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { bound } from "../testing/sim/driver.ts";
import { agent, EffectRecorder, gate } from "../testing/suites/runs-agents.ts";
import { awaitFree, claimRun, freeRun, heartbeat, releaseRun } from "./lease.ts";
import { existingRun } from "./rows.ts";

const FOREVER = Number.POSITIVE_INFINITY;

for (const engine of ENGINES) {
  describe(`leases on ${engine.name}`, () => {
    let ground: EngineStore;
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

    test("RU3 after a heartbeat no worker claims the lease or frees the run with an older read", async () => {
      const held = await claimRun(storage, await existingRun(storage, "r"), "first");
      const seen = await existingRun(storage, "r");
      expect(await heartbeat(storage, held, FOREVER)).toBe("ok");
      await expect(claimRun(storage, seen, "second")).rejects.toMatchObject({ code: "LeaseLost" });
      expect(await freeRun(storage, seen)).toBeNull();
      expect(await existingRun(storage, "r")).toMatchObject({ owner: "first", epoch: held.epoch });
      expect(await claimRun(storage, await existingRun(storage, "r"), "second")).toMatchObject({ owner: "second" });
      expect(await heartbeat(storage, held, FOREVER)).toBe("lost");
    });

    /** The same storage, on which something else happens between what a call reads and its first commit. */
    const withRival = (rival: () => Promise<unknown>) => {
      let isFirst = true;
      return overrideStorage(storage, {
        commit: async (one) => {
          if (isFirst) {
            isFirst = false;
            await rival();
          }
          return storage.commit(one);
        },
      });
    };

    test("RU3 a worker whose lease another has claimed releases nothing, also when the run is to be cancelled", async () => {
      const former = await claimRun(storage, await existingRun(storage, "r"), "first");
      const now = await claimRun(storage, await existingRun(storage, "r"), "second");
      const host = { storage, payloads: createPayloads(storage) };
      await releaseRun(host, former);
      expect(await existingRun(storage, "r")).toMatchObject({ owner: "second", epoch: now.epoch, ended_at: null });
      const hf = await open(ground.url);
      await hf.runs.cancel("r");
      await hf.close();
      await releaseRun(host, former);
      expect(await existingRun(storage, "r")).toMatchObject({ owner: "second", epoch: now.epoch, ended_at: null });
      await releaseRun(host, now);
      expect(await existingRun(storage, "r")).toMatchObject({ status: "cancelled", owner: null });
    });

    test("RU3 a worker learns that its lease is lost also when the run was claimed during its heartbeat", async () => {
      const held = await claimRun(storage, await existingRun(storage, "r"), "first");
      const rival = async () => claimRun(storage, await existingRun(storage, "r"), "second");
      expect(await heartbeat(withRival(rival), held, FOREVER)).toBe("lost");
    });

    test("RU3 a claim that shares a batch with an earlier heartbeat is refused", async () => {
      const held = await claimRun(storage, await existingRun(storage, "r"), "first");
      const seen = await existingRun(storage, "r");
      const claims: Promise<unknown>[] = [];
      const together = overrideStorage(storage, {
        commit: (one) => {
          const committing = storage.commit(one);
          claims.push(claimRun(storage, seen, "second"));
          return committing;
        },
      });
      const beat = heartbeat(together, held, FOREVER);
      expect(await beat).toBe("ok");
      await expect(claims[0]).rejects.toMatchObject({ code: "LeaseLost" });
      expect(await existingRun(storage, "r")).toMatchObject({ owner: "first", beat: seen.beat + 1 });
    });

    test("RU3 a run that is claimed from an owner is recovering; one without an owner is running", async () => {
      expect(await claimRun(storage, await existingRun(storage, "r"), "first")).toMatchObject({ status: "running" });
      expect(await claimRun(storage, await existingRun(storage, "r"), "second")).toMatchObject({
        status: "recovering",
      });
    });

    test("RU3 if a run is both cancelled and past its deadline, the heartbeat tells the worker to cancel it", async () => {
      const held = await claimRun(storage, await existingRun(storage, "r"), "first");
      expect(await heartbeat(storage, held, 0)).toBe("deadline");
      const hf = await open(ground.url);
      await hf.runs.cancel("r");
      await hf.close();
      expect(await heartbeat(storage, held, 0)).toBe("cancel-requested");
    });

    test("RU3 onWait names the unknown owner that a claimer waits for, and the longest wait", async () => {
      await claimRun(storage, { ...(await existingRun(storage, "r")), lease_ms: 300 }, "worker_far@elsewhere");
      const { processes: _, ...unknowing } = realEnvironment();
      const blind = new SqlStorage(ground.driver, unknowing);
      const told: RunWait[] = [];
      const free = await awaitFree(blind, "r", AbortSignal.timeout(1000), (wait) => told.push(wait));
      expect(free).toBeNull();
      expect(told).toMatchObject([{ reason: "owner", owner: { worker: "worker_far", pid: null }, run: "r" }]);
      expect(told[0]?.atMostMs).toBeGreaterThan(0);
    });

    test("RU2 a call without an id rejects with Aborted if it is aborted while it watches such an owner", async () => {
      await claimRun(storage, await existingRun(storage, "r"), "worker_far@elsewhere");
      const { processes: _, ...unknowing } = realEnvironment();
      const hf = await open(ground.url, { environment: unknowing });
      const stop = new AbortController();
      const same = agent((it) => it.done(null));
      const call = hf.runs.execute(same, { session: "s" }, { signal: stop.signal, onWait: () => stop.abort() });
      await expect(call).rejects.toMatchObject({ code: "Aborted" });
      await hf.close();
    });

    test("RU3 a process that begins a run and is suspended longer than its lease executes no step of it", async () => {
      const world = new EffectRecorder();
      const held = gate();
      let begun = 0;
      const pays = agent(
        async (it) => {
          if (++begun === 1) await held.pass();
          return it.done(await it.tool("pay"));
        },
        { tools: { pay: world.tool("pay") } },
      );
      const other = await open(ground.url);
      let working: Promise<unknown> | null = null;
      const read: Driver["read"] = async (sql, params) => {
        // Its first read of the existing run: by then another worker has claimed it and works on it.
        if (working === null && params[0] === "late" && (await other.runs.get("late")) !== null) {
          working = other.runs.resume(pays, "late");
          await held.reached;
        }
        return ground.driver.read(sql, params);
      };
      const { runs } = await openOn({ ...bound(ground.driver), read }, {});
      const late = runs.execute(pays, { session: "t", id: "late", leaseMs: 100 }, { wait: false });
      await expect(late).rejects.toMatchObject({ code: "LeaseLost" });
      held.open();
      expect(await working).toMatchObject({ status: "completed" });
      expect([begun, world.count("pay")]).toEqual([1, 1]);
      await other.close();
    });
  });
}
