// A folder with a store of its own, and the commands run in it: what they print, and what the store then holds.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { expect } from "vitest";
import { main } from "../src/cli/main.ts";
import { type CommandOutput, captureOutput, type OutputCaptureOptions } from "../src/cli/output-capture.ts";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import { open } from "../src/open.ts";

let cwd = "";
let opened: Holdfast | null = null;

/** A fresh folder, with a store made by `init`. */
export async function enter(): Promise<string> {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  await run("init");
  return cwd;
}

/** A fresh folder, with a store that stays open in this process until `leave`. */
export async function enterOpen(): Promise<{ readonly cwd: string; readonly hf: Holdfast }> {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  opened = await open(path.join(cwd, "holdfast.db"));
  return { cwd, hf: opened };
}

export async function leave(): Promise<void> {
  await opened?.close();
  opened = null;
  rmSync(cwd, { recursive: true, force: true });
}

export function cli(argv: readonly string[], options: OutputCaptureOptions = {}): Promise<CommandOutput> {
  return captureOutput(main, argv, { cwd, ...options });
}

/** A command that must succeed: what it prints. */
export async function run(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv);
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  return stdout;
}

/** The same on a terminal of 80 columns: no line is wider. */
export async function runOnTerminal(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv, { columns: 80, env: { NO_COLOR: "1" } });
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  return stdout;
}

// biome-ignore lint/suspicious/noExplicitAny: what a program gets is whatever the command says
export async function json(...argv: string[]): Promise<any> {
  const { code, stdout, stderr } = await cli([...argv, "--json"]);
  expect([argv.join(" "), code, stderr]).toEqual([argv.join(" "), 0, ""]);
  return JSON.parse(stdout);
}

/** A command that must fail with this exit code: what it says. */
export async function refused(code: number, ...argv: string[]): Promise<string> {
  const answer = await cli(argv);
  expect([argv.join(" "), answer.code, answer.stdout]).toEqual([argv.join(" "), code, ""]);
  return answer.stderr;
}

/** A command that must fail: its exit code and what it says. */
export async function fails(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv);
  expect(stdout).toBe("");
  return `${code} ${stderr}`;
}

export async function within<T>(use: (store: Holdfast) => Promise<T>, file = "holdfast.db"): Promise<T> {
  const store = await open(path.join(cwd, file));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
