// Changes one byte of one event in a copy of a store's file, below the database, as a bad disk or an editor would.
import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openStore, type StoreChoice } from "../store.ts";

/** Larger files are not copied for a demonstration. */
const COPY_MAX_BYTES = 500_000_000;

/** The file of a SQLite store; undefined when it has none that could be copied. */
export async function findStoreFile(url: string): Promise<string | undefined> {
  const file = url.startsWith("file:") ? fileURLToPath(url.split("?")[0] ?? url) : url;
  try {
    const found = await stat(file);
    return found.isFile() && found.size <= COPY_MAX_BYTES ? file : undefined;
  } catch {
    return undefined;
  }
}

/** In the value of this member of an event's JSON. Answers with the offset of the changed byte; undefined: not found. */
export async function changeOneByte(
  file: string,
  copy: StoreChoice,
  member: string,
  value: string,
): Promise<number | undefined> {
  await copyFile(file, copy.url);
  await copyFile(`${file}-wal`, `${copy.url}-wal`).catch(() => {});
  // Opening and closing the copy brings everything from its write-ahead log into the one file.
  await (await openStore(copy)).close();
  const bytes = await readFile(copy.url);
  const name = `${JSON.stringify(member)}:"`;
  const body = Buffer.from(`${JSON.stringify(member)}:${JSON.stringify(value)}`);
  let changed: number | undefined;
  // Pages that were rewritten may have left older copies of the row behind: all of them change.
  for (let at = bytes.indexOf(body); at >= 0; at = bytes.indexOf(body, at + body.length)) {
    changed = at + name.length;
    bytes[changed] = (bytes[changed] ?? 0) ^ 1;
  }
  await writeFile(copy.url, bytes);
  return changed;
}
