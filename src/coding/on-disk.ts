// The files of a session that a coding agent has on this machine's disk, as something to read.
import { createReadStream } from "node:fs";
import type { FoundSession } from "../contracts/coding.ts";
import type { Readable } from "./sources.ts";

export function readableOnDisk(found: FoundSession): Readable {
  const places = new Map(found.files.map(({ path, file }) => [path, file]));
  return { ...found, read: (path) => createReadStream(places.get(path) ?? "") };
}
