// On PostgreSQL an event may become visible after one with a higher number. The storage of this test hides an event for a while.
import { expect, test } from "vitest";
import { IndexProcess } from "../../../test/index-stores.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { realEnvironment } from "../../core/environment.ts";
import { overrideStorage } from "../../core/storage-overrides.ts";
import { openOn } from "../../open.ts";
import { openSqlite } from "../../storage/sql/sqlite/driver.ts";

test("TI1 a message whose event becomes visible after a newer one is found from then on", async () => {
  const environment = realEnvironment();
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  const hf = await openOn(driver, {});
  let hidden: number | null = null;
  const hiding = (storage: Storage): Storage =>
    overrideStorage(storage, {
      query: async (name, params) => {
        const rows = await storage.query(name, params);
        if (hidden === null) return rows;
        if (name === "index.state") {
          return rows.map((row) => ("pending" in row ? { ...row, pending: Number(row.pending) - 1 } : row));
        }
        return rows.filter((row) => !("no" in row) || row.no !== hidden);
      },
    });
  const reader = new IndexProcess(driver, hiding);
  const counts = async () => (await reader.index.open()).itemCount;
  const append = (content: string) =>
    hf.history.append({ session: "s", agent: "a" }, { role: "user", content }).then(() => newest());
  const newest = async () => Number((await driver.read("SELECT max(no) AS no FROM events", []))[0]?.no);

  await append("first");
  expect(await counts()).toBe(1);
  const late = await append("late");
  hidden = late;
  await append("newer");
  expect(await counts()).toBe(2);
  await append("newest");
  expect(await counts()).toBe(3);
  hidden = null;
  expect(await counts()).toBe(4);
  hidden = await append("late again");
  await append("newer again");
  expect(await counts()).toBe(5);
  hidden = null;
  await append("newest again");
  expect(await counts()).toBe(7);
  await hf.close();
});
