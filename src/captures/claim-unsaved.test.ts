// Claims of processes that ended without a release: what they said stays until it is settled, and the sweep removes only rows that
// no process needs.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { ClaimOwner } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { openOn } from "../open.ts";
import { adjustableEnvironment } from "../testing/environment.ts";
import { until } from "../testing/suites/eventually.ts";

const DAY_MS = 24 * 3_600_000;

for (const engine of ENGINES) {
  describe(`claims without a release on ${engine.name}`, () => {
    let ground: EngineStore;
    const handles: Holdfast[] = [];
    /** Host and pid of the processes that run. */
    const alive = new Set<string>();
    const processName = (host: string, pid: number) => `${host}/${pid}/1/1/1/x`;

    /** A process; it knows only of those on its own host. */
    const start = async (host: string, pid: number) => {
      const self = processName(host, pid);
      alive.add(self);
      const processes: NonNullable<Environment["processes"]> = {
        self: () => self,
        identify: (other) => processName(host, other),
        liveness: (name) => (!name.startsWith(`${host}/`) ? "unknown" : alive.has(name) ? "alive" : "gone"),
      };
      const environment = { ...adjustableEnvironment(), processes };
      const hf = await openOn(await ground.another(), { environment });
      handles.push(hf);
      return { environment, captures: hf.captures, kill: () => alive.delete(self) };
    };
    const execute = async (sql: string) => {
      const rows: unknown[] = [];
      await ground.driver.migrate(false, async (run) => {
        rows.push(...(await run(sql)));
      });
      return rows;
    };
    const names = async () =>
      (await execute("SELECT name FROM holdfast_meta WHERE name LIKE 'claim:%' ORDER BY name")) as { name: string }[];

    beforeEach(async () => {
      ground = await engine.fresh();
      alive.clear();
    });
    afterEach(async () => {
      for (const hf of handles.splice(0)) await hf.close();
      await ground.end();
    });

    test("CA21 what a killed process said outlives the next one that is killed, until it is settled", async () => {
      const a = await start("a", 1);
      await (await a.captures.claim("r", "claude-code")).describe({ workerPid: 7, sessionId: "s", capture: "cap_1" });
      a.kill();
      const b = await start("a", 2);
      await b.captures.claim("r", "claude-code");
      b.kill();
      const c = await start("a", 3);
      const third = await c.captures.claim("r", "claude-code");
      expect(third.previous).toMatchObject({ isReleased: false, sessionId: null, capture: "cap_1" });
      const [ofA, ofB, ...more] = third.previous?.unsaved ?? [];
      expect([ofA, ofB, more]).toMatchObject([
        { sessionId: "s", isLocal: true },
        { sessionId: null, isLocal: true },
        [],
      ]);
      if (ofA === undefined || ofB === undefined) return expect.unreachable();
      // Not settled: it outlives a release, too.
      await third.settle(ofB);
      await third.release();
      const fourth = await c.captures.claim("r", "claude-code");
      expect(fourth.previous).toEqual({ isReleased: true, sessionId: null, capture: "cap_1", unsaved: [ofA] });
      await fourth.settle(ofA);
      await fourth.release();
      const last = await c.captures.claim("r", "claude-code");
      expect(last.previous?.unsaved).toEqual([]);
      await expect(last.settle({ ...ofA, more: 1 } as typeof ofA)).rejects.toMatchObject({ code: "InvalidArgument" });
    });

    test("CA21 a process that names the session as its own settles what is left of it here, and not elsewhere", async () => {
      for (const host of ["a", "b"]) {
        const one = await start(host, 1);
        const claim = await one.captures.claim(host, "claude-code");
        await claim.describe({ sessionId: "s" });
        one.kill();
        const next = await start("a", 2);
        if (host === "b") next.environment.jump(DAY_MS);
        const second = await next.captures.claim(host, "claude-code");
        await second.describe({ sessionId: "s" });
        await second.release();
        const { previous } = await next.captures.claim(host, "claude-code");
        expect(previous?.unsaved ?? []).toMatchObject(host === "a" ? [] : [{ sessionId: "s", isLocal: false }]);
      }
    });

    test("CA21 a worker stays known on its own machine when a process elsewhere took the claim and released it", async () => {
      const a = await start("a", 1);
      await (await a.captures.claim("r", "claude-code")).describe({ workerPid: 7, sessionId: "s" });
      a.kill();
      alive.add(processName("a", 7));
      const b = await start("b", 1);
      b.environment.jump(3_600_000);
      await (await b.captures.claim("r", "claude-code")).release();
      const c = await start("a", 2);
      await expect(c.captures.claim("r", "claude-code")).rejects.toMatchObject({ details: { orphan: 7 } });
    });

    test("CA21 unsaved work is bounded in number and in time", async () => {
      for (let n = 1; n <= 12; n++) {
        const one = await start("a", n);
        await (await one.captures.claim("r", "claude-code")).describe({ sessionId: `s${n}` });
        one.kill();
      }
      const next = await start("a", 99);
      const claim = await next.captures.claim("r", "claude-code");
      expect(claim.previous?.unsaved.map(({ sessionId }) => sessionId)).toEqual(
        [5, 6, 7, 8, 9, 10, 11, 12].map((n) => `s${n}`),
      );
      await claim.release();
      next.environment.jump(8 * DAY_MS);
      expect((await next.captures.claim("r", "claude-code")).previous).toBeNull();
    });

    test("CA21 a process that runs and is silent keeps its claim on its own machine, and is named as stalled", async () => {
      const a = await start("a", 1);
      await a.captures.claim("r", "claude-code");
      const b = await start("a", 2);
      await expect(b.captures.claim("r", "claude-code")).rejects.toMatchObject({ details: { isStalled: false } });
      b.environment.jump(3_600_000);
      await expect(b.captures.claim("r", "claude-code")).rejects.toMatchObject({
        code: "RequestBusy",
        message: expect.stringContaining("stopped"),
        details: { pid: 1, isStalled: true, orphan: null },
      });
      const told: ClaimOwner[] = [];
      const waiting = b.captures.claim("r", "claude-code", { wait: true, onWait: (owner) => void told.push(owner) });
      await until(async () => told.length === 1);
      expect(told).toMatchObject([{ pid: 1, isStalled: true }]);
      a.kill();
      let isOver = false;
      const settled = waiting.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        await b.environment.advance(100);
        await new Promise((next) => setTimeout(next, 5));
      }
      expect((await settled).previous?.unsaved).toHaveLength(1);
    });

    test("CA21 the sweep goes through all pages, and spares claims whose worker runs or may run", async () => {
      const a = await start("a", 1);
      await (await a.captures.claim("orphaned", "claude-code")).describe({ workerPid: 7, sessionId: "s" });
      a.kill();
      const [orphaned] = await names();
      const record = {
        owner: "claim_x@gone/1/1/1/1/x",
        epoch: 1,
        beat: 1,
        leaseMs: 10_000,
        since: 0,
        isReleased: true,
      };
      const now = a.environment.now();
      const rows = Array.from({ length: 1203 }, (_, n) => {
        const at = n === 7 ? now : n === 8 ? now + 3650 * DAY_MS : now - 8 * DAY_MS;
        return `('claim:${String(n).padStart(64, "-")}', '${JSON.stringify({ ...record, at, capture: "cap_1" })}')`;
      });
      await execute(`INSERT INTO holdfast_meta (name, value) VALUES ${rows.join(", ")}`);
      const facts = await execute("SELECT name FROM holdfast_meta WHERE name NOT LIKE 'claim:%' ORDER BY name");
      await a.captures.deleteExpired();
      const kept = `claim:${"7".padStart(64, "-")}`;
      expect((await names()).map(({ name }) => name)).toEqual([kept, orphaned?.name]);

      alive.add(processName("a", 7));
      const b = await start("a", 2);
      const elsewhere = await start("b", 1);
      for (const { environment, captures } of [elsewhere, b]) {
        environment.jump(9 * DAY_MS);
        await captures.deleteExpired();
        expect(await names()).toEqual([orphaned]);
      }
      alive.delete(processName("a", 7));
      await b.captures.deleteExpired();
      expect(await names()).toEqual([]);
      expect(await execute("SELECT name FROM holdfast_meta ORDER BY name")).toEqual(facts);
    });
  });
}
