// A session of Claude Code on disk that grows turn by turn, and the two ways to save it and to restore it.
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { sourceOfCapture } from "../../src/coding/capture-source.ts";
import { restoreClaude } from "../../src/coding/claude/restore.ts";
import { findClaudeSession, projectKeyOf } from "../../src/coding/claude/session-files.ts";
import { Saver } from "../../src/coding/saver.ts";
import type { Capture } from "../../src/contracts/captures.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import type { Engine } from "./engine.ts";

const zip = promisify(gzip);
const unzip = promisify(gunzip);

export interface OnDisk {
  readonly sessionId: string;
  readonly file: string;
  /** Saves as `holdfast run` does: finds the session's files, reads the changes, looks for secrets, saves. */
  save(): Promise<Capture>;
  /** Saves the whole file, gzipped, as one row. */
  saveRow(): Promise<void>;
  append(bytes: Uint8Array): Promise<void>;
}

export async function putOnDisk(
  engine: Engine,
  folder: string,
  { sessionId, bytes }: { readonly sessionId: string; readonly bytes: Uint8Array },
): Promise<OnDisk> {
  const configDir = path.join(folder, `claude-${sessionId}`);
  const project = path.join(configDir, "projects", await projectKeyOf(folder));
  await mkdir(project, { recursive: true });
  const file = path.join(project, `${sessionId}.jsonl`);
  await writeFile(file, bytes);
  const { captures } = engine.hf;
  const saver = new Saver({ environment: realEnvironment(), captures, request: "bench", basis: null });
  return {
    sessionId,
    file,
    async save() {
      const saved = await saver.save(await findClaudeSession({ sessionId, configDir, cwd: folder }));
      if (saved === null) throw new Error("there was nothing to save");
      return saved.capture;
    },
    saveRow: async () => engine.saveRow(sessionId, await zip(await readFile(file))),
    append: (more) => appendFile(file, more),
  };
}

/**
 * Restores the session: finds the capture, writes the files beside their targets, verifies them, and moves them to
 * where the agent looks.
 */
export async function restoreCapture(engine: Engine, capture: string, cwd: string, configDir: string): Promise<void> {
  await restoreClaude(await sourceOfCapture(engine.hf.captures, capture), { cwd, configDir });
}

export async function restoreRow(engine: Engine, sessionId: string, cwd: string, configDir: string): Promise<void> {
  const project = path.join(configDir, "projects", cwd.replaceAll("/", "-"));
  await mkdir(project, { recursive: true });
  await writeFile(path.join(project, `${sessionId}.jsonl`), await unzip(await engine.loadRow(sessionId)));
}
