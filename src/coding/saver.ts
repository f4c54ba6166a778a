// Saves a session of a coding agent repeatedly while it grows. An unchanged file is named by its ref and not read; of a file that grew,
// the store adds only the new part. One save runs at a time.
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Capture, CapturedFile, Captures, CaptureWithFiles, NewCapturedFile } from "../contracts/captures.ts";
import type { FoundFile, FoundSession } from "../contracts/coding.ts";
import type { Environment } from "../contracts/environment.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import { mainFileOf } from "../core/agent-sessions.ts";
import { sha256Hex } from "../core/bytes.ts";
import { realEnvironment } from "../core/environment.ts";
import { continuesFile, continuesMoved, findBasis } from "./save-basis.ts";
import { KnownSecrets, maskSecrets, type ScanProgress, type SecretFinding, scanFrom } from "./secrets.ts";

export interface SaverOptions {
  /** The store's clock, by which captures expire; the environment's when not given. */
  readonly clock?: () => { readonly now: number };
  readonly environment?: Pick<Environment, "now">;
  readonly captures: Pick<Captures, "save" | "list" | "files" | "read" | "expire">;
  readonly request: string;
  /** The capture that was restored before the agent started; null: none. Not given: the newest, if the files continue it. */
  readonly basis?: CaptureWithFiles | null;
  readonly ttlMs?: number | null;
  /** Replaces likely secrets. A restore then writes other bytes than the agent wrote. */
  readonly mask?: boolean;
  /** Saves also when nothing changed, because the caller asked for a capture. */
  readonly always?: boolean;
  readonly session?: string;
}

export interface FileFinding extends SecretFinding {
  readonly path: string;
}

export interface Saved {
  readonly capture: Capture;
  /** Files that were read, because they are new or changed. */
  readonly read: number;
  /** Likely secrets that no earlier save reported. */
  readonly secrets: readonly FileFinding[];
  /** Files that were removed before the saver read them. */
  readonly gone: readonly string[];
}

/** The state of a file when it was read last. */
interface KnownFile {
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
  readonly ref: string;
}

type ReadResult = Omit<KnownFile, "ref"> & { readonly content: Uint8Array };

/** The content that is saved, and the content before secrets were replaced. */
type SavedContent = ReadResult & { readonly plain: Uint8Array };

/** The files of the session at one moment. */
interface Inspection {
  readonly files: NewCapturedFile[];
  readonly read: Map<string, SavedContent>;
  readonly secrets: FileFinding[];
  readonly scanned: Map<string, ScanProgress>;
  readonly gone: string[];
}

/** A file that was written in the same tick of the clock as it was read may have changed unseen: it is read again. */
const TICK_MS = 50;
const NEVER = -1;

export class Saver {
  readonly #options: SaverOptions;
  /** The machine's clock, which also gave the files their times. */
  readonly #environment: Pick<Environment, "now">;
  readonly #storeNow: () => number;
  readonly #known = new Map<string, KnownFile>();
  readonly #scanned = new Map<string, ScanProgress>();
  /** Secrets that are masked wherever they occur again, in any file and any later save. */
  readonly #knownSecrets = new KnownSecrets();
  readonly #reportedSecrets = new Set<string>();
  /** The end of each file as it was saved last, which is quicker to compare than the whole file. */
  readonly #tails = new Map<string, Tail>();
  /** How long the capture is kept; unknown until it is renewed. */
  #keepMs: number | undefined;
  /** The capture that the next save continues; null: none; undefined: not looked for yet. */
  #last: CaptureWithFiles | null | undefined;
  /** The files of a save that the store did not answer. The save may have happened. */
  #unanswered: readonly NewCapturedFile[] | null = null;
  #saving: Promise<unknown> = Promise.resolve();

  constructor(options: SaverOptions) {
    this.#options = options;
    const { clock, environment = realEnvironment() } = options;
    this.#environment = environment;
    this.#storeNow = clock === undefined ? () => environment.now() : () => clock().now;
    this.#last = options.basis;
  }

  /** The session's capture after the last save; null: nothing was saved or found yet. */
  get current(): CaptureWithFiles | null {
    return this.#last ?? null;
  }

  /** null: nothing changed since the last time. */
  save(found: FoundSession): Promise<Saved | null> {
    const saving = this.#saving.then(() => this.#save(found));
    this.#saving = saving.catch(() => {});
    return saving;
  }

  async #save(found: FoundSession): Promise<Saved | null> {
    const inspection = await this.#inspect(found);
    if (this.#last === undefined) this.#last = await this.#basis(found, inspection);
    if (this.#unanswered !== null) await this.#checkUnanswered(found, this.#unanswered);
    if (this.#last !== null && this.#options.always !== true && isUnchanged(found, inspection, this.#last)) {
      this.#remember(inspection, this.#last);
      if (await this.#renew(this.#last)) return null;
      // The capture was removed meanwhile, and its blobs with it: all files are read again.
      this.#known.clear();
      this.#last = undefined;
      return this.#save(found);
    }
    if (this.#last !== null && !(await this.#continuesLast(found, inspection.read, this.#last))) this.#last = null;
    const saved = await this.#commit(found, inspection).catch((error: unknown) => {
      // A blob that was named by its ref was removed meanwhile: all files are read again.
      if (!isMissing(error) || inspection.read.size === inspection.files.length) throw error;
      this.#known.clear();
      return null;
    });
    return saved ?? this.#save(found);
  }

  #basis(found: FoundSession, { read }: Inspection): Promise<CaptureWithFiles | null> {
    const { captures, request, mask } = this.#options;
    return findBasis({ captures, request, ...(mask === true ? { masked: this.#knownSecrets } : {}) }, found, read);
  }

  async #inspect(found: FoundSession): Promise<Inspection> {
    const inspection: Inspection = { files: [], read: new Map(), secrets: [], scanned: new Map(), gone: [] };
    const knownBefore = this.#knownSecrets.size;
    const all: { readonly file: FoundFile; readonly taken: ReadResult | { readonly ref: string } }[] = [];
    for (const file of found.files) {
      const taken = await this.#readFile(file);
      if (taken === null) inspection.gone.push(file.path);
      else {
        if ("content" in taken) this.#scan(file, taken, inspection);
        all.push({ file, taken });
      }
    }
    if (
      this.#options.mask === true &&
      this.#knownSecrets.size > knownBefore &&
      all.some(({ taken }) => "ref" in taken)
    ) {
      // Files that were saved before may contain a secret that was found only now.
      this.#known.clear();
      return this.#inspect(found);
    }
    for (const { file, taken } of all) {
      if ("ref" in taken) inspection.files.push({ ...nameOf(file), content: { ref: taken.ref } });
      else {
        const content = this.#options.mask === true ? maskSecrets(taken.content, this.#knownSecrets) : taken.content;
        inspection.read.set(file.path, { ...taken, content, plain: taken.content });
        inspection.files.push({ ...nameOf(file), content, owned: true });
      }
    }
    return inspection;
  }

  #scan(file: FoundFile, taken: ReadResult, inspection: Inspection): void {
    const last = this.#scanned.get(file.path);
    const { findings, scanned } = scanFrom(taken, last, file.grows, this.#knownSecrets);
    for (const finding of findings) inspection.secrets.push({ ...finding, path: file.path });
    inspection.scanned.set(file.path, scanned);
  }

  async #commit(found: FoundSession, inspection: Inspection): Promise<Saved> {
    const { captures, request, ttlMs, session } = this.#options;
    const { agent, sessionId, cwd, configDir, key, agentVersion } = found;
    const basis = this.#last == null ? null : { id: this.#last.id, generation: this.#last.generation };
    this.#unanswered = inspection.files;
    const capture = await captures
      .save({
        request,
        agent,
        sessionId,
        cwd,
        configDir,
        key,
        agentVersion,
        files: inspection.files,
        onConflict: "keep",
        basis,
        ...(ttlMs === undefined ? {} : { ttlMs }),
        ...(session === undefined ? {} : { session }),
      })
      .catch((error: unknown) => {
        if (isMissing(error)) this.#unanswered = null;
        throw error;
      });
    this.#unanswered = null;
    this.#last = capture;
    this.#remember(inspection, capture);
    return {
      capture,
      read: inspection.read.size,
      secrets: this.#newFindings(inspection.secrets),
      gone: inspection.gone,
    };
  }

  /** Checks whether a save without an answer was committed. */
  async #checkUnanswered({ agent, sessionId }: FoundSession, sent: readonly NewCapturedFile[]): Promise<void> {
    const { captures, request } = this.#options;
    const last = this.#last ?? null;
    const { items } = await captures.list({ request, agent, sessionId, diverged: true });
    for (const one of items) {
      if (one.generation !== (last?.generation ?? 0) + 1 || (last !== null && one.id !== last.id)) continue;
      const files = await captures.files(one.id);
      if (isSame(sent, files)) this.#last = { ...one, files };
    }
    this.#unanswered = null;
  }

  #remember({ read, scanned, files }: Inspection, capture: CaptureWithFiles): void {
    const refs = new Map(capture.files.map(({ path, ref }) => [path, ref]));
    const listed = new Set(files.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!listed.has(path)) this.#known.delete(path);
    for (const [path, { size, mtimeNs, ino, content }] of read) {
      if (this.#options.mask !== true) this.#tails.set(path, tailOf(content));
      this.#known.set(path, { size, mtimeNs, ino, ref: refs.get(path) ?? "" });
    }
    for (const [path, one] of scanned) this.#scanned.set(path, one);
  }

  #newFindings(findings: readonly FileFinding[]): readonly FileFinding[] {
    return findings.filter(({ path, line, column, kind }) => {
      const name = `${path} ${line} ${column} ${kind}`;
      return !this.#reportedSecrets.has(name) && this.#reportedSecrets.add(name);
    });
  }

  /**
   * Extends the expiry after half of the time, so that an agent that waits for its user does not lose its session. It does not save
   * again, because that would make the capture the newest of its request. false: the capture is gone.
   */
  async #renew(last: CaptureWithFiles): Promise<boolean> {
    const { savedAt, expiresAt } = last;
    const now = this.#storeNow();
    if (expiresAt === null) return true;
    const kept = this.#keepMs ?? expiresAt - savedAt;
    if (now < expiresAt - kept / 2) return true;
    this.#keepMs = kept;
    try {
      const renewed = await this.#options.captures.expire(last.id, now + kept);
      this.#last = { ...last, ...renewed };
      return true;
    } catch (error) {
      if (isHoldfastError(error) && error.code === "NotFound") return false;
      throw error;
    }
  }

  /**
   * Transcripts only grow. If one lost its beginning, because of a full disk or a tool that cleans up, it must not replace the complete
   * one: it is saved as a diverged capture.
   */
  async #continuesLast(found: FoundSession, read: Inspection["read"], last: CaptureWithFiles): Promise<boolean> {
    const { agent, sessionId } = found;
    const { path } = mainFileOf(agent, sessionId);
    const here = read.get(path);
    const had = last.files.find((file) => file.path === path);
    if (agent !== "claude-code" || here === undefined || had === undefined) return true;
    const known = this.#tails.get(path);
    if (known !== undefined) return isSameTail(here.content, known);
    // A secret that the end of the file cut off is reported and replaced when the rest of it is written.
    const longest = Math.max(here.content.byteLength, here.plain.byteLength);
    const isCut = this.#options.mask === true && longest + CUT >= had.size;
    return continuesFile(here, had) || isCut || continuesMoved(this.#options.captures, { basis: last, found, here });
  }

  #isSettled(mtimeNs: bigint): boolean {
    const age = this.#environment.now() - Number(mtimeNs / 1_000_000n);
    return age > TICK_MS;
  }

  /** The bytes, or the ref if the file did not change; null when the file is gone. */
  async #readFile(file: FoundFile): Promise<ReadResult | { readonly ref: string } | null> {
    let handle: FileHandle;
    try {
      // The file may have been replaced by a link or a pipe since it was listed: those are not followed.
      handle = await open(file.file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (["ENOENT", "ELOOP", "ENXIO"].includes(code)) return null;
      // Other files than the transcript are not needed to resume: a save without them is better than none.
      if (["EACCES", "EPERM"].includes(code) && file.role !== "transcript" && file.role !== "export") return null;
      throw error;
    }
    try {
      const stat = await handle.stat({ bigint: true });
      const { size, mtimeNs, ino } = stat;
      if (!stat.isFile()) return null;
      const known = this.#known.get(file.path);
      const isKnown = known?.size === Number(size) && known.mtimeNs === mtimeNs && known.ino === ino;
      if (isKnown) return { ref: known.ref };
      const content = await readWhole(handle, Number(size));
      return { size: this.#isSettled(mtimeNs) ? content.byteLength : NEVER, mtimeNs, ino, content };
    } finally {
      await handle.close();
    }
  }
}

interface Tail {
  readonly size: number;
  readonly sha256: string;
}

const TAIL = 64 * 1024;
/** The longest secret. */
const CUT = 16 * 1024;

function tailOf(content: Uint8Array, size = content.byteLength): Tail {
  return { size, sha256: sha256Hex(content.subarray(Math.max(0, size - TAIL), size)) };
}

function isSameTail(content: Uint8Array, { size, sha256 }: Tail): boolean {
  return content.byteLength >= size && tailOf(content, size).sha256 === sha256;
}

function isMissing(error: unknown): boolean {
  return isHoldfastError(error) && (error.code === "BlobNotFound" || error.code === "BlobExpired");
}

/**
 * A file may grow after its session was found and before its bytes are read. Then the capture has lines of an agent version that it does
 * not name, and the next save names that version.
 */
function isUnchanged({ agentVersion }: FoundSession, { files }: Inspection, last: CaptureWithFiles): boolean {
  return isSame(files, last.files) && (agentVersion === null || agentVersion === last.agentVersion);
}

/** Sizes are compared first, so that a file that grew is not hashed. */
function isSame(files: readonly NewCapturedFile[], saved: readonly CapturedFile[]): boolean {
  if (files.length !== saved.length) return false;
  const had = new Map(saved.map((file) => [file.path, file]));
  const looksSame = files.every(({ path, content }) => {
    const { ref, size } = had.get(path) ?? {};
    return "ref" in content ? content.ref === ref : content.byteLength === size;
  });
  if (!looksSame) return false;
  return files.every(({ path, content }) => {
    return "ref" in content || `sha256:${sha256Hex(content)}` === had.get(path)?.ref;
  });
}

/** Reads as many bytes as the file had when it was opened. The next save reads what is added meanwhile. */
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
