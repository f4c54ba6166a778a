// The thread that checkpoints, where it cannot be had.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { expect, test } from "vitest";

const PROGRAM = `
import { open } from ${JSON.stringify(path.resolve(import.meta.dirname, "../../../open.ts"))};
const hf = await open(process.argv[1]);
let next = 0;
const lane = async () => {
  while (next < 3000) await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "m" + next++ });
};
await Promise.all(Array.from({ length: 40 }, lane));
console.log(JSON.stringify({ sent: next, kept: await hf.history.count({ session: "s", agent: "a" }) }));
await hf.close();
`;

test("ST1 where no thread may be started, a commit that happened is not called failed and not done again", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-threadless-"));
  try {
    // Allowed everything but threads.
    const flags = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*", "--no-warnings", "--input-type=module"];
    const argv = [...flags, "--eval", PROGRAM, path.join(folder, "store.db")];
    const { stdout, stderr, status } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    const { sent, kept } = JSON.parse(stdout);
    expect(sent).toBeGreaterThanOrEqual(3000);
    expect(kept).toBe(sent);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
