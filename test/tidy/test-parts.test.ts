// What `npm test` does in part, `npm run test:long` does in full: no test with a long form is in none of its parts.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { PARTS } from "../../scripts/test-parts.ts";

const root = path.resolve(import.meta.dirname, "../..");
/** How a test comes to have a long form. */
const SCALES = /\b(scaled|isLong|testLong|casesFor)\(|\bisLong\b/;

function testsWithLongForm(): string[] {
  const files = ["src", "test", "bench"].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  const tests = files.filter((file) => file.endsWith(".test.ts") && !file.startsWith("test/tidy/"));
  return tests.filter((file) => SCALES.test(readFileSync(path.join(root, file), "utf8")));
}

function testLong(...flags: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/test-long.ts", ...flags], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("npm run test:long", () => {
  test("has every test with a long form in one of its parts", () => {
    const tests = testsWithLongForm();
    expect(tests).toContain("test/runs/tamper.test.ts");
    const prefixes = PARTS.flatMap((part) => part.tests);
    expect(tests.filter((file) => !prefixes.some((prefix) => file.startsWith(prefix)))).toEqual([]);
  });

  test("has parts of which each runs something", () => {
    const empty = PARTS.filter(({ tests, program }) => tests.length === 0 && program === undefined);
    expect(empty).toEqual([]);
  });

  test("names its parts when asked for help, and refuses one that it does not have", () => {
    const help = testLong("--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    for (const { name } of PARTS) expect(help.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
    expect(testLong("--part", "everything")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: `There is no part everything. The parts are ${PARTS.map(({ name }) => name).join(", ")}.\n`,
    });
  });
});
