// docs/paths.md says which files a change travels through. Each table is compared with the files that really run code, in a
// process of its own, and with what these files import: a file that is added to a path, or leaves it, fails here.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const scratch = mkdtempSync(path.join(tmpdir(), "holdfast-paths-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Parts meet here without code that runs on a path: what these files import is passed to others, or listed for them. */
const COMPOSERS = [
  "src/open.ts",
  "src/nouns.ts",
  "src/core/environment.ts",
  "src/storage/sql/store.ts",
  "src/cli/registry.ts",
];

/** Where a path begins that no composer leads to. */
const ENTRIES = ["src/cli/main.ts", ...COMPOSERS];

const page = readFileSync(path.join(root, "docs/paths.md"), "utf8");

/** The files in the tables under that heading, in order. */
function listedFiles(heading: string): readonly string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(([, file = ""]) => file);
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), "utf8");
  const names = [...text.matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)"/g)].map(([, name = ""]) => name);
  return names.map((name) => path.posix.join(path.posix.dirname(file), name));
}

/** Those of the files that a composer passes in, or that imports of listed files lead to from there or from the command line. */
function reachedFiles(files: readonly string[]): readonly string[] {
  const listed = new Set(files);
  const passedIn = COMPOSERS.flatMap(importsOf).filter((file) => listed.has(file));
  const reached = new Set([...passedIn, ...files.filter((file) => ENTRIES.includes(file))]);
  for (const file of reached) {
    for (const imported of importsOf(file)) if (listed.has(imported)) reached.add(imported);
  }
  return [...reached];
}

function run(program: string, ...argv: readonly string[]): { readonly stdout: string; readonly signal: string | null } {
  const file = path.join(import.meta.dirname, program);
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, [file, ...argv], { encoding: "utf8" });
  if (status !== 0 && signal === null) throw new Error(`${program} failed: ${stderr}`);
  return { stdout, signal };
}

describe.each([
  ["An append", () => run("append.ts", path.join(scratch, "append.db")).stdout],
  [
    "A recovered step",
    () => {
      const store = path.join(scratch, "step.db");
      expect(run("recovered-step.ts", store, "begin").signal).toBe("SIGKILL");
      return run("recovered-step.ts", store, "continue").stdout;
    },
  ],
  ["A restored session", () => run("restored-session.ts", path.join(scratch, "restored.db")).stdout],
] as const)("docs/paths.md: %s", (heading, measure) => {
  const listed = [...listedFiles("Every path"), ...listedFiles(heading)];

  test("names each file once, and each is imported by another or passed in by a composer", () => {
    expect(listed.length).toBeGreaterThan(10);
    expect([...new Set(listed)]).toEqual(listed);
    expect(reachedFiles(listed).toSorted()).toEqual(listed.toSorted());
  });

  test("names the files that run code, and no others", () => {
    const executed = JSON.parse(measure()) as readonly string[];
    const missing = executed.filter((file) => !listed.includes(file));
    const idle = listed.filter((file) => !executed.includes(file));
    expect({ missing, idle }).toEqual({ missing: [], idle: [] });
  });
});
