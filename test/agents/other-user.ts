// Running as another user: what of a machine has to be that user's.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { CLI } from "../command.ts";

export const NOBODY = 65_534;

/** Why nothing can be run as that user here; null when it can. */
export function troubleAs(uid: number): string | null {
  if (process.geteuid?.() !== 0) return "only root may become another user";
  const { status } = spawnSync(process.execPath, [CLI, "--version"], { uid, gid: uid, cwd: "/", stdio: "ignore" });
  return status === 0 ? null : "this folder is not readable for others";
}

export function linkOrCopy(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch {
    fs.copyFileSync(from, to); // on another file system
  }
}

export function ownedBy(uid: number, folder: string): void {
  fs.chownSync(folder, uid, uid);
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    // A link to it is the program itself.
    if (!name.startsWith("bin/")) fs.chownSync(path.join(folder, name), uid, uid);
  }
}
