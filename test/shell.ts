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

/** A fresh folder, with a store made by `init`. */
export async function enter(): Promise<string> {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  await run("init");
  return cwd;
}

export function leave(): void {
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

// biome-ignore lint/suspicious/noExplicitAny: what a program gets is whatever the command says
export async function json(...argv: string[]): Promise<any> {
  return JSON.parse(await run(...argv, "--json"));
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
