// SPEC.md and the tests name each other: every rule (`- **LG2** …`) is proven by a test whose title begins with its id
// (`test("LG2 …")`), and no test claims to prove a rule that does not exist.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

/** Ids in SPEC.md, in order, duplicates included. */
function rulesIn(spec: string): string[] {
  return [...spec.matchAll(/^- \*\*([A-Z]{2}\d+)\*\*/gm)].flatMap((match) => match[1] ?? []);
}

/**
 * A title is the first argument of a call, or a property called `name`, `rule` or `title`; it may begin with several
 * ids ("LG1, LG2: …"). A test that is left out proves nothing, nor does one that `npm test` leaves out.
 */
function rulesNamedIn(file: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && !/\.(skip|todo)$|^testLong$/.test(node.expression.getText(source))) {
      found.push(...idsAtStart(node.arguments[0]));
    } else if (ts.isPropertyAssignment(node) && /^(name|rule|title)$/.test(node.name.getText(source))) {
      found.push(...idsAtStart(node.initializer));
    }
    ts.forEachChild(node, visit);
  };
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  visit(source);
  return found;
}

function idsAtStart(node: ts.Node | undefined): string[] {
  const title =
    node && ts.isStringLiteralLike(node) ? node.text : node && ts.isTemplateExpression(node) ? node.head.text : "";
  return title.match(/^[A-Z]{2}\d+(?:(?:, | and |\/| )[A-Z]{2}\d+)*(?![\w-])/)?.[0].match(/[A-Z]{2}\d+/g) ?? [];
}

function testFiles(): string[] {
  const list = (folder: string) => {
    if (!existsSync(path.join(root, folder))) return [];
    const names = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" });
    return names.map((name) => `${folder}/${name.replaceAll(path.sep, "/")}`).filter((name) => name.endsWith(".ts"));
  };
  const inSource = list("src").filter((file) => file.endsWith(".test.ts") || file.startsWith("src/testing/"));
  return [...inSource, ...list("test")].filter((file) => file !== "test/tidy/spec.test.ts");
}

describe("SPEC.md", () => {
  const specFile = path.join(root, "SPEC.md");
  const spec = existsSync(specFile) ? readFileSync(specFile, "utf8") : undefined;
  const rules = rulesIn(spec ?? "");
  const titles = testFiles().flatMap((file) => {
    return rulesNamedIn(file, readFileSync(path.join(root, file), "utf8")).map((rule) => ({ file, rule }));
  });

  test("exists and has rules, each once", () => {
    expect(spec, "SPEC.md does not exist yet: write it, with its rules as `- **LG2** …`").toBeDefined();
    expect(rules, "SPEC.md has no line that begins with `- **XX1**`").not.toEqual([]);
    expect(
      rules.filter((rule, index) => rules.indexOf(rule) !== index),
      "defined twice",
    ).toEqual([]);
  });

  test("has a test for every rule", () => {
    expect(rules, "SPEC.md is missing or has no rules").not.toEqual([]);
    const proven = new Set(titles.map(({ rule }) => rule));
    expect(
      rules.filter((rule) => !proven.has(rule)),
      "rules that no test title begins with",
    ).toEqual([]);
  });

  test("has every rule that a test names", () => {
    const unknown = titles.filter(({ rule }) => !rules.includes(rule)).map(({ file, rule }) => `${file}: ${rule}`);
    expect([...new Set(unknown)], "test titles that begin with an id that SPEC.md does not have").toEqual([]);
  });
});

describe("reading SPEC.md and titles", () => {
  test("finds ids where they count, and only there", () => {
    expect(rulesIn("# Log\n- **LG1** seq is contiguous\n- **LG12** and LG3\n- LG4\ntext **LG5**\n")).toEqual([
      "LG1",
      "LG12",
    ]);
    const text = `
      test("LG1 holds", run); // LG9
      test.each(engines)(\`LG2 on \${engine}\`, run);
      describe("LG3, LG4: chains", run);
      test.skip("LG5 is left out (skipped: an example)", run);
      const cases = [{ name: "LG6 as data" }];
      test("breaks without LG7", run);
      expect(value, "LG8 is not a title").toBe(1);
      test("LG10-like things", run);`;
    expect(rulesNamedIn("a.test.ts", text)).toEqual(["LG1", "LG2", "LG3", "LG4", "LG6"]);
  });
});
