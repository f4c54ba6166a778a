// Exchanges a directory for a link to another one and back, as fast as it can, until it is killed: an attacker that may
// write beside the target of a restore. Arguments: the directory, and where the link leads.
import { renameSync, symlinkSync, unlinkSync } from "node:fs";

const [directory = "", outside = ""] = process.argv.slice(2);
const aside = `${directory}.aside`;

process.stdout.write("ready\n");
for (;;) {
  renameSync(directory, aside);
  try {
    symlinkSync(outside, directory);
    unlinkSync(directory);
    renameSync(aside, directory);
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    // The restore made a directory in its place, as it may: there is nothing more to exchange.
    if (!["EEXIST", "ENOTEMPTY"].includes(code)) throw error;
    process.exit();
  }
}
