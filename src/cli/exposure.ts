// A store made before files were private can be read by every user of its machine: the commands that look at the whole store say so,
// with the command that mends it.
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

export async function noteExposure(files: ReadonlySet<string>, output: Output): Promise<void> {
  if (files.size === 0) return;
  const names = [...files].map((file) => safeLine(quoted(file))).join(" ");
  await output.note(
    `warning: every user of this machine can read the store; \`chmod o-rwx ${names}\` makes it private`,
  );
}
