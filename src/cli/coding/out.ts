// The session as one file, once the agent has ended: what the next container is handed. It needs no store, and is written
// before the store is asked.
import { constants } from "node:fs";
import { access, rename, stat } from "node:fs/promises";
import * as path from "node:path";
import type { FoundHere } from "../../coding/here.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { fileOut, isFile, missingDirectory } from "../bytes.ts";
import { bundleOfFound } from "../captures/found.ts";
import { readHanded, sourceHanded } from "../captures/handed.ts";
import type { Context } from "../command.ts";
import { fileFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { Follower, Log } from "./follow.ts";

export interface WrittenBundle {
  readonly file: string;
  readonly bytes: number;
  /** What was there and is of another session is kept under this name. */
  readonly kept: string | null;
}

/** Before the agent starts: whether the file can be written at all. */
export async function checkOut(file: string, io: Io): Promise<void> {
  const target = path.resolve(io.cwd, file);
  const directory = path.dirname(target);
  const found = await stat(target).catch(() => null);
  if (found?.isDirectory()) {
    throw new HoldfastError("InvalidArgument", `--out names a directory, ${file}, and not a file in it`, {
      hint: `Name the file: --out ${path.join(file, "session.hfcap")}`,
      details: { file },
    });
  }
  const above = await stat(directory).catch((error: unknown) => error);
  if (above instanceof Error && "code" in above && above.code === "ENOENT") throw missingDirectory(above, file);
  // A device or a pipe is written to as it is.
  if (found !== null && !found.isFile()) return;
  await access(directory, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw fileFailure(error, file);
  });
}

/** Nothing of it is there until all of it is. */
export async function writeBundle(
  { args, io }: Context,
  found: FoundHere,
  file: string,
  follower: Follower,
  log: Log,
): Promise<WrittenBundle> {
  const { bundle, secrets } = await bundleOfFound(found, args.flag("mask-secrets"));
  follower.addSecrets(secrets);
  const out = await fileOut(file, io);
  await out.write(bundle);
  const kept = await keptAs(file, found.sessionId, io);
  if (kept !== null) await rename(path.resolve(io.cwd, file), path.resolve(io.cwd, kept));
  await out.finish();
  log("info", "capture.bundle", { file, bytes: bundle.byteLength, sessionId: found.sessionId, kept });
  return { file, bytes: bundle.byteLength, kept };
}

/** What is there and is not an earlier bundle of the session is kept under another name; null: nothing is to be kept. */
async function keptAs(file: string, sessionId: string, io: Io): Promise<string | null> {
  if (!(await isFile(file, io))) return null;
  const held = await readHanded(file, io)
    .then((bytes) => sourceHanded(bytes, undefined, io.cwd))
    .then((source) => source.sessionId)
    .catch(() => null);
  if (held === sessionId) return null;
  const name = `${file}.${held ?? "before"}`;
  for (let n = 1; ; n++) {
    const one = n === 1 ? name : `${name}-${n}`;
    if (!(await isFile(one, io))) return one;
  }
}
