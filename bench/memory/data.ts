// Where data sets are: in the folder of --data, or in a folder below it.
import { existsSync, readdirSync } from "node:fs";
import * as path from "node:path";

/** The folder that has one of the files; undefined: no folder was given, or it has none of them. */
export function folderWith(data: string | undefined, files: readonly string[]): string | undefined {
  if (data === undefined) return undefined;
  const below = readdirSync(data, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => path.join(data, name));
  return [data, ...below].find((folder) => files.some((file) => existsSync(path.join(folder, file))));
}
