// Read rights of the files that a store creates: their owner only, unless the caller sets another mode. A mode is the
// read and write rights of owner, group and others; directories also get the right to enter where there is one to read.
import { invalid } from "./check.ts";

export const FILE_MODE = 0o600;

/** Read and write for the owner at least, and nothing but read and write. */
export function checkFileMode(value: unknown, what: string): number {
  const isMode = typeof value === "number" && Number.isInteger(value) && (value & ~0o666) === 0;
  if (isMode && (value & 0o600) === 0o600) return value;
  const shown = typeof value === "number" && Number.isInteger(value) ? `0o${value.toString(8)}` : value;
  throw invalid(what, "the rights to read and write, as 0o600 (owner) or 0o660 (owner and group)", shown);
}

export function directoryModeOf(fileMode: number): number {
  return fileMode | ((fileMode & 0o444) >> 2);
}
