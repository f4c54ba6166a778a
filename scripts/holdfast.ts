// The command from a clone, `npm run -s holdfast -- …`. npm runs scripts in the package's folder. INIT_CWD is the
// user's working directory, to which ./holdfast.db and other relative paths refer.
import { main } from "../src/cli/main.ts";

process.chdir(process.env.INIT_CWD ?? ".");
process.exitCode = await main(process.argv.slice(2));
