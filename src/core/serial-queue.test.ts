// Work that shares a key runs in the order of the calls, also when earlier work fails, ends while later work waits, or hands over
// before it ends.
import { expect, test } from "vitest";
import { SerialQueue } from "./serial-queue.ts";

/** Everything that can run without an event from outside has run. */
const settle = () => new Promise<void>((done) => setImmediate(done));

/** Work that the test ends, and notes when it begins. */
function steps(begun: string[]) {
  const ends = new Map<string, () => void>();
  const work = (name: string) => async () => {
    begun.push(name);
    await new Promise<void>((end) => ends.set(name, end));
    return name;
  };
  return { work, end: (name: string) => ends.get(name)?.() };
}

test("ST2 an entry that ends does not open its key while later entries wait or run", async () => {
  const queue = new SerialQueue();
  const begun: string[] = [];
  const { work, end } = steps(begun);
  const first = queue.run("k", work("first"));
  const second = queue.run("k", work("second"));
  await settle();
  expect(begun).toEqual(["first"]);
  end("first");
  await first;
  await settle();
  expect(queue.isBusy("k")).toBe(true);
  const third = queue.run("k", work("third"));
  await settle();
  expect(begun).toEqual(["first", "second"]);
  end("second");
  await second;
  await settle();
  end("third");
  expect(await third).toBe("third");
  expect(queue.isBusy("k")).toBe(false);
});

test("ST2 keys do not wait for each other, and a failure lets the next entry begin", async () => {
  const queue = new SerialQueue();
  const begun: string[] = [];
  const { work, end } = steps(begun);
  const failed = queue.run("k", () => Promise.reject(new Error("failed")));
  const next = queue.run("k", work("next"));
  const other = queue.run("l", work("other"));
  await expect(failed).rejects.toThrow("failed");
  await settle();
  expect(begun.toSorted()).toEqual(["next", "other"]);
  for (const name of begun) end(name);
  await Promise.all([next, other]);
});

test("ST2 work that hands over before it ends, and a preparation that fails, keep the order", async () => {
  const queue = new SerialQueue();
  const begun: string[] = [];
  const { work, end } = steps(begun);
  const handing = queue.prepareAndRun("k", Promise.resolve(), (_, release) => {
    release();
    return work("handing")();
  });
  const unprepared = queue.prepareAndRun("k", Promise.reject(new Error("unprepared")), work("never"));
  const last = queue.run("k", work("last"));
  await expect(unprepared).rejects.toThrow("unprepared");
  await settle();
  expect(begun).toEqual(["handing", "last"]);
  end("last");
  await last;
  // The first entry handed over long ago: its end opens nothing that others hold.
  const held = queue.run("k", work("held"));
  end("handing");
  await handing;
  expect(queue.isBusy("k")).toBe(true);
  await settle();
  end("held");
  await held;
});
