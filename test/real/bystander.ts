// A bystander of a tortured load: it appends to a session of its own, which no other process uses, and opens and closes
// handles. Each call must end within a bound, and every acknowledged message must be there once.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { examine, textOf } from "./examine.ts";
import type { Fault, Load } from "./torture-faults.ts";

export interface BystanderOptions {
  readonly session: string;
  /** Of its handles. */
  readonly busyMs: number;
  /** How long a call may take, ended well or with an error. */
  readonly boundMs: number;
  /** Whether a call may end with StoreBusy or StoreUnreachable, after which it is made again. */
  readonly mayFail: boolean;
  /** Sessions that the load uses: a handle with commits to these under way is closed too. */
  readonly contended: () => readonly string[];
}

const PAUSE_MS = 50;
const CLOSE_EVERY = 10;

export function bystander(options: BystanderOptions): Fault {
  return async (load) => {
    const { session, busyMs } = options;
    const store = await open(load.url, { busyMs });
    let n = 0;
    try {
      for (; !load.isOver(); n++) {
        await append(store, n, options, load);
        load.tally.unrelated++;
        if (n % CLOSE_EVERY === 0) await closeBesideCommits(options, load);
        await sleep(PAUSE_MS);
      }
    } finally {
      await bounded("close()", options, load, () => store.close());
    }
    const again = await open(load.url);
    try {
      const found = (await examine(again, session)).map((one) => one.n);
      assert.deepEqual(
        found,
        Array.from({ length: n }, (_, i) => i),
        `the messages of ${session}`,
      );
    } finally {
      await again.close();
    }
  };
}

async function append(store: Holdfast, n: number, options: BystanderOptions, load: Load): Promise<void> {
  const { session, mayFail } = options;
  const message = { role: "user", content: textOf("bystander", n), key: `bystander-${n}` } as const;
  for (;;) {
    try {
      return await bounded(`append ${n} to ${session}`, options, load, async () => {
        await store.history.append({ session, agent: "bystander" }, message);
      });
    } catch (error) {
      const isExpected =
        mayFail && isHoldfastError(error) && ["StoreBusy", "StoreUnreachable"].includes(error.code) && error.retryable;
      if (!isExpected) throw error;
    }
  }
}

/** Commits to sessions of the load may wait; the handle that makes them closes in time all the same. */
async function closeBesideCommits(options: BystanderOptions, load: Load): Promise<void> {
  let store: Holdfast;
  try {
    store = await open(load.url, { busyMs: options.busyMs });
  } catch (error) {
    if (options.mayFail && isHoldfastError(error) && error.retryable) return;
    throw error;
  }
  for (const session of options.contended().slice(-3)) {
    store.state.patch(session, { visited: true }).catch((error: unknown) => {
      assert.ok(isHoldfastError(error), `untyped: ${String(error)}`);
    });
  }
  await sleep(5);
  await bounded("close()", options, load, () => store.close());
  load.tally.closes++;
}

async function bounded<T>(what: string, { boundMs }: BystanderOptions, { tally }: Load, work: () => Promise<T>) {
  const started = performance.now();
  try {
    return await work();
  } finally {
    const took = Math.round(performance.now() - started);
    tally.slowestMs = Math.max(tally.slowestMs, took);
    assert.ok(took <= boundMs, `${what} took ${took} ms, ${boundMs} are allowed`);
  }
}
