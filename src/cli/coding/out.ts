// The session as one file, once the agent has ended: what the next container is handed.
import { rename } from "node:fs/promises";
import * as path from "node:path";
import type { CaptureSource } from "../../contracts/coding.ts";
import { fileOut, isFile } from "../bytes.ts";
import { bundleOfFound } from "../captures/found.ts";
import type { Context } from "../command.ts";
import type { Follower, Log } from "./follow.ts";

export interface Bundled {
  readonly file: string;
  readonly bytes: number;
  /** What was there and is of another session is kept under this name. */
  readonly kept: string | null;
}

/** null: none was asked for, or it could not be written. Nothing of it is there until all of it is. */
export async function writeBundle(
  { args, io }: Context,
  follower: Follower,
  before: CaptureSource | null,
  log: Log,
): Promise<Bundled | null> {
  const file = args.text("out");
  if (file === undefined) return null;
  try {
    const found = await follower.find();
    if (found === null) return null;
    try {
      const { bundle, secrets } = await bundleOfFound(found, args.flag("mask-secrets"));
      if (follower.secrets.length === 0) follower.secrets.push(...secrets);
      const out = await fileOut(file, io, 0o600);
      await out.write(bundle);
      const isOther = before?.sessionId !== found.sessionId && (await isFile(file, io));
      const kept = isOther ? `${file}.${before?.sessionId ?? "before"}` : null;
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
