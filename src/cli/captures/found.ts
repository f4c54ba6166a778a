// A session that is on this machine, as `holdfast capture` takes it: found by its id or its transcript, looked through for
// secrets, and made a bundle of.
import { readFile } from "node:fs/promises";
import * as path from "node:path";
import { bundleFiles } from "../../captures/bundle.ts";
import { findClaudeSession } from "../../coding/claude/find.ts";
import { configDirOf } from "../../coding/claude/key.ts";
import type { FoundHere } from "../../coding/here.ts";
import { KnownSecrets } from "../../coding/known-secrets.ts";
import type { FileFinding } from "../../coding/saver.ts";
import { maskSecrets, scanSecrets } from "../../coding/secrets.ts";
import type { CaptureRole, CodingAgent } from "../../contracts/captures.ts";
import type { FoundFile, FoundSession } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { sha256Hex } from "../../core/bytes.ts";
import { limitExceeded } from "../../core/check.ts";
import { isFile } from "../bytes.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { AGENTS, agentGiven, agentOfId, hereOf, placeOf } from "./agent.ts";
import { latestHere } from "./latest.ts";

export type Asked =
  | { readonly agent: CodingAgent; readonly sessionId: string }
  | { readonly agent: "claude-code"; readonly transcript: string };

/** What the user named. */
export async function askedFor(context: Context): Promise<Asked> {
  const { args, io } = context;
  const [sessionId, transcript] = [args.text("session-id"), args.text("transcript")];
  const agent = agentGiven(context);
  const named = [sessionId !== undefined, transcript !== undefined, args.flag("latest")];
  if (named.filter(Boolean).length !== 1) {
    throw new UsageError(
      "name the session: --session-id ID, --transcript PATH of Claude Code, or --latest of this directory, one of them",
    );
  }
  if (args.flag("latest")) return latestHere(agent === undefined ? AGENTS : [agent], placeOf(context));
  if (transcript === undefined) return { agent: agentOfId(sessionId ?? "", agent), sessionId: sessionId ?? "" };
  if (agent === "opencode") throw new UsageError("--transcript is of Claude Code; name OpenCode's by --session-id");
  if (!(await isFile(transcript, io))) {
    throw new HoldfastError("NotFound", `no file ${transcript}`, { details: { file: transcript } });
  }
  return { agent: "claude-code", transcript: path.resolve(io.cwd, transcript) };
}

/** Whoever asked says when its files are done with. */
export async function findHere(context: Context, asked: Asked): Promise<FoundHere> {
  if ("sessionId" in asked) return hereOf(context, asked.agent).find(asked.sessionId);
  const { env, cwd } = placeOf(context);
  const { transcript: transcriptPath } = asked;
  const found = await findClaudeSession({ transcriptPath, configDir: configDirAbove(transcriptPath, env), cwd });
  return { ...found, done: async () => {} };
}

/** The path says it: <config directory>/projects/<key>/<session>.jsonl. Otherwise it is the user's. */
function configDirAbove(transcript: string, env: Context["io"]["env"]): string {
  const projects = path.dirname(path.dirname(transcript));
  return path.basename(projects) === "projects" ? path.dirname(projects) : configDirOf(env);
}

export interface Counted {
  readonly files: number;
  readonly size: number;
}

export function byRole(files: readonly { role: CaptureRole; size: number }[]): Readonly<Record<string, Counted>> {
  const roles: Record<string, Counted> = {};
  for (const { role, size } of files) {
    const before = roles[role] ?? { files: 0, size: 0 };
    roles[role] = { files: before.files + 1, size: before.size + size };
  }
  return roles;
}

/** Its files one after the other; what was listed and is gone is left out, as when it is saved. */
async function* contentsOf({ files }: FoundSession): AsyncGenerator<{ file: FoundFile; content: Uint8Array }> {
  for (const file of files) {
    const content = await readFile(file.file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (content !== null) yield { file, content };
  }
}

export async function secretsIn(found: FoundSession): Promise<readonly FileFinding[]> {
  const findings: FileFinding[] = [];
  for await (const { file, content } of contentsOf(found)) {
    for (const finding of scanSecrets(content)) findings.push({ ...finding, path: file.path });
  }
  return findings;
}

export interface Bundled {
  readonly bundle: Uint8Array;
  readonly secrets: readonly FileFinding[];
}

/** Without a store. */
export async function bundleOfFound(found: FoundSession, mask: boolean): Promise<Bundled> {
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
