// The command line on an open store: each test gets a folder with a holdfast.db in it and a handle on that.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { expect } from "vitest";
import { type CaptureOptions, capture } from "../src/cli/capture.ts";
import { main } from "../src/cli/main.ts";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import { open } from "../src/index.ts";

let cwd = "";
let hf: Holdfast | undefined;

/** For beforeEach. */
export async function openCliStore(): Promise<{ readonly cwd: string; readonly hf: Holdfast }> {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  hf = await open(path.join(cwd, "holdfast.db"));
  return { cwd, hf };
}

/** For afterEach. */
export async function closeCliStore(): Promise<void> {
  await hf?.close();
  rmSync(cwd, { recursive: true, force: true });
}

/** A command in that folder. */
export function cli(argv: readonly string[], options: CaptureOptions = {}) {
  return capture(main, argv, { cwd, ...options });
}

/** A command that must succeed: what it prints, as on a terminal of 80 columns. */
export async function run(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv, { columns: 80, env: { NO_COLOR: "1" } });
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  return stdout;
}

/** The value that a command prints with --json. */
export async function json(...argv: string[]) {
  const { code, stdout, stderr } = await cli([...argv, "--json"]);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

/** A command that must fail with that code: what it says on stderr. */
export async function refused(code: number, ...argv: string[]): Promise<string> {
  const answer = await cli(argv);
  expect([argv.join(" "), answer.code, answer.stdout]).toEqual([argv.join(" "), code, ""]);
  return answer.stderr;
}
