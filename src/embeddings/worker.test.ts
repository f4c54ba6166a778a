// A batch that changes nothing costs little, however often its source gives it.
import { expect, test } from "vitest";
import { checkEmbedder } from "../core/embed-texts.ts";
import { migrate } from "../storage/sql/migrations.ts";
import { openSqlite } from "../storage/sql/sqlite/driver.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { simulatedEnvironment } from "../testing/environment.ts";
import type { EmbeddingBatch } from "./source.ts";
import { EmbeddingWorker } from "./worker.ts";

test("EM4 a text whose embedding changes nothing is not embedded without end", async () => {
  const environment = simulatedEnvironment(1);
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  await migrate(driver, { create: true, migrate: true, environment, target: "test" });
  let calls = 0;
  const embedder = checkEmbedder({
    id: "test/one@1",
    dimensions: 1,
    embed: async () => {
      // A worker that does not wait would not end.
      if (++calls > 100) throw new Error("busy");
      return [[1]];
    },
  });
  const batch: EmbeddingBatch = {
    kind: "documents",
    scope: 1,
    items: [{ item: 1, text: "a text" }],
    apply: async () => false,
  };
  const worker = new EmbeddingWorker(new SqlStorage(driver, environment), embedder, 1000, () => [
    { kind: "documents", next: async () => batch },
  ]);
  worker.start();
  for (let i = 0; i < 400; i++) await environment.advance(25);
  await worker.close();
  await driver.close();
  expect(calls).toBeGreaterThan(1);
  expect(calls).toBeLessThan(10);
});
