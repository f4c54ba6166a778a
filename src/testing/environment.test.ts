// The simulated environment: nothing happens by itself, and one seed reproduces everything.
import { describe, expect, test } from "vitest";
import { adjustableEnvironment, simulatedEnvironment, xorshift128 } from "./environment.ts";

/** Runs sleepers with random delays and returns what happened, and when. */
async function story(seed: number): Promise<string[]> {
  const environment = simulatedEnvironment(seed);
  const told: string[] = [];
  const walk = async (name: string, steps: number) => {
    for (let step = 0; step < steps; step++) {
      const [dice = 0] = environment.random(1);
      await environment.sleep(dice);
      told.push(`${environment.monotonic()} ${name} ${dice}`);
    }
  };
  const walkers = ["a", "b", "c"].map((name) => walk(name, 5));
  await environment.advance(10_000);
  await Promise.all(walkers);
  return told;
}

describe("simulatedEnvironment", () => {
  test("ST3 one seed gives one story, another seed another", async () => {
    expect(await story(7)).toEqual(await story(7));
    expect(await story(7)).not.toEqual(await story(8));
  });

  test("ST3 clocks stand still until they are moved", async () => {
    const environment = simulatedEnvironment(1);
    const [now, monotonic] = [environment.now(), environment.monotonic()];
    await new Promise((resolve) => setTimeout(resolve, 15));
    expect([environment.now(), environment.monotonic()]).toEqual([now, monotonic]);
    await environment.advance(250);
    expect([environment.now(), environment.monotonic()]).toEqual([now + 250, monotonic + 250]);
    environment.jump(-1_000);
    expect([environment.now(), environment.monotonic()]).toEqual([now - 750, monotonic + 250]);
  });

  test("ST3 sleepers wake when they are due, each at its own time", async () => {
    const environment = simulatedEnvironment(1);
    const woken: string[] = [];
    const sleep = async (name: string, ms: number) => {
      await environment.sleep(ms);
      woken.push(`${name} at ${environment.monotonic()}`);
    };
    const all = [sleep("late", 300), sleep("early", 100), sleep("same", 100), sleep("never", 10_000)];
    await environment.advance(99);
    expect(woken).toEqual([]);
    await environment.advance(301);
    expect(woken).toEqual(["early at 100", "same at 100", "late at 300"]);
    expect(environment.sleepers()).toBe(1);
    await environment.advance(10_000);
    await Promise.all(all);
  });

  test("ST3 a sleeper that sleeps again on the way wakes again on the way", async () => {
    const environment = simulatedEnvironment(1);
    const times: number[] = [];
    const ticking = (async () => {
      for (let n = 0; n < 5; n++) {
        await environment.sleep(10);
        times.push(environment.monotonic());
      }
    })();
    await environment.advance(50);
    await ticking;
    expect(times).toEqual([10, 20, 30, 40, 50]);
  });

  test("ST3 an aborted sleep ends at once and leaves nobody asleep", async () => {
    const environment = simulatedEnvironment(1);
    const stop = new AbortController();
    const sleeping = environment.sleep(1_000, stop.signal);
    stop.abort();
    await sleeping;
    await environment.sleep(1_000, AbortSignal.abort());
    expect(environment.sleepers()).toBe(0);
  });

  test("ST3 randomness is even and repeatable, and logs are kept", () => {
    const bytes = simulatedEnvironment(42).random(100_000);
    expect(bytes).toEqual(simulatedEnvironment(42).random(100_000));
    const counts = new Array(256).fill(0);
    for (const byte of bytes) counts[byte]++;
    expect(Math.min(...counts)).toBeGreaterThan(250);
    expect(Math.max(...counts)).toBeLessThan(550);
    const next = xorshift128(0);
    expect(new Set(Array.from({ length: 1_000 }, next)).size).toBe(1_000);
    const environment = simulatedEnvironment(1);
    environment.log("warn", "lease lost", { run: "r" });
    expect(environment.logs).toEqual([
      { at: environment.now(), level: "warn", event: "lease lost", fields: { run: "r" } },
    ]);
  });

  test("ST3 what is deferred runs in a later macrotask", async () => {
    const environment = simulatedEnvironment(1);
    const order: string[] = [];
    environment.defer(() => order.push("deferred"));
    await Promise.resolve().then(() => order.push("microtask"));
    await environment.advance(0);
    expect(order).toEqual(["microtask", "deferred"]);
  });
});

describe("adjustableEnvironment", () => {
  test("ST3 time can be pushed, and whoever is then due wakes", async () => {
    const environment = adjustableEnvironment();
    const [now, start] = [environment.now(), performance.now()];
    const sleeping = environment.sleep(3_600_000);
    await environment.advance(3_600_000);
    await sleeping;
    expect(environment.now()).toBeGreaterThanOrEqual(now + 3_600_000);
    await environment.sleep(20);
    expect(performance.now() - start).toBeGreaterThanOrEqual(19);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
