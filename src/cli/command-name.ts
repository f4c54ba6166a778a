// How the reader of a hint can start this command line, and install a package for it: by its name, through npx in a project that has
// the package, by its path outside of that project, or through npm in a clone of this repository.
import { existsSync } from "node:fs";
import * as path from "node:path";
import type { Io } from "./io.ts";
import { quoted } from "./terminal.ts";

const PLAIN = "holdfast";
const THROUGH_NPX = "npx holdfast";
const IN_CLONE = "npm run -s holdfast --";

/** npx and npm scripts add this directory of a project to the PATH; the reader's shell does not have it there. */
const PROJECT_LINK = /[\\/]node_modules[\\/]\.bin(?:[\\/]|$)/;
/** Of a project, or of a global install whose package manager starts the file by its path, as it does on Windows. */
const INSTALLED_FILE = /[\\/]node_modules[\\/]holdfast[\\/]bin[\\/]/;
/** Where npx keeps packages that it installs itself, because the project has none. */
const NPX_CACHE = /[\\/]_npx[\\/]/;

type Start = Pick<Io, "env" | "script" | "cwd">;

interface Installation {
  readonly command: string;
  /** Installs a package where this command finds it. */
  install(name: string): string;
}

export function commandName(start: Start): string {
  return findInstallation(start).command;
}

export function installCommand(name: string, start: Start): string {
  return findInstallation(start).install(name);
}

function findInstallation({ env, script = "", cwd }: Start): Installation {
  if (isClone(env)) return { command: IN_CLONE, install: () => "npm ci" };
  const link = PROJECT_LINK.exec(script);
  const found = link ?? (isOnPath(env) ? null : INSTALLED_FILE.exec(script));
  if (found === null) return { command: PLAIN, install: (name) => `npm install --global ${name}` };
  if (NPX_CACHE.test(script)) {
    return { command: THROUGH_NPX, install: (name) => `npx --package holdfast --package ${name} holdfast …` };
  }
  const project = script.slice(0, found.index);
  if (isInside(cwd, project)) return { command: THROUGH_NPX, install: (name) => `npm install ${name}` };
  // There npx would look for the package in another project, or download it.
  return {
    command: `${link === null ? "node " : ""}${quoted(script)}`,
    install: (name) => `npm install --prefix ${quoted(project)} ${name}`,
  };
}

/** Whether npm runs one of this package's own scripts: npm sets these variables to the script and the package. */
function isClone(env: Io["env"]): boolean {
  return env.npm_package_name === "holdfast" && ["holdfast", "demo"].includes(env.npm_lifecycle_event ?? "");
}

function isInside(directory: string, parent: string): boolean {
  const way = path.relative(parent, directory);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

function isOnPath(env: Io["env"]): boolean {
  const directories = (env.PATH ?? env.Path ?? "").split(path.delimiter).filter((one) => !PROJECT_LINK.test(one));
  return directories.some((one) => one !== "" && ["", ".cmd"].some((end) => existsSync(path.join(one, PLAIN + end))));
}
