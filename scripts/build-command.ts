// The `holdfast` command as it is published, for the tests that start it often.
import { chmodSync, cpSync, symlinkSync } from "node:fs";
import * as path from "node:path";
import { bundle } from "./bundle.ts";

const root = path.resolve(import.meta.dirname, "..");

/** Returns the program; it and what it needs are in that folder, which must exist. */
export async function buildCommand(folder: string): Promise<string> {
  await bundle(path.join(folder, "dist"));
  for (const name of ["bin", "package.json"])
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  // Some tests start it as another user.
  chmodSync(folder, 0o755);
  return path.join(folder, "bin", "holdfast.js");
}
