#!/usr/bin/env node
// The `holdfast` command. An old Node must be able to read this file in order to be told that it is too old, so the
// syntax here is that of Node 14, and everything else is imported only after the check.
import { NEWER_NODE, nodeRefusal } from "../dist/node-version.js";

const refusal = nodeRefusal();

if (refusal !== undefined) {
  console.error(refusal);
  console.error(`  hint: ${NEWER_NODE}`);
  process.exitCode = 1;
} else {
  silenceSqliteWarning();
  import("../dist/cli.js")
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      // Failures that a user can meet are reported by main itself; what arrives here is a bug or a broken install.
      console.error(error);
      process.exitCode = 1;
    });
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
