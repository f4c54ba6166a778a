// The command from a clone, `npm run -s holdfast -- …`. npm runs scripts in the package's folder and tells in INIT_CWD
// where the user stands: that is where ./holdfast.db and other relative paths are meant to be.

import { main } from "../src/cli/main.ts";

process.chdir(process.env.INIT_CWD ?? ".");
process.exitCode = await main(process.argv.slice(2));
