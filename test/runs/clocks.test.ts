// Due times where clocks are wrong: on PostgreSQL two machines whose clocks are twenty minutes apart, on SQLite one machine
// whose clock is set. Time is pushed forward, on the machine that judges; nothing waits for it.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import type { Environment } from "../../src/contracts/environment.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { adjustableEnvironment } from "../../src/testing/environment.ts";
import type { Clock } from "../../src/testing/suite.ts";
import { agent } from "../../src/testing/suites/runs-agents.ts";
import { ENGINES, type EngineStore } from "../engines.ts";

const TEN_MINUTES = 600_000;
const WAIT_MS = 30_000;

const AGENTS: Readonly<Record<string, AgentDefinition>> = {
  "it.sleep": agent(async (it) => {
    await it.sleep(WAIT_MS);
    return it.done("over");
  }),
  "it.waitFor": agent(async (it) => {
    await it.waitFor("never", { timeoutMs: WAIT_MS });
    return it.done("over");
  }),
};
const KINDS = Object.keys(AGENTS);

interface Machine {
  readonly hf: Holdfast;
  readonly time: Environment & Clock;
}

describe.each(ENGINES)("due times on $name", (engine) => {
  let ground: EngineStore;
  let opened: Holdfast[];
  beforeEach(async () => {
    ground = await engine.fresh();
    opened = [];
  });
  afterEach(async () => {
    for (const hf of opened) await hf.close();
    await ground.end();
  });

  /** Its clock is wrong by so much, and it is a machine's: a server's counts more. */
  async function startMachine(wrongMs: number): Promise<Machine> {
    const time = { ...adjustableEnvironment(), isTimeSource: false };
    time.jump(wrongMs);
    const hf = await open(ground.url, { environment: time });
    opened.push(hf);
    return { hf, time };
  }

  async function beginWait({ hf }: Machine, kind: string): Promise<void> {
    const [runner = agent(async (it) => it.done(1))] = [AGENTS[kind]];
    await hf.runs.execute(runner, { session: "s", id: "run" }, { wait: false });
  }

  /** Whether a worker there finds the run due; it works on it then. */
  async function works({ hf }: Machine, kind: string): Promise<boolean> {
    const worker = hf.runs.createWorker({ agents: AGENTS[kind] === undefined ? [] : [AGENTS[kind]] });
    const begun = await worker.look();
    await worker.stop();
    return begun === 1;
  }

  async function isOver({ hf }: Machine): Promise<boolean> {
    return (await hf.runs.get("run"))?.status === "completed";
  }

  if (engine.name === "postgres") {
    const pairs = [TEN_MINUTES, -TEN_MINUTES].flatMap((aheadMs) => KINDS.map((kind) => ({ aheadMs, kind })));

    test.each(pairs)(
      "RU10 $kind takes its time on machines whose clocks are 20 minutes apart (begun at $aheadMs ms)",
      async ({ aheadMs, kind }) => {
        const [first, second] = [await startMachine(aheadMs), await startMachine(-aheadMs)];
        await beginWait(first, kind);
        const wakesAt = (await first.hf.runs.get("run"))?.wakesAt ?? 0;
        for (const { hf } of [first, second])
          expect(Math.abs(wakesAt - WAIT_MS - hf.clock().now)).toBeLessThan(WAIT_MS / 2);
        expect(await works(second, kind)).toBe(false);
        await second.time.advance(wakesAt - second.hf.clock().now - 5000);
        expect(await works(second, kind)).toBe(false);
        await second.time.advance(5001);
        expect(await works(second, kind)).toBe(true);
        expect(await isOver(first)).toBe(true);
      },
    );

    test("ST3 what one machine keeps for a while, another whose clock is wrong keeps as long", async () => {
      const [first, second] = [await startMachine(-TEN_MINUTES), await startMachine(TEN_MINUTES)];
      await first.hf.state.set("s", { key: 1 }, { ttlMs: WAIT_MS });
      const blob = await first.hf.blobs.store("for a while", { ttlMs: WAIT_MS });
      expect(await second.hf.state.get("s")).toEqual({ key: 1 });
      expect(await second.hf.blobs.exists(blob)).toBe(true);
      await second.time.advance(WAIT_MS + 1);
      expect(await second.hf.state.get("s")).toEqual({});
      expect(await second.hf.blobs.exists(blob)).toBe(false);
    });

    test("ST3 the store tells how far the machine's clock is from the server's", async () => {
      const { hf } = await startMachine(TEN_MINUTES);
      const { source, machineAheadMs, uncertaintyMs } = hf.clock();
      expect(source).toBe("server");
      // The server runs on this very machine.
      expect(Math.abs(machineAheadMs - TEN_MINUTES)).toBeLessThanOrEqual(uncertaintyMs + 1000);
    });

    test.each([TEN_MINUTES, -TEN_MINUTES])(
      "RU10 a machine whose clock is set by %d ms meanwhile wakes at the same moment",
      async (jumpMs) => {
        const only = await startMachine(0);
        await beginWait(only, "it.sleep");
        only.time.jump(jumpMs);
        expect(await works(only, "it.sleep")).toBe(false);
        await only.time.advance(WAIT_MS + 1);
        expect(await works(only, "it.sleep")).toBe(true);
      },
    );
  } else {
    test("RU10 a clock that is set back makes a sleep longer by that, and no longer", async () => {
      const only = await startMachine(0);
      await beginWait(only, "it.sleep");
      only.time.jump(-TEN_MINUTES);
      await only.time.advance(WAIT_MS + 1);
      expect(await works(only, "it.sleep")).toBe(false);
      await only.time.advance(TEN_MINUTES);
      expect(await works(only, "it.sleep")).toBe(true);
      expect(await isOver(only)).toBe(true);
      expect(only.hf.clock()).toMatchObject({ source: "machine", machineAheadMs: 0, uncertaintyMs: 0 });
    });
  }

  test("RU10 a sleep that keeps its worker is counted by the monotonic clock, whatever is set meanwhile", async () => {
    const only = await startMachine(0);
    const napper = agent(async (it) => {
      await it.sleep(4000);
      return it.done("over");
    });
    const run = only.hf.runs.execute(napper, { session: "s", id: "run" });
    while ((await only.hf.runs.get("run")) === null) await only.time.advance(0);
    only.time.jump(-TEN_MINUTES);
    while (!(await isOver(only))) await only.time.advance(500);
    await run;
    expect(await isOver(only)).toBe(true);
  });
});
