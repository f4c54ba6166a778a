// Bugs planted in the product's own code: a copy of src with a few words changed, and the simulator of that copy. A change
// whose words are not there any more is a fault of the mutant, and named.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

const made: string[] = [];
// Each copy removes its files at the end, as the original does.
process.setMaxListeners(50);
process.once("exit", () => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

export async function mutated(edits: readonly Edit[]): Promise<Simulate> {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast-mutant-"));
  made.push(directory);
  cpSync(path.join(ROOT, "src"), path.join(directory, "src"), {
    recursive: true,
    filter: (file) => !file.endsWith(".test.ts") && !file.endsWith(".sql"),
  });
  cpSync(path.join(ROOT, "package.json"), path.join(directory, "package.json"));
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
