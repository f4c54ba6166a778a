// Every user of a machine can read the files of a store that an old version created. The commands that read the whole
// store warn about such files and print the command that makes them private.
import { existsSync } from "node:fs";
import type { Environment } from "../contracts/environment.ts";
import type { Output } from "./output.ts";
import { quoted, safeLine } from "./terminal.ts";

/** A log that collects the files that open() warns about. */
export function collectExposedFiles(files: Set<string>): Environment["log"] {
  return (_, event, fields) => {
    if (event !== "store.exposed" || !Array.isArray(fields?.files)) return;
    for (const file of fields.files) files.add(String(file));
  };
}

/** Call this after the store was closed: closing removes some of the files. */
export async function warnOfExposedFiles(files: ReadonlySet<string>, output: Output): Promise<void> {
  const left = [...files].filter((file) => existsSync(file));
  if (left.length === 0) return;
  const names = left.map((file) => safeLine(quoted(file))).join(" ");
  await output.note(
    `warning: every user of this machine can read the store; \`chmod o-rwx ${names}\` makes it private`,
  );
}
