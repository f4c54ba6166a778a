// Permissions of the files that a store creates: only the owner may read and write them, unless the caller sets another
// mode. A mode is the read and write permissions of owner, group and others. A directory also gets the permission to
// enter for each of them who may read.
import { invalid } from "./check.ts";

export const FILE_MODE = 0o600;

/** The owner must be able to read and write, and a mode has no other bits than read and write. */
export function checkFileMode(value: unknown, what: string): number {
  const isMode = typeof value === "number" && Number.isInteger(value) && (value & ~0o666) === 0;
  if (isMode && (value & 0o600) === 0o600) return value;
  const shown = typeof value === "number" && Number.isInteger(value) ? `0o${value.toString(8)}` : value;
  throw invalid(what, "read and write permissions, such as 0o600 (owner) or 0o660 (owner and group)", shown);
}

export function directoryModeOf(fileMode: number): number {
  return fileMode | ((fileMode & 0o444) >> 2);
}
