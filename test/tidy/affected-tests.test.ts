// `npm test -- --changed` chooses every test that a change can affect.

import { existsSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { affectedTests } from "../../scripts/affected-tests.ts";

const root = path.resolve(import.meta.dirname, "../..");

describe("the tests that a change affects", () => {
  const files = new Map([
    ["package.json", ""],
    ["docs/format.md", ""],
    ["examples/chat.ts", 'import { open } from "holdfast";'],
    ["src/index.ts", 'export const open = () => import("./open.ts");'],
    ["src/open.ts", 'import type { Log } from "./log.ts";'],
    ["src/log.ts", ""],
    ["src/text.ts", ""],
    ["src/text.test.ts", 'import { trim } from "./text.ts";'],
    ["test/real/writer.ts", 'import { open } from "../../src/open.ts";'],
    ["test/real/kill.test.ts", 'const WRITER = path.join(import.meta.dirname, "writer.ts");'],
    ["test/examples.test.ts", 'const folder = path.join(root, "examples");'],
    ["test/package.test.ts", 'const page = path.join(root, "docs/format.md");'],
    ["test/tidy/names.test.ts", 'import { words } from "../../src/text.ts";'],
  ]);

  test.each([
    ["an import", "src/text.ts", ["src/text.test.ts"]],
    ["a changed test", "src/text.test.ts", ["src/text.test.ts"]],
    ["a program that a test starts", "test/real/writer.ts", ["test/real/kill.test.ts"]],
    [
      "an import for types, and one made when it is needed",
      "src/log.ts",
      ["test/examples.test.ts", "test/real/kill.test.ts"],
    ],
    ["a file that a test reads", "docs/format.md", ["test/package.test.ts"]],
    ["a file of a folder that a test reads", "examples/new.ts", ["test/examples.test.ts"]],
    ["nothing", "docs/other.md", []],
  ])("are found by %s", (_, changed, expected) => {
    expect(affectedTests(files, [changed])).toEqual(expected);
  });

  test("are found when the file was deleted", () => {
    const left = new Map([...files].filter(([file]) => file !== "src/text.ts"));
    expect(affectedTests(left, ["src/text.ts"])).toEqual(["src/text.test.ts"]);
  });

  test("are all tests when the set-up changed", () => {
    expect(affectedTests(files, ["package.json"])).toHaveLength(5);
  });

  test("leave the checks of the whole repository to npm run check, unless they were changed", () => {
    expect(affectedTests(files, ["test/tidy/names.test.ts"])).toEqual(["test/tidy/names.test.ts"]);
  });
});

test("the entry points of package.json are known by their names", async () => {
  const { PACKAGE } = await import("../../scripts/affected-tests.ts");
  for (const file of Object.values(PACKAGE)) expect(existsSync(path.join(root, file)), file).toBe(true);
});
