// Builds dist/ from src/: the types with the TypeScript compiler, the code with a bundler. It fails on any type error and
// on any file that package.json names but the build did not make. `--no-check` writes the same types and looks for no errors
// in them: where the check has found none already, it saves most of the time.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import * as path from "node:path";
import { bundle } from "./bundle.ts";
import { COMPILER } from "./compiler.ts";

const root = path.resolve(import.meta.dirname, "..");

rmSync(path.join(root, "dist"), { recursive: true, force: true });

const compile = [COMPILER, "-p", "tsconfig.build.json", ...(process.argv.includes("--no-check") ? ["--noCheck"] : [])];
const run = spawnSync(process.execPath, compile, { cwd: root, stdio: "inherit" });
if (run.status !== 0) fail("the TypeScript compiler reported errors");

await bundle(path.join(root, "dist"));

const manifest: unknown = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const missing = filesNamedIn(manifest).filter((file) => !existsSync(path.join(root, file)));
if (missing.length > 0) fail(`package.json names files that do not exist: ${missing.join(", ")}`);

console.log("built dist/");

/** Every `./dist/…` and `bin/…` path in package.json. */
function filesNamedIn(value: unknown): string[] {
  if (typeof value === "string") return /^(\.\/)?(dist|bin)\/.+/.test(value) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(filesNamedIn);
}

function fail(reason: string): never {
  console.error(`build failed: ${reason}`);
  process.exit(1);
}
