// A store made before files were private can be read by every user of its machine: the commands that look at the whole store say so,
// with the command that mends it.
import { existsSync } from "node:fs";
import type { Environment } from "../contracts/environment.ts";
import type { Output } from "./output.ts";
import { quoted, safeLine } from "./terminal.ts";

/** Collects the files that `open` warns of. */
export function exposureLog(files: Set<string>): Environment["log"] {
  return (_, event, fields) => {
    if (event !== "store.exposed" || !Array.isArray(fields?.files)) return;
    for (const file of fields.files) files.add(String(file));
  };
}

/** Once the store is closed: the files that closing it has removed are not there for the command. */
export async function noteExposure(files: ReadonlySet<string>, output: Output): Promise<void> {
  const left = [...files].filter((file) => existsSync(file));
  if (left.length === 0) return;
  const names = left.map((file) => safeLine(quoted(file))).join(" ");
  await output.note(
    `warning: every user of this machine can read the store; \`chmod o-rwx ${names}\` makes it private`,
  );
}
