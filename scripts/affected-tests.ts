// `npm test -- --changed`: the test files that a change can affect. A file depends on every file of the repository that one
// of its strings names: imports are such strings, and so are the programs that a test starts and the files it reads. What a
// test reads by folder is in the table below.
// Every test of the command line imports all commands through their registry. A change of a command affects the tests that can
// run it: they contain its name, or read all commands.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";

/** Files whose change can affect every test. */
const SETUP = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "vitest.config.ts",
  "scripts/test.ts",
  "test/setup.ts",
];

/** Path prefixes on which a file depends without naming each file. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  "scripts/build.ts": ["bin/", "tsconfig.build.json"],
  "test/coding/transcripts.ts": ["src/coding/conversation/fixtures/"],
  "test/docs.test.ts": ["docs/guide.md", "src/index.ts"],
  "test/examples.test.ts": ["examples/"],
  "test/packed.ts": ["bin/", "scripts/build.ts", "src/index.ts", "src/edge.ts"],
  "test/recipes/recipes.test.ts": ["recipes/"],
  "test/schemas.ts": ["scripts/postgres.ts"],
  "src/storage/sql/statements.test.ts": ["src/storage/sql/statements."],
};

/** The names under which examples and recipes import the package. */
export const PACKAGE: Readonly<Record<string, string>> = {
  holdfast: "src/index.ts",
  "holdfast/claude": "src/adapters/claude/entry.ts",
  "holdfast/coding": "src/coding/entry.ts",
  "holdfast/edge": "src/edge.ts",
  "holdfast/embedders": "src/embedders/entry.ts",
  "holdfast/memory-tools": "src/adapters/memory-tools/entry.ts",
  "holdfast/long-term-memory": "src/adapters/long-term-memory.ts",
  "holdfast/task-store": "src/adapters/task-store.ts",
  "holdfast/testing": "src/testing/entry.ts",
};

/** Tests that read the whole repository; `npm run check` runs them after any change. */
const CHECKS = "test/tidy/";

/** The paths of files from the root, with the texts of those that can name others. */
export type RepositoryFiles = ReadonlyMap<string, string>;

/** The file that imports every command. */
const REGISTRY = "src/cli/registry.ts";

/** A command that runs others. */
const RUNS_OTHERS = "demo";

/** Files that contain no commands to run, only data. */
const DATA = /\.(json|jsonl|holdfast)$/;
const CODE = /\.(ts|js|mjs)$/;

type FileLinks = ReadonlyMap<string, ReadonlySet<string>>;

/** The tests among the files that depend on a changed file, and those that were changed, in the order of their names. */
export function affectedTests(files: RepositoryFiles, changed: readonly string[]): string[] {
  const known = new Set([...files.keys(), ...changed]);
  const tests = [...files.keys()].filter((file) => file.endsWith(".test.ts"));
  if (changed.some((file) => SETUP.includes(file))) return tests.toSorted();
  const dependencies = new Map([...files].map(([file, text]) => [file, dependenciesOf(file, text, known)]));
  const dependents = invert(dependencies);
  const commands = commandNames(files);
  const affected = reach(changed, (file) => {
    const found = [...(dependents.get(file) ?? [])];
    return commands.has(file) ? found.filter((one) => one !== REGISTRY) : found;
  });
  const names = [...affected].flatMap((file) => commands.get(file) ?? []);
  if (names.length > 0) {
    const users = reach([REGISTRY], (file) => dependents.get(file) ?? []);
    for (const test of tests) {
      if (users.has(test) && canRun(test, [...names, RUNS_OTHERS], { files, dependencies, users })) affected.add(test);
    }
  }
  return tests.filter((file) => affected.has(file) && (!file.startsWith(CHECKS) || changed.includes(file))).toSorted();
}

/** The files of commands that the registry imports, with the names of their commands; one whose names are not found is left out. */
export function commandNames(files: RepositoryFiles): ReadonlyMap<string, readonly string[]> {
  const known = new Set(files.keys());
  const imported = dependenciesOf(REGISTRY, files.get(REGISTRY) ?? "", known);
  const named = [...imported].map((file) => {
    const found = (files.get(file) ?? "").matchAll(/^export const \w+[^=\n]* = \{\n {2}name: "([\w-]+)",$/gm);
    return [file, [...found].map(([, name = ""]) => name)] as const;
  });
  return new Map(named.filter(([, names]) => names.length > 0));
}

interface CommandUsers {
  readonly files: RepositoryFiles;
  readonly dependencies: FileLinks;
  /** The files that depend on the registry. */
  readonly users: ReadonlySet<string>;
}

/** Whether a test, or a file of its own that it uses, names a command, reads all of them, bundles them, or reads a page. */
function canRun(test: string, names: readonly string[], { files, dependencies, users }: CommandUsers): boolean {
  const isOwn = (file: string) => !file.startsWith("src/");
  const own = reach([test], (file) => [...(dependencies.get(file) ?? [])].filter(isOwn));
  const named = new RegExp(`--help|(?<![\\w-])(${names.join("|")})(?![\\w-])`);
  return [...own].some(
    (file) =>
      named.test((files.get(file) ?? "").replace(/^(import|export) .* from .*;$/gm, "")) ||
      dependencies.get(file)?.has(REGISTRY) ||
      (file.startsWith("scripts/") && users.has(file)) ||
      !(CODE.test(file) || DATA.test(file)),
  );
}

function invert(links: FileLinks): FileLinks {
  const inverted = new Map<string, Set<string>>();
  for (const [from, targets] of links) {
    for (const target of targets) inverted.set(target, (inverted.get(target) ?? new Set()).add(from));
  }
  return inverted;
}

function reach(from: readonly string[], next: (file: string) => Iterable<string>): Set<string> {
  const reached = new Set(from);
  // The loop also visits the files that it adds.
  for (const file of reached) for (const one of next(file)) reached.add(one);
  return reached;
}

function dependenciesOf(file: string, text: string, known: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  for (const [, name = ""] of text.matchAll(/["'`]([\w@./-]+)["'`]/g)) {
    const candidates = [PACKAGE[name], path.posix.join(path.posix.dirname(file), name), path.posix.normalize(name)];
    const dependency = candidates.find((candidate) => candidate !== undefined && known.has(candidate));
    if (dependency !== undefined && dependency !== file) found.add(dependency);
  }
  for (const [owner, beginnings] of Object.entries(FOLDERS)) {
    if (file !== owner) continue;
    for (const one of known) if (beginnings.some((beginning) => one.startsWith(beginning))) found.add(one);
  }
  return found;
}

/** Files that differ from the revision, and those that git does not know yet. Throws if there is no such revision. */
export function changedFiles(root: string, revision: string): string[] {
  const differing = git(root, "diff", "--name-only", "--relative", revision, "--");
  const untracked = git(root, "ls-files", "--others", "--exclude-standard");
  return [...new Set([...differing, ...untracked])].toSorted();
}

/** Every file of the repository; those that are not code have no text here. */
export function repositoryFiles(root: string): RepositoryFiles {
  const names = git(root, "ls-files", "--cached", "--others", "--exclude-standard");
  const existing = names.filter((name) => existsSync(path.join(root, name)));
  return new Map(existing.map((name) => [name, CODE.test(name) ? readFileSync(path.join(root, name), "utf8") : ""]));
}

export function isRevision(root: string, name: string): boolean {
  return spawnSync("git", ["rev-parse", "--verify", "--quiet", `${name}^{commit}`], { cwd: root }).status === 0;
}

function git(root: string, ...flags: string[]): string[] {
  const { error, status, stdout, stderr } = spawnSync("git", flags, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`git ${flags.join(" ")} failed: ${stderr.trim()}`);
  return stdout.split("\n").filter((line) => line !== "");
}
