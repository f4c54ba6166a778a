// Follows a coding agent while it runs: saves the sessions it works in when they changed, and brings their conversation into
// the store. Nothing that goes wrong here is the agent's business: it is told, and the agent goes on.
import { readFile } from "node:fs/promises";
import { factsOf } from "../../coding/claude/transcript.ts";
import { type AgentHere, agentHere, type FoundHere } from "../../coding/here.ts";
import { type FileFinding, Saver } from "../../coding/saver.ts";
import type { Capture, CaptureWithFiles } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { plainObject } from "../../core/decode.ts";
import { importCaptured } from "../captures/conversation.ts";
import { byRole } from "../captures/found.ts";
import type { Grace } from "./grace.ts";
import { type Expected, Whose } from "./whose.ts";

export type Log = (level: "info" | "warn" | "error", event: string, fields: Readonly<Record<string, unknown>>) => void;

const TOLD_EVERY_MS = 10_000;

export interface Following extends Expected {
  readonly log: Log;
  /** null: nothing is saved. */
  readonly store: Holdfast | null;
  readonly request: string;
  /** Of the session the agent was told to work in: what was put back of it, null for nothing; not given: whatever there is. */
  readonly basis: CaptureWithFiles | null | undefined;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
  /** The session of the store that the agent was told of when it began. */
  readonly follows: string | null;
  /** Called when a session is saved as another capture than before. */
  readonly onSaved: (capture: Capture) => void;
}

/** first: as soon as there is a message; its conversation follows with a later save, because the agent is about to write more. */
export type Moment = "first" | "while" | "exit";

/** What may be missing at the end. */
export type ProblemKind = "save" | "conversation" | "bundle" | "sessions";

/** How far it came when the agent has ended. */
type Ending = "begun" | "saved" | "done";

/** One of the sessions. */
interface Followed {
  readonly saver: Saver | null;
  last: Capture | null;
  /** When its conversation was brought in, and up to which generation. */
  told: number;
  toldUpTo: number;
  /** Somebody said something in it. */
  converses: boolean;
}

export class Follower {
  readonly #given: Following;
  readonly #agent: AgentHere;
  readonly #whose: Whose;
  readonly #followed = new Map<string, Followed>();
  #turn: Promise<void> = Promise.resolve();
  readonly #secrets = new Map<string, FileFinding>();
  /** The session that the agent worked in last; null until it is known. */
  sessionId: string | null;
  /** What written() said before the agent began. */
  writtenBefore = "";
  /** What went wrong the last time, by what is missing for it. */
  readonly problems = new Map<ProblemKind, unknown>();
  /** Sessions whose files are in the store as the agent left them. */
  readonly #current = new Set<string>();
  #ending: Ending = "begun";
  #isReading = false;
  #grace: Pick<Grace, "pause" | "resume"> | null = null;
  #atEnd: Promise<readonly string[]> | null = null;
  /** What the bundle was made of, which the store then gets too. */
  #bundled: FoundHere | null = null;

  constructor(given: Following) {
    this.#given = given;
    this.sessionId = given.sessionId;
    this.#agent = agentHere(given.agent, given.here);
    this.#whose = new Whose(given);
  }

  /** What was saved, of each session the newest; that of the last session last. */
  get saved(): readonly Capture[] {
    return [...this.#followed.values()].flatMap(({ last }) => (last === null ? [] : [last]));
  }

  get isStored(): boolean {
    return this.#given.store !== null;
  }

  get secrets(): readonly FileFinding[] {
    return [...this.#secrets.values()];
  }

  /** Each counts once, also when it is in the bundle and in the store. */
  addSecrets(findings: readonly FileFinding[]): void {
    for (const one of findings) this.#secrets.set(`${one.path} ${one.line} ${one.column} ${one.kind}`, one);
  }

  /** Before the agent begins. */
  async ready(): Promise<void> {
    await this.#whose.ready().catch((error: unknown) => this.#failed("sessions", "capture.list", error));
    this.writtenBefore = await this.written();
  }

  started(pid: number): void {
    this.#whose.started(pid);
  }

  /** Never throws. */
  async look(): Promise<void> {
    await this.#whose.look().catch((error: unknown) => this.#failed("sessions", "capture.error", error));
  }

  /** Changes when the agent writes: cheap enough to be asked many times a second. Never throws. */
  async written(): Promise<string> {
    return this.#whose.written().catch(() => "");
  }

  /** Saves what changed, one after the other. Never throws. */
  save(moment: Moment): Promise<void> {
    this.#turn = this.#turn.then(() => this.#save(moment));
    return this.#turn;
  }

  /**
   * When the agent has ended. The files go to `bundle` first, which needs no store; then into the store, then the conversation.
   * Never throws.
   */
  async finish(
    bundle: ((found: FoundHere) => Promise<void>) | null,
    grace: Pick<Grace, "pause" | "resume">,
  ): Promise<void> {
    this.#grace = grace;
    if (this.#isReading) grace.pause();
    if (bundle !== null) {
      await this.#bundle(bundle).catch((error: unknown) => this.#failed("bundle", "capture.bundle", error));
    }
    await this.save("exit");
    this.#ending = "done";
  }

  /** What is on disk is read by OpenCode's own program, perhaps. */
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

  async #bundle(write: (found: FoundHere) => Promise<void>): Promise<void> {
    for (const sessionId of (await this.#sessionsAtEnd()).toReversed()) {
      const found = await this.#find(sessionId);
      if (found === null) continue;
      this.sessionId = sessionId;
      this.#bundled = found;
      return write(found);
    }
  }

  /** Asked once: of OpenCode it takes a while. */
  #sessionsAtEnd(): Promise<readonly string[]> {
    this.#atEnd ??= this.#reading(async () => {
      await this.#whose.look();
      return this.#whose.sessions(true);
    });
    return this.#atEnd;
  }

  async #save(moment: Moment): Promise<void> {
    for (const kind of ["save", "conversation", "sessions"] as const) this.problems.delete(kind);
    let sessions: readonly string[] = [];
    try {
      if (moment === "exit") sessions = await this.#sessionsAtEnd();
      else {
        await this.#whose.look();
        sessions = await this.#reading(() => this.#whose.sessions(false));
      }
    } catch (error) {
      return this.#failed("sessions", "capture.error", error);
    }
    for (const sessionId of sessions) {
      await this.#saveOne(sessionId, moment).catch((error: unknown) => this.#failed("save", "capture.error", error));
    }
    if (moment === "exit") this.#ending = "saved";
    for (const sessionId of sessions) {
      await this.#importOne(sessionId, moment).catch((error: unknown) =>
        this.#failed("conversation", "capture.error", error),
      );
    }
  }

  /** Whether the session that the agent worked in is in the store as the agent left it. */
  get isSaved(): boolean {
    return this.#current.size > 0 && !this.problems.has("save") && !this.problems.has("sessions");
  }

  /** It was not done: the grace time is over, or a second signal came. */
  gaveUp(store: string, within: string, wasInterrupted: boolean): void {
    if (this.#ending === "done") return;
    const waitedFor = this.#isReading ? "the session's files were read" : `the store ${store} had answered`;
    const late = this.#isReading
      ? `reading the session's files took longer than the grace time of ${within}`
      : `the store ${store} did not answer within the grace time of ${within}`;
    const why = wasInterrupted ? `a second signal came before ${waitedFor}` : late;
    const kind = this.#ending === "saved" ? "conversation" : "save";
    const error = new HoldfastError("StoreUnreachable", why, { retryable: true });
    this.#failed(kind, "capture.error", error);
  }

  /** What was saved went into a file that is not there any more. */
  lost(store: string): void {
    this.#followed.clear();
    this.#failed(
      "save",
      "capture.error",
      new HoldfastError("StoreUnreachable", `the store ${store} was removed while the agent worked`, {
        hint:
          "Keep it outside of the directory that agents work in, with --store or HOLDFAST_STORE; " +
          "`holdfast capture` saves what is still here.",
      }),
    );
  }

  async #find(sessionId: string): Promise<FoundHere | null> {
    try {
      return await this.#reading(() => this.#agent.find(sessionId));
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "NotFound") return null;
      throw error;
    }
  }

  async #saveOne(sessionId: string, moment: Moment): Promise<void> {
    const found = this.#bundled?.sessionId === sessionId ? this.#bundled : await this.#find(sessionId);
    if (found === null) return;
    try {
      if (sessionId !== this.sessionId) this.#given.log("info", "capture.session-id", { sessionId });
      if (!this.#followed.has(sessionId)) this.#given.log("info", "capture.found", foundIn(found));
      this.sessionId = sessionId;
      await this.#keep(found, this.#follow(sessionId), moment);
    } finally {
      await found.done();
    }
  }

  /** The one that is followed now is the last. */
  #follow(sessionId: string): Followed {
    const known = this.#followed.get(sessionId) ?? {
      ...{ saver: this.#saverFor(sessionId), last: null, told: Number.NEGATIVE_INFINITY, toldUpTo: 0 },
      converses: false,
    };
    this.#followed.delete(sessionId);
    this.#followed.set(sessionId, known);
    return known;
  }

  #saverFor(sessionId: string): Saver | null {
    const { store, request, ttlMs, mask, here } = this.#given;
    if (store === null) return null;
    const basis = sessionId === this.#given.sessionId ? this.#given.basis : undefined;
    return new Saver({
      ...{ captures: store.captures, clock: store.clock, environment: here.environment, request, mask },
      ...(basis === undefined ? {} : { basis }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    });
  }

  async #keep(found: FoundHere, followed: Followed, moment: Moment): Promise<void> {
    const { log } = this.#given;
    // One without a message cannot be resumed, and would stand before the one that can.
    followed.converses ||= await converses(found);
    if (!followed.converses || (await this.#isErased(found.sessionId, followed))) return;
    const saved = await followed.saver?.save(found);
    if (saved !== null && saved !== undefined) {
      if (followed.last?.id !== saved.capture.id) this.#given.onSaved(saved.capture);
      followed.last = saved.capture;
      this.addSecrets(saved.secrets);
      const { id, generation, fileCount, size, stored, diverged } = saved.capture;
      log("info", "capture.saved", {
        ...{ capture: id, generation, files: fileCount, size, stored, diverged, moment, sessionId: found.sessionId },
        ...{ cwd: found.cwd, secrets: saved.secrets.length },
      });
    }
    if (moment === "exit" && saved !== undefined) this.#current.add(found.sessionId);
  }

  async #importOne(sessionId: string, moment: Moment): Promise<void> {
    const { log, store } = this.#given;
    const followed = this.#followed.get(sessionId);
    const last = followed?.last ?? null;
    if (store === null || followed === undefined || last === null) return;
    if (moment === "first" || (moment === "while" && !this.#isDue(followed))) return;
    if (last.generation === followed.toldUpTo) return;
    const { follows } = this.#given;
    const imported = await importCaptured(store, last, follows === null ? {} : { follows });
    followed.toldUpTo = last.generation;
    if (imported === null) return;
    log("info", "capture.session", { session: imported.session, messages: imported.messages, calls: imported.calls });
  }

  /** The conversation follows the captures at a distance: who is killed loses at most that of it, and nothing of the files. */
  #isDue(followed: Followed): boolean {
    const now = this.#given.here.environment.monotonic();
    if (now - followed.told < TOLD_EVERY_MS) return false;
    followed.told = now;
    return true;
  }

  /** What was erased while the agent works is not brought back by it. */
  async #isErased(sessionId: string, { last }: Followed): Promise<boolean> {
    const { store, basis } = this.#given;
    const putBack = sessionId === this.#given.sessionId ? (basis?.session ?? null) : null;
    const session = last?.session ?? putBack;
    if (store === null || session === null || (await store.sessions.get(session)) !== null) return false;
    throw new HoldfastError("SessionDeleted", `session ${JSON.stringify(session)} was erased meanwhile`, {
      details: { session },
      hint: "Nothing more of it is saved; what the agent has on disk stays there.",
    });
  }

  #failed(kind: ProblemKind, event: string, error: unknown): void {
    this.problems.set(kind, error);
    this.#given.log("error", event, { error: String(error), sessionId: this.sessionId });
  }
}

/** Whether anything was said in it. */
export async function converses({ agent, files }: FoundHere): Promise<boolean> {
  const main = files.find(({ role }) => role === "transcript" || role === "export");
  if (main === undefined) return true;
  if (agent === "claude-code") return (await factsOf(main.file)).messages > 0;
  const { messages } = plainObject.read(JSON.parse(await readFile(main.file, "utf8"))) ?? {};
  return !Array.isArray(messages) || messages.length > 0;
}

function foundIn({ sessionId, cwd, configDir, key, files, left }: FoundHere): Readonly<Record<string, unknown>> {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return { sessionId, cwd, configDir, key, files: files.length, roles: byRole(files), size, left: left.length };
}
