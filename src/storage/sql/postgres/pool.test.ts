// Statements that share a connection: each has its own time to be answered.
import { expect, test } from "vitest";
import type { Environment } from "../../../contracts/environment.ts";
import { realEnvironment } from "../../../core/environment.ts";
import type { Connection } from "./connection.ts";
import { Pool } from "./pool.ts";

/** A connection as the pool sees it; the pool is what is tested. */
function connectionLike(): Connection {
  const connection = {
    isOpen: true,
    deadline: null,
    sharers: 0,
    answersDue: new Set(),
    openedAt: 0,
    idleAt: 0,
    isLate: false,
    probe: null,
    destroy: () => {
      connection.isOpen = false;
    },
    end: async () => {},
    discardOldPlans: () => {},
  };
  return connection as unknown as Connection;
}

function newPool(): { readonly pool: Pool; readonly connection: Connection } {
  const environment: Environment = { ...realEnvironment(), monotonic: () => 1000 };
  const connection = connectionLike();
  const limits = { size: 1, idleMs: 60_000, lifeMs: 60_000 };
  return { pool: new Pool({ ...limits, environment, target: "test", open: async () => connection }), connection };
}

test("ST12 a statement that shares a connection neither shortens nor lengthens the time of another", async () => {
  const { pool, connection } = newPool();
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reads = gates.map(({ promise }, i) => pool.shared(100, [500, 300, 900][i] ?? 0, () => promise));
  await expect.poll(() => connection.sharers).toBe(3);
  expect(connection.deadline).toBe(1300);
  gates[1]?.resolve();
  await reads[1];
  expect(connection.deadline).toBe(1500);
  gates[0]?.resolve();
  await reads[0];
  expect(connection.deadline).toBe(1900);
  gates[2]?.resolve();
  await reads[2];
  expect(connection.deadline).toBe(null);
  await pool.end();
});

test("ST12 a hint that is not answered is given up, and the connection is left to the others", async () => {
  const { pool, connection } = newPool();
  const read = Promise.withResolvers<string>();
  const shared = pool.shared(100, 60_000, () => read.promise);
  await expect(pool.hint(20, 60_000, () => new Promise(() => {}))).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
  expect([connection.isOpen, connection.deadline]).toEqual([true, 61_000]);
  read.resolve("rows");
  expect(await shared).toBe("rows");
  await pool.end();
});
