// All sessions of Claude Code that a user has on this machine, without reading any of them.
import { lstat, readdir } from "node:fs/promises";
import * as path from "node:path";
import { checkSessionId, isSessionId } from "./layout.ts";

export interface ClaudeTranscript {
  readonly sessionId: string;
  readonly key: string;
  readonly file: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * One for every transcript: a session that ran in several directories is there several times. A directory that cannot be
 * listed is told to `unreadable`, where there is one, and the others are listed all the same.
 */
export async function* listClaudeSessions(
  configDir: string,
  unreadable?: (folder: string, error: unknown) => void,
): AsyncGenerator<ClaudeTranscript> {
  for (const key of await keysOf(configDir)) {
    const folder = path.join(configDir, "projects", key);
    const names = await readdir(folder).catch((error: unknown) => {
      if (unreadable === undefined) throw error;
      unreadable(folder, error);
      return [];
    });
    for (const name of names.sort()) {
      if (!name.endsWith(".jsonl") || !isSessionId(name.slice(0, -6))) continue;
      const found = await transcript(configDir, key, name.slice(0, -6));
      if (found !== null) yield found;
    }
  }
}

/** The transcripts of one session. */
export async function* copiesOf(configDir: string, sessionId: string): AsyncGenerator<ClaudeTranscript> {
  checkSessionId(sessionId);
  for (const key of await keysOf(configDir)) {
    const found = await transcript(configDir, key, sessionId);
    if (found !== null) yield found;
  }
}

async function keysOf(configDir: string): Promise<string[]> {
  const entries = await readdir(path.join(configDir, "projects"), { withFileTypes: true }).catch((error) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  const folders = entries.filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).sort();
}

async function transcript(configDir: string, key: string, sessionId: string): Promise<ClaudeTranscript | null> {
  const file = path.join(configDir, "projects", key, `${sessionId}.jsonl`);
  const stat = await lstat(file).catch(() => null);
  return stat?.isFile() ? { sessionId, key, file, size: stat.size, mtimeMs: stat.mtimeMs } : null;
}
