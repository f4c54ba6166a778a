// Sessions of Claude Code on disk, as tests make them, and what a folder holds before and after.
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CaptureSource, FoundSession } from "../../src/contracts/coding.ts";

export const SESSION = "1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d";
export const OTHER = "99999999-6a0e-4f0b-9c3e-0a5f6a1b2c3d";

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-claude-")));
  folders.push(folder);
  return folder;
}

export function write(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

export interface Line {
  readonly type?: string;
  readonly uuid?: string;
  readonly [field: string]: unknown;
}

/** A conversation of so many messages, as Claude Code writes it. */
export function transcript(messages: number, cwd: string, more: Line = {}): string {
  let text = `${JSON.stringify({ type: "queue-operation", sessionId: SESSION })}\n`;
  for (let i = 0; i < messages; i++) {
    const type = i % 2 === 0 ? "user" : "assistant";
    const parentUuid = i === 0 ? null : `u${i - 1}`;
    const message = { role: type, content: `message ${i}` };
    const common = { sessionId: SESSION, version: "2.1.325", cwd, uuid: `u${i}` };
    text += `${JSON.stringify({ parentUuid, isSidechain: false, type, message, ...common, ...more })}\n`;
  }
  return text;
}

export interface Tree {
  readonly configDir: string;
  readonly key: string;
}

/** Everything a session can have, and much that is not its own. */
export function writeRichSession({ configDir, key }: Tree, cwd: string): void {
  const project = path.join(configDir, "projects", key);
  write(path.join(project, `${SESSION}.jsonl`), transcript(6, cwd));
  write(path.join(project, SESSION, "subagents/agent-a1b2.jsonl"), transcript(2, cwd, { isSidechain: true }));
  write(path.join(project, SESSION, "subagents/agent-a1b2.meta.json"), '{"agentType":"general"}');
  write(path.join(project, SESSION, "tool-results/toolu_1.txt"), "x".repeat(5000));
  write(path.join(project, SESSION, "workflows/deep/wf_1.json"), "{}");
  write(path.join(project, "agent-0abc123.jsonl"), transcript(1, cwd, { isSidechain: true }));
  write(path.join(configDir, "tasks", SESSION, "1.json"), '{"id":"1"}');
  write(path.join(configDir, "tasks", SESSION, ".highwatermark"), "1");
  write(path.join(configDir, "file-history", SESSION, "0123456789abcdef@v1"), "before");
  write(path.join(configDir, "session-env", SESSION, "hook-0.sh"), "export A=1\n");
  write(path.join(configDir, "todos", `${SESSION}-agent-${SESSION}.json`), "[]");
}

/** What must never be captured. */
export function writeStrangers({ configDir, key }: Tree, cwd: string): void {
  const project = path.join(configDir, "projects", key);
  const others = [".claude.json", ".credentials.json", "settings.json", "settings.local.json", "backups/a.json"];
  const more = [
    "plugins/x/y.json",
    `sessions/${SESSION}.json`,
    "sessions/42.key",
    "shell-snapshots/s.sh",
    "history.jsonl",
  ];
  for (const name of [...others, ...more]) write(path.join(configDir, name), `secret of ${name}`);
  write(path.join(configDir, "tasks", SESSION, ".lock"), "");
  write(path.join(configDir, "tasks", OTHER, "1.json"), "other");
  write(path.join(configDir, "file-history", OTHER, "a@v1"), "other");
  write(path.join(configDir, "todos", `${OTHER}-agent-${SESSION}.json`), "other");
  write(path.join(configDir, "todos", `${SESSION}.json`), "no agent's");
  write(path.join(project, `${OTHER}.jsonl`), transcript(2, cwd).replaceAll(SESSION, OTHER));
  write(path.join(project, OTHER, "tool-results/a.txt"), "other");
  write(path.join(project, "agent-fff.jsonl"), transcript(1, cwd).replaceAll(SESSION, OTHER));
  write(path.join(project, "agent-empty.jsonl"), "");
  write(path.join(project, "memory/MEMORY.md"), "the project's");
  write(path.join(project, `${SESSION}.jsonl.bak`), "a copy");
  write(path.join(project, SESSION, ".credentials.json"), "secret");
}

export function refOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** A capture as a store would give it, in pieces of that size. */
export function sourceOf(found: FoundSession, piece = 1000): CaptureSource {
  const bytes = new Map(found.files.map((file) => [file.path, readFileSync(file.file)]));
  return sourceWith(found, bytes, piece);
}

/** Where a session came from of which only the directory is known. */
export function originIn(cwd: string): Omit<FoundSession, "files"> {
  return { agent: "claude-code", sessionId: SESSION, cwd, configDir: null, key: null, agentVersion: null };
}

export function sourceWith(
  origin: Omit<FoundSession, "files">,
  bytes: ReadonlyMap<string, Uint8Array>,
  piece = 1000,
): CaptureSource {
  const files = [...bytes].map(([name, content]) => {
    return { role: "other" as const, path: name, size: content.byteLength, ref: refOf(content), stored: 0 };
  });
  return {
    ...origin,
    files,
    async *read(name) {
      const content = bytes.get(name) ?? new Uint8Array();
      for (let at = 0; at < content.byteLength; at += piece) yield content.subarray(at, at + piece);
    },
  };
}

/** Every name below a folder with its mode and what it holds: two that are equal are the same tree. */
export function snapshot(root: string): Map<string, string> {
  const seen = new Map<string, string>();
  const visit = (file: string) => {
    const stat = lstatSync(file);
    const mode = (stat.mode & 0o7777).toString(8);
    const name = path.relative(root, file);
    if (stat.isSymbolicLink()) seen.set(name, `link ${readlinkSync(file)}`);
    else if (stat.isFile()) seen.set(name, `${mode} ${refOf(readFileSync(file))}`);
    else seen.set(name, mode);
    if (stat.isDirectory()) for (const below of readdirSync(file)) visit(path.join(file, below));
  };
  visit(root);
  return seen;
}
