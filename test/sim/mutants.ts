// Bugs planted in the product's own code: a copy of the changed files and of all that load them, with links to the other
// files of src, which are loaded already; and the simulator of that copy. A change
// whose words are not there any more is a fault of the mutant, and named.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import type { Simulation, SimulationReport } from "../../src/testing/sim/simulate.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");

export interface Edit {
  /** In src. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export type Simulate = (simulation: Simulation) => Promise<SimulationReport>;

/** Of every file of src, the files that it names to load them; a type alone is not loaded. */
const LOADS = new Map(
  readdirSync(path.join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => [file, loadedBy(file)]),
);

function loadedBy(file: string): readonly string[] {
  const text = readFileSync(path.join(ROOT, "src", file), "utf8");
  const code = text.replaceAll(/^(?:import|export) type [^;]*;/gm, "");
  const names = [...code.matchAll(/["'](\.{1,2}\/[^"']+\.ts)["']/g)].map(([, name = ""]) => name);
  return names.map((name) => path.join(path.dirname(file), name));
}

/** These files and all that load them, by others or at once. */
function loadersOf(files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files);
  // An entry that is added is visited as well.
  for (const one of found) {
    for (const [file, loads] of LOADS) if (loads.includes(one)) found.add(file);
  }
  return found;
}

const made: string[] = [];
// Each copy removes its files at the end, as the original does.
process.setMaxListeners(50);
process.once("exit", () => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

export async function mutated(edits: readonly Edit[]): Promise<Simulate> {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast-mutant-"));
  made.push(directory);
  const copied = loadersOf(edits.map(({ file }) => file));
  for (const file of LOADS.keys()) {
    const [from, to] = [path.join(ROOT, "src", file), path.join(directory, "src", file)];
    mkdirSync(path.dirname(to), { recursive: true });
    if (copied.has(file)) copyFileSync(from, to);
    else symlinkSync(from, to);
  }
  copyFileSync(path.join(ROOT, "package.json"), path.join(directory, "package.json"));
  symlinkSync(path.join(ROOT, "node_modules"), path.join(directory, "node_modules"));
  for (const { file, from, to } of edits) {
    const name = path.join(directory, "src", file);
    const text = readFileSync(name, "utf8");
    if (!text.includes(from)) throw new Error(`there is no ${JSON.stringify(from)} in src/${file} to plant a bug in`);
    writeFileSync(
      name,
      text.replaceAll(from, () => to),
    );
  }
  const url = pathToFileURL(path.join(directory, "src", "testing", "sim", "simulate.ts")).href;
  return ((await import(/* @vite-ignore */ url)) as { readonly simulate: Simulate }).simulate;
}
