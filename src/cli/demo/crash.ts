// Kills a writer with -9 in the middle of its work, and compares what it was promised with what is there.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { type StoreChoice, storeEnvironment } from "../store.ts";

export interface Killed {
  /** The number of each message that was acknowledged, by its seq. */
  readonly acknowledged: ReadonlyMap<number, number>;
  readonly signal: string | null;
  readonly pid: number;
  readonly ms: number;
}

const ENOUGH = 400;
/** On a slow disk fewer acknowledgements must do. */
const PATIENCE_MS = 4000;

/** Starts the writer, lets it work, and kills it as soon as enough was acknowledged. */
export async function killWriter(choice: StoreChoice, session: string): Promise<Killed> {
  const started = performance.now();
  const argv = ["--disable-warning=ExperimentalWarning", entryPoint(), "demo-writer", session];
  const child = spawn(process.execPath, argv, {
    stdio: ["ignore", "pipe", "pipe"],
    // Not as arguments: those are shown to everybody on the machine, and a URL can hold a password.
    env: { ...process.env, ...storeEnvironment(choice) },
  });
  const acknowledged = new Map<number, number>();
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  let isDoomed = false;
  let unread = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (unread + text).split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines) {
      const [seq, number] = line.split(" ").map(Number);
      if (seq !== undefined && number !== undefined) acknowledged.set(seq, number);
    }
    // Some milliseconds later, differing from run to run, so that it can hit any moment of a commit.
    if (acknowledged.size >= ENOUGH && !isDoomed) {
      isDoomed = true;
      setTimeout(() => child.kill("SIGKILL"), Math.random() * 5);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  // "close" comes after the last of its output: what it still said before it died was acknowledged too.
  const [code, signal]: unknown[] = await once(child, "close");
  clearTimeout(timer);
  if (signal === null || acknowledged.size === 0) {
    throw new HoldfastError("Internal", `the writer ended by itself (${code}): ${errors.trim() || "no message"}`);
  }
  const ms = Math.round(performance.now() - started);
  return { acknowledged, signal: String(signal), pid: child.pid ?? 0, ms };
}

/** main.ts beside us, or main.js in a build. */
function entryPoint(): string {
  const self = fileURLToPath(import.meta.url);
  return path.join(path.dirname(self), "..", `main${path.extname(self)}`);
}

export interface Survivors {
  readonly stored: number;
  /** Acknowledged and not there. */
  readonly lost: number;
  /** There, and not exactly what was written. */
  readonly broken: number;
  readonly contiguous: boolean;
}

export async function survivors(holdfast: Holdfast, session: string, killed: Killed): Promise<Survivors> {
  const messages = await holdfast.history.session(session);
  const stored = new Map<number, number>();
  let broken = 0;
  for (const { seq, content } of messages) {
    const [block] = content;
    const text = content.length === 1 && block?.type === "text" ? block.text : "";
    const number = Number(/^message (\d+):/.exec(text)?.[1] ?? Number.NaN);
    if (text !== writerText(number)) broken++;
    stored.set(seq, number);
  }
  const lost = [...killed.acknowledged].filter(([seq, number]) => stored.get(seq) !== number).length;
  const events = await holdfast.log.read(session, { limit: LIMITS.eventsPage });
  const contiguous = events.every(({ seq }, i) => seq === i + 1) && new Set(stored.values()).size === messages.length;
  return { stored: messages.length, lost, broken, contiguous };
}

const WORDS = "the writer goes on and on because nobody told it that its process will be killed ".split(" ");

/** Of any number the same text again, and of no two numbers: half a message, or another's, would be noticed. */
export function writerText(number: number): string {
  const words = Array.from({ length: 20 + (number % 80) }, (_, i) => WORDS[(number + i) % WORDS.length] ?? "");
  const digest = createHash("sha256").update(String(number)).digest("hex");
  return `message ${number}: ${words.join(" ")} ${digest}`;
}
