// Restoring beside an attacker that may write in the same directories: directories become links while files are put
// back, and links wait where files are going to be. Nothing is ever written outside, and a restore that succeeds is
// complete.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Staging } from "../../src/coding/staging.ts";
import { scaled } from "../../src/testing/scale.ts";
import { refOf } from "../coding/claude-tree.ts";
import { raceOnce, SWAPPED } from "./restore-race.ts";
import { TestStores } from "./stores.ts";

const ROUNDS = scaled({ short: 3, long: 100 });

const stores = new TestStores();
const mounted: string[] = [];

afterEach(() => {
  for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder]);
});
afterAll(() => stores.remove());

describe("a directory that becomes a link and a directory again and again", () => {
  test.each(Object.entries(SWAPPED))(
    "CA3 %s: all files are there, or none and a typed error, and never one outside",
    async (_, which) => {
      for (let round = 0; round < ROUNDS; round++) await raceOnce(stores.folder, which);
    },
  );
});

function mountAt(folder: string): boolean {
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status !== 0) return false;
  mounted.push(folder);
  return true;
}

const probe = fs.mkdtempSync(path.join(stores.folder, "probe-"));
const mayMount = process.getuid?.() === 0 && mountAt(probe);
for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder]);
const title = "a part of the target on another file system";

describe.skipIf(!mayMount)(mayMount ? title : `${title} (skipped: this user cannot mount one here)`, () => {
  const content = Buffer.from("what was captured\n");
  const file = { role: "other" as const, path: "a", size: content.byteLength, stored: 0 };

  test.each([
    ["by descriptor", true],
    ["by path", false],
  ])("CA3 a link that waits where the copy was going to be is not followed, %s", async (_, byDescriptor) => {
    const folder = fs.mkdtempSync(path.join(stores.folder, "mounted-"));
    const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
    const below = path.join(root, "below");
    fs.mkdirSync(below, { recursive: true });
    expect(mountAt(below)).toBe(true);
    fs.writeFileSync(outside, "theirs");
    fs.symlinkSync(outside, path.join(below, "b.holdfast-000000000000"));
    const staging = await Staging.createIn(root, byDescriptor);
    const read = async function* () {
      yield content;
    };
    await staging.add({ ...file, ref: refOf(content) }, path.join(below, "b"), read());
    await staging.place();
    await staging.close();
    expect(fs.readFileSync(path.join(below, "b"))).toEqual(content);
    expect(fs.lstatSync(path.join(below, "b")).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(outside, "utf8")).toBe("theirs");
    expect(fs.readdirSync(below).toSorted()).toEqual(["b", "b.holdfast-000000000000"]);
  });
});
