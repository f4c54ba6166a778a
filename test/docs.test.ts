// What the pages teach is true: every ```ts block of README.md and docs/guide.md is compiled against the sources and
// run, and prints what its comments say.
//
// A block that imports `open` begins a program, and the blocks after it go on with it. The programs of a page run one
// after another in one empty folder, with a fresh schema as $DATABASE_URL. `// → text` is what the line prints; `…`
// stands for anything, and lines that say nothing may print what they like.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import postgres from "postgres";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresUrl } from "./engines.ts";
import { firstMissing, printsOf } from "./prints.ts";

const root = path.resolve(import.meta.dirname, "..");
const PAGES = ["README.md", "docs/guide.md"];

interface Program {
  /** Of the page, from 1, where it begins. */
  readonly line: number;
  /** Every line stands where it stands in the page, so that errors name the page's lines. */
  readonly text: string;
  /** What it prints, in order. */
  readonly prints: readonly string[];
}

function programsOf(page: string): Program[] {
  const programs: { line: number; lines: string[] }[] = [];
  const lines = page.split("\n");
  let within = false;
  for (const [i, line] of lines.entries()) {
    if (!within && /^```ts\s*$/.test(line)) {
      within = true;
      const block = lines.slice(i + 1, lines.indexOf("```", i));
      const begins = block.some((one) => /^import .*\bopen\b.* from "holdfast";/.test(one));
      if (begins || programs.length === 0) programs.push({ line: i + 2, lines: [] });
    } else if (within && line === "```") {
      within = false;
    } else if (within) {
      const program = programs.at(-1);
      if (program) program.lines[i] = line;
    }
  }
  return programs.map(({ line, lines }) => {
    const text = Array.from(lines, (one) => one ?? "").join("\n");
    return { line, text, prints: printsOf(text) };
  });
}

/** A folder in which the package is installed, except that it is made of the sources. */
function project(): string {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "holdfast-docs-"));
  // Node takes types away only outside of node_modules, and goes by where a link leads to.
  const installed = path.join(folder, "package");
  fs.mkdirSync(installed);
  fs.symlinkSync(path.join(root, "src"), path.join(installed, "src"));
  const exports = {
    ".": "./src/index.ts",
    "./claude": "./src/adapters/claude/entry.ts",
    "./coding": "./src/coding/entry.ts",
    "./embedders": "./src/embedders/entry.ts",
    "./memory-tools": "./src/adapters/memory-tools/entry.ts",
    "./testing": "./src/testing/entry.ts",
  };
  fs.writeFileSync(path.join(installed, "package.json"), JSON.stringify({ name: "holdfast", type: "module", exports }));
  fs.mkdirSync(path.join(folder, "node_modules"));
  fs.symlinkSync(installed, path.join(folder, "node_modules/holdfast"));
  // What the pages use besides.
  fs.symlinkSync(path.join(root, "node_modules/zod"), path.join(folder, "node_modules/zod"));
  return folder;
}

interface Page {
  readonly page: string;
  readonly text: string;
  /** Where its programs are. */
  readonly folder: string;
  readonly programs: readonly (Program & { readonly file: string })[];
}

function pageAt(page: string): Page {
  const folder = project();
  const text = fs.readFileSync(path.join(root, page), "utf8");
  const programs = programsOf(text).map((program) => ({
    ...program,
    file: path.join(folder, `${path.basename(page)}-${program.line}.mts`),
  }));
  return { page, text, folder, programs };
}

const pages = PAGES.map(pageAt);
let compiled: ts.Program | undefined;

/** All pages are compiled together: what they import takes longer than they do. */
function compiledPages(): ts.Program {
  const config = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  options.typeRoots = [path.join(root, "node_modules/@types")];
  const files = pages.flatMap(({ programs }) => programs.map(({ file }) => file));
  compiled ??= ts.createProgram(files, options);
  return compiled;
}

beforeAll(() => {
  for (const { file, text } of pages.flatMap(({ programs }) => programs)) fs.writeFileSync(file, text);
});

describe.each(pages)("$page", ({ text, folder, programs }) => {
  const schema = `hf_docs_${randomBytes(6).toString("hex")}`;

  afterAll(async () => {
    fs.rmSync(folder, { recursive: true });
    const sql = postgres(postgresUrl(), { max: 1, onnotice: () => undefined });
    await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
    await sql.end();
  });

  test("has the headings that it links to", () => {
    const slug = (title: string) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\d -]/gu, "")
        .replaceAll(" ", "-");
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map((match) => slug(match[1] ?? ""));
    const linked = [...text.matchAll(/\]\(#([^)]+)\)/g)].map((match) => match[1] ?? "");
    expect(linked.filter((name) => !headings.includes(name))).toEqual([]);
  });

  test("has code that compiles", () => {
    const program = compiledPages();
    const host = {
      getCurrentDirectory: () => folder,
      getCanonicalFileName: (name: string) => name,
      getNewLine: () => "\n",
    };
    expect(programs).not.toEqual([]);
    // The sources it imports are looked through by `npm run check`.
    const found = programs.flatMap(({ file }) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)));
    expect(ts.formatDiagnostics(found, host)).toBe("");
  });

  test.each(programs)("runs, and prints what it says: the code from line $line on", ({ file, prints }) => {
    const url = new URL(postgresUrl());
    url.searchParams.set("schema", schema);
    const { NODE_OPTIONS: _, ...env } = process.env;
    const options = { cwd: folder, env: { ...env, DATABASE_URL: url.href }, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], options);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(firstMissing(stdout, prints), `what is not printed, or not in this order, of:\n${stdout}`).toBeUndefined();
  });
});

describe("reading pages", () => {
  const page = [
    "# Page",
    "```ts",
    'import { open } from "holdfast";',
    "console.log(1); // → 1",
    "```",
    "text",
    "```ts",
    'import { isHoldfastError } from "holdfast";',
    "console.log({ a: 2 }); // → { a: … }",
    "```",
    "```sh",
    "not code",
    "```",
    "```ts",
    'import { fileBlobs, open } from "holdfast";',
    "```",
  ].join("\n");

  test("finds programs, with their lines where they are in the page", () => {
    const [first, second, ...others] = programsOf(page);
    expect(others).toEqual([]);
    expect(first).toMatchObject({ line: 3, prints: ["1", "{ a: … }"] });
    expect(first?.text.split("\n").indexOf("console.log({ a: 2 }); // → { a: … }")).toBe(8);
    expect(second).toMatchObject({ line: 15, prints: [] });
  });

  test("finds what is not printed, and what is printed in another order", () => {
    expect(firstMissing("1\nother\n{ a: 2,\n  b: 3 }\n", ["1", "{ a: …, b: 3 }"])).toBeUndefined();
    expect(firstMissing("1\n", ["1", "1"])).toBe("1");
    expect(firstMissing("2\n1\n", ["1", "2"])).toBe("2");
    expect(firstMissing("12\n", ["1"])).toBe("1");
  });
});
