// Restoring a session of Claude Code beside an attacker that exchanges a directory for a link and back, as fast as
// possible. A round says how the restore ended and fails when a file was written outside, or when only some of the
// files are there.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { restoreClaude } from "../../src/coding/claude/restore.ts";
import { projectKey } from "../../src/coding/claude/session-files.ts";
import type { CaptureSource } from "../../src/contracts/coding.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import { originIn, SESSION, sourceWith, transcript } from "../coding/claude-tree.ts";

const SWAPPER = fileURLToPath(new URL("link-swapper.ts", import.meta.url));
const FILES = 120;

/** Which directory is exchanged, below the session's own. */
export const SWAPPED = { "the one that files are put into": "tool-results", "the one above it": "." } as const;
/** How a restore may end. */
const EXPECTED = ["done", "Conflict", "InvalidArgument"];

async function startSwapper(directory: string, outside: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SWAPPER, directory, outside], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

interface Ground {
  readonly cwd: string;
  readonly configDir: string;
  readonly outside: string;
  /** The session's own directory. */
  readonly session: string;
  readonly source: CaptureSource;
}

function newGround(scratch: string): Ground {
  const folder = fs.mkdtempSync(path.join(scratch, "race-"));
  const [cwd, configDir, outside] = ["work", ".claude", "outside"].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  const session = path.join(configDir, "projects", projectKey(cwd), SESSION);
  for (const directory of [cwd, outside, path.join(session, "tool-results")])
    fs.mkdirSync(directory, { recursive: true });
  const results = Array.from({ length: FILES }, (_, i) => [
    `project/${SESSION}/tool-results/${i}.txt`,
    Buffer.from(`result ${i}`),
  ]) as [string, Uint8Array][];
  const files = new Map([[`project/${SESSION}.jsonl`, Buffer.from(transcript(2, cwd))], ...results]);
  return { cwd, configDir, outside, session, source: sourceWith(originIn(cwd), files) };
}

/** Wherever the swapper left their directory when it was stopped. */
function countResults(configDir: string): number {
  const names = fs.readdirSync(configDir, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".txt")).length;
}

/** What was done, or the code of the error. */
async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "done";
  } catch (error) {
    return isHoldfastError(error) ? error.code : `untyped: ${error}`;
  }
}

/** How the restore ended: "done", or the code of its error. `which` names the directory that is exchanged. */
export async function raceOnce(scratch: string, which: string): Promise<string> {
  const { cwd, configDir, outside, session, source } = newGround(scratch);
  // A link to this place would lead to a directory of the same shape.
  fs.mkdirSync(path.join(outside, "tool-results"));
  const swapper = await startSwapper(path.join(session, which), outside);
  let outcome: string;
  try {
    outcome = await outcomeOf(() => restoreClaude(source, { cwd, configDir }));
  } finally {
    await stop(swapper);
  }
  assert.ok(EXPECTED.includes(outcome), outcome);
  assert.deepEqual(fs.readdirSync(outside, { recursive: true }), ["tool-results"], "written outside");
  assert.equal(countResults(configDir), outcome === "done" ? FILES : 0, `files after a restore that ended ${outcome}`);
  fs.rmSync(path.dirname(cwd), { recursive: true, force: true });
  return outcome;
}
