#!/usr/bin/env node
// The `holdfast` command. An old Node must be able to read this file, so that the command can say that
// this Node is too old. So the syntax here is that of Node 14, and everything else is imported after the check.
import { NEWER_NODE, nodeRefusal } from "../dist/node-version.js";

const refusal = nodeRefusal();

if (refusal !== undefined) {
  console.error(refusal);
  console.error(`  hint: ${NEWER_NODE}`);
  process.exitCode = 1;
} else {
  keepCompiledCode();
  silenceSqliteWarning();
  import("../dist/cli.js")
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      // main() reports the failures that users meet. An error that arrives here is a bug or a broken install.
      console.error(error);
      process.exitCode = 1;
    });
}

/**
 * Node keeps the compiled code of this command, so that it starts faster the next time. A program that can write there can make
 * this command do anything, so the directory must be the user's own. NODE_COMPILE_CACHE names another one,
 * NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiledCode() {
  const { enableCompileCache } = process.getBuiltinModule("node:module");
  if (process.env.NODE_COMPILE_CACHE) return;
  try {
    const folder = cacheFolder();
    if (folder !== undefined) enableCompileCache(folder);
  } catch {
    // Without the cache the command works too and starts a little later.
  }
}

/** undefined if no folder is safe to use. */
function cacheFolder() {
  const fs = process.getBuiltinModule("node:fs");
  const path = process.getBuiltinModule("node:path");
  const { XDG_CACHE_HOME, LOCALAPPDATA, HOME, NODE_DISABLE_COMPILE_CACHE } = process.env;
  const caches = XDG_CACHE_HOME || LOCALAPPDATA || (HOME && path.join(HOME, ".cache"));
  if (NODE_DISABLE_COMPILE_CACHE || !caches || !path.isAbsolute(caches)) return undefined;
  const folder = path.join(caches, "holdfast", "compiled");
  // One folder at a time: a recursive mkdir never ends where nothing can be created, as in /proc.
  for (const one of [caches, path.dirname(folder), folder]) {
    if (!fs.existsSync(one)) fs.mkdirSync(one, { mode: 0o700 });
  }
  const { uid, mode } = fs.statSync(folder);
  const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
  return isOurs ? folder : undefined;
}

/** Node 22 warns that its SQLite is experimental. Every other warning still gets through. */
function silenceSqliteWarning() {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    const [options] = rest;
    const type = typeof options === "object" && options !== null ? options.type : options;
    if (type === "ExperimentalWarning" && /^SQLite is an experimental feature/.test(String(warning))) return;
    emitWarning.call(process, warning, ...rest);
  };
}
