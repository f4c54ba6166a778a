// A call that continues a run verifies the run's rows against its log first.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { agent } from "../testing/suites/runs-agents.ts";

test("RU9 execute() and a waiting resume() refuse a run whose row was changed, and no tool runs", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-execute-"));
  const file = path.join(folder, "store.db");
  const hf = await open(file);
  try {
    let paid = 0;
    const pays = agent(async (it) => it.done(await it.tool("pay")), { tools: { pay: { execute: () => ++paid } } });
    await hf.runs.start(pays, { session: "s", id: "r" });
    const db = new DatabaseSync(file);
    db.exec("UPDATE runs SET priority = priority + 1 WHERE id = 'r'");
    db.close();
    const corrupted = { code: "ExecutionCorrupted" };
    await expect(hf.runs.execute(pays, { session: "s", id: "r" })).rejects.toMatchObject(corrupted);
    await expect(hf.runs.resume(pays, "r", { wait: true })).rejects.toMatchObject(corrupted);
    expect(paid).toBe(0);
  } finally {
    await hf.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
