// Records the sessions of a coding agent while it runs: saves each session that changed, and imports its conversation into the
// store. A failure never disturbs the agent: it is logged, remembered as a problem, and the agent continues.
import type { Capture, CaptureWithFiles } from "../../contracts/captures.ts";
import type { FoundSession } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { type ImportStores, importCaptured } from "../catch-up.ts";
import type { Imported, ImportOptions } from "../conversation/import.ts";
import {
  countByRole,
  findIfPresent,
  hasMessages,
  type LocalAgent,
  type LocalSession,
  localAgent,
} from "../local-agent.ts";
import { type FileFinding, type Saved, Saver, type SaverOptions } from "../saver.ts";
import type { Grace } from "./agent-process.ts";
import { type OwnershipOptions, SessionOwnership } from "./session-ownership.ts";

export type Log = (level: "info" | "warn" | "error", event: string, fields: Readonly<Record<string, unknown>>) => void;

/** The conversation is imported at most this often while the agent runs. */
const IMPORT_EVERY_MS = 10_000;

export interface RecorderOptions extends OwnershipOptions {
  readonly log: Log;
  /** null: nothing is saved. */
  readonly store: Holdfast | null;
  readonly request: string;
  /** The capture that was restored of the session that the command line names; null: none. undefined: the saver looks for it. */
  readonly basis: CaptureWithFiles | null | undefined;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
  /** The store's session whose digest the agent got when it started. */
  readonly follows: string | null;
  /** Called when a session is saved as another capture than before. */
  readonly onSaved: (capture: Capture) => void;
}

/** first: as soon as there is a message. Its conversation is imported by a later save, because the agent is about to write more. */
export type SaveMoment = "first" | "while" | "exit";

/** What may be missing at the end. */
export type ProblemKind = "save" | "conversation" | "bundle" | "sessions";

/** The progress of finish() after the agent has ended. */
type FinishPhase = "begun" | "saved" | "done";

interface RecorderEntry {
  /** null: there is no store. */
  readonly recorded: RecordedSession | null;
  /** When its conversation was imported last, by the monotonic clock. */
  importedAt: number;
  hasMessages: boolean;
}

export class SessionRecorder {
  readonly #options: RecorderOptions;
  readonly #agent: LocalAgent;
  readonly #ownership: SessionOwnership;
  readonly #entries = new Map<string, RecorderEntry>();
  #saving: Promise<void> = Promise.resolve();
  readonly #secrets = new Map<string, FileFinding>();
  /** The session that the agent worked in last; null until it is known. */
  sessionId: string | null;
  /** What writeStamp() returned before the agent started. */
  stampBefore = "";
  /** The last error, by what is missing because of it. */
  readonly problems = new Map<ProblemKind, unknown>();
  /** Sessions of which the store has the files as the agent left them. */
  readonly #current = new Set<string>();
  #phase: FinishPhase = "begun";
  #isReading = false;
  #grace: Pick<Grace, "pause" | "resume"> | null = null;
  #atEnd: Promise<readonly string[]> | null = null;
  /** The session from which the bundle was written. The store gets the same files. */
  #bundled: LocalSession | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.sessionId = options.sessionId;
    this.#agent = localAgent(options.agent, options.host);
    this.#ownership = new SessionOwnership(options);
  }

  /** The newest capture of each session; that of the agent's last session is the last. */
  get saved(): readonly Capture[] {
    return [...this.#entries.values()].flatMap(({ recorded }) => recorded?.last ?? []);
  }

  get isStored(): boolean {
    return this.#options.store !== null;
  }

  get secrets(): readonly FileFinding[] {
    return [...this.#secrets.values()];
  }

  /** A secret that is in the bundle and in the store counts once. */
  addSecrets(findings: readonly FileFinding[]): void {
    for (const one of findings) this.#secrets.set(`${one.path} ${one.line} ${one.column} ${one.kind}`, one);
  }

  /** Before the agent starts. */
  async prepare(): Promise<void> {
    await this.#ownership.prepare().catch((error: unknown) => this.#fail("sessions", "capture.list", error));
    this.stampBefore = await this.writeStamp();
  }

  agentStarted(pid: number): void {
    this.#ownership.agentStarted(pid);
  }

  /** Never throws. */
  async observe(): Promise<void> {
    await this.#ownership.observe().catch((error: unknown) => this.#fail("sessions", "capture.error", error));
  }

  /** A text that changes when the agent writes. It is cheap enough to be read many times a second. Never throws. */
  async writeStamp(): Promise<string> {
    return this.#ownership.writeStamp().catch(() => "");
  }

  /** Saves the sessions that changed, one save at a time. Never throws. */
  save(moment: SaveMoment): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save(moment));
    return this.#saving;
  }

  /**
   * After the agent has ended. The files go to `bundle` first, which needs no store, then into the store, and then the conversation is
   * imported. Never throws.
   */
  async finish(
    bundle: ((found: LocalSession) => Promise<void>) | null,
    grace: Pick<Grace, "pause" | "resume">,
  ): Promise<void> {
    this.#grace = grace;
    if (this.#isReading) grace.pause();
    if (bundle !== null) {
      await this.#bundle(bundle).catch((error: unknown) => this.#fail("bundle", "capture.bundle", error));
    }
    await this.save("exit");
    this.#phase = "done";
  }

  /** The grace time pauses while files are read, because OpenCode's own program may have to read them, which takes long. */
  async #reading<T>(act: () => Promise<T>): Promise<T> {
    this.#isReading = true;
    this.#grace?.pause();
    try {
      return await act();
    } finally {
      this.#isReading = false;
      this.#grace?.resume();
    }
  }

  async #bundle(write: (found: LocalSession) => Promise<void>): Promise<void> {
    for (const sessionId of (await this.#sessionsAtEnd()).toReversed()) {
      const found = await this.#find(sessionId);
      if (found === null) continue;
      this.sessionId = sessionId;
      this.#bundled = found;
      return write(found);
    }
  }

  /** Read once, because it takes long with OpenCode. */
  #sessionsAtEnd(): Promise<readonly string[]> {
    this.#atEnd ??= this.#reading(async () => {
      await this.#ownership.observe();
      return this.#ownership.sessions(true);
    });
    return this.#atEnd;
  }

  async #save(moment: SaveMoment): Promise<void> {
    for (const kind of ["save", "conversation", "sessions"] as const) this.problems.delete(kind);
    let sessions: readonly string[] = [];
    try {
      if (moment === "exit") sessions = await this.#sessionsAtEnd();
      else {
        await this.#ownership.observe();
        sessions = await this.#reading(() => this.#ownership.sessions(false));
      }
    } catch (error) {
      return this.#fail("sessions", "capture.error", error);
    }
    for (const sessionId of sessions) {
      await this.#saveOne(sessionId, moment).catch((error: unknown) => this.#fail("save", "capture.error", error));
    }
    if (moment === "exit") this.#phase = "saved";
    for (const sessionId of sessions) {
      await this.#importOne(sessionId, moment).catch((error: unknown) =>
        this.#fail("conversation", "capture.error", error),
      );
    }
  }

  /** Whether the store has the agent's session as the agent left it. */
  get isSaved(): boolean {
    return this.#current.size > 0 && !this.problems.has("save") && !this.problems.has("sessions");
  }

  /** The grace time is over, or a second signal came, before finish() was done. */
  giveUp(store: string, within: string, wasInterrupted: boolean): void {
    if (this.#phase === "done") return;
    const waitedFor = this.#isReading ? "the session's files were read" : `the store ${store} had answered`;
    const late = this.#isReading
      ? `reading the session's files took longer than the grace time of ${within}`
      : `the store ${store} did not answer within the grace time of ${within}`;
    const why = wasInterrupted ? `a second signal came before ${waitedFor}` : late;
    const kind = this.#phase === "saved" ? "conversation" : "save";
    const error = new HoldfastError("StoreUnreachable", why, { retryable: true });
    this.#fail(kind, "capture.error", error);
  }

  /** The store's file was removed while the agent worked, and what was saved is gone with it. */
  loseStore(store: string): void {
    this.#entries.clear();
    this.#fail(
      "save",
      "capture.error",
      new HoldfastError("StoreUnreachable", `the store ${store} was removed while the agent worked`, {
        hint:
          "Use --store or HOLDFAST_STORE to keep it outside of the directory that agents work in; " +
          "`holdfast capture` saves the session's files that are still on this disk.",
      }),
    );
  }

  #find(sessionId: string): Promise<LocalSession | null> {
    return this.#reading(() => findIfPresent(this.#agent, sessionId));
  }

  async #saveOne(sessionId: string, moment: SaveMoment): Promise<void> {
    const found = this.#bundled?.sessionId === sessionId ? this.#bundled : await this.#find(sessionId);
    if (found === null) return;
    try {
      if (sessionId !== this.sessionId) this.#options.log("info", "capture.session-id", { sessionId });
      if (!this.#entries.has(sessionId)) this.#options.log("info", "capture.found", describeFound(found));
      this.sessionId = sessionId;
      await this.#saveFound(found, this.#entryFor(sessionId), moment);
    } finally {
      await found.done();
    }
  }

  /** Moves the entry to the end of the map: the current session is the last. */
  #entryFor(sessionId: string): RecorderEntry {
    const entry = this.#entries.get(sessionId) ?? {
      recorded: this.#record(sessionId),
      importedAt: Number.NEGATIVE_INFINITY,
      hasMessages: false,
    };
    this.#entries.delete(sessionId);
    this.#entries.set(sessionId, entry);
    return entry;
  }

  #record(sessionId: string): RecordedSession | null {
    const { store, request, ttlMs, mask, host } = this.#options;
    if (store === null) return null;
    const basis = sessionId === this.#options.sessionId ? this.#options.basis : undefined;
    return new RecordedSession(store, {
      clock: store.clock,
      environment: host.environment,
      request,
      mask,
      ...(basis === undefined ? {} : { basis }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    });
  }

  async #saveFound(found: LocalSession, entry: RecorderEntry, moment: SaveMoment): Promise<void> {
    const { log } = this.#options;
    // A session without a message cannot be resumed, and would be newer than one that can.
    entry.hasMessages ||= await hasMessages(found);
    if (!entry.hasMessages) return;
    await this.#refuseErased(found.sessionId, entry);
    const before = entry.recorded?.last?.id;
    const saved = await entry.recorded?.save(found);
    if (saved !== null && saved !== undefined) {
      if (before !== saved.capture.id) this.#options.onSaved(saved.capture);
      this.addSecrets(saved.secrets);
      const { id, generation, fileCount, size, stored, diverged } = saved.capture;
      log("info", "capture.saved", {
        capture: id,
        generation,
        files: fileCount,
        size,
        stored,
        diverged,
        moment,
        sessionId: found.sessionId,
        cwd: found.cwd,
        secrets: saved.secrets.length,
      });
    }
    if (moment === "exit" && saved !== undefined) this.#current.add(found.sessionId);
  }

  async #importOne(sessionId: string, moment: SaveMoment): Promise<void> {
    const { log, follows } = this.#options;
    const entry = this.#entries.get(sessionId);
    if (entry === undefined || entry.recorded === null || entry.recorded.last === null) return;
    if (moment === "first" || (moment === "while" && !this.#isImportDue(entry))) return;
    const imported = await entry.recorded.importConversation(follows === null ? {} : { follows });
    if (imported === null) return;
    log("info", "capture.session", { session: imported.session, messages: imported.messages, calls: imported.calls });
  }

  /** The import follows the saves at a distance. A kill loses at most that part of the conversation, and no files. */
  #isImportDue(entry: RecorderEntry): boolean {
    const now = this.#options.host.environment.monotonic();
    if (now - entry.importedAt < IMPORT_EVERY_MS) return false;
    entry.importedAt = now;
    return true;
  }

  /** SessionDeleted when the session was erased while the agent worked: a save must not bring it back. */
  async #refuseErased(sessionId: string, { recorded }: RecorderEntry): Promise<void> {
    const { store, basis } = this.#options;
    const restored = sessionId === this.#options.sessionId ? (basis?.session ?? null) : null;
    const session = recorded?.last?.session ?? restored;
    if (store === null || session === null || (await store.sessions.get(session)) !== null) return;
    throw new HoldfastError("SessionDeleted", `session ${JSON.stringify(session)} was erased while the agent worked`, {
      details: { session },
      hint: "It is no longer saved. The agent's own files on disk are not changed.",
    });
  }

  #fail(kind: ProblemKind, event: string, error: unknown): void {
    this.problems.set(kind, error);
    this.#options.log("error", event, { error: String(error), sessionId: this.sessionId });
  }
}

function describeFound({
  sessionId,
  cwd,
  configDir,
  key,
  files,
  left,
}: LocalSession): Readonly<Record<string, unknown>> {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return { sessionId, cwd, configDir, key, files: files.length, roles: countByRole(files), size, left: left.length };
}

export class RecordedSession {
  readonly #store: ImportStores;
  readonly #saver: Saver;
  #importedGeneration = 0;
  /** The capture of the last save; null: there was none. */
  last: Capture | null = null;

  constructor(store: ImportStores, options: Omit<SaverOptions, "captures">) {
    this.#store = store;
    this.#saver = new Saver({ ...options, captures: store.captures });
  }

  /** null: nothing changed since the last save. */
  async save(found: FoundSession): Promise<Saved | null> {
    const saved = await this.#saver.save(found);
    if (saved !== null) this.last = saved.capture;
    return saved;
  }

  /** Imports the newest capture. null: nothing was saved since the last import, or the capture has no transcript. */
  async importConversation(options: Pick<ImportOptions, "follows"> = {}): Promise<Imported | null> {
    const { last } = this;
    if (last === null || last.generation === this.#importedGeneration) return null;
    const imported = await importCaptured(this.#store, last, options);
    this.#importedGeneration = last.generation;
    return imported;
  }
}
