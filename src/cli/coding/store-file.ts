// The file of a store while an agent works: agents clean up their directory, and the store may lie in it.
import { stat } from "node:fs/promises";
import * as path from "node:path";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context } from "../command.ts";

/** As it was when the store was opened. */
export interface StoreFile {
  readonly path: string;
  readonly ino: number;
}

/** null: it is in no file of its own. */
export async function storeFile({ io, storeName }: Context, store: Holdfast | null): Promise<StoreFile | null> {
  if (store === null || store.info.engine !== "sqlite") return null;
  const file = path.resolve(io.cwd, storeName);
  const { ino } = await stat(file).catch(() => ({ ino: null }));
  return ino === null ? null : { path: file, ino };
}

export async function isSameFile({ path: file, ino }: StoreFile): Promise<boolean> {
  return stat(file).then(
    (now) => now.ino === ino,
    () => false,
  );
}
