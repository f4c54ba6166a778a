// Captures as they come back from storage: on time, and only with the list of files that is theirs.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { NewCapture } from "../contracts/captures.ts";
import { open } from "../open.ts";
import { isExpired } from "./rows.ts";

test("CA5 its time is over when it has come", () => {
  expect([4, 5, 6].map((now) => isExpired({ expires_at: 5 }, now))).toEqual([false, true, true]);
  expect(isExpired({ expires_at: null }, Number.MAX_SAFE_INTEGER)).toBe(false);
});

test.each([
  [
    "another's list",
    "UPDATE captures SET manifest = (SELECT o.manifest FROM captures o WHERE o.agent_session <> captures.agent_session)",
  ],
  ["another agent", "UPDATE captures SET agent = 'opencode'"],
  ["another count of files", "UPDATE captures SET files = files + 1"],
])("CA1 a row with %s gives no files", async (_, tamper) => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-captures-"));
  const url = path.join(folder, "store.db");
  const [mine, other] = [randomUUID(), randomUUID()];
  const capture = (sessionId: string): NewCapture => ({
    request: "r",
    agent: "claude-code",
    cwd: "/w",
    sessionId,
    files: [{ role: "transcript", path: `project/${sessionId}.jsonl`, content: Buffer.from("{}\n") }],
  });
  try {
    let hf = await open(url);
    const { id } = await hf.captures.save(capture(mine));
    await hf.captures.save(capture(other));
    await hf.close();
    const database = new DatabaseSync(url);
    database.exec(`${tamper} WHERE id = '${id}'`);
    database.close();
    hf = await open(url);
    await expect(hf.captures.files(id)).rejects.toMatchObject({ code: "StoreCorrupted", message: /another's/ });
    await expect(hf.captures.getBundle(id)).rejects.toMatchObject({ code: "StoreCorrupted" });
    await hf.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
