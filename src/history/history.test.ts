// Appends below the public API: messages whose key other handles use at the same time.
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { createHistory } from "./history.ts";

const scope = { session: "chat", agent: "helper" };

const byId = {
  locate: (at: unknown) => ({ session: String(at) }),
  requireCurrent: (at: unknown) => String(at),
  resolveSessionId: (session: unknown) => session as string,
};

for (const engine of ENGINES) {
  describe(`history on ${engine.name}`, () => {
    test("BL2 a ref that changes between two reads of the caller's object leaves no dangling ref", async () => {
      const ground = await engine.fresh();
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const history = createHistory(storage, createPayloads(storage), byId);
      try {
        const { ref } = await history.append(scope, { role: "user", content: "real" });
        for (const honest of [1, 2, 3]) {
          let reads = 0;
          const source = {
            get ref() {
              return reads++ < honest ? ref : `sha256:${"11".repeat(32)}`;
            },
          };
          const message = await history.append(scope, { role: "user", content: [{ type: "document", source }] });
          expect(message.content).toEqual([{ type: "document", source: { ref } }]);
          expect(await history.get(scope, { last: 1 })).toEqual([message]);
        }
      } finally {
        await ground.end();
      }
    });

    test("ST7 a scope that cannot be read is InvalidArgument", async () => {
      const ground = await engine.fresh();
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const history = createHistory(storage, createPayloads(storage), byId);
      const hostile = {
        agent: "a",
        get session(): string {
          throw new Error("boo");
        },
      };
      try {
        const appending = history.append(hostile, { role: "user", content: "x" });
        await expect(appending).rejects.toMatchObject({ code: "InvalidArgument" });
      } finally {
        await ground.end();
      }
    });

    test("HI1 a message keeps its position if other handles use and clear its key meanwhile", async () => {
      const ground = await engine.fresh();
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const other = new SqlStorage(await ground.another(), realEnvironment());
      const theirs = createHistory(other, createPayloads(other), byId);
      try {
        // Another handle uses the key before the first commit is checked, and clears it before the second decision.
        let meddled = false;
        const meddling: Pick<Storage, "commit"> = {
          commit: async (commit) => {
            if (meddled || commit.guards === undefined) return storage.commit(commit);
            meddled = true;
            await theirs.append(scope, { role: "user", content: "theirs", key: "k" });
            const outcome = await storage.commit(commit);
            await theirs.clear(scope);
            return outcome;
          },
        };
        const query: Storage["query"] = (name, params) => storage.query(name, params);
        const { engine: kind, environment } = storage;
        const ours = createHistory(
          { ...meddling, query, engine: kind, environment } as Storage,
          createPayloads(storage),
          byId,
        );
        const [keyed, behind] = await Promise.allSettled([
          ours.append(scope, { role: "user", content: "ours", key: "k" }),
          ours.append(scope, { role: "user", content: "behind" }),
        ]);
        // Written now, the message would come after messages of later calls.
        expect(keyed).toMatchObject({ status: "rejected", reason: { code: "Conflict", retryable: true } });
        expect(behind.status).toBe("fulfilled");
        expect((await ours.append(scope, { role: "user", content: "ours", key: "k" })).key).toBe("k");
      } finally {
        await ground.end();
      }
    });
  });
}
