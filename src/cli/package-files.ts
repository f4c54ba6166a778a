// Locates files of this package: src/ in a clone, or the built files.
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const SELF = fileURLToPath(import.meta.url);

/** The programs that the CLI starts: their file in a clone, and their built file. */
const PROGRAMS = {
  holdfast: ["src/cli/entry.ts", "bin/holdfast.js"],
  "demo-agent": ["src/cli/demo/agent.ts", "dist/demo-agent.js"],
} as const;

export function programFile(name: keyof typeof PROGRAMS): string {
  const [source, built] = PROGRAMS[name];
  return path.join(packageFolder(), SELF.endsWith(".ts") ? source : built);
}

export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(packageFolder(), "package.json"), "utf8"));
  const isNamed = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isNamed ? String(manifest.version) : "unknown";
}

/** The nearest parent folder with a package.json: its distance differs between a clone and a build. */
function packageFolder(): string {
  let folder = path.dirname(SELF);
  while (!existsSync(path.join(folder, "package.json")) && folder !== path.dirname(folder)) {
    folder = path.dirname(folder);
  }
  return folder;
}
