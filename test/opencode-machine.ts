// A machine with the fake opencode on it, sessions to put there, and captures of what was found.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OpenCode, openCodeDataDir, type Row } from "../src/coding/opencode/runner.ts";
import type { CaptureSource, FoundSession } from "../src/contracts/coding.ts";
import type { Environment } from "../src/contracts/environment.ts";
import { realEnvironment } from "../src/core/environment.ts";
import { COMPILED } from "./compiled.ts";

export interface Machine {
  readonly runner: OpenCode;
  readonly cwd: string;
  readonly dataDir: string;
  /** Below it is all that there is of this machine. */
  readonly root: string;
  with(env: Record<string, string>, deadlineMs?: number): OpenCode;
  /** Names of the commands that were run. */
  commands(): string[];
  /** What its runners have logged. */
  logged(): readonly Readonly<Record<string, unknown>>[];
  /** Of the fake's database, without starting it. */
  rows(sql: string): Promise<readonly Row[]>;
}

const roots: string[] = [];

export function removeMachines(): void {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
}

/** `schema`: of which version its database is, as fake-opencode.ts knows them. */
export function newMachine(schema?: "1.2" | "new"): Machine {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-opencode-test-")));
  roots.push(root);
  const [cwd, home] = [path.join(root, "work dir.é"), path.join(root, "home")];
  for (const folder of [cwd, home]) mkdirSync(folder);
  const log = path.join(root, "commands");
  const env = {
    ...COMPILED,
    PATH: process.env.PATH ?? "",
    HOME: home,
    ...(schema === undefined ? {} : { FAKE_SCHEMA: schema }),
  };
  const command = [process.execPath, path.join(import.meta.dirname, "fake-opencode.ts")] as const;
  const logged: Record<string, unknown>[] = [];
  const environment: Environment = {
    ...realEnvironment(),
    log: (level, event, fields) => logged.push({ level, event, ...fields }),
  };
  const make = (more: Record<string, string>, deadlineMs?: number) =>
    new OpenCode({
      command: [...command],
      env: { ...env, ...more },
      cwd,
      environment,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    });
  return {
    runner: make({ FAKE_LOG: log }),
    cwd,
    dataDir: openCodeDataDir(env),
    root,
    with: make,
    logged: () => logged,
    commands: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
    rows: async (sql) => {
      const file = path.join(openCodeDataDir(env), "opencode.db");
      if (!existsSync(file)) return [];
      const database = new DatabaseSync(file);
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    },
  };
}

/** Their bytes are as they were when this was called. */
export function sourceOf(found: FoundSession): CaptureSource {
  const bytes = new Map(found.files.map(({ path: name, file }) => [name, readFileSync(file)]));
  return { ...found, ...sourceFiles(found.files.map((file) => [file, bytes.get(file.path) ?? Buffer.alloc(0)])) };
}

type NewFile = Pick<CaptureSource["files"][number], "role" | "path">;

export function sourceFiles(files: [NewFile, Uint8Array][]): Pick<CaptureSource, "files" | "read"> {
  return {
    files: files.map(([{ role, path: name }, bytes]) => ({
      role,
      path: name,
      size: bytes.byteLength,
      ref: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
      stored: 0,
    })),
    async *read(name) {
      yield files.find(([file]) => file.path === name)?.[1] ?? Buffer.alloc(0);
    },
  };
}

export interface ExportedSession {
  info: { id: string; parentID?: string; [key: string]: unknown };
  messages: { info: Record<string, unknown>; parts: Record<string, unknown>[] }[];
}

/** With that many messages, of which each has a text; more parts can be added to the last. */
export function exported(
  id: string,
  count: number,
  parentID?: string,
  parts: Record<string, unknown>[] = [],
): ExportedSession {
  const messages = Array.from({ length: count }, (_, i) => {
    const info = {
      id: `msg_${id.slice(4)}${String(i).padStart(3, "0")}`,
      sessionID: id,
      role: i % 2 ? "assistant" : "user",
    };
    const texts: Record<string, unknown>[] = [{ type: "text", text: `message ${i} of ${id} 'é\u0000` }];
    const all = [...texts, ...(i === count - 1 ? parts : [])];
    return {
      info,
      parts: all.map((part, j) => ({ id: `prt_${info.id.slice(4)}${j}`, sessionID: id, messageID: info.id, ...part })),
    };
  });
  const info = {
    id,
    ...(parentID === undefined ? {} : { parentID }),
    title: `title of ${id}`,
    version: "1.0.0",
    slug: `slug-of-${id.replaceAll("_", "-")}`,
    time: { created: 500, updated: 1000 },
  };
  return { info, messages };
}

export function toolPart(output: string, metadata: Record<string, unknown> = {}): Record<string, unknown> {
  return { type: "tool", tool: "bash", state: { status: "completed", output, metadata } };
}
