// Every command that creates files, as a process with a umask of its own: whatever appears is readable by its owner only. Each
// step says what it creates, so that a command that stops writing a file is noticed too.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { projectKey } from "../../src/coding/claude/session-files.ts";
import { SESSION, writeRichSession } from "../coding/claude-tree.ts";
import { COMPILED } from "../compiled.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CLI = path.join(ROOT, "src/cli/entry.ts");
const HELD_STORE = path.join(import.meta.dirname, "held-store.ts");
const FAKE_CLAUDE = path.join(ROOT, "test/fake-claude.ts");
export const EVERY_UMASK: readonly number[] = [0o000, 0o022, 0o077];

export interface CreatedFile {
  readonly command: string;
  readonly name: string;
  readonly isDirectory: boolean;
  /** As `ls` counts it, in octal. */
  readonly mode: string;
}

interface Step {
  readonly name: string;
  readonly program: readonly string[];
  /** Something that must be there afterwards, below the folder. */
  readonly creates: string;
  readonly env?: Readonly<Record<string, string>>;
  /** It ends itself with -9. */
  readonly isKilled?: boolean;
}

function steps(cwd: string, isLong: boolean): readonly Step[] {
  const cli = (name: string, creates: string, ...args: string[]): Step => ({
    name,
    creates,
    program: [process.execPath, CLI, ...args],
  });
  const request = ["--request", "issue-7"];
  const restored = { CLAUDE_CONFIG_DIR: path.join(cwd, "restored") };
  const taken = { CLAUDE_CONFIG_DIR: path.join(cwd, "taken") };
  return [
    cli("init", "holdfast.db", "init"),
    cli("init, blobs in files", "files.db", "init", "--store", "files.db", "--blob-dir", "blobs"),
    cli("blobs put, in files", "blobs", "blobs", "put", "data.bin", "--store", "files.db", "--blob-dir", "blobs"),
    {
      name: "a store whose process was killed",
      isKilled: true,
      creates: "held.db-wal",
      program: [process.execPath, HELD_STORE, "held.db"],
    },
    cli("messages add", "holdfast.db", "messages", "add", "chat-1", "--agent", "helper", "hello"),
    cli("export", "chat.holdfast", "export", "chat-1", "--out", "chat.holdfast"),
    cli("export --markdown", "chat.md", "export", "chat-1", "--markdown", "--out", "chat.md"),
    cli("import", "blobs", "import", "chat.holdfast", "--store", "files.db", "--blob-dir", "blobs"),
    cli("capture", "holdfast.db", "capture", "--session-id", SESSION, ...request),
    cli("capture --out", "session.hfcap", "capture", "--session-id", SESSION, "--out", "session.hfcap"),
    cli("handover --out", "HANDOVER.md", "handover", ...request, "--out", "HANDOVER.md"),
    { ...cli("restore", "restored/projects", "restore", ...request), env: restored },
    { ...cli("restore --from", "taken/projects", "restore", "--from", "session.hfcap"), env: taken },
    cli("import-local", "holdfast.db", "import-local"),
    cli(
      ...(["run", "run.db", "run", "--store", "run.db", ...request, "--out", "run.hfcap"] as const),
      ...["--log", "run.log", "--", "claude", "-p", "go"],
    ),
    // Half of the time of all.
    ...(isLong ? [cli("demo --keep", "tmp", "demo", "--yes", "--keep")] : []),
  ];
}

/** What the commands created below a fresh folder of `scratch`; throws when a command fails. */
export function createdUnder(umask: number, scratch: string, isLong: boolean): readonly CreatedFile[] {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(scratch, "modes-")));
  const [cwd, home] = [path.join(folder, "work"), path.join(folder, "home")];
  const bin = path.join(folder, "bin");
  for (const directory of [cwd, home, bin, path.join(cwd, "tmp")]) fs.mkdirSync(directory);
  fs.writeFileSync(path.join(cwd, "data.bin"), Buffer.alloc(100_000, "bytes"));
  const claude = path.join(bin, "claude");
  fs.writeFileSync(claude, `#!/bin/sh\numask 077\nexec "${process.execPath}" "${FAKE_CLAUDE}" "$@"\n`, { mode: 0o755 });
  writeRichSession({ configDir: path.join(home, ".claude"), key: projectKey(cwd) }, cwd);
  const env = {
    ...COMPILED,
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: home,
    TMPDIR: path.join(cwd, "tmp"),
    FAKE_CLAUDE: JSON.stringify({ sessions: [{ session: "own", says: "done" }] }),
  };
  const created: CreatedFile[] = [];
  const seen = new Set(namesBelow(folder));
  for (const { name, program, creates, env: own, isKilled = false } of steps(cwd, isLong)) {
    const shell = ["-c", `umask ${umask.toString(8)}; exec "$@"`, "sh", ...program];
    const { status, signal, stderr } = spawnSync("sh", shell, { cwd, env: { ...env, ...own }, encoding: "utf8" });
    if (isKilled ? signal !== "SIGKILL" : status !== 0)
      throw new Error(`${name} ended with ${status ?? signal}: ${stderr}`);
    for (const file of namesBelow(folder)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const stat = fs.lstatSync(path.join(folder, file));
      created.push({
        command: name,
        name: file,
        isDirectory: stat.isDirectory(),
        mode: (stat.mode & 0o777).toString(8),
      });
    }
    if (!fs.existsSync(path.join(cwd, creates))) throw new Error(`${name} created no ${creates}`);
  }
  fs.rmSync(folder, { recursive: true, force: true });
  return created;
}

function namesBelow(folder: string): readonly string[] {
  return fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
}

/** Those that users other than the owner can use. */
export function exposedAmong(created: readonly CreatedFile[]): readonly CreatedFile[] {
  return created.filter(({ isDirectory, mode }) => mode !== (isDirectory ? "700" : "600"));
}
