// Changes one byte of one event in a copy of a store's file, below the database, as a bad disk or an editor would.
import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openStore, type StoreChoice } from "../store.ts";

/** The demo does not copy larger files. */
const COPY_MAX_BYTES = 500_000_000;

/** The file of a SQLite store; undefined if the store has no file, or one too large to copy. */
export async function findStoreFile(url: string): Promise<string | undefined> {
  const file = url.startsWith("file:") ? fileURLToPath(url.split("?")[0] ?? url) : url;
  try {
    const found = await stat(file);
    return found.isFile() && found.size <= COPY_MAX_BYTES ? file : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Changes one byte in the value of this member of an event's JSON. Returns its offset; undefined if the value was not
 * found.
 */
export async function changeOneByte(
  file: string,
  copy: StoreChoice,
  member: string,
  value: string,
): Promise<number | undefined> {
  await copyFile(file, copy.url);
  await copyFile(`${file}-wal`, `${copy.url}-wal`).catch(() => {});
  // Opening and closing the copy moves everything from its write-ahead log into the file.
  await (await openStore(copy)).close();
  const bytes = await readFile(copy.url);
  const name = `${JSON.stringify(member)}:"`;
  const body = Buffer.from(`${JSON.stringify(member)}:${JSON.stringify(value)}`);
  let changed: number | undefined;
  // Rewritten pages may leave older copies of the row in the file, so all copies are changed.
  for (let at = bytes.indexOf(body); at >= 0; at = bytes.indexOf(body, at + body.length)) {
    changed = at + name.length;
    bytes[changed] = (bytes[changed] ?? 0) ^ 1;
  }
  await writeFile(copy.url, bytes);
  return changed;
}
