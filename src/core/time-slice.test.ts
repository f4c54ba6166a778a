// Time slices: which work continues when. The test advances the clock and the event loop itself.
import { expect, test } from "vitest";
import type { Environment } from "../contracts/environment.ts";
import { realEnvironment } from "./environment.ts";
import { type InterruptibleWork, runInSlices, SampledSlice, TimeSlice } from "./time-slice.ts";

function handMoved() {
  let now = 0;
  const deferred: (() => void)[] = [];
  const environment: Environment = {
    ...realEnvironment(),
    monotonic: () => now,
    defer: (run) => void deferred.push(run),
  };
  return {
    environment,
    spend: (ms: number) => {
      now += ms;
    },
    waiting: () => deferred.length,
    /** Runs one pass of the event loop, and the microtasks after it. */
    async pass() {
      for (const run of deferred.splice(0)) run();
      await new Promise((done) => setImmediate(done));
    },
  };
}

test("ST15 a slice lasts its time, and then waits for the event loop", async () => {
  const loop = handMoved();
  const slice = new TimeSlice(loop.environment, 10);
  loop.spend(9);
  await slice.pause();
  expect(loop.waiting()).toBe(0);
  loop.spend(1);
  let isOver = false;
  const pausing = slice.pause().then(() => {
    isOver = true;
  });
  await new Promise((done) => setImmediate(done));
  expect([isOver, loop.waiting()]).toEqual([false, 1]);
  await loop.pass();
  expect(isOver).toBe(true);
  await pausing;
  expect(slice.isSpent).toBe(false);
});

test("ST15 concurrent work shares one slice per pass of the event loop, and all of it makes progress", async () => {
  const loop = handMoved();
  const done: string[] = [];
  const slices = new Map(["a", "b", "c"].map((name) => [name, new TimeSlice(loop.environment, 10)]));
  const work = async ([name, slice]: readonly [string, TimeSlice]) => {
    for (let i = 0; i < 3; i++) {
      await slice.pause();
      loop.spend(10);
      done.push(name);
    }
  };
  loop.spend(10);
  const working = Promise.all([...slices].map(work));
  const passes: number[] = [];
  while (done.length < 9) {
    const before = done.length;
    await loop.pass();
    passes.push(done.length - before);
  }
  await working;
  expect(passes).toEqual(Array.from({ length: 9 }, () => 1));
  expect(done.slice(0, 3)).toEqual(["a", "b", "c"]);
  expect(done.slice(3, 6).toSorted()).toEqual(["a", "b", "c"]);
});

test("ST15 interrupted work returns the same as uninterrupted work, also if the clock runs faster than the work", async () => {
  let now = 0;
  let passes = 0;
  const environment: Environment = {
    ...realEnvironment(),
    monotonic: () => {
      now += 1000;
      return now;
    },
    defer: (run) => {
      passes++;
      setImmediate(run);
    },
  };
  const adding = function* (): InterruptibleWork<number> {
    let sum = 0;
    for (let i = 1; i <= 100; i++) {
      yield;
      sum += i;
    }
    return sum;
  };
  expect(await runInSlices(adding(), new TimeSlice(environment))).toBe(5050);
  expect(passes).toBe(100);
});

test("ST15 quick steps read the clock sometimes, slow steps every time", () => {
  const loop = handMoved();
  let looks = 0;
  const { monotonic } = loop.environment;
  const slice = new SampledSlice({
    ...loop.environment,
    monotonic: () => {
      looks++;
      return monotonic();
    },
  });
  const take = (steps: number, ms: number) => {
    looks = 0;
    for (let n = 0; n < steps; n++) {
      if (slice.isSpent) return n;
      loop.spend(ms);
    }
    return steps;
  };
  expect(take(1000, 0.001)).toBe(1000);
  expect(looks).toBeLessThan(200);
  // From here on, a slow step is noticed after the steps that do not read the clock.
  take(17, 0.1);
  expect(take(1000, 1)).toBeLessThanOrEqual(10);
});
