// The lock table of a simulated server: the queue of waiters, its order, and what ends a wait.
import { describe, expect, test } from "vitest";
import { Deadlock, type LockMode, LockTable } from "./locks.ts";

/** The owners that hold their requested lock, in the order of acquisition. */
class LockBench {
  readonly got: string[] = [];
  readonly table = new LockTable<string>();

  async ask(owner: string, name: string, mode: LockMode = "exclusive"): Promise<void> {
    this.table.acquire(owner, name, mode).then(
      () => this.got.push(owner),
      (error) => this.got.push(`${owner}: ${error.constructor.name}`),
    );
    await this.settled();
  }

  settled(): Promise<void> {
    return new Promise((go) => process.nextTick(go));
  }

  async release(owner: string): Promise<void> {
    this.table.releaseAll(owner);
    await this.settled();
  }
}

describe("locks", () => {
  test("are exclusive, and go to those who wait in the order in which they asked", async () => {
    const bench = new LockBench();
    for (const owner of ["a", "b", "c"]) await bench.ask(owner, "row");
    expect(bench.got).toEqual(["a"]);
    await bench.release("a");
    expect(bench.got).toEqual(["a", "b"]);
    await bench.release("b");
    expect(bench.got).toEqual(["a", "b", "c"]);
  });

  test("of other names keep nobody waiting, and one that is held is not waited for again", async () => {
    const bench = new LockBench();
    await bench.ask("a", "row");
    await bench.ask("a", "row");
    await bench.ask("b", "other");
    expect(bench.got).toEqual(["a", "a", "b"]);
  });

  test("are shared, but not past somebody who waits to be alone", async () => {
    const bench = new LockBench();
    await bench.ask("a", "table", "shared");
    await bench.ask("b", "table", "shared");
    await bench.ask("alone", "table", "exclusive");
    await bench.ask("c", "table", "shared");
    expect(bench.got).toEqual(["a", "b"]);
    await bench.release("a");
    await bench.release("b");
    expect(bench.got).toEqual(["a", "b", "alone"]);
    await bench.release("alone");
    expect(bench.got).toEqual(["a", "b", "alone", "c"]);
  });

  test("refuse who closes a circle, and leave the others as they are", async () => {
    const bench = new LockBench();
    await bench.ask("a", "1");
    await bench.ask("b", "2");
    await bench.ask("c", "3");
    await bench.ask("a", "2");
    await bench.ask("b", "3");
    await bench.ask("c", "1");
    expect(bench.got).toEqual(["a", "b", "c", `c: ${Deadlock.name}`]);
    await bench.release("c");
    expect(bench.got.at(-1)).toBe("b");
  });

  test("let a wait be ended: those behind go on", async () => {
    const bench = new LockBench();
    await bench.ask("a", "table", "shared");
    await bench.ask("alone", "table", "exclusive");
    await bench.ask("b", "table", "shared");
    bench.table.cancel("alone", new RangeError("too long"));
    await bench.settled();
    expect(bench.got.sort()).toEqual(["a", "alone: RangeError", "b"]);
  });
});
