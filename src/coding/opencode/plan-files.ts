// The plans that OpenCode's plan mode writes: a file for each session, named by it, in the repository that it works in or, outside
// of one, in OpenCode's own folder. What a repository ignores or never committed is gone with its machine.
import { lstat } from "node:fs/promises";
import * as path from "node:path";
import { type ExportedSession, isObject } from "./export.ts";

const PLAN = /^\d{1,16}-[A-Za-z0-9-]{1,100}\.md$/;

export const isPlanName = (value: unknown): value is string => typeof value === "string" && PLAN.test(value);

/** null: a session that cannot have one. */
export function planNameOf({ data }: ExportedSession): string | null {
  const info = isObject(data.info) ? data.info : {};
  const created = isObject(info.time) ? info.time.created : undefined;
  const name = `${created}-${info.slug}.md`;
  return isPlanName(name) ? name : null;
}

/** Where the plan of a session that worked in this directory is; null: it has none. */
export async function findPlan(name: string, cwd: string, dataDir: string): Promise<string | null> {
  const folders = [
    ...ancestorsOf(cwd).map((folder) => path.join(folder, ".opencode", "plans")),
    path.join(dataDir, "plans"),
  ];
  for (const folder of folders) if (await isPlainFile(path.join(folder, name))) return path.join(folder, name);
  return null;
}

/** Where OpenCode looks for the plans of sessions in this directory: a root that is there, and the folder below it. */
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

/** No link: it could lead to anything. */
export async function isPlainFile(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}
