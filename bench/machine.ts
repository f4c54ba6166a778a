// The machine a figure was measured on: without it a figure says nothing.
import { statfsSync } from "node:fs";
import { cpus } from "node:os";

/** Magic numbers of statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: "ext4",
  16914836: "tmpfs",
  2035054128: "overlayfs",
  2435016766: "btrfs",
  1481003842: "xfs",
  801189825: "zfs",
  26985: "nfs",
};

export function fileSystemOf(folder: string): string {
  const { type } = statfsSync(folder);
  return FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`;
}

/** Whether the file system is in memory. A commit there is fast because it is not durable. */
export function isMemory(fileSystem: string): boolean {
  return fileSystem === "tmpfs";
}

export interface Surroundings {
  readonly folder: string;
  readonly pragmas: string;
  readonly postgres: string | null;
  /** Other systems that were measured, with their versions. */
  readonly peers?: string | undefined;
}

export function machineLine({ folder, pragmas, postgres, peers }: Surroundings): string {
  const processors = cpus();
  return [
    processors[0]?.model.trim() ?? "unknown CPU",
    `${processors.length} cores`,
    `Node ${process.versions.node}`,
    `SQLite ${process.versions.sqlite ?? "?"} (${pragmas})`,
    postgres === null ? "no PostgreSQL" : `PostgreSQL ${postgres}`,
    ...(peers === undefined ? [] : [peers]),
    `${fileSystemOf(folder)} at ${folder}`,
  ].join(", ");
}
