// Guards that are not asked again where the log has not grown: what a handle remembers of a run must be what is there.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import type { Commit, Guard, Outcome } from "../../contracts/storage/commit.ts";
import { realEnvironment } from "../../core/environment.ts";
import { open } from "../../open.ts";
import { claimRun } from "../../runs/lease.ts";
import { moveRun } from "../../runs/writer.ts";
import { bound } from "../../testing/sim/driver.ts";
import type { Driver, Plan } from "./driver.ts";
import { SqlStorage } from "./store.ts";

const at = 1;
const RUN = "r";
const AGENT = { id: "ada", version: "1", iterate: () => ({ verdict: "done", value: null }) as const };

function atVersion(expect: number): Guard {
  return { check: "run.version", key: [RUN], expect };
}

function atEpoch(expect: number): Guard {
  return { check: "run.epoch", key: [RUN], expect };
}

/** From one version to the next. */
function move(version: number, extra: Partial<Commit> = {}): Commit {
  const seq = { slot: "seq" } as const;
  const params = [version + 1, 0, null, 0, null, seq, at, RUN];
  return {
    sessions: [{ id: "s", mode: "existing", at }],
    guards: [atVersion(version)],
    events: [{ session: "s", type: "annotation", at, writes: [{ op: "run", statement: "run.progress", params }] }],
    ...extra,
  };
}

function took(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.map((outcome) => (outcome.ok ? "done" : outcome.refused.reason));
}

/** A driver that notes each round trip of its transactions. */
function countRoundTrips(driver: Driver): readonly [Driver, unknown[]] {
  const trips: unknown[] = [];
  function* counting<T>(plan: Plan<T>): Plan<T> {
    for (let next = plan.next(); ; ) {
      if (next.done === true) return next.value;
      trips.push(next.value);
      next = plan.next(yield next.value);
    }
  }
  return [{ ...bound(driver), transact: (plan, options) => driver.transact(() => counting(plan()), options) }, trips];
}

for (const engine of ENGINES) {
  describe(`what is vouched for on ${engine.name}`, () => {
    let ground: EngineStore;
    let storage: SqlStorage;
    beforeEach(async () => {
      ground = await engine.fresh();
      const hf = await open(ground.url);
      await hf.runs.start(AGENT, { session: "s", id: RUN });
      await hf.close();
      storage = new SqlStorage(ground.driver, realEnvironment());
    });
    afterEach(() => ground.end());

    const version = async () => (await storage.query("run.get", { id: RUN }))[0]?.version;

    test("ST2 of two commits of one batch that rely on one version, one happens, also when the cache implies the guard", async () => {
      const first = (await version()) ?? 0;
      expect(took([await storage.commit(move(first, { holds: [atVersion(first + 1)] }))])).toEqual(["done"]);
      const both = [move(first + 1), move(first + 1)].map((one) => storage.commit(one));
      expect(took(await Promise.all(both))).toEqual(["done", "guard"]);
      expect(await version()).toBe(first + 2);
    });

    test("ST2 a version that was asked for does not hold any more once it has passed", async () => {
      const first = (await version()) ?? 0;
      for (const holds of [{}, { holds: [atVersion(first + 2)] }]) {
        const from = (await version()) ?? 0;
        expect(took([await storage.commit(move(from, holds))])).toEqual(["done"]);
        expect(took([await storage.commit(move(from))])).toEqual(["guard"]);
      }
    });

    test("ST2 nor does a version that was said to hold, once it has passed", async () => {
      const first = (await version()) ?? 0;
      expect(took([await storage.commit(move(first, { holds: [atVersion(first + 1)] }))])).toEqual(["done"]);
      expect(took([await storage.commit(move(first + 1))])).toEqual(["done"]);
      expect(took([await storage.commit(move(first + 1))])).toEqual(["guard"]);
      expect(await version()).toBe(first + 2);
    });

    test("RU2 a handle forgets guards that held before others wrote, also if it only appends since", async () => {
      const first = (await version()) ?? 0;
      const other = new SqlStorage(await ground.another(), realEnvironment());
      expect(took([await storage.commit(move(first, { holds: [atVersion(first + 1)] }))])).toEqual(["done"]);
      expect(took([await other.commit(move(first + 1))])).toEqual(["done"]);
      const { sessions = [] } = move(first);
      const added = await storage.commit({ sessions, events: [{ session: "s", type: "annotation", at }] });
      expect(took([added])).toEqual(["done"]);
      expect(took([await storage.commit(move(first + 1))])).toEqual(["guard"]);
      expect(await version()).toBe(first + 2);
    });

    test("RU2 the former owner of a lease adds nothing after the claim of another, not in one batch with it either", async () => {
      const [row] = await storage.query("run.get", { id: RUN });
      if (row === undefined) throw new Error("no run");
      const step: Commit = {
        sessions: [{ id: "s", mode: "existing", at }],
        guards: [atEpoch(row.epoch)],
        events: [{ session: "s", type: "annotation", at }],
      };
      const taken = claimRun(storage, row, "somebody");
      const beside = [step, step].map((one) => storage.commit(one));
      expect((await taken).epoch).toBe(row.epoch + 1);
      expect(took(await Promise.all(beside))).toEqual(["guard", "guard"]);
      expect(took([await storage.commit(step)])).toEqual(["guard"]);
    });

    test("RU2 a lease that a commit ends allows no step after it, also by the same handle", async () => {
      const [row] = await storage.query("run.get", { id: RUN });
      if (row === undefined) throw new Error("no run");
      const step: Commit = {
        sessions: [{ id: "s", mode: "existing", at }],
        guards: [atEpoch(row.epoch)],
        events: [{ session: "s", type: "annotation", at }],
      };
      expect(took([await storage.commit(step)])).toEqual(["done"]);
      const ended = moveRun(row, { type: "run/completed", at, changes: { epoch: row.epoch + 1, ended_at: at } });
      const end: Commit = { ...step, guards: [atVersion(row.version), atEpoch(row.epoch)], events: [ended.event] };
      expect(took([await storage.commit({ ...end, holds: ended.holds })])).toEqual(["done"]);
      expect(took([await storage.commit(step)])).toEqual(["guard"]);
    });

    test.each([true, false])(
      "RU2 a guard on a run is implied by the position of its own session, and of no other (said to hold: %s)",
      async (isSaid) => {
        const first = (await version()) ?? 0;
        const note = (session: string) => ({ session, type: "annotation" as const, at });
        await storage.commit({ sessions: [{ id: "other", mode: "ensure", at }], events: [note("other")] });
        const guard = isSaid ? atVersion(first + 1) : atEpoch(0);
        const shared = move(first, { sessions: ["s", "other"].map((id) => ({ id, mode: "existing", at })) });
        const both: Commit = {
          ...shared,
          guards: [atVersion(first), atEpoch(0)],
          events: [...(shared.events ?? []), note("other")],
          ...(isSaid ? { holds: [guard] } : {}),
        };
        expect(took([await storage.commit(both)])).toEqual(["done"]);
        // Another version and another epoch, in the log of the run's session alone.
        const [row] = await storage.query("run.get", { id: RUN });
        if (row === undefined) throw new Error("no run");
        await claimRun(storage, row, "somebody");
        const stale: Commit = {
          sessions: [{ id: "other", mode: "existing", at }],
          guards: [guard],
          events: [note("other")],
        };
        expect(took([await storage.commit(stale)])).toEqual(["guard"]);
      },
    );

    test("RU2 a commit whose guards the one before it left holding takes a single round trip", async () => {
      const first = (await version()) ?? 0;
      const [counted, trips] = countRoundTrips(ground.driver);
      storage = new SqlStorage(counted, realEnvironment());
      const holds = (version: number) => ({ holds: [atVersion(version), atEpoch(0)] });
      expect(took([await storage.commit(move(first, holds(first + 1)))])).toEqual(["done"]);
      trips.length = 0;
      expect(took([await storage.commit(move(first + 1, holds(first + 2)))])).toEqual(["done"]);
      expect(trips).toHaveLength(1);
    });

    test("RU2 what others did to the run in between is asked for", async () => {
      const first = (await version()) ?? 0;
      const other = new SqlStorage(await ground.another(), realEnvironment());
      const holds = [atVersion(first + 1), atEpoch(0)];
      expect(took([await storage.commit(move(first, { holds }))])).toEqual(["done"]);
      expect(took([await other.commit(move(first + 1))])).toEqual(["done"]);
      expect(took([await storage.commit(move(first + 1))])).toEqual(["guard"]);
      expect(took([await storage.commit(move(first + 2))])).toEqual(["done"]);
    });
  });
}
