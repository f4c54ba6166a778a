// Restoring beside an attacker who may write in the same directories: directories become links while files are put back, and
// links wait where files are going to be. Nothing is ever written outside, and a restore that succeeds is complete.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { projectKey } from "../../src/coding/claude/key.ts";
import { restoreClaude } from "../../src/coding/claude/restore.ts";
import { Staging } from "../../src/coding/staging.ts";
import type { CaptureSource } from "../../src/contracts/coding.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import { scaled } from "../../src/testing/scale.ts";
import { refOf, SESSION, sourceWith, transcript } from "../coding/claude-tree.ts";
import { Places } from "./places.ts";

const SWAPPER = fileURLToPath(new URL("link-swapper.ts", import.meta.url));
const ROUNDS = scaled({ short: 3, long: 100 });
const FILES = 120;

const places = new Places();
const mounted: string[] = [];
const swappers: ChildProcess[] = [];

async function stopSwappers(): Promise<void> {
  for (const child of swappers.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}

afterEach(async () => {
  await stopSwappers();
  for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder]);
});
afterAll(() => places.remove());

async function startSwapper(directory: string, outside: string): Promise<void> {
  const child = spawn(process.execPath, [SWAPPER, directory, outside], { stdio: ["ignore", "pipe", "inherit"] });
  swappers.push(child);
  await once(child.stdout, "data");
}

interface Ground {
  readonly cwd: string;
  readonly configDir: string;
  readonly outside: string;
  /** The session's own directory. */
  readonly session: string;
  readonly source: CaptureSource;
}

function newGround(): Ground {
  const folder = fs.mkdtempSync(path.join(places.folder, "race-"));
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
  const origin = {
    agent: "claude-code" as const,
    sessionId: SESSION,
    cwd,
    configDir: null,
    key: null,
    agentVersion: null,
  };
  return { cwd, configDir, outside, session, source: sourceWith(origin, files) };
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

describe("a directory that becomes a link and a directory again and again", () => {
  test.each([
    ["the one that files are put into", "tool-results"],
    ["the one above it", "."],
  ])(
    "CA3 %s: all files are there, or none and a typed error, and never one outside",
    { timeout: 120_000 },
    async (_, which) => {
      const outcomes: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { cwd, configDir, outside, session, source } = newGround();
        // A link to this place would lead to a directory of the same shape.
        fs.mkdirSync(path.join(outside, "tool-results"));
        await startSwapper(path.join(session, which), outside);
        const outcome = await outcomeOf(() => restoreClaude(source, { cwd, configDir }));
        await stopSwappers();
        outcomes.push(outcome);
        expect(fs.readdirSync(outside, { recursive: true })).toEqual(["tool-results"]);
        expect(countResults(configDir), outcome).toBe(outcome === "done" ? FILES : 0);
      }
      expect(outcomes.filter((outcome) => !["done", "Conflict", "InvalidArgument"].includes(outcome))).toEqual([]);
    },
  );
});

function mountAt(folder: string): boolean {
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status !== 0) return false;
  mounted.push(folder);
  return true;
}

const probe = fs.mkdtempSync(path.join(places.folder, "probe-"));
const mayMount = process.getuid?.() === 0 && mountAt(probe);
for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder]);
const title = "a part of the target on another file system";

describe.skipIf(!mayMount)(mayMount ? title : `${title} (skipped: this user cannot mount one here)`, () => {
  const content = Buffer.from("what was captured\n");
  const file = { role: "other" as const, path: "a", size: content.byteLength, stored: 0 };

  test.each([
    ["by descriptor", true],
    ["by path", false],
  ])("CA3 a link that waits where the copy was going to be is not followed, %s", async (_, byDescriptor) => {
    const folder = fs.mkdtempSync(path.join(places.folder, "mounted-"));
    const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
    const below = path.join(root, "below");
    fs.mkdirSync(below, { recursive: true });
    expect(mountAt(below)).toBe(true);
    fs.writeFileSync(outside, "theirs");
    fs.symlinkSync(outside, path.join(below, "b.holdfast-000000000000"));
    const staging = await Staging.in(root, byDescriptor);
    const read = async function* () {
      yield content;
    };
    await staging.add({ ...file, ref: refOf(content) }, path.join(below, "b"), read());
    await staging.place();
    await staging.close();
    expect(fs.readFileSync(path.join(below, "b"))).toEqual(content);
    expect(fs.lstatSync(path.join(below, "b")).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(outside, "utf8")).toBe("theirs");
    expect(fs.readdirSync(below).toSorted()).toEqual(["b", "b.holdfast-000000000000"]);
  });
});
