// Names that must be decoded are kept out: files, types and functions that are bare participles or prepositions, and words
// that have another meaning in docs/glossary.md. A rule is a function from a file to complaints, so that each can be tried
// on a file that breaks it.
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const FOLDERS = ["bench", "examples", "scripts", "src", "test"];

/** File names without their folder and ending; a test is named after its file. */
const FILES = new Set(
  [
    "alone around beginnings behind beside brief doings given handed held outside past patience place places plants",
    "play remains runs-compared runs-said said said-at spoken stage standing story tell telling told turn turns vouched",
    "whose words world",
  ].flatMap((line) => line.split(" ")),
);

/** A type is a noun with a head noun: what was given, asked, said or found? */
const TYPES = new Set(
  [
    "Around Asked MeantRun Behind Beside BranchStanding BranchStandingRow Called Depot Dice Done Ended Fate Found Given Gone Handed",
    "Held InRow Kept Known Made Moved Outside Over Place Placed Places Plant Plants Remains Remembered RunsBeside",
    "RunsSaid Said Seen Shop Shown Stage Standing StandingHead Story SqlWords Told Turns Where Which Whose Why Within",
    "WordsRow World",
  ].flatMap((line) => line.split(" ")),
);

/** One word that ends like a participle is a type without a head noun: `Imported`, `Parsed`. */
const PARTICIPLE = /^[A-Z][a-z]*[^e]ed$/;

/** Functions, methods and members are verb + object, and say what the field says. */
const FUNCTIONS = new Set(
  [
    "asksSomebody called chanceOf dice endHeld handedOver harmless heldOf inTurn isVouched makeWorld neededBy offersOf",
    "asSeen backTo disown giveBack goAhead goingOn heirOf indexBehind isGoingOn leftBehind letGo stepBehind stretchesBehind",
    "headWords ownerWords passedOn questionWords stepWords tellRefused waitWords",
    "patiently poke recall recordsFor said saidAt saysMore shrinkRemains standing standingOf taking told turn turned wants",
  ].flatMap((line) => line.split(" ")),
);

/** Nouns of the public API that have the name of a banned word for what the glossary says it means. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  "src/contracts/lineage.ts": ["Turns", "Moved"],
  "src/sessions/turns.ts": ["file"],
  "src/contracts/coding.ts": ["Restored"],
  "src/contracts/state.ts": ["Versioned"],
  "src/coding/conversation/import.ts": ["Imported"],
  "src/coding/saver.ts": ["Saved"],
  "src/testing/sim/client.ts": ["patiently"],
};

/** What is not renamed yet. It only gets shorter: an entry that is not needed any more is a complaint. */
const LEFT: Readonly<Record<string, string>> = {};

interface File {
  /** From the root, with "/". */
  path: string;
  text: string;
}

/** What is wrong with a file's name and the names it declares: "file" or the name, with the reason. */
function badNames(file: File): readonly (readonly [name: string, why: string])[] {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2023, true);
  const found: [string, string][] = [];
  const base = path.posix.basename(file.path).replace(/(\.test)?\.ts$/, "");
  if (FILES.has(base)) found.push(["file", "its name does not say what is in it"]);
  const visit = (node: ts.Node): void => {
    const name = declaredName(node);
    if (name !== undefined && isType(node) && (TYPES.has(name) || PARTICIPLE.test(name))) {
      found.push([name, "a type needs a head noun"]);
    }
    if (name !== undefined && isFunction(node) && FUNCTIONS.has(name)) {
      found.push([name, "a function is verb + object, in the words of the field"]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const meant = MEANT[file.path] ?? [];
  return found.filter(([name]) => !meant.includes(name));
}

function declaredName(node: ts.Node): string | undefined {
  const { name } = node as { readonly name?: ts.Node };
  if (name === undefined || !(ts.isIdentifier(name) || ts.isPrivateIdentifier(name))) return undefined;
  return name.text.replace(/^#/, "");
}

function isType(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node);
}

function isFunction(node: ts.Node): boolean {
  if (ts.isVariableDeclaration(node)) return node.initializer !== undefined && ts.isArrowFunction(node.initializer);
  return ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node);
}

function sources(): readonly File[] {
  const root = path.resolve(import.meta.dirname, "../..");
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" });
    return names
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name) => `${folder}/${name.replaceAll(path.sep, "/")}`)
      .map((name) => ({ path: name, text: readFileSync(path.join(root, name), "utf8") }));
  });
}

describe("names", () => {
  const found = sources().flatMap((file) =>
    badNames(file).map(([name, why]) => ({ file: file.path, name, why: `${file.path}: ${name}: ${why}` })),
  );

  test("of files, types and functions say what they are", () => {
    const complaints = found.filter(({ file, name }) => !(LEFT[file] ?? "").split(" ").includes(name));
    expect(complaints.map(({ why }) => why)).toEqual([]);
  });

  test("that are left to rename are in three folders, and the list of them only gets shorter", () => {
    const left = Object.entries(LEFT).flatMap(([file, names]) => names.split(" ").map((name) => ({ file, name })));
    expect(left.filter(({ file }) => !/^src\/(cli|coding|runs)\//.test(file))).toEqual([]);
    const isFound = (one: { file: string; name: string }) =>
      found.some(({ file, name }) => file === one.file && name === one.name);
    expect(left.filter((one) => !isFound(one))).toEqual([]);
  });

  test.each<[path: string, text: string]>([
    ["src/core/said-at.ts", ""],
    ["src/runs/turns.test.ts", ""],
    ["src/log/verify.ts", "interface Place { readonly seq: number }"],
    ["src/log/verify.ts", "export type Parsed = { readonly seq: number }"],
    ["src/log/verify.ts", "class World {}"],
    ["src/log/verify.ts", "function taking() {}"],
    ["src/log/verify.ts", "class Pool { wants() {} }"],
    ["src/log/verify.ts", "class Pool { #recall() {} }"],
    ["src/log/verify.ts", "interface Offers { wants(name: string): boolean }"],
    ["src/log/verify.ts", "const patiently = () => 1"],
  ])("are found: %s with %s", (file, text) => {
    expect(badNames({ path: file, text })).toHaveLength(1);
  });

  test.each<[path: string, text: string]>([
    ["src/sessions/turns.ts", "interface Turn { readonly id: string }"],
    ["src/log/verify.ts", "interface EventPosition { readonly at: number } const told = 1; class ParsedUrl {}"],
    ["src/query/run.ts", "function retryWithDeadline() { const asked = 1; return asked }"],
  ])("are allowed: %s with %s", (file, text) => {
    expect(badNames({ path: file, text })).toEqual([]);
  });
});
