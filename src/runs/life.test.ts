// The life of an iteration: which event leads to which state, and what happens to work and waiters.
import { describe, expect, test } from "vitest";
import type { Commit, Outcome } from "../contracts/storage/commit.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { IterationLeft, IterationLife, type LifeEvent, type LifeState, nextState, type Waiter } from "./life.ts";
import { Writer } from "./writer.ts";

const EVENTS: readonly LifeEvent[] = ["verdict", "close", "suspend", "leave"];

/** For each state, the state after each event in the order of EVENTS. */
const STATES: Readonly<Record<LifeState, readonly LifeState[]>> = {
  open: ["draining", "over", "suspended", "left"],
  draining: ["draining", "over", "suspended", "left"],
  over: ["over", "over", "over", "left"],
  suspended: ["suspended", "suspended", "suspended", "suspended"],
  left: ["left", "left", "left", "left"],
};

test.each(Object.entries(STATES))(
  "RU3 an iteration that is %s changes its state as the table says",
  (state, expected) => {
    expect(EVENTS.map((event) => nextState(state as LifeState, event))).toEqual(expected);
  },
);

const row = { id: "r", session: "s", epoch: 1, version: 1, seq: 1, ended_at: null, cancel: 0 } as RunRow;

/** A life on a store that accepts every commit, and the commits. */
function living(changes: Partial<RunRow> = {}) {
  const commits: Commit[] = [];
  const commit = async (one: Commit): Promise<Outcome> => {
    commits.push(one);
    const events = (one.events ?? []).map((_, i) => ({ session: "s", seq: 2 + i, hash: new Uint8Array() }));
    return { ok: true, events };
  };
  const storage = { environment: realEnvironment(), commit } as Partial<Storage> as Storage;
  return {
    life: new IterationLife(new Writer(storage, { ...row, ...changes }), new AbortController().signal),
    commits,
  };
}

const forSignal = (ready: Waiter<string>["ready"]): Waiter<string> => ({
  ready,
  waits: { kind: "signal", name: "go" },
  until: null,
  events: () => [],
});

const typesOf = (commits: readonly Commit[]) => commits.flatMap(({ events = [] }) => events.map(({ type }) => type));

describe("RU10 an iteration that only waits", () => {
  test("is suspended by one commit, and its waits end without an answer", async () => {
    const { life, commits } = living();
    const waits = [0, 1].map(() => life.wait(forSignal(async () => false)));
    await expect(Promise.allSettled(waits)).resolves.toMatchObject([
      { reason: expect.any(IterationLeft) },
      { reason: expect.any(IterationLeft) },
    ]);
    expect(await life.end).toEqual({ left: true });
    expect(life.state).toBe("suspended");
    expect(typesOf(commits)).toEqual(["run/waiting"]);
  });

  test("continues when what it waits for has arrived", async () => {
    const { life, commits } = living();
    const waiter = forSignal(async (resume) => {
      resume("went");
      return true;
    });
    expect(await life.wait(waiter)).toBe("went");
    expect(life.state).toBe("open");
    expect(commits).toEqual([]);
  });

  test("is left, and not suspended, when its run is to be cancelled", async () => {
    const { life, commits } = living({ cancel: 1 });
    await expect(life.wait(forSignal(async () => false))).rejects.toBeInstanceOf(IterationLeft);
    expect(await life.end).toEqual({ left: true });
    expect(life.state).toBe("left");
    expect(commits).toEqual([]);
  });

  test("is not suspended when it is left while its waiters are checked", async () => {
    const { life, commits } = living();
    const waiting = life.wait(
      forSignal(async () => {
        life.leave();
        return false;
      }),
    );
    await expect(waiting).rejects.toBeInstanceOf(IterationLeft);
    await new Promise<void>((pass) => setImmediate(pass));
    expect(life.state).toBe("left");
    expect(commits).toEqual([]);
  });
});

describe("RU3 an iteration that was left", () => {
  test("begins no step, and ends with the error that ended the work", async () => {
    const { life } = living();
    const ended = life.end.catch((error: unknown) => error);
    life.leave(new Error("lost"));
    life.leave(new Error("later"));
    life.conclude({ verdict: "done", value: 1 });
    expect(await ended).toEqual(new Error("lost"));
    expect(() => life.refuseLeft()).toThrow(IterationLeft);
    await expect(life.wait(forSignal(async () => true))).rejects.toBeInstanceOf(IterationLeft);
  });

  test("does not wait for calls and work under way", async () => {
    const { life } = living();
    const { promise: never } = Promise.withResolvers<void>();
    void life.call(() => life.during(() => never));
    const drained = life.drained();
    const closed = life.close();
    life.leave();
    await Promise.all([drained, closed, life.drained(), life.close()]);
    expect(life.state).toBe("left");
  });

  test("ends the same way if its own work fails afterwards", async () => {
    const { life } = living();
    life.leave();
    const work = life.guard(() => Promise.reject(new Error("refused")));
    await expect(work).rejects.toBeInstanceOf(IterationLeft);
    expect(await life.end).toEqual({ left: true });
  });
});

describe("RU3 an iteration that has returned its verdict", () => {
  test("drains: calls that were begun end before the verdict counts", async () => {
    const { life } = living();
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = life.call(() => promise);
    life.drain();
    const concluded = life
      .drained()
      .then(() => life.close())
      .then(() => life.conclude({ verdict: "done", value: 1 }));
    await new Promise<void>((pass) => setImmediate(pass));
    expect(life.state).toBe("draining");
    resolve();
    await Promise.all([call, concluded]);
    expect(await life.end).toEqual({ verdict: "done", value: 1 });
    expect(life.state).toBe("over");
  });

  test("is not left because one of its steps got the error that the iteration is over", () => {
    const { life } = living();
    life.leave(new IterationLeft());
    expect(life.state).toBe("open");
  });

  test("drops the remaining waiters", async () => {
    const { life, commits } = living();
    const waiting = life.during(() => life.wait(forSignal(async () => false)));
    const closed = life.close();
    await expect(waiting).rejects.toBeInstanceOf(IterationLeft);
    await closed;
    expect(commits).toEqual([]);
  });
});
