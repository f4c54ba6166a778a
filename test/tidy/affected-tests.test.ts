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

describe("a changed command affects the tests that can run it", () => {
  const command = (name: string) => `export const ${name}: Command = {\n  name: "${name}",\n};`;
  const files = new Map([
    ["README.md", ""],
    ["scripts/bundle.ts", 'const entry = "src/cli/main.ts";'],
    ["src/cli/registry.ts", 'import { sum } from "./commands/sum.ts";\nimport { log } from "./commands/log.ts";'],
    ["src/cli/commands/sum.ts", `import { add } from "../add.ts";\n${command("sum")}`],
    ["src/cli/commands/log.ts", command("log")],
    ["src/cli/commands/odd.ts", "export const odd = make();"],
    ["src/cli/add.ts", ""],
    ["src/cli/main.ts", 'import { COMMANDS } from "./registry.ts";'],
    ["src/cli/log.test.ts", 'import { main } from "./main.ts";\nmain(["log"]);\nconst summary = 1;'],
    ["src/cli/sum.test.ts", 'import { main } from "./main.ts";\nmain(["sum", "1"]);'],
    ["src/cli/shell.test.ts", 'import { main } from "./main.ts";\nsh("holdfast sum 1 | head");'],
    ["src/cli/help.test.ts", 'import { main } from "./main.ts";\nmain(["--help"]);'],
    ["src/cli/order.test.ts", 'import { COMMANDS } from "./registry.ts";'],
    ["src/cli/readme.test.ts", 'import { main } from "./main.ts";\nconst page = "README.md";'],
    ["test/adding.ts", 'import { main } from "../src/cli/main.ts";\nexport const add = () => main(["sum"]);'],
    ["test/adding.test.ts", 'import { add } from "./adding.ts";'],
    ["test/packed.test.ts", 'import { bundle } from "../scripts/bundle.ts";'],
  ]);
  const able = [
    "src/cli/help.test.ts",
    "src/cli/order.test.ts",
    "src/cli/readme.test.ts",
    "src/cli/shell.test.ts",
    "src/cli/sum.test.ts",
    "test/adding.test.ts",
    "test/packed.test.ts",
  ];

  test("by its name, also in a helper, or that read all commands, a page, or the bundle", () => {
    expect(affectedTests(files, ["src/cli/commands/sum.ts"])).toEqual(able);
  });

  test("also when a file changed that only the command imports", () => {
    expect(affectedTests(files, ["src/cli/add.ts"])).toEqual(able);
  });

  test("and all tests of the command line, when its name is not known or more than commands changed", () => {
    const odd = new Map(files).set("src/cli/registry.ts", 'import { odd } from "./commands/odd.ts";');
    for (const [known, changed] of [[odd, "src/cli/commands/odd.ts"] as const, [files, "src/cli/main.ts"] as const]) {
      expect(affectedTests(known, [changed])).toContain("src/cli/log.test.ts");
    }
  });
});

test("the commands of this repository are known by their names", async () => {
  const { commandNames, repositoryFiles } = await import("../../scripts/affected-tests.ts");
  const known = commandNames(repositoryFiles(root));
  const { COMMANDS } = await import("../../src/cli/registry.ts");
  expect([...known.values()].flat().toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
});

test("the entry points of package.json are known by their names", async () => {
  const { PACKAGE } = await import("../../scripts/affected-tests.ts");
  for (const file of Object.values(PACKAGE)) expect(existsSync(path.join(root, file)), file).toBe(true);
});
