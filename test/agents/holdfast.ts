// `holdfast` on a machine with the real agents, and stores of both engines that outlive the machines.
import * as fs from "node:fs";
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { CLI } from "../command.ts";
import { takeSchema } from "../schemas.ts";
import { type Machine, type Machines, MODEL, type Running, type RunOptions } from "./machine.ts";

const CLAUDE = ["claude", "-p", "--model", MODEL, "--dangerously-skip-permissions"];

export function holdfast(machine: Machine, args: readonly string[], options?: RunOptions): Running {
  return machine.start(process.execPath, [CLI, ...args], options);
}

export interface ClaudeRun extends RunOptions {
  readonly store: string;
  readonly prompt: string;
  /** Default: r-1. */
  readonly request?: string;
  /** Options of `holdfast run`. */
  readonly more?: readonly string[];
}

/** `holdfast run --request R --store S … -- claude -p … prompt` */
export function runClaude(machine: Machine, run: ClaudeRun): Running {
  const { store, prompt, request = "r-1", more = [], ...options } = run;
  return holdfast(machine, ["run", "--request", request, "--store", store, ...more, "--", ...CLAUDE, prompt], options);
}

export type EngineName = "sqlite" | "postgres";

export interface StorePlace {
  readonly url: string;
  remove(): Promise<void>;
}

let stores = 0;

export async function newStore(machines: Machines, engine: EngineName): Promise<StorePlace> {
  if (engine === "sqlite") return { url: path.join(machines.folder, `store-${++stores}.db`), remove: async () => {} };
  const schema = await takeSchema();
  return { url: schema.url, remove: () => schema.leave() };
}

export async function withStore<T>(url: string, work: (hf: Holdfast) => Promise<T>): Promise<T> {
  const hf = await open(url);
  try {
    return await work(hf);
  } finally {
    await hf.close();
  }
}

/** The transcript in the request's newest capture; "" when there is none yet. */
export async function savedTranscript(url: string): Promise<string> {
  if (!url.includes("://") && !fs.existsSync(url)) return "";
  return withStore(url, async ({ captures }) => {
    const [capture] = (await captures.list()).items;
    if (capture === undefined) return "";
    const pieces: Uint8Array[] = [];
    for await (const piece of captures.read(capture.id, `project/${capture.sessionId}.jsonl`)) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  });
}

/** Asks until it is so. */
export async function eventually(isSo: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries > 600) throw new Error(`it never came to this: ${what}`);
    await new Promise((next) => setTimeout(next, 100));
  }
}

/** A SQLite store as it is now, with what is not in the file itself yet. */
export function copyOf(store: string, to: string): string {
  for (const end of ["", "-wal"]) if (fs.existsSync(store + end)) fs.copyFileSync(store + end, to + end);
  return to;
}
