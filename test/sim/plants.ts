// Bugs planted to see them found, outside the product's code: between the rules and storage, or around the driver. Each is
// one that an engineer could well make.
import type { Commit, Outcome, Storage } from "../../src/contracts/storage.ts";
import type { Plan, Step } from "../../src/storage/sql/driver.ts";
import { StaleFence } from "../../src/storage/sql/driver.ts";
import { bound } from "../../src/testing/sim/driver.ts";
import type { Plant } from "../../src/testing/sim/simulate.ts";

function committing(storage: Storage, commit: (commit: Commit) => Promise<Outcome>): Storage {
  return {
    engine: storage.engine,
    words: storage.words,
    environment: storage.environment,
    commit,
    query: (name, ...params) => storage.query(name, ...params),
    inspect: (sql, params, limits) => storage.inspect(sql, params, limits),
    changed: (session, timeoutMs, signal) => storage.changed(session, timeoutMs, signal),
    reclaim: () => storage.reclaim(),
    rewrite: () => storage.rewrite(),
    size: () => storage.size(),
    close: () => storage.close(),
  };
}

/** Nothing that a run commits asks whether its lease still holds. */
export const withoutFencing: Plant = {
  storage: (storage) =>
    committing(storage, (commit) =>
      storage.commit({ ...commit, guards: (commit.guards ?? []).filter(({ check }) => check !== "run.epoch") }),
    ),
};

const isIntent = ({ events = [] }: Commit) => events.length === 1 && events[0]?.type === "step/started";

/** An intent is said to be written, and is written only together with what came of it. */
export const intentAfterEffect: Plant = {
  storage: (storage) => {
    const held = new Map<string, Commit>();
    return committing(storage, async (commit) => {
      const [first] = commit.events ?? [];
      const run = first?.run ?? "";
      const before = held.get(run);
      if (before !== undefined) {
        held.delete(run);
        await storage.commit(before);
      }
      if (first === undefined || !isIntent(commit)) return storage.commit(commit);
      const [session] = await storage.query("session.get", first.session);
      held.set(run, commit);
      return { ok: true, events: [{ session: first.session, seq: (session?.seq ?? 0) + 1, hash: new Uint8Array() }] };
    });
  },
};

/** The events of a commit come first, where its sessions stand afterwards in a transaction of its own. */
export const chainApart: Plant = {
  driver: (driver, process) => ({
    ...bound(driver),
    transact: async <T>(plan: () => Plan<T>) => {
      const later: Step[] = [];
      const apart = function* (): Plan<T> {
        const inner = plan();
        let next = inner.next();
        while (!next.done) {
          const { steps, last } = next.value;
          if (steps.some((step) => isAbout(step, "sessions.fence"))) throw new StaleFence();
          later.push(...steps.filter((step) => isAbout(step, "sessions.advance")));
          const rows = yield { steps: steps.map((step) => (later.includes(step) ? NOTHING : step)), last };
          next = inner.next(rows);
        }
        return next.value;
      };
      const result = await driver.transact(apart);
      if (later.length === 0) return result;
      await process.turn("between");
      await driver.transact(() => only(later));
      return result;
    },
  }),
};

const NOTHING: Step = { kind: "query", sql: "SELECT 1 WHERE 1 = 0", params: [] };

function* only(steps: readonly Step[]): Plan<void> {
  yield { steps, last: true };
}

function isAbout(step: Step, name: string): boolean {
  return step.kind === "bulk" && step.spec.name === name;
}

/** Whoever goes to sleep does not look whether something came for it meanwhile. */
export const lostWakeup: Plant = {
  storage: (storage) =>
    committing(storage, (commit) => {
      const sleeps = commit.events?.some(({ type }) => type === "run/waiting") ?? false;
      if (!sleeps) return storage.commit(commit);
      return storage.commit({
        ...commit,
        guards: (commit.guards ?? []).filter(({ check }) => check !== "run.version"),
      });
    }),
};
