// What becomes of the members of a batch that failed: tried alone when it surely did not happen, never again when nobody
// knows.
import { createServer, connect as dial, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../../test/engines.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Commit, Outcome } from "../../contracts/storage.ts";
import { realEnvironment } from "../../core/environment.ts";
import { open } from "../../open.ts";
import { texts } from "../../testing/expect.ts";
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
