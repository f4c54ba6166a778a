// The plans that OpenCode's plan mode writes: one file for each session, named after its creation time and slug, in the repository
// of the working directory or else in OpenCode's own folder. A capture keeps them, because a plan that was not committed is lost
// with its machine.
import { lstat } from "node:fs/promises";
import * as path from "node:path";
import { type ExportedSession, isObject } from "./export.ts";

const PLAN = /^\d{1,16}-[A-Za-z0-9-]{1,100}\.md$/;

export const isPlanName = (value: unknown): value is string => typeof value === "string" && PLAN.test(value);

/** null: the session has no slug or creation time, and so no plan. */
export function planNameOf({ data }: ExportedSession): string | null {
  const info = isObject(data.info) ? data.info : {};
  const created = isObject(info.time) ? info.time.created : undefined;
  const name = `${created}-${info.slug}.md`;
  return isPlanName(name) ? name : null;
}

/** The file with the plan of a session that worked in this directory; null: it has none. */
export async function findPlan(name: string, cwd: string, dataDir: string): Promise<string | null> {
  const folders = [
    ...ancestorsOf(cwd).map((folder) => path.join(folder, ".opencode", "plans")),
    path.join(dataDir, "plans"),
  ];
  for (const folder of folders) if (await isPlainFile(path.join(folder, name))) return path.join(folder, name);
  return null;
}

/** The folder in which OpenCode looks for the plans of sessions in this directory, and the existing directory that it is in. */
export async function planFolderFor(
  cwd: string,
  dataDir: string,
): Promise<{ readonly root: string; readonly folder: string }> {
  for (const folder of ancestorsOf(cwd)) {
    const isRepository = await lstat(path.join(folder, ".git")).then(
      () => true,
      () => false,
    );
    if (isRepository) return { root: folder, folder: path.join(folder, ".opencode", "plans") };
  }
  return { root: dataDir, folder: path.join(dataDir, "plans") };
}

function ancestorsOf(folder: string): readonly string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestorsOf(above)];
}

/** False for a link, which could point to any file. */
export async function isPlainFile(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}
