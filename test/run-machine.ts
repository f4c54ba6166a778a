// A machine with a program that behaves like Claude Code, and `holdfast run` on it as a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { projectKey } from "../src/coding/claude/session-files.ts";
import { open } from "../src/open.ts";
import { CLI } from "./command.ts";
import { COMPILED } from "./compiled.ts";
import type { FakeClaude } from "./fake-claude.ts";
import { onFileEnd } from "./file-end.ts";

const FAKE = path.resolve(import.meta.dirname, "fake-claude.ts");
export const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-run-")));

let machines = 0;

/** The test files of one worker share this module: the folder goes with each file, and comes back with the next. */
function makeFolder(): void {
  mkdirSync(folder, { recursive: true });
  onFileEnd(removeFolder);
}

function removeFolder(): void {
  rmSync(folder, { recursive: true, force: true });
}

/** A home, a directory, and `claude` in the PATH; as npm installs programs, a script may stand before it. */
export class Machine {
  readonly home = path.join(folder, `home-${++machines}`);
  readonly cwd = path.join(folder, `work-${machines}`);
  readonly bin = path.join(this.home, "bin");

  constructor({ wrapped = false } = {}) {
    makeFolder();
    mkdirSync(this.bin, { recursive: true });
    mkdirSync(this.cwd);
    const start = `"${process.execPath}" "${FAKE}" "$@"`;
    writeFileSync(path.join(this.bin, "claude"), `#!/bin/sh\n${wrapped ? `${start}\nexit $?` : `exec ${start}`}\n`);
    chmodSync(path.join(this.bin, "claude"), 0o755);
  }

  run(
    fake: FakeClaude,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    watch: (child: ChildProcess) => void = () => {},
  ): Promise<ProgramResult> {
    const child = spawn(process.execPath, [CLI, "run", ...args], {
      cwd: this.cwd,
      env: {
        ...COMPILED,
        PATH: `${this.bin}:/usr/bin:/bin`,
        HOME: this.home,
        FAKE_CLAUDE: JSON.stringify(fake),
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    if (env.STDIN === "open") onFileEnd(() => child.stdin.destroy());
    else child.stdin.end();
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    watch(child);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    return new Promise((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  }

  /** What the agent was started with. */
  get args(): readonly string[] {
    return JSON.parse(readFileSync(path.join(this.home, "args.json"), "utf8"));
  }

  /** True when the agent has said something in some session, which is then there to be saved. */
  hasSpoken(): boolean {
    const project = path.join(this.home, ".claude/projects", projectKey(this.cwd));
    return existsSync(project) && readdirSync(project).some((name) => name.endsWith(".jsonl"));
  }

  transcript(sessionId: string): string {
    return path.join(this.home, ".claude/projects", projectKey(this.cwd), `${sessionId}.jsonl`);
  }
}

export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const says = (...texts: string[]): FakeClaude => ({
  sessions: texts.map((text) => ({ session: "own", says: text })),
});
export function newStore(): string {
  makeFolder();
  return path.join(folder, `store-${randomUUID()}.db`);
}
export const lineOf = (store: string, request: string, ...more: string[]) => [
  "--store",
  store,
  "--request",
  request,
  ...more,
  "--",
  "claude",
  "-p",
  "go",
];

/** The words of every capture of a request. */
export async function saved(store: string, request: string): Promise<readonly string[]> {
  const hf = await open(store);
  try {
    const { items } = await hf.captures.list({ request, diverged: true });
    const texts = items.map(async ({ id, sessionId }) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of hf.captures.read(id, `project/${sessionId}.jsonl`)) pieces.push(piece);
      return [
        ...Buffer.concat(pieces)
          .toString("utf8")
          .matchAll(/"content":"([^"]*)"/g),
      ]
        .map(([, text]) => text)
        .join();
    });
    return await Promise.all(texts);
  } finally {
    await hf.close();
  }
}
