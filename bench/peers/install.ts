// The peers at the exact versions of the lock beside this file. They are no dependency of Holdfast, so they are installed
// here when they are first needed. No install script of theirs runs: none of them needs one.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

const here = import.meta.dirname;
const root = path.resolve(here, "../..");
const lock = path.join(here, "package-lock.json");
/** The lock of the installed packages. It is written last, so that an interrupted install is repeated. */
const installed = path.join(here, "node_modules", ".installed-lock.json");

export function installPeers(say: (text: string) => void): void {
  const wanted = readFileSync(lock, "utf8");
  if (existsSync(installed) && readFileSync(installed, "utf8") === wanted) return;
  say("  installing LangGraph, DBOS and Restate into bench/peers/node_modules (310 MB)");
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: here,
    stdio: ["ignore", "ignore", "inherit"],
  });
  writeFileSync(installed, wanted);
}

/** The versions of the packages that are measured, as one line. */
export function peerVersions(): string {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(path.join(here, "package.json"), "utf8"),
  );
  const named = {
    LangGraph: "@langchain/langgraph",
    "its SQLite saver": "@langchain/langgraph-checkpoint-sqlite",
    "its PostgreSQL saver": "@langchain/langgraph-checkpoint-postgres",
    DBOS: "@dbos-inc/dbos-sdk",
    "Restate SDK": "@restatedev/restate-sdk",
    "Restate server": "@restatedev/restate-server",
  };
  return Object.entries(named)
    .map(([name, id]) => `${name} ${dependencies[id]}`)
    .join(", ");
}

/** The program of Restate's server, or the reason why there is none. */
export function restateProgram(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(path.join(here, "package.json")).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), "bin", "restate-server");
  } catch (cause) {
    throw new Error(`${name} is not installed: Restate has no server for this platform`, { cause });
  }
}

/**
 * Holdfast as users run it, built: the peers are built too, and stripping types would be part of every start. It is built
 * inside the repository, where its optional packages are found.
 */
export function buildHoldfast(say: (text: string) => void): string {
  say("  building Holdfast");
  const folder = path.join(root, ".cache", `bench-${process.pid}`);
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const run = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--outDir", folder, "--declaration", "false"],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  if (run.status !== 0) throw new Error(`the build failed:\n${run.stdout}`);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "index.js");
}
