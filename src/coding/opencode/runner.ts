// Runs the real `opencode`, one command at a time. Its output goes to a file: through a pipe it ends after some kilobytes, and the
// exit code is still 0.
import { spawn } from "node:child_process";
import { type FileHandle, mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { STATEMENT_MAX } from "./sql.ts";

const DEADLINE_MS = 120_000;
/** An error keeps this many characters of the end of stderr. */
const TAIL = 600;

export interface OpenCodeOptions {
  /** The program and the arguments before every command: ["opencode"]. */
  readonly command: readonly [string, ...string[]];
  /** All of its environment variables. Those of this process are not added. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly environment: Environment;
  /** For each command. Default two minutes. */
  readonly deadlineMs?: number;
}

export type Row = Readonly<Record<string, unknown>>;

export class OpenCode {
  readonly options: OpenCodeOptions;

  constructor(options: OpenCodeOptions) {
    this.options = options;
  }

  /** The same program in another directory. */
  inDirectory(cwd: string): OpenCode {
    return new OpenCode({ ...this.options, cwd });
  }

  /** Runs one statement and returns its rows: opencode ignores further statements. */
  async rows(sql: string): Promise<readonly Row[]> {
    if (Buffer.byteLength(sql) > STATEMENT_MAX) throw new Error("bug: a statement is too long for a command line");
    const text = await this.text(["db", "--format", "json", sql]);
    const rows = parseOrUndefined(text);
    if (!Array.isArray(rows)) throw commandFailed(["db"], "it printed no rows", text);
    return rows;
  }

  /** Returns what the command printed. */
  async text(args: readonly string[]): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), "holdfast-opencode-"));
    try {
      const file = path.join(folder, "stdout");
      await this.toFile(args, file);
      return await readFile(file, "utf8");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Writes what the command prints to the file, which only its owner can read. */
  async toFile(args: readonly string[], file: string): Promise<void> {
    const { cwd } = this.options;
    if (!(await isDirectory(cwd))) {
      throw new HoldfastError("MissingDirectory", `there is no directory ${JSON.stringify(cwd)} to run opencode in`, {
        details: { cwd },
        hint: "Create it, or name another one.",
      });
    }
    const errors = `${file}.stderr`;
    const out = await open(file, "w", 0o600);
    const err = await open(errors, "w", 0o600);
    try {
      await this.#run(args, out, err, errors);
    } finally {
      await Promise.all([out.close(), err.close()]);
      await rm(errors, { force: true });
    }
  }

  async #run(args: readonly string[], out: FileHandle, err: FileHandle, errors: string): Promise<void> {
    const { command, env, cwd, environment, deadlineMs = DEADLINE_MS } = this.options;
    const [program, ...before] = command;
    const ended = new AbortController();
    const child = spawn(program, [...before, ...args], {
      cwd,
      env: { ...env, PWD: cwd },
      stdio: ["ignore", out.fd, err.fd],
    });
    let isLate = false;
    environment.sleep(deadlineMs, ended.signal).then(() => {
      if (ended.signal.aborted) return;
      isLate = true;
      child.kill("SIGKILL");
    });
    const exit = await new Promise<string | null>((resolve, reject) => {
      child.once("error", (cause) => reject(cannotStart(program, cause)));
      child.once("exit", (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? code}`));
    }).finally(() => ended.abort());
    const why = isLate ? `it took longer than ${deadlineMs} ms` : exit;
    if (why !== null) throw commandFailed(args, why, await readFile(errors, "utf8"));
  }
}

/** The directory of sessions and spilled output, found by OpenCode's own rule. */
export function openCodeDataDir(env: Readonly<Record<string, string | undefined>>): string {
  const data = env.XDG_DATA_HOME || path.join(env.HOME ?? "", ".local", "share");
  return path.join(data, "opencode");
}

export function commandFailed(args: readonly string[], why: string, stderr = ""): HoldfastError {
  const command = `opencode ${args.slice(0, args[0] === "db" ? 1 : 2).join(" ")}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal begin with one.
  const tail = stderr.replace(/\u001b\[[0-9;]*m/g, "").slice(-TAIL);
  return new HoldfastError("AgentFailed", `\`${command}\` failed: ${why}`, {
    details: { command, why, stderr: tail },
    hint: "details.stderr has the end of its error output; run the command by hand to see all of it.",
  });
}

function cannotStart(program: string, cause: Error): HoldfastError {
  return new HoldfastError("MissingDependency", `cannot start ${JSON.stringify(program)}: ${cause.message}`, {
    details: { program },
    hint: "Install opencode, or put its directory into PATH.",
    cause,
  });
}

async function isDirectory(name: string): Promise<boolean> {
  return stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
