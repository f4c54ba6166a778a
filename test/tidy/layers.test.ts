// Imports only go down the layers of ARCHITECTURE.md and the order of the nouns, never in a circle; and time, randomness and
// databases are touched only where the tables below say. A new folder, package or clock is added here first.
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import * as path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

/** The nouns, lowest first: files of a noun import only those of nouns before it. */
const NOUN_ORDER =
  "log state blobs history sessions tasks agents runs captures vectors embeddings search memory check archive query stats graph".split(
    " ",
  );

/** Cycles of imports between files of src that are left. The list only gets shorter: a cycle that is gone is removed here. */
const CYCLES_LEFT: readonly (readonly string[])[] = [];

/** Every file under src belongs to one of these, and may import files only of those in `may`. */
const AREAS: Record<string, { of: string[]; may: string[] }> = {
  contracts: { of: ["contracts/"], may: ["contracts"] },
  core: { of: ["core/"], may: ["contracts", "core"] },
  text: { of: ["search/text/"], may: ["contracts", "core", "text"] },
  // Writing adds index entries and erasing removes them, so that nouns of all places in their order use it.
  indexing: { of: ["search/index/", "search/ranking/"], may: ["contracts", "core", "text", "indexing"] },
  storage: { of: ["storage/"], may: ["contracts", "core", "storage"] },
  nouns: {
    of: NOUN_ORDER.map((noun) => `${noun}/`),
    may: ["contracts", "core", "nouns", "text", "indexing"],
  },
  models: { of: ["models/"], may: ["contracts", "core", "models"] },
  // Their failures are those of models.
  embedders: { of: ["embedders/"], may: ["contracts", "core", "models", "embedders"] },
  loop: { of: ["loop/"], may: ["contracts", "core", "nouns", "models", "loop"] },
  open: {
    of: ["open.ts", "edge.ts", "nouns.ts"],
    may: ["contracts", "core", "storage", "nouns", "coding", "open"],
  },
  index: { of: ["index.ts"], may: ["contracts", "core", "storage", "nouns", "models", "loop", "open"] },
  coding: { of: ["coding/"], may: ["contracts", "core", "coding"] },
  doors: {
    of: ["adapters/", "cli/", "client/", "mcp/", "server/"],
    may: ["contracts", "core", "coding", "nouns", "embedders", "open", "index", "doors"],
  },
  testing: { of: ["testing/"], may: ["contracts", "core", "storage", "open", "testing"] },
};

/** Areas that do nothing: even Node's own modules may be imported there for their types only. */
const TYPES_ONLY = ["contracts"];

/** Packages, and Node modules that only some folders may use. No other package may be imported at all. */
const PACKAGES: Record<string, string[]> = {
  "node:sqlite": ["src/storage/sql/sqlite/", "src/coding/opencode/"],
  postgres: ["src/storage/sql/postgres/"],
};

/** Clock, randomness and timers come from contracts/environment, so that a simulator can replace them. */
const IMPURE = {
  calls: ["Date.now", "Math.random", "performance.now", "process.hrtime"],
  constructors: ["Date"],
  functions: [
    "getRandomValues",
    "randomBytes",
    "randomFillSync",
    "randomInt",
    "randomUUID",
    "setImmediate",
    "setInterval",
    "setTimeout",
  ],
  allowedIn: ["src/core/environment.ts", "src/core/platform-environment.ts", "src/testing/", "src/cli/"],
};

/** `holdfast worker` imports the module its user names. */
const COMPUTED = ["src/cli/agents.ts"];

interface Import {
  /** Undefined when it is computed. */
  from: string | undefined;
  typeOnly: boolean;
}

/** A file of src, parsed once: its tree has no links to parents, which take longest to make and only impureUses() needs. */
interface ParsedFile {
  readonly file: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

function parseFile(file: string, text: string): ParsedFile {
  return { file, text, imports: importsOf(ts.createSourceFile(file, text, ts.ScriptTarget.ES2023), text) };
}

/** Takes paths from the root ("src/open.ts") with their text, so that it can be tried on files that do not exist. */
function parseAll(files: ReadonlyMap<string, string>): readonly ParsedFile[] {
  return [...files].filter(([file]) => !isTest(file)).map(([file, text]) => parseFile(file, text));
}

function violations(files: readonly ParsedFile[]): string[] {
  return files.flatMap(({ file, text, imports }) => {
    const area = areaOf(file);
    if (area === undefined) return [`${file}: no area of test/tidy/layers.test.ts covers it`];
    const badImports = imports.flatMap((imported) => importViolation(file, area, imported) ?? []);
    const impure = isWithin(file, IMPURE.allowedIn) ? [] : impureUses(file, text);
    return [...badImports, ...impure.map((use) => `uses ${use}; take it from the environment`)].map(
      (why) => `${file} ${why}`,
    );
  });
}

/** The files that import each other in a circle, also for types only: each group sorted, and the groups too. */
function cycles(files: readonly ParsedFile[]): readonly (readonly string[])[] {
  const targets = new Map(
    files.map(({ file, imports }) => [file, imports.flatMap(({ from }) => targetOf(file, from) ?? [])]),
  );
  const found: string[][] = [];
  // Tarjan: a group is complete when its search ends at the file that the search met first.
  const indexes = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const search = (file: string): number => {
    const index = indexes.size;
    indexes.set(file, index);
    lowest.set(file, index);
    stack.push(file);
    for (const target of targets.get(file) ?? []) {
      if (!targets.has(target)) continue;
      if (!indexes.has(target)) lowest.set(file, Math.min(lowest.get(file) ?? index, search(target)));
      else if (stack.includes(target)) {
        lowest.set(file, Math.min(lowest.get(file) ?? index, indexes.get(target) ?? index));
      }
    }
    const low = lowest.get(file) ?? index;
    if (low === index) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1 || (targets.get(file) ?? []).includes(file)) found.push(group.sort());
    }
    return low;
  };
  for (const { file } of files) if (!indexes.has(file)) search(file);
  return found.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

/** undefined: not a file of src. */
function targetOf(file: string, from: string | undefined): string | undefined {
  return from?.startsWith(".") ? path.posix.join(path.posix.dirname(file), from) : undefined;
}

function importViolation(file: string, area: string, { from, typeOnly }: Import): string | undefined {
  if (from === undefined)
    return COMPUTED.includes(file) ? undefined : "imports a computed name, which cannot be checked";
  const target = targetOf(file, from);
  if (target !== undefined) {
    const targetArea = areaOf(target);
    if (isTest(target)) return `imports the test ${target}`;
    if (targetArea === undefined) return `imports ${target}, which no area covers`;
    if (!AREAS[area]?.may.includes(targetArea)) return `(${area}) imports ${target} (${targetArea})`;
    return area === "nouns" && targetArea === "nouns" && nounIndex(target) > nounIndex(file)
      ? `imports ${target}, a noun that comes after its own in NOUN_ORDER`
      : undefined;
  }
  const allowedIn = PACKAGES[from];
  if (allowedIn)
    return isWithin(file, allowedIn) ? undefined : `imports ${from}, allowed only in ${allowedIn.join(", ")}`;
  if (!isBuiltin(from)) return `imports the package ${from}`;
  if (!from.startsWith("node:")) return `imports ${from} without "node:"`;
  if (TYPES_ONLY.includes(area) && !typeOnly) return `(${area}) imports more than types from ${from}`;
  return undefined;
}

function areaOf(file: string): string | undefined {
  return Object.keys(AREAS).find((area) => isWithin(file, AREAS[area]?.of.map((name) => `src/${name}`) ?? []));
}

function nounIndex(file: string): number {
  return NOUN_ORDER.findIndex((noun) => file.startsWith(`src/${noun}/`));
}

function isWithin(file: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith("/") ? file.startsWith(place) : file === place));
}

function isTest(file: string): boolean {
  return file.endsWith(".test.ts");
}

/** `import`, `export … from`, `import()` and `import("…").Type`. The last two may be anywhere in a file, the others only at its top. */
function importsOf(source: ts.SourceFile, text: string): Import[] {
  const found: Import[] = [];
  const add = (name: ts.Node | undefined, typeOnly: boolean) => {
    found.push({ from: name && ts.isStringLiteralLike(name) ? name.text : undefined, typeOnly });
  };
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      add(node.moduleSpecifier, node.isTypeOnly);
    }
  }
  if (!/\bimport\s*\(/.test(text)) return found;
  visit(source, (node) => {
    if (ts.isImportTypeNode(node)) {
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    }
  });
  return found;
}

/** Any use has one of these in its text: files without them need not be searched. */
const IMPURE_TEXT = new RegExp(
  [...IMPURE.calls.map((call) => call.split(".")[1]), "Date\\s*\\(", ...IMPURE.functions]
    .map((one) => `\\b${one}`)
    .join("|"),
);

/** Found in the syntax tree and not in the text: comments, and methods of the environment itself, may use the names. */
function impureUses(file: string, text: string): string[] {
  if (!IMPURE_TEXT.test(text)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  const found: string[] = [];
  const modules = ["globalThis", "crypto", ...nodeModuleNames(source)];
  visit(source, (node) => {
    const { parent } = node;
    if (ts.isPropertyAccessExpression(node)) {
      const name = node.getText(source).replace("globalThis.", "");
      if (IMPURE.calls.includes(name)) found.push(name);
    } else if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
      const name = node.expression.getText(source).replace("globalThis.", "");
      if (IMPURE.constructors.includes(name)) found.push(`${ts.isNewExpression(node) ? "new " : ""}${name}(`);
    } else if (ts.isIdentifier(node) && IMPURE.functions.includes(node.text)) {
      const isImported = ts.isImportSpecifier(parent) && (parent.propertyName ?? parent.name) === node;
      const isMember = ts.isPropertyAccessExpression(parent) && parent.name === node;
      const isMemberOfModule = isMember && modules.includes(parent.expression.getText(source));
      const isFree = ts.isExpression(node) && !isMember && !isDeclaredName(node) && !ts.isTypeQueryNode(parent);
      if (isImported || isMemberOfModule || isFree) found.push(node.text);
    }
  });
  return [...new Set(found)];
}

function isDeclaredName(node: ts.Identifier): boolean {
  const { parent } = node;
  return "name" in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent);
}

/** `timers` in `import * as timers from "node:timers"`. */
function nodeModuleNames(source: ts.SourceFile): string[] {
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) return [];
    if (!statement.moduleSpecifier.text.startsWith("node:") || !statement.importClause) return [];
    const { name, namedBindings } = statement.importClause;
    const namespace = namedBindings && ts.isNamespaceImport(namedBindings) ? [namedBindings.name.text] : [];
    return name ? [name.text, ...namespace] : namespace;
  });
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

function sources(): Map<string, string> {
  const root = path.resolve(import.meta.dirname, "../..");
  const names = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts")).map((name) => `src/${name.replaceAll(path.sep, "/")}`);
  return new Map(files.map((file) => [file, readFileSync(path.join(root, file), "utf8")]));
}

describe("layers", () => {
  const files = parseAll(sources());

  test("the files of src import only what their layer and their noun may", () => {
    expect(files.length, "no files found: this test would pass on nothing").toBeGreaterThan(0);
    const imports = files.flatMap((one) => one.imports);
    expect(imports.length, "no imports found: this test would pass on nothing").toBeGreaterThan(0);
    expect(violations(files)).toEqual([]);
  });

  test("no files of src import each other in a circle", () => {
    expect(cycles(files), "break a new cycle; remove one that is gone from CYCLES_LEFT").toEqual(CYCLES_LEFT);
  });

  test.each([
    ["two files", { "a.ts": 'import { b } from "./b.ts"', "b.ts": 'export { a } from "./a.ts"' }, ["a.ts", "b.ts"]],
    [
      "types only",
      { "a.ts": 'import type { B } from "./b.ts"', "b.ts": 'type A = import("./a.ts").A' },
      ["a.ts", "b.ts"],
    ],
    [
      "three files, one import on demand",
      { "a.ts": 'import "./b.ts"', "b.ts": 'import "./c.ts"; import "./d.ts"', "c.ts": 'import("./a.ts")', "d.ts": "" },
      ["a.ts", "b.ts", "c.ts"],
    ],
    ["none", { "a.ts": 'import "./b.ts"; import "./c.ts"', "b.ts": 'import "./c.ts"', "c.ts": "" }, null],
  ])("a cycle is found: %s", (_, texts, cycle) => {
    const parsed = parseAll(new Map(Object.entries(texts).map(([file, text]) => [`src/core/${file}`, text])));
    expect(cycles(parsed)).toEqual(cycle === null ? [] : [cycle.map((file) => `src/core/${file}`)]);
  });

  test.each([
    ["src/contracts/log.ts", 'import { hash } from "../core/hash.ts"'],
    ["src/contracts/log.ts", 'import { Buffer } from "node:buffer"'],
    ["src/core/hash.ts", 'export * from "../storage/sql/commit.ts"'],
    ["src/storage/sql/commit.ts", 'import "../../sessions/append.ts"'],
    ["src/sessions/append.ts", 'import type { Sql } from "../storage/sql/driver.ts"'],
    ["src/sessions/append.ts", 'type Sql = import("../storage/sql/driver.ts").Sql'],
    ["src/sessions/append.ts", 'await import("../cli/main.ts")'],
    ["src/sessions/append.ts", "await import(name)"],
    ["src/sessions/append.ts", 'import { open } from "../open.ts"'],
    ["src/log/verify.ts", 'import { append } from "../sessions/append.ts"'],
    ["src/state/at.ts", 'import type { Run } from "../runs/run.ts"'],
    ["src/open.ts", 'import { main } from "./cli/main.ts"'],
    ["src/cli/main.ts", 'import { commit } from "../storage/sql/commit.ts"'],
    ["src/cli/main.ts", 'import { simulate } from "../testing/simulator.ts"'],
    ["src/testing/simulator.ts", 'import { main } from "../cli/main.ts"'],
    ["src/tasks/claim.ts", 'import { fixture } from "./claim.test.ts"'],
    ["src/storage/blobs/file.ts", 'import { DatabaseSync } from "node:sqlite"'],
    ["src/storage/sql/sqlite/driver.ts", 'import postgres from "postgres"'],
    ["src/core/hash.ts", 'import leftPad from "left-pad"'],
    ["src/core/hash.ts", 'import { createHash } from "crypto"'],
    ["src/surprise/file.ts", ""],
    ["src/tasks/claim.ts", "const now = Date.now()"],
    ["src/tasks/claim.ts", "const now = new Date()"],
    ["src/tasks/claim.ts", "const dice = Math.random()"],
    ["src/tasks/claim.ts", "const later = globalThis.performance.now()"],
    ["src/tasks/claim.ts", 'import { randomUUID as id } from "node:crypto"'],
    ["src/tasks/claim.ts", "const id = crypto.randomUUID()"],
    ["src/tasks/claim.ts", 'import * as timers from "node:timers/promises"; timers.setTimeout(1)'],
    ["src/tasks/claim.ts", "setTimeout(run, 10)"],
    ["src/tasks/claim.ts", "start({ setImmediate })"],
  ])("are enforced: %s may not say %s", (file, text) => {
    expect(violations(parseAll(new Map([[file, text]])))).toHaveLength(1);
  });

  test.each([
    ["src/contracts/log.ts", 'import type { Buffer } from "node:buffer"; import type { Json } from "./json.ts"'],
    ["src/storage/sql/sqlite/driver.ts", 'import { DatabaseSync } from "node:sqlite"'],
    ["src/storage/sql/postgres/driver.ts", 'const { default: postgres } = await import("postgres")'],
    ["src/sessions/append.ts", 'import { read } from "../log/read.ts"; import { hash } from "../core/hash.ts"'],
    ["src/index.ts", 'export { open } from "./open.ts"; export type { Log } from "./contracts/log.ts"'],
    ["src/cli/commands/log.ts", 'import { open } from "../../open.ts"; const now = Date.now()'],
    ["src/testing/faults.ts", 'import { driver } from "../storage/sql/sqlite/driver.ts"; setTimeout(run, 1)'],
    ["src/core/platform-environment.ts", 'import { randomBytes } from "node:crypto"; const now = () => Date.now()'],
    ["src/tasks/claim.ts", "// Date.now() is not used here\nenvironment.setTimeout(run, 1)"],
    ["src/tasks/claim.ts", "interface Timers { setTimeout(run: () => void): void } const text = 'Math.random'"],
    ["src/tasks/claim.test.ts", 'import "../cli/main.ts"; const now = Date.now()'],
  ])("allow %s to say %s", (file, text) => {
    expect(violations(parseAll(new Map([[file, text]])))).toEqual([]);
  });
});
