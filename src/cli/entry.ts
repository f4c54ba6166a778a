// The program that runs the `holdfast` command from the sources. The package has bin/holdfast.js instead: this file is
// in no bundle, because a module that reads process.argv when it is imported would read the arguments of an app that
// bundles the package.
import { main } from "./main.ts";

process.exitCode = await main(process.argv.slice(2));
