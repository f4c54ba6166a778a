// Writes a session of this machine to one file: reads its files, searches them for secrets, bundles them and writes
// --out. It needs no store, and `holdfast run` writes the bundle before it saves to the store.
import { constants } from "node:fs";
import { access, readFile, rename, stat } from "node:fs/promises";
import * as path from "node:path";
import { bundleFiles } from "../../captures/bundle.ts";
import type { LocalSession } from "../../coding/local-agent.ts";
import type { FileFinding } from "../../coding/saver.ts";
import { KnownSecrets, maskSecrets, scanSecrets } from "../../coding/secrets.ts";
import type { Log, SessionRecorder } from "../../coding/supervisor/recorder.ts";
import type { FoundFile, FoundSession } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { sha256Hex } from "../../core/bytes.ts";
import { limitExceeded } from "../../core/check.ts";
import { fileOut, isFile, missingDirectory } from "../bytes.ts";
import type { Context } from "../command-line.ts";
import { fileFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { decodeSessionInput, readInputBytes } from "./session-input.ts";

/**
 * Reads the files one after the other. It skips a file that was deleted after it was listed, as saving to the store
 * does.
 */
async function* contentsOf({ files }: FoundSession): AsyncGenerator<{ file: FoundFile; content: Uint8Array }> {
  for (const file of files) {
    const content = await readFile(file.file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (content !== null) yield { file, content };
  }
}

export async function findSecrets(found: FoundSession): Promise<readonly FileFinding[]> {
  const findings: FileFinding[] = [];
  for await (const { file, content } of contentsOf(found)) {
    for (const finding of scanSecrets(content)) findings.push({ ...finding, path: file.path });
  }
  return findings;
}

export interface SessionBundle {
  readonly bundle: Uint8Array;
  readonly secrets: readonly FileFinding[];
}

export async function bundleSession(found: FoundSession, mask: boolean): Promise<SessionBundle> {
  const size = found.files.reduce((sum, file) => sum + file.size, 0);
  if (size > LIMITS.bundleBytes) throw limitExceeded("bundleBytes", "the size of the session's files", size);
  const secrets: FileFinding[] = [];
  const known = new KnownSecrets();
  const contents: { readonly file: FoundFile; readonly content: Uint8Array }[] = [];
  for await (const one of contentsOf(found)) contents.push(one);
  for (const { file, content } of contents) {
    for (const finding of scanSecrets(content, { known })) secrets.push({ ...finding, path: file.path });
  }
  const files = contents.map(({ file: { role, path }, content: bytes }) => {
    const content = mask ? maskSecrets(bytes, known) : bytes;
    return { role, path, size: content.byteLength, ref: `sha256:${sha256Hex(content)}`, content };
  });
  const { agent, sessionId, cwd, configDir, key, agentVersion } = found;
  return { bundle: await bundleFiles({ agent, sessionId, cwd, configDir, key, agentVersion }, files), secrets };
}

export interface WrittenBundle {
  readonly file: string;
  readonly bytes: number;
  /** The new name of an existing file that contained another session; null: there was none. */
  readonly kept: string | null;
}

/** Fails if the file cannot be written; called before the agent starts. */
export async function checkOut(file: string, io: Io): Promise<void> {
  const target = path.resolve(io.cwd, file);
  const directory = path.dirname(target);
  const found = await stat(target).catch(() => null);
  if (found?.isDirectory()) {
    throw new HoldfastError("InvalidArgument", `--out names the directory ${file}, not a file`, {
      hint: `Name the file: --out ${path.join(file, "session.hfcap")}`,
      details: { file },
    });
  }
  const above = await stat(directory).catch((error: unknown) => error);
  if (above instanceof Error && "code" in above && above.code === "ENOENT") throw missingDirectory(above, file);
  // The bundle is written to a device or a pipe directly, without a temporary file.
  if (found !== null && !found.isFile()) return;
  await access(directory, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw fileFailure(error, file);
  });
}

/** Writes the bundle to `file`, which appears only when it is complete. */
export async function writeBundle(
  { args, io }: Context,
  found: LocalSession,
  file: string,
  recorder: SessionRecorder,
  log: Log,
): Promise<WrittenBundle> {
  const { bundle, secrets } = await bundleSession(found, args.flag("mask-secrets"));
  recorder.addSecrets(secrets);
  const out = await fileOut(file, io);
  await out.write(bundle);
  const kept = await nameForKept(file, found.sessionId, io);
  if (kept !== null) await rename(path.resolve(io.cwd, file), path.resolve(io.cwd, kept));
  await out.finish();
  log("info", "capture.bundle", { file, bytes: bundle.byteLength, sessionId: found.sessionId, kept });
  return { file, bytes: bundle.byteLength, kept };
}

/** The new name for an existing file that is not an earlier bundle of this session; null if nothing must be kept. */
async function nameForKept(file: string, sessionId: string, io: Io): Promise<string | null> {
  if (!(await isFile(file, io))) return null;
  const contained = await readInputBytes(file, io)
    .then((bytes) => decodeSessionInput(bytes, undefined, io.cwd))
    .then((source) => source.sessionId)
    .catch(() => null);
  if (contained === sessionId) return null;
  const name = `${file}.${contained ?? "before"}`;
  for (let n = 1; ; n++) {
    const one = n === 1 ? name : `${name}-${n}`;
    if (!(await isFile(one, io))) return one;
  }
}
