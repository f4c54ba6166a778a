// Changed bits anywhere in a store's file: the long form of test/check/flips.test.ts, as a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as path from "node:path";
import type { TorturePart } from "./part.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const TEST = "test/check/flips.test.ts";

export const flips: TorturePart = {
  name: "flips",
  about: `bits changed all over a store's file (the long form of ${TEST}; it always runs to its end)`,
  async run({ progress }) {
    const child = spawn(process.execPath, ["scripts/test.ts", TEST], {
      cwd: ROOT,
      env: { ...process.env, HOLDFAST_TEST_LONG: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    progress(`flips: ${TEST} in its long form`);
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`${TEST} failed:\n${output}`);
    return [output.trimEnd().split("\n").at(-1) ?? ""];
  },
};
