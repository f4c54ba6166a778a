// A process that freezes in the middle of a commit, holding the lock of a session's row: on PostgreSQL no other process
// waits for it longer than a bounded time, and commits to other sessions do not wait at all.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { slow } from "./agents.ts";
import { examine, textOf } from "./examine.ts";
import type { FrozenPeerArguments } from "./frozen-peer.ts";
import { type Child, Children } from "./process.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);
afterEach(() => children.end());
afterAll(() => stores.remove());

const message = (writer: string, n: number) => ({ role: "user", content: textOf(writer, n) }) as const;
const scope = (session: string) => ({ session, agent: "writer" });

async function freeze(args: FrozenPeerArguments): Promise<Child> {
  const child = children.start({ script: "frozen-peer.ts", args: { ...args } });
  await child.heard("frozen");
  return child;
}

/** How it ended within that time; "waits" if it did not. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | "waits" | { readonly code: string }> {
  const over = new AbortController();
  const late = sleep(ms, "waits" as const, { signal: over.signal }).catch(() => "waits" as const);
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    return error as { code: string };
  } finally {
    over.abort();
  }
}

describe("while another process is frozen in the middle of a commit", () => {
  test("ST12 unrelated sessions commit at once, the contended one is StoreBusy and names the holder, and close() ends", async () => {
    const url = await stores.schema();
    const store = await open(url, { busyMs: 3000 });
    for (const session of ["held", "a", "b"]) await store.history.append(scope(session), message("writer", 0));
    // Its transaction stays until it is continued.
    const patient = `${url}&idle_in_transaction_session_timeout=600000`;
    const child = await freeze({ url: patient, what: "append", session: "held" });
    // In one turn of the event loop: they begin as one batch.
    const contended = store.history.append(scope("held"), message("writer", 1));
    let isOver = false;
    contended
      .finally(() => {
        isOver = true;
      })
      .catch(() => undefined);
    await Promise.all(["a", "b", "new"].map((session) => store.history.append(scope(session), message("writer", 1))));
    for (let n = 2; n < 5; n++) await store.history.append(scope("a"), message("writer", n));
    expect(isOver, "the others went on while the contended commit waited").toBe(false);
    expect(await within(20_000, contended)).toMatchObject({
      code: "StoreBusy",
      retryable: true,
      message: expect.stringMatching(/holdfast.*idle in transaction/),
    });
    const late = store.history.append(scope("held"), message("writer", 2));
    late.catch(() => undefined);
    expect(await within(20_000, store.close())).toBeUndefined();
    child.signal("SIGCONT");
    const outcome = await child.heard("ended");
    const again = await open(url);
    expect((await examine(again, "a")).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
    const held = await examine(again, "held");
    expect(held.filter(({ writer }) => writer === "frozen")).toHaveLength(outcome === "ok" ? 1 : 0);
    await again.close();
  });

  test("ST12 the contended session goes on once the server has ended the frozen transaction, none of which is written", async () => {
    const url = await stores.schema();
    const store = await open(url);
    await store.history.append(scope("held"), message("writer", 0));
    const child = await freeze({ url, what: "append", session: "held" });
    expect(await within(25_000, store.history.append(scope("held"), message("writer", 1)))).toMatchObject({
      role: "user",
    });
    child.signal("SIGCONT");
    // Nothing of its transaction was committed, which it knows: it makes its commit again.
    expect(await child.heard("ended")).toBe("ok");
    await child.heard("closed");
    expect((await examine(store, "held")).map(({ writer, n }) => [writer, n])).toEqual([
      ["writer", 0],
      ["writer", 1],
      ["frozen", 0],
    ]);
    expect(await store.log.verify("held")).toMatchObject({ ok: true });
    await store.close();
  });

  test("ST12 a process that stood still for longer than busyMs makes its commit again: that was no waiting for others", async () => {
    const url = await stores.schema();
    const store = await open(url);
    await store.history.append(scope("held"), message("writer", 0));
    const impatient = `${url}&idle_in_transaction_session_timeout=500`;
    const child = await freeze({ url: impatient, what: "append", session: "held", busyMs: 1000 });
    await sleep(3500);
    child.signal("SIGCONT");
    expect(await child.heard("ended")).toBe("ok");
    await child.heard("closed");
    expect((await examine(store, "held")).map(({ writer }) => writer)).toEqual(["writer", "frozen"]);
    await store.close();
  });

  test("RU3 its run is taken over once the lease is over", async () => {
    const url = await stores.schema();
    const store = await open(url);
    const child = await freeze({ url, what: "run", session: "s", leaseMs: 2000 });
    const done = store.runs.execute(slow(1), { session: "s", id: "job", leaseMs: 2000 });
    expect(await within(30_000, done)).toMatchObject({ status: "completed" });
    child.signal("SIGCONT");
    await child.heard("closed");
    expect(await store.log.verify("s")).toMatchObject({ ok: true });
    await store.close();
  });
});
