// How users can start this CLI when a hint names a command: by its name, through npx in a project that has the package,
// or through npm in a clone of this repository.
import { existsSync } from "node:fs";
import * as path from "node:path";
import type { Io } from "./io.ts";

const PLAIN = "holdfast";
const THROUGH_NPX = "npx holdfast";
const IN_CLONE = "npm run -s holdfast --";

/** npx and npm scripts add this directory of a project to the PATH; the user's shell does not have it there. */
const PROJECT_LINK = /[\\/]node_modules[\\/]\.bin[\\/]?/;
/**
 * The installed file of a project, or of a global install whose package manager starts the file by its path, as on
 * Windows.
 */
const INSTALLED_FILE = /[\\/]node_modules[\\/]holdfast[\\/]bin[\\/]/;

export function commandName({ env, script = "" }: Pick<Io, "env" | "script">): string {
  if (isClone(env)) return IN_CLONE;
  if (PROJECT_LINK.test(script)) return THROUGH_NPX;
  return INSTALLED_FILE.test(script) && !isOnPath(env) ? THROUGH_NPX : PLAIN;
}

/** Whether npm runs one of this package's own scripts: npm sets these variables to the script and the package. */
function isClone(env: Io["env"]): boolean {
  return env.npm_package_name === "holdfast" && ["holdfast", "demo"].includes(env.npm_lifecycle_event ?? "");
}

function isOnPath(env: Io["env"]): boolean {
  const directories = (env.PATH ?? env.Path ?? "").split(path.delimiter).filter((one) => !PROJECT_LINK.test(one));
  return directories.some((one) => one !== "" && ["", ".cmd"].some((end) => existsSync(path.join(one, PLAIN + end))));
}
