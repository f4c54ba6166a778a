// Changes of runs that meet between a decision and its commit: what was decided on an older row is decided again, and a worker that
// stops works on nothing that it was about to claim.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { defineAgent } from "../index.ts";
import { open, openOn } from "../open.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { bound } from "../testing/sim/driver.ts";
import { agent } from "../testing/suites/runs-agents.ts";
import { takeOverWhenDue } from "./recover.ts";
import { existingRun } from "./rows.ts";

const kid = defineAgent({ id: "kid", version: "1", iterate: async (it) => it.done(await it.waitFor("go")) });
const parent = defineAgent({ id: "ada", version: "1", iterate: async (it) => it.done((await it.spawn(kid)).status) });

for (const engine of ENGINES) {
  describe(`changes of runs that meet on ${engine.name}`, () => {
    let ground: EngineStore;
    let other: Holdfast;
    beforeEach(async () => {
      ground = await engine.fresh();
      other = await open(ground.url);
    });
    afterEach(async () => {
      await other.close();
      await ground.end();
    });

    const openWith = (
      commit: (storage: Storage, ...args: Parameters<Storage["commit"]>) => ReturnType<Storage["commit"]>,
    ) =>
      openOn(bound(ground.driver), {}, (storage) =>
        overrideStorage(storage, { commit: (...args) => commit(storage, ...args) }),
      );

    test.each([
      ["parent", "child", ["cancelled", "cancelled"]],
      ["child", "parent", ["running", "cancelled"]],
    ] as const)("RU2 the cancel of a %s sees the signal that its %s gets meanwhile", async (which, signalled, ends) => {
      await other.runs.execute(parent, { session: "s", id: "top" }, { wait: false });
      const [child] = (await other.runs.list({ agent: "kid" })).items;
      const ids = { parent: "top", child: child?.id ?? "" };
      const rowsOf = () => Promise.all([ids.parent, ids.child].map((id) => other.runs.get(id)));
      const versions = (await rowsOf()).map((row) => row?.version ?? 0);
      let isFirst = true;
      const hf = await openWith(async (storage, commit) => {
        if (isFirst) {
          isFirst = false;
          await other.runs.signal(ids[signalled], "news", 1);
        }
        return storage.commit(commit);
      });
      expect((await hf.runs.cancel(ids[which])).status).toBe("cancelled");
      const rows = await rowsOf();
      expect(rows.map((row) => row?.status)).toEqual(ends);
      // Each change is a version of its own: the signal, and what the cancel does to both runs.
      const signals = Object.keys(ids).map((one) => (one === signalled ? 1 : 0));
      expect(rows.map((row, i) => (row?.version ?? 0) - (versions[i] ?? 0))).toEqual(signals.map((n) => n + 1));
      expect((await other.check()).issues).toEqual([]);
    });

    test("RU9 a run that changed after it was verified is not claimed", async () => {
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const once = agent((it) => it.done(null));
      await other.runs.start(once, { session: "s", id: "r" });
      const seen = await existingRun(storage, "r");
      // The row is read once more between the verification and the claim.
      const changing = overrideStorage(storage, {
        query: async (name, params) => {
          if (name === "run.get") await other.runs.signal("r", "news", 1);
          return storage.query(name, params);
        },
      });
      await expect(takeOverWhenDue(changing, seen, "worker", "whole")).rejects.toMatchObject({ code: "LeaseLost" });
      expect(await existingRun(storage, "r")).toMatchObject({ owner: null, epoch: seen.epoch });
    });

    test("RU13 a worker that stops while it claims works on nothing afterwards, and claims nothing more", async () => {
      const held = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const claims: string[] = [];
      const hf = await openWith(async (storage, commit) => {
        const claimed = commit.events?.find(({ type }) => type === "run/claimed");
        if (claimed !== undefined) {
          claims.push(claimed.run ?? "");
          if (claims.length === 8) reached.resolve();
          await held.promise;
        }
        return storage.commit(commit);
      });
      // More than a worker claims at a time.
      for (let i = 0; i < 12; i++) await other.runs.start(kid, { session: `s${i}`, id: `r${i}` });
      const worker = hf.runs.createWorker({ agents: [kid], concurrency: 20 });
      worker.start();
      await reached.promise;
      let isStopped = false;
      const stopping = worker.stop().then(() => {
        isStopped = true;
      });
      for (let i = 0; i < 50; i++) await new Promise<void>((next) => setImmediate(next));
      expect(isStopped).toBe(false);
      held.resolve();
      await stopping;
      expect(worker.working).toEqual([]);
      expect(claims).toHaveLength(8);
      for (const { owner } of (await other.runs.list({ agent: "kid" })).items) expect(owner).toBeNull();
    });
  });
}
