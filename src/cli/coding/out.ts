// The session as one file, once the agent has ended: what the next container is handed.
import { rename } from "node:fs/promises";
import * as path from "node:path";
import { fileOut, isFile } from "../bytes.ts";
import { bundleOfFound } from "../captures/found.ts";
import { readHanded, sourceHanded } from "../captures/handed.ts";
import type { Context } from "../command.ts";
import type { Io } from "../io.ts";
import type { Follower, Log } from "./follow.ts";

export interface Bundled {
  readonly file: string;
  readonly bytes: number;
  /** What was there and is of another session is kept under this name. */
  readonly kept: string | null;
}

/** null: none was asked for, or it could not be written. Nothing of it is there until all of it is. */
export async function writeBundle({ args, io }: Context, follower: Follower, log: Log): Promise<Bundled | null> {
  const file = args.text("out");
  if (file === undefined) return null;
  try {
    const found = await follower.find();
    if (found === null) return null;
    try {
      const { bundle, secrets } = await bundleOfFound(found, args.flag("mask-secrets"));
      if (follower.secrets.length === 0) follower.secrets.push(...secrets);
      const out = await fileOut(file, io);
      await out.write(bundle);
      const kept = await keptAs(file, found.sessionId, io);
      if (kept !== null) await rename(path.resolve(io.cwd, file), path.resolve(io.cwd, kept));
      await out.finish();
      log("info", "capture.bundle", { file, bytes: bundle.byteLength, sessionId: found.sessionId, kept });
      return { file, bytes: bundle.byteLength, kept };
    } finally {
      await found.done();
    }
  } catch (error) {
    follower.problem = error;
    log("error", "capture.bundle", { file, error: String(error) });
    return null;
  }
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
