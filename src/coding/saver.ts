// Saves a session of a coding agent again and again while it grows: what did not change since is named and not read, and of
// what changed the store keeps what was added. One save at a time.
import { type FileHandle, open } from "node:fs/promises";
import type { Capture, Captures, CaptureWithFiles, NewCapturedFile } from "../contracts/captures.ts";
import type { FoundFile, FoundSession } from "../contracts/coding.ts";
import type { Environment } from "../contracts/environment.ts";
import { realEnvironment } from "../core/environment.ts";
import { maskSecrets, type SecretFinding, SecretScanner } from "./secrets.ts";

export interface SaverOptions {
  readonly environment?: Pick<Environment, "now">;
  readonly captures: Pick<Captures, "save">;
  readonly request: string;
  /** The capture that was put back before the agent began; null: there was none. Not given: whatever there is. */
  readonly basis?: CaptureWithFiles | null;
  readonly ttlMs?: number | null;
  /** Replaces likely secrets: what is put back is then not what was there. */
  readonly mask?: boolean;
  readonly session?: string;
}

export interface FileFinding extends SecretFinding {
  readonly path: string;
}

export interface Saved {
  readonly capture: Capture;
  /** Files that were read, because they are new or changed. */
  readonly read: number;
  /** Likely secrets in what was read now. */
  readonly secrets: readonly FileFinding[];
  /** What was listed and gone when it was to be read. */
  readonly gone: readonly string[];
}

/** What a file was when it was read last. */
interface Known {
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
  readonly ref: string;
}

/** A file that was written in the same tick of the clock as it was read may have changed unseen: it is read again. */
const TICK_MS = 50;
const NEVER = -1;
const NEWLINE = 0x0a;

export class Saver {
  readonly #options: SaverOptions;
  readonly #environment: Pick<Environment, "now">;
  readonly #known = new Map<string, Known>();
  /** Up to where a file that only grows was looked through. */
  readonly #scanned = new Map<string, number>();
  #last: Pick<Capture, "id" | "generation"> | null | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SaverOptions) {
    this.#options = options;
    const { basis, environment = realEnvironment() } = options;
    this.#environment = environment;
    this.#last = basis === undefined || basis === null ? basis : { id: basis.id, generation: basis.generation };
  }

  /** null: nothing changed since the last time. */
  save(found: FoundSession): Promise<Saved | null> {
    const saving = this.#turn.then(() => this.#save(found));
    this.#turn = saving.catch(() => {});
    return saving;
  }

  async #save(found: FoundSession): Promise<Saved | null> {
    const files: NewCapturedFile[] = [];
    const read = new Map<string, Omit<Known, "ref">>();
    const secrets: FileFinding[] = [];
    const gone: string[] = [];
    for (const file of found.files) {
      const taken = await this.#take(file);
      if (taken === null) gone.push(file.path);
      else if ("ref" in taken) files.push({ ...nameOf(file), content: { ref: taken.ref } });
      else {
        const { content, ...known } = taken;
        read.set(file.path, known);
        secrets.push(...scan(file, content, this.#scanned.get(file.path) ?? 0));
        this.#scanned.set(file.path, file.grows ? content.byteLength : 0);
        const kept = this.#options.mask === true ? maskSecrets(content) : content;
        files.push({ ...nameOf(file), content: kept, owned: true });
      }
    }
    if (read.size === 0 && this.#last !== undefined && files.length === this.#known.size) return null;
    const capture = await this.#commit(found, files);
    this.#last = { id: capture.id, generation: capture.generation };
    const refs = new Map(capture.files.map(({ path, ref }) => [path, ref]));
    const listed = new Set(files.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!listed.has(path)) this.#known.delete(path);
    for (const [path, known] of read) this.#known.set(path, { ...known, ref: refs.get(path) ?? "" });
    return { capture, read: read.size, secrets, gone };
  }

  #commit(found: FoundSession, files: readonly NewCapturedFile[]): Promise<CaptureWithFiles> {
    const { captures, request, ttlMs, session } = this.#options;
    const { agent, sessionId, cwd, configDir, key, agentVersion } = found;
    return captures.save({
      ...{ request, agent, sessionId, cwd, configDir, key, agentVersion, files, onConflict: "keep" },
      ...(this.#last === undefined ? {} : { basis: this.#last }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
      ...(session === undefined ? {} : { session }),
    });
  }

  #isSettled(mtimeNs: bigint): boolean {
    const age = this.#environment.now() - Number(mtimeNs / 1_000_000n);
    return age > TICK_MS;
  }

  /** The bytes, or the ref of what they were and still are; null when it is gone. */
  async #take(
    file: FoundFile,
  ): Promise<(Omit<Known, "ref"> & { readonly content: Uint8Array }) | { readonly ref: string } | null> {
    let handle: FileHandle;
    try {
      handle = await open(file.file, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
    try {
      const { size, mtimeNs, ino } = await handle.stat({ bigint: true });
      const known = this.#known.get(file.path);
      const isSame = known?.size === Number(size) && known.mtimeNs === mtimeNs && known.ino === ino;
      if (isSame) return { ref: known.ref };
      const content = await readWhole(handle, Number(size));
      return { size: this.#isSettled(mtimeNs) ? content.byteLength : NEVER, mtimeNs, ino, content };
    } finally {
      await handle.close();
    }
  }
}

/** As long as it was when it was opened: what comes after that is for the next time. */
async function readWhole(handle: FileHandle, size: number): Promise<Uint8Array> {
  const content = Buffer.allocUnsafe(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await handle.read(content, at, size - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return content.subarray(0, at);
}

function nameOf({ role, path, grows }: FoundFile): Pick<NewCapturedFile, "role" | "path" | "grows"> {
  return { role, path, grows };
}

/** From where it was looked through the last time; lines are counted from the beginning all the same. */
function scan({ path }: FoundFile, content: Uint8Array, from: number): readonly FileFinding[] {
  const begin = from > content.byteLength ? 0 : from;
  const scanner = new SecretScanner();
  scanner.push(content.subarray(begin));
  const findings = scanner.end();
  if (findings.length === 0) return [];
  let before = 0;
  for (let at = content.indexOf(NEWLINE); at >= 0 && at < begin; at = content.indexOf(NEWLINE, at + 1)) before++;
  return findings.map((finding) => ({ ...finding, line: finding.line + before, path }));
}
