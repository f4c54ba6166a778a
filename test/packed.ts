// The package as users get it: built, packed and installed into empty projects, offline. One test run packs it once; the
// test files that need it share the tarball. The build happens in a copy, so that other tests never see dist/ come and go.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { COMPILED } from "./compiled.ts";

const root = path.resolve(import.meta.dirname, "..");
/** Longer than any build takes on a busy machine. */
const BUILD_MS = 300_000;

export interface Output {
  readonly status: number | null;
  readonly stdout: string;
  /** Without npm's own warnings and notices. */
  readonly stderr: string;
}

/**
 * The environment of a user's shell, with that Node first in the PATH: without the settings of `npm test`, but with its compiled
 * code, because npm and the compilers are started often.
 */
function userEnvironment(cwd: string, node = process.execPath): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITEST|FORCE_COLOR)/.test(name));
  return {
    ...Object.fromEntries(inherited.map(([name, value = ""]) => [name, value])),
    ...COMPILED,
    PATH: [path.dirname(node), process.env.PATH].join(path.delimiter),
    npm_config_cache: path.join(path.dirname(cwd), "npm-cache"),
    npm_config_update_notifier: "false",
  };
}

/** Runs a program to its end, as a user would. */
export function run(cwd: string, command: readonly string[], node = process.execPath): Output {
  const [program = "", ...flags] = command;
  const { error, status, stdout, stderr } = spawnSync(program, flags, {
    cwd,
    env: userEnvironment(cwd, node),
    encoding: "utf8",
  });
  if (error) throw error;
  return { status, stdout, stderr: stderr.replace(/^npm (warn|notice).*\n/gim, "") };
}

export function succeed(cwd: string, ...command: string[]): string {
  const { status, stdout, stderr } = run(cwd, command);
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** The tarball. `scratch` is used where no test run shares a folder (vitest was started by hand). */
export async function packPackage(scratch: string): Promise<string> {
  const shared = process.env.HOLDFAST_TEST_SCRATCH;
  if (shared === undefined) return pack(path.join(scratch, "packing"));
  const folder = path.join(shared, "packing");
  const result = path.join(shared, "packed.json");
  try {
    fs.mkdirSync(folder);
  } catch {
    return awaitTarball(result);
  }
  try {
    const tarball = pack(folder);
    writeWhole(result, JSON.stringify({ tarball }));
    return tarball;
  } catch (error) {
    writeWhole(result, JSON.stringify({ error: String(error) }));
    throw error;
  }
}

/** Another test file packs it. */
async function awaitTarball(result: string): Promise<string> {
  const deadline = performance.now() + BUILD_MS;
  while (!fs.existsSync(result)) {
    if (performance.now() > deadline) throw new Error("the other test file that packs the package does not end");
    await sleep(50);
  }
  const { tarball, error } = JSON.parse(fs.readFileSync(result, "utf8")) as { tarball?: string; error?: string };
  if (tarball === undefined) throw new Error(`the package was not packed: ${error}`);
  return tarball;
}

/** Readers see the file with all its text or not at all. */
function writeWhole(file: string, text: string): void {
  fs.writeFileSync(`${file}.part`, text);
  fs.renameSync(`${file}.part`, file);
}

function pack(folder: string): string {
  const copy = buildCopy(folder);
  const [packed] = JSON.parse(
    succeed(copy, "npm", "pack", "--json", "--ignore-scripts", `--pack-destination=${folder}`),
  );
  return path.join(folder, packed.filename);
}

/** A copy of the repository below the folder in which the package is built; it has the repository's dependencies. */
export function buildCopy(folder: string): string {
  const copy = path.join(folder, "copy");
  const { files } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { files: string[] };
  const parts = ["src", "scripts", "package.json", "tsconfig.json", "tsconfig.build.json", ...files];
  for (const part of parts.filter((name) => name !== "dist" && fs.existsSync(path.join(root, name)))) {
    fs.cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  }
  fs.symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  // `npm test` has checked the types.
  succeed(copy, "node", "scripts/build.ts", "--no-check");
  return copy;
}

/** Makes the folder a project that has the package and nothing else, without npm: what npm installs, package.test.ts tests. */
export function unpackPackage(project: string, tarball: string): void {
  const installed = path.join(project, "node_modules", "holdfast");
  fs.mkdirSync(installed, { recursive: true });
  writeManifest(project);
  succeed(project, "tar", "-xzf", tarball, "--strip-components=1", "-C", installed);
}

function writeManifest(project: string): void {
  fs.writeFileSync(path.join(project, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
}

/** Makes the folder a project that has installed the package, and nothing else. */
export function installPackage(project: string, tarball: string): void {
  fs.mkdirSync(project, { recursive: true });
  writeManifest(project);
  succeed(project, "npm", "install", "--offline", "--ignore-scripts", "--omit=peer", tarball);
}
