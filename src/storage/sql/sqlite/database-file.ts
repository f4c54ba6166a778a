// Creates the file of a SQLite store with the right permissions before SQLite opens it, because SQLite would make it
// readable by all users. SQLite gives the same permissions to the -wal, -shm and -journal files, regardless of the
// umask.
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readlinkSync,
  statSync,
} from "node:fs";
import * as path from "node:path";
import type { Environment } from "../../../contracts/environment.ts";

/** Permissions of users who are neither the owner nor in the group. */
const OTHERS = 0o006;
const MOST_LINKS = 40;

/** Does nothing if the file exists. For a dangling link, the target is created. */
export function createDatabaseFile(file: string, mode: number): void {
  let at = file;
  try {
    for (let links = 0; links < MOST_LINKS; links++) {
      if (tryCreate(at, mode) || statSync(at, { throwIfNoEntry: false }) !== undefined) return;
      at = path.resolve(path.dirname(at), readlinkSync(at));
    }
  } catch {
    // Failures to create or inspect the file are not explained here: SQLite meets the same obstacle, and its error is
    // reported.
  }
}

/** False if the name is taken. */
function tryCreate(file: string, mode: number): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  try {
    // The umask removes permissions.
    if ((fstatSync(descriptor).mode & 0o777) !== mode) fchmodSync(descriptor, mode);
  } catch {
    // A file system without rights refuses to change them.
  } finally {
    closeSync(descriptor);
  }
  return true;
}

/** Warns in the log about a store that every user of the machine can read or write, unless that was configured. */
export function warnIfExposed(file: string, fileMode: number, environment: Environment): void {
  const exposed = [file, `${file}-wal`, `${file}-shm`].flatMap((one) => {
    const mode = statSync(one, { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & OTHERS & ~fileMode) === 0 ? [] : [{ file: one, mode: (mode & 0o777).toString(8) }];
  });
  const [first] = exposed;
  if (first === undefined) return;
  environment.log("warn", "store.exposed", {
    path: file,
    mode: first.mode,
    files: exposed.map((one) => one.file),
    hint: "Every user of this machine can read it: chmod o-rwx these files, or open it with the fileMode that you want.",
  });
}

/** Which file a store has open. */
export type OpenFile = Pick<BigIntStats, "dev" | "ino">;

export function openFile(path: string): OpenFile {
  const { dev, ino } = statSync(path, { bigint: true });
  return { dev, ino };
}
