// Claims: one process at a time works on a request. Machines are environments here, so that their clocks can be pushed.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { ClaimOwner } from "../contracts/captures.ts";
import type { Environment, Processes } from "../contracts/environment.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open, openOn } from "../open.ts";
import { adjustableEnvironment, simulatedEnvironment } from "../testing/environment.ts";
import type { Clock } from "../testing/suite.ts";
import { until } from "../testing/suites/eventually.ts";

const BOOT = "7f3b0e2a-0000-4000-8000-000000000000";
const LEASE_MS = 10_000;

/** What a machine knows of the processes of others. */
interface Knowledge {
  liveness: ReturnType<Processes["liveness"]>;
}

function processesOf(host: string, pid: number, knowledge: Knowledge = { liveness: "unknown" }): Processes {
  return { self: () => `${host}/${pid}/1/1/1/${BOOT}`, liveness: () => knowledge.liveness };
}

function machine(host: string, pid: number, knowledge?: Knowledge): Environment & Clock {
  return { ...adjustableEnvironment(), processes: processesOf(host, pid, knowledge) };
}

/** Its clock stands still until it is pushed. */
function stillMachine(host: string, pid: number): Environment & Clock {
  return { ...simulatedEnvironment(pid), processes: processesOf(host, pid) };
}

for (const engine of ENGINES) {
  describe(`claims on ${engine.name}`, () => {
    let ground: EngineStore;
    const handles: Holdfast[] = [];
    /** Its connections have the real clock: how long the server takes to answer is nothing that a test pushes. */
    const on = async (environment: Environment) => {
      const hf = await openOn(await ground.another(), { environment });
      handles.push(hf);
      return hf.captures;
    };
    const row = async () => {
      const rows: unknown[] = [];
      await ground.driver.migrate(false, async (execute) => {
        rows.push(...(await execute("SELECT value FROM holdfast_meta WHERE name LIKE 'claim:%'")));
      });
      return rows;
    };
    beforeEach(async () => {
      ground = await engine.fresh();
    });
    afterEach(async () => {
      for (const hf of handles.splice(0)) await hf.close();
      await ground.end();
    });

    test("CA21 of many that claim at once, one gets it; released, the next one does", async () => {
      const captures = await Promise.all([1, 2, 3, 4].map((n) => on(machine("a", n, { liveness: "alive" }))));
      const all = await Promise.allSettled(captures.map((one) => one.claim("r", "claude-code")));
      const [got, ...more] = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(more).toEqual([]);
      for (const one of all) {
        if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "RequestBusy", retryable: true });
      }
      await got?.release();
      await got?.release();
      const next = await captures[0]?.claim("r", "claude-code");
      await next?.release();
    });

    test("CA21 a store that closes releases what it claimed, and ends a claim that waits", async () => {
      const hf = await open(ground.url, { environment: machine("a", 1, { liveness: "alive" }) });
      const other = await on(machine("a", 2, { liveness: "alive" }));
      await hf.captures.claim("r", "claude-code");
      const held = await other.claim("waited for", "claude-code");
      const waiting = hf.captures.claim("waited for", "claude-code", { wait: true });
      const refused = expect(waiting).rejects.toMatchObject({ code: "Closed" });
      await hf.close();
      await refused;
      await held.release();
      await (await other.claim("r", "claude-code")).release();
    });

    test("CA21 a store that closes while a claim is written releases it, and nothing of it remains", async () => {
      let closeNow = () => {};
      const watched = <T>(read: () => T) => {
        return () => {
          closeNow();
          return read();
        };
      };
      const real = machine("a", 1, { liveness: "alive" });
      let asleep = 0;
      const environment: Environment = {
        ...real,
        now: watched(real.now),
        monotonic: watched(real.monotonic),
        sleep: async (ms, signal) => {
          asleep++;
          await real.sleep(ms, signal);
          asleep--;
        },
      };
      const other = await on(machine("a", 2, { liveness: "alive" }));
      const hf = await open(ground.url, { environment });
      // The code of captures is there, so that the next claim begins at once.
      await (await hf.captures.claim("other", "claude-code")).release();
      const before = asleep;
      let closing: Promise<void> | null = null;
      closeNow = () => {
        closing ??= hf.close();
      };
      // It asks for the time after it has looked whether the store closes, and before it writes.
      await expect(hf.captures.claim("r", "claude-code")).rejects.toMatchObject({ code: "Closed" });
      expect(closing).not.toBeNull();
      await closing;
      await (await other.claim("r", "claude-code")).release();
      expect(asleep).toBeLessThanOrEqual(before);
    });

    test("CA21 a claim whose signal is aborted already claims nothing", async () => {
      const captures = await on(machine("a", 1, { liveness: "alive" }));
      const signal = AbortSignal.abort();
      await expect(captures.claim("r", "claude-code", { signal })).rejects.toMatchObject({ code: "Aborted" });
      await (await captures.claim("r", "claude-code")).release();
    });

    test("CA21 other requests, and other agents, are free", async () => {
      const captures = await on(machine("a", 1, { liveness: "alive" }));
      const claims = [
        await captures.claim("r", "claude-code"),
        await captures.claim("r", "opencode"),
        await captures.claim("other", "claude-code"),
      ];
      await expect(captures.claim("r", "claude-code")).rejects.toMatchObject({
        code: "RequestBusy",
        details: { request: "r", host: "a", pid: 1 },
      });
      for (const one of claims) await one.release();
    });

    test("CA21 an owner whose process is gone is replaced at once, and learns of it", async () => {
      const a = machine("a", 1);
      const first = await (await on(a)).claim("r", "claude-code");
      const second = await (await on(machine("a", 2, { liveness: "gone" }))).claim("r", "claude-code");
      const lost = new Promise((resolve) => first.lost.addEventListener("abort", resolve));
      await a.advance(LEASE_MS);
      await lost;
      // The release of a lost claim takes nothing from the process that has it now.
      await first.release();
      await expect((await on(machine("a", 3, { liveness: "alive" }))).claim("r", "claude-code")).rejects.toMatchObject({
        details: { pid: 2 },
      });
      await second.release();
    });

    test("CA21 an owner elsewhere is replaced when it was silent for its lease, and not while it shows life", async () => {
      const [a, b] = [stillMachine("a", 1), stillMachine("b", 2)];
      const first = await (await on(a)).claim("r", "claude-code");
      const [claimed] = await row();
      const told: ClaimOwner[] = [];
      const captures = await on(b);
      const waiting = () => captures.claim("r", "claude-code", { onWait: (owner) => void told.push(owner) });
      const refused = expect(waiting()).rejects.toMatchObject({ code: "RequestBusy" });
      await until(async () => told.length === 1);
      await a.advance(LEASE_MS / 2);
      await until(async () => JSON.stringify(await row()) !== JSON.stringify([claimed]));
      await pushing(b, refused);
      expect(told).toMatchObject([{ host: "a", pid: 1 }]);
      // From here on it is silent: its clock stands still.
      const taken = waiting();
      await until(async () => told.length === 2);
      const second = await pushing(b, taken);
      await first.release();
      await second.release();
    });

    test("CA21 a claim that is long out of date is taken without a wait", async () => {
      const first = await (await on(machine("a", 1))).claim("r", "claude-code");
      const b = machine("b", 1);
      b.jump(3_600_000);
      const second = await (await on(b)).claim("r", "claude-code", { onWait: () => expect.unreachable() });
      await first.release();
      await second.release();
    });

    test("CA21 waiting for its end gets it, and a signal ends the waiting", async () => {
      const knowledge: Knowledge = { liveness: "alive" };
      const first = await (await on(machine("a", 1))).claim("r", "claude-code");
      const b = machine("a", 2, knowledge);
      const captures = await on(b);
      const stop = new AbortController();
      const ended = captures.claim("r", "claude-code", { wait: true, signal: stop.signal });
      stop.abort();
      await expect(ended).rejects.toMatchObject({ code: "Aborted" });
      const next = captures.claim("r", "claude-code", { wait: true });
      await b.advance(LEASE_MS / 2);
      await first.release();
      const second = await pushing(b, next);
      await second.release();
    });

    test("CA21 a claim is released also when a heartbeat was committed and not answered", async () => {
      const captures = await on(machine("a", 1, { liveness: "alive" }));
      const first = await captures.claim("r", "claude-code");
      // As it stands then: this process knows of beat 0.
      await ground.driver.migrate(false, async (execute) => {
        await execute(
          `UPDATE holdfast_meta SET value = replace(value, '"beat":0', '"beat":1') WHERE name LIKE 'claim:%'`,
        );
      });
      expect(JSON.stringify(await row())).toContain('beat\\":1');
      await first.release();
      expect(await row()).toEqual([]);
      await (await captures.claim("r", "claude-code")).release();
    });

    test("CA21 a worker that outlives its owner keeps the claim, and is named", async () => {
      const alive = new Set(["a/1/1/1/1/x", "a/7/1/1/1/x"]);
      const on1 = (pid: number) => {
        const processes = {
          self: () => `a/${pid}/1/1/1/x`,
          identify: (other: number) => `a/${other}/1/1/1/x`,
          liveness: (name: string) => (alive.has(name) ? ("alive" as const) : ("gone" as const)),
        };
        const environment = { ...adjustableEnvironment(), processes };
        return { environment, captures: on(environment) };
      };
      const first = await (await on1(1).captures).claim("r", "claude-code");
      expect(first.previous).toBeNull();
      await first.describe({ workerPid: 7, sessionId: "s" });
      await first.describe({ capture: "cap_1" });
      const b = on1(2);
      const second = await b.captures;
      alive.delete("a/1/1/1/1/x");
      await expect(second.claim("r", "claude-code")).rejects.toMatchObject({
        code: "RequestBusy",
        message: expect.stringContaining("Process 1 on a has ended, and process 7, which it started, still works"),
        details: { pid: 1, orphan: 7 },
      });
      const told: ClaimOwner[] = [];
      const waiting = second.claim("r", "claude-code", { wait: true, onWait: (owner) => void told.push(owner) });
      await until(async () => told.length === 1);
      alive.delete("a/7/1/1/1/x");
      const taken = await pushing(b.environment, waiting);
      expect(told).toMatchObject([{ pid: 1, orphan: 7 }]);
      expect(taken.previous).toMatchObject({ isReleased: false, sessionId: "s", capture: "cap_1" });
      await expect(taken.describe({ workerPid: 0 })).rejects.toMatchObject({ code: "InvalidArgument" });
      await taken.describe({ sessionId: "s", capture: "cap_2" });
      await taken.release();
      // What was released is free, and says what it left until the sweep.
      const third = await second.claim("r", "claude-code", { onWait: () => expect.unreachable() });
      expect(third.previous).toEqual({ isReleased: true, sessionId: null, capture: "cap_2", unsaved: [] });
      await third.describe({ capture: "cap_3" });
      await third.release();
      await second.deleteExpired();
      const kept = await second.claim("r", "claude-code");
      expect(kept.previous).toMatchObject({ capture: "cap_3" });
      await kept.describe({ capture: "cap_3" });
      await kept.release();
      b.environment.jump(8 * 24 * 3_600_000);
      await second.deleteExpired();
      const last = await second.claim("r", "claude-code");
      expect(last.previous).toBeNull();
      await last.release();
    });

    test("CA21 what stands there and is no claim is replaced; wrong options are refused", async () => {
      const captures = await on(machine("a", 1));
      await expect(captures.claim("r", "claude-code", { leaseMs: 0 })).rejects.toMatchObject({
        code: "InvalidArgument",
      });
      await expect(captures.claim("", "claude-code")).rejects.toMatchObject({ code: "InvalidId" });
      const first = await captures.claim("r", "claude-code");
      await ground.driver.migrate(false, async (execute) => {
        await execute("UPDATE holdfast_meta SET value = 'no claim' WHERE name LIKE 'claim:%'");
      });
      const second = await captures.claim("r", "claude-code");
      await first.release();
      await expect((await on(machine("a", 9, { liveness: "alive" }))).claim("r", "claude-code")).rejects.toMatchObject({
        code: "RequestBusy",
      });
      await second.release();
    });
  });
}

/** Lets time pass on a machine until that is settled. */
async function pushing<T>(environment: Clock, settled: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  settled.then(over, over);
  while (!isOver) {
    await environment.advance(100);
    await new Promise((next) => setTimeout(next, 5));
  }
  return settled;
}
