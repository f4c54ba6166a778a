// House rules that a machine can keep: file sizes and names, no unfinished marks, nothing of a developer's machine in
// the tree. A rule is a function from file to complaints, so that each can be tried on a file that breaks it.
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";

const LINES_MAX = 500;
const TEST_LINES_MAX = 700;
const LINE_LENGTH_MAX = 140;
const VAGUE = ["common", "helper", "helpers", "manager", "managers", "misc", "service", "services", "util", "utils"];
const CODE_FOLDERS = ["bench", "bin", "examples", "scripts", "src", "test"];
/** In a linked worktree .git is a file, and it names a folder. */
const IGNORED = [".cache", ".git", "coverage", "dist", "node_modules"];
const TEXT = /\.(css|html|js|json|jsonl|md|mjs|sh|sql|svg|toml|ts|tsx|txt|ya?ml)$|^\.[^/]+$|^\.ci\/|^LICENSE$/;

/** This file names what it forbids, in its rules and in the examples that break them. */
const SELF = "test/tidy/tidy.test.ts";

interface File {
  /** From the root, with "/". */
  path: string;
  text: string;
}

type Rule = (file: File) => string[];

const rules: Record<string, Rule> = {
  "is short enough": (file) => {
    const lines = file.text.replace(/\n$/, "").split("\n");
    const max = isTest(file) ? TEST_LINES_MAX : LINES_MAX;
    if (!isCode(file)) return [];
    const long = lines.flatMap((line, index) => (line.length > LINE_LENGTH_MAX ? [index + 1] : []));
    return [
      ...(lines.length > max ? [`has ${lines.length} lines, more than ${max}`] : []),
      ...long.map((line) => `line ${line} is longer than ${LINE_LENGTH_MAX}`),
    ];
  },

  "has a name that says something": (file) => {
    const words = file.path.toLowerCase().split(/[/._-]/);
    return VAGUE.filter((word) => words.includes(word)).map((word) => `is named "${word}", which says nothing`);
  },

  "is the only index.ts": (file) => {
    const isSecond = /^src\/.+\/index\.ts$/.test(file.path);
    return isSecond ? ["is an index.ts; only src/index.ts may be, name it for what it holds"] : [];
  },

  "is finished": (file) => find(file, /\b(TODO|FIXME|XXX|HACK)\b/g, "is marked as unfinished"),

  "leaves no test out without saying why": (file) => [
    ...(isTest(file) ? find(file, /\.only\(/g, "leaves all other tests out") : []),
    ...(isTest(file)
      ? find(
          file,
          /\.(skip|skipIf|runIf|todo)\((?![^;]{0,300}?skipped: \S)/g,
          'skips without "skipped: <reason>" in the name',
        )
      : []),
  ],

  "writes fields where they belong": (file) =>
    isCode(file) && file.path.startsWith("src/")
      ? find(file, /\.\.\.\{(?!\})/g, "spreads a literal that only pleases the formatter")
      : [],

  "opens with a comment": (file) => {
    const isSource = file.path.startsWith("src/") && file.path.endsWith(".ts");
    const opens = /^(#!.*\n)?\s*\/[/*]/.test(file.text);
    return isSource && !opens ? ["does not open with a comment that says what it is"] : [];
  },

  "knows no developer's machine": (file) =>
    find(file, /(?<![\w.@-])\/(work|root)\/\w/g, "names a folder of one machine"),

  // npm leaves out what the registry at hand does not have, and then `npm ci` refuses the lock that npm wrote.
  "can be installed by npm ci": (file) => {
    if (!isLock(file)) return [];
    const entries: Record<string, { optionalDependencies?: object }> = JSON.parse(file.text).packages ?? {};
    const wanted = Object.values(entries).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    const missing = wanted.filter((name) => !Object.keys(entries).some((key) => key.endsWith(`node_modules/${name}`)));
    return missing.map((name) => `has no entry for the optional package ${name}`);
  },

  "names no package registry": (file) => {
    if (isLock(file)) return find(file, /"resolved"/g, "holds a registry's address");
    const host = /npmjs|\bregistry\.([\w-]+\.)*(com|org|net|io|dev|cn|internal|local)\b|:\/\/[\w.-]*registry/gi;
    return find(file, host, "names a package registry");
  },
};

function find(file: File, pattern: RegExp, why: string): string[] {
  if (file.path === SELF) return [];
  return [...file.text.matchAll(pattern)].map((match) => {
    const line = file.text.slice(0, match.index).split("\n").length;
    return `line ${line} ${why}: ${match[0]}`;
  });
}

function isLock(file: File): boolean {
  return path.basename(file.path) === "package-lock.json";
}

function isCode(file: File): boolean {
  const folder = file.path.split("/")[0] ?? "";
  return CODE_FOLDERS.includes(folder) && /\.(ts|js|mjs)$/.test(file.path);
}

function isTest(file: File): boolean {
  return file.path.endsWith(".test.ts") || file.path.startsWith("test/") || file.path.startsWith("src/testing/");
}

function files(): File[] {
  const root = path.resolve(import.meta.dirname, "../..");
  return walk(root, "").map((file) => ({ path: file, text: readFileSync(path.join(root, file), "utf8") }));
}

function walk(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (IGNORED.includes(entry.name)) return [];
    if (entry.isDirectory()) return walk(root, name);
    return entry.isFile() && TEXT.test(name) ? [name] : [];
  });
}

describe("every file", () => {
  const all = files();

  test("is looked at", () => {
    const paths = all.map((file) => file.path);
    expect(paths).toEqual(
      expect.arrayContaining(["package.json", "package-lock.json", ".npmrc", "src/index.ts", SELF]),
    );
  });

  test.each(Object.keys(rules))("%s", (name) => {
    const complaints = all.flatMap((file) =>
      (rules[name]?.(file) ?? []).map((complaint) => `${file.path} ${complaint}`),
    );
    expect(complaints).toEqual([]);
  });
});

describe("the rules", () => {
  const broken: Record<string, [path: string, text: string][]> = {
    "is short enough": [
      ["src/log/verify.ts", "x\n".repeat(LINES_MAX + 1)],
      ["src/log/verify.test.ts", "x\n".repeat(TEST_LINES_MAX + 1)],
      ["scripts/build.ts", "x".repeat(LINE_LENGTH_MAX + 1)],
    ],
    "has a name that says something": [
      ["src/utils/text.ts", ""],
      ["src/core/string-helpers.ts", ""],
    ],
    "is the only index.ts": [["src/storage/index.ts", ""]],
    "is finished": [["src/log/verify.ts", "// TODO: the rest"]],
    "leaves no test out without saying why": [
      ["src/log/verify.test.ts", 'test.only("LG1 holds", run)'],
      ["src/testing/history.ts", 'test.skip("LG1 holds", run)'],
    ],
    "writes fields where they belong": [["src/log/verify.ts", "const x = { ...{ a, b } };"]],
    "opens with a comment": [["src/log/verify.ts", "export const x = 1;\n"]],
    "knows no developer's machine": [["docs/operations.md", "cd /work/main"]],
    "can be installed by npm ci": [
      ["package-lock.json", '{ "packages": { "node_modules/a": { "optionalDependencies": { "b": "1.0.0" } } } }'],
    ],
    "names no package registry": [
      [".npmrc", "registry=https://registry.npmjs.org/"],
      ["README.md", "see registry.example.com"],
      ["package-lock.json", '{ "packages": { "node_modules/a": { "resolved": "https://example.com/a.tgz" } } }'],
    ],
  };
  const fine: File[] = [
    { path: "src/index.ts", text: "// The public surface.\nexport {};\n" },
    { path: "src/log/verify.test.ts", text: '// Tests.\ntest.skip("LG1 holds (skipped: needs a disk)", run)' },
    { path: "src/core/work/registry.ts", text: "// Not /home/me.\nconst n = registry.items.length;\n" },
    { path: "package-lock.json", text: '{ "packages": {} }' },
  ];

  test.each(Object.keys(rules))("find a file that breaks: %s", (name) => {
    const examples = broken[name] ?? [];
    expect(examples.length).toBeGreaterThan(0);
    for (const [path, text] of examples) expect(rules[name]?.({ path, text }), path).not.toEqual([]);
    for (const file of fine) expect(rules[name]?.(file), file.path).toEqual([]);
  });
});
