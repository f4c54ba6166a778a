// What happens to the members of a batch that failed: each is tried alone when the batch surely did not happen, and
// none when the outcome is unknown.
import { createServer, connect as dial, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../../test/engines.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Commit, Outcome } from "../../contracts/storage/commit.ts";
import { realEnvironment } from "../../core/environment.ts";
import { open } from "../../open.ts";
import { texts } from "../../testing/expect.ts";
import type { CommitLanes } from "./driver.ts";
import { CommitQueue } from "./queue.ts";

const DONE: Outcome = { ok: true, events: [] };
const named = (id: string): Commit => ({ sessions: [{ id, mode: "ensure", at: 1 }] });
const namesOf = (batch: readonly Commit[]) => batch.map((commit) => commit.sessions?.[0]?.id);

describe("a batch that failed", () => {
  test("ST2 is not tried again when it may have happened", async () => {
    const lost = new HoldfastError("StoreUnreachable", "the connection was lost", { retryable: true });
    const written: unknown[] = [];
    const queue = new CommitQueue(realEnvironment(), async (batch) => {
      written.push(namesOf(batch));
      throw lost;
    });
    const results = await Promise.allSettled(["a", "b", "c"].map((id) => queue.push(named(id))));
    expect(results).toEqual(Array(3).fill({ status: "rejected", reason: lost }));
    expect(written).toEqual([["a", "b", "c"]]);
  });

  test("ST7 is tried member by member, in order, when one of them is refused", async () => {
    const written: unknown[] = [];
    const queue = new CommitQueue(realEnvironment(), async (batch) => {
      written.push(namesOf(batch));
      if (namesOf(batch).includes("b")) throw new HoldfastError("Internal", "b is refused");
      return batch.map(() => DONE);
    });
    const results = await Promise.allSettled(["a", "b", "c"].map((id) => queue.push(named(id))));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(written).toEqual([["a", "b", "c"], ["a"], ["b"], ["c"]]);
  });
});

describe("a batch that is stuck behind another transaction's lock", () => {
  /** Far more than what is not stuck takes, also on a machine with much else to do. */
  const LANES = { most: 3, waitMs: 2000 };
  const busy = () => new HoldfastError("StoreBusy", "the lock was not free", { retryable: true });

  /** Commits to "held" are refused as a driver does that waits for a lock in vain. */
  function lockedQueue(): { readonly queue: CommitQueue; readonly written: string[][] } {
    const environment = realEnvironment();
    const written: string[][] = [];
    const queue = new CommitQueue(
      environment,
      async (batch, waitMs = 0) => {
        if (namesOf(batch).includes("held")) {
          await environment.sleep(waitMs);
          throw busy();
        }
        written.push(namesOf(batch).map(String));
        return batch.map(() => DONE);
      },
      LANES,
    );
    return { queue, written };
  }

  test("ST12 does not hold up commits that it shares nothing with, and only what it holds is StoreBusy", async () => {
    const { queue, written } = lockedQueue();
    const order: string[] = [];
    const push = (id: string) =>
      queue.push(named(id)).then(
        () => order.push(id),
        () => order.push(`${id} busy`),
      );
    await Promise.all(["a", "held", "b", "held", "c"].map(push).concat(push("a")));
    expect(order.toSorted()).toEqual(["a", "a", "b", "c", "held busy", "held busy"]);
    expect(order.slice(-2)).toEqual(["held busy", "held busy"]);
    expect(written.flat().toSorted()).toEqual(["a", "a", "b", "c"]);
    await queue.idle();
  });

  test("ST12 keeps the order of commits to one session", async () => {
    const environment = realEnvironment();
    const written = { s: [] as number[], other: [] as number[], free: [] as number[] };
    const release = Promise.withResolvers<void>();
    const at = (id: string, n: number): Commit => ({ sessions: [{ id, mode: "ensure", at: n }] });
    const queue = new CommitQueue(
      environment,
      async (batch) => {
        if (batch[0]?.sessions?.[0]?.at === 0) await release.promise;
        for (const { id, at } of batch.flatMap(({ sessions }) => sessions ?? [])) {
          written[id as keyof typeof written].push(at);
        }
        return batch.map(() => DONE);
      },
      LANES,
    );
    const first = queue.push(at("s", 0));
    await environment.sleep(0);
    const rest = [1, 2, 3].map((n) => queue.push(at("s", n)));
    // A commit that touches both waits for its place too, and so does what comes behind it.
    const both = queue.push({ sessions: [...(at("s", 4).sessions ?? []), ...(at("other", 4).sessions ?? [])] });
    const behind = queue.push(at("other", 5));
    expect(await queue.push(at("free", 1))).toEqual(DONE);
    expect(written).toEqual({ s: [], other: [], free: [1] });
    release.resolve();
    await Promise.all([first, ...rest, both, behind]);
    expect(written).toEqual({ s: [0, 1, 2, 3, 4], other: [4, 5], free: [1] });
  });

  test("ST2 is not tried again when it may have happened, however many lanes there are", async () => {
    const lost = new HoldfastError("StoreUnreachable", "the connection was lost", { retryable: true });
    const written: unknown[] = [];
    const queue = new CommitQueue(
      realEnvironment(),
      async (batch) => {
        written.push(namesOf(batch));
        throw lost;
      },
      LANES,
    );
    const results = await Promise.allSettled(["a", "b"].map((id) => queue.push(named(id))));
    expect(results).toEqual(Array(2).fill({ status: "rejected", reason: lost }));
    expect(written).toEqual([["a", "b"]]);
  });
});

describe("a commit that is put off", () => {
  /** The batches that a queue writes; `first` answers the first one, once two more commits, late and later, are waiting. */
  async function batchesAfter(first: (batch: readonly Commit[]) => readonly (Outcome | null)[], lanes?: CommitLanes) {
    const environment = realEnvironment();
    const { promise: isPushed, resolve: pushed } = Promise.withResolvers<void>();
    const written: unknown[] = [];
    const queue = new CommitQueue(
      environment,
      async (batch) => {
        written.push(batch.map(({ sessions }) => sessions?.[0]?.at));
        if (written.length > 1) return batch.map(() => DONE);
        await isPushed;
        return first(batch);
      },
      lanes,
    );
    const at = (n: number): Commit => ({ sessions: [{ id: "s", mode: "ensure", at: n }] });
    const early = [1, 2, 3].map((n) => queue.push(at(n)));
    while (written.length === 0) await environment.sleep(0);
    const late = [4, 5].map((n) => queue.push(at(n)));
    pushed();
    expect(await Promise.all([...early, ...late])).toEqual(Array(5).fill(DONE));
    return written;
  }

  test("ST2 comes first in the next batch, before commits that arrived meanwhile", async () => {
    const written = await batchesAfter((batch) => batch.map((_, i) => (i === 0 ? DONE : null)));
    expect(written).toEqual([
      [1, 2, 3],
      [2, 3, 4, 5],
    ]);
  });

  test("ST12 because it did not get its locks keeps its place before later commits to its session", async () => {
    const written = await batchesAfter(
      () => {
        throw new HoldfastError("StoreBusy", "the lock was not free", { retryable: true });
      },
      { most: 3, waitMs: 60_000 },
    );
    expect(written.flat()).toEqual([1, 2, 3, 1, 2, 3, 4, 5]);
  });
});

/** Hands everything on, but for the first answer to what says `word`: then the connection is gone. */
async function cutAfter(server: URL, word: string): Promise<{ url: string; end(): void }> {
  const open = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((client) => {
    const upstream = dial(Number(server.port), server.hostname);
    let doomed = false;
    client.on("data", (bytes) => {
      doomed ||= !isCut && bytes.includes(word);
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (!doomed) return client.write(bytes);
      isCut = true;
      for (const socket of [client, upstream]) socket.destroy();
    });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
        open.delete(socket);
      });
    }
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  const url = new URL(server);
  const address = proxy.address();
  url.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: url.href,
    end: () => {
      proxy.close();
      for (const socket of open) socket.destroy();
    },
  };
}

for (const engine of ENGINES.filter(({ name }) => name === "postgres")) {
  test("ST2 appends whose acknowledgement is lost on the way are there once", async () => {
    const ground = await engine.fresh();
    const proxy = await cutAfter(new URL(ground.url), "unheard");
    const hf = await open(proxy.url, { poolSize: 1 });
    const scope = { session: "chat", agent: "helper" };
    const three = (run: string) =>
      Promise.allSettled(
        [1, 2, 3].map((n) => hf.history.append(scope, { role: "user", content: `${run} ${n}` }, { run })),
      );
    try {
      // Twice, so that the handle remembers the session and the server the statement: the third time is one round trip.
      await three("heard");
      await three("heard again");
      const lost = await three("unheard");
      expect(lost.map((one) => one.status === "rejected" && one.reason.code)).toEqual(
        Array(3).fill("StoreUnreachable"),
      );
      expect(texts(await hf.history.get(scope)).slice(6)).toEqual(["unheard 1", "unheard 2", "unheard 3"]);
    } finally {
      await hf.close();
      proxy.end();
      await ground.end();
    }
  });
}
