// Follows a coding agent's session while it runs: finds it, saves it when it changed, and brings its conversation into the
// store. Nothing that goes wrong here is the agent's business: it is told, and the agent goes on.
import { realpath } from "node:fs/promises";
import { configDirOf, fixedKeyOf, projectKeyOf } from "../../coding/claude/key.ts";
import { listClaudeSessions } from "../../coding/claude/list.ts";
import { type AgentHere, agentHere, type FoundHere, type Here, openCodeRunner } from "../../coding/here.ts";
import { listOpenCodeSessions } from "../../coding/opencode/find.ts";
import { openCodeDataDir } from "../../coding/opencode/runner.ts";
import { type FileFinding, Saver } from "../../coding/saver.ts";
import type { Capture, CaptureWithFiles, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { importCaptured } from "../captures/conversation.ts";

export type Log = (level: "info" | "warn" | "error", event: string, fields: Readonly<Record<string, unknown>>) => void;

const TOLD_EVERY_MS = 10_000;

export interface Following {
  readonly agent: CodingAgent;
  readonly here: Here;
  readonly log: Log;
  /** null until it is known: OpenCode makes its own ids. */
  readonly sessionId: string | null;
  /** null: nothing is saved. */
  readonly store: Holdfast | null;
  readonly request: string;
  readonly basis: CaptureWithFiles | null | undefined;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
}

export class Follower {
  readonly #given: Following;
  readonly #agent: AgentHere;
  readonly #saver: Saver | null;
  readonly #before: Promise<ReadonlySet<string>>;
  readonly secrets: FileFinding[] = [];
  sessionId: string | null;
  last: Capture | null = null;
  problem: unknown = null;
  #told = 0;

  constructor(given: Following) {
    this.#given = given;
    this.sessionId = given.sessionId;
    this.#agent = agentHere(given.agent, given.here);
    const { store, request, basis, ttlMs, mask } = given;
    this.#saver =
      store === null
        ? null
        : new Saver({
            ...{ captures: store.captures, environment: given.here.environment, request, mask },
            ...(basis === undefined ? {} : { basis }),
            ...(ttlMs === undefined ? {} : { ttlMs }),
          });
    // Those that are here already are not the one that begins.
    this.#before = given.sessionId === null ? this.#idsHere() : Promise.resolve(new Set<string>());
    this.#before.catch(() => {});
  }

  /** Before the agent begins: what is here by then is known. */
  async ready(): Promise<void> {
    await this.#before.catch((error: unknown) => this.#failed("capture.list", error));
  }

  /** Saves what changed; `last`: also the conversation, whatever it takes. Never throws. */
  async save(moment: "while" | "exit"): Promise<void> {
    try {
      const found = await this.#find();
      if (found === null) return;
      try {
        await this.#keep(found, moment);
      } finally {
        await found.done();
      }
    } catch (error) {
      this.#failed("capture.error", error);
    }
  }

  /** What is on disk now; null when there is nothing yet. */
  async find(): Promise<FoundHere | null> {
    return this.#find();
  }

  async #find(): Promise<FoundHere | null> {
    this.sessionId ??= await this.#begun();
    if (this.sessionId === null) return null;
    try {
      return await this.#agent.find(this.sessionId);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "NotFound") throw error;
      // It may go on under another id: the one that the agent says counts.
      const other = await this.#begun();
      if (other === null || other === this.sessionId) return null;
      this.sessionId = other;
      return this.#agent.find(other);
    }
  }

  async #keep(found: FoundHere, moment: "while" | "exit"): Promise<void> {
    const { log, store } = this.#given;
    const saved = await this.#saver?.save(found);
    if (saved !== null && saved !== undefined) {
      this.last = saved.capture;
      this.secrets.push(...saved.secrets);
      const { id, generation, fileCount, size, stored, diverged } = saved.capture;
      log("info", "capture.saved", {
        ...{ capture: id, generation, files: fileCount, size, stored, diverged, moment, sessionId: found.sessionId },
        ...{ cwd: found.cwd, secrets: saved.secrets.length },
      });
    }
    if (store === null || this.last === null || (moment !== "exit" && !this.#isDue())) return;
    const imported = await importCaptured(store, this.last);
    if (imported === null) return;
    log("info", "capture.session", { session: imported.session, messages: imported.messages, calls: imported.calls });
  }

  /** The conversation follows the captures at a distance: who is killed loses at most that of it, and nothing of the files. */
  #isDue(): boolean {
    const now = this.#given.here.environment.monotonic();
    if (now - this.#told < TOLD_EVERY_MS) return false;
    this.#told = now;
    return true;
  }

  #failed(event: string, error: unknown): void {
    this.problem = error;
    this.#given.log("error", event, { error: String(error), sessionId: this.sessionId });
  }

  /** The session that began since. */
  async #begun(): Promise<string | null> {
    const before = await this.#before.catch(() => new Set<string>());
    for (const id of await this.#idsHere()) if (!before.has(id)) return id;
    return null;
  }

  /** Of this directory, newest first. */
  async #idsHere(): Promise<ReadonlySet<string>> {
    const { agent, here } = this.#given;
    if (agent === "opencode") {
      const cwd = await realpath(here.cwd);
      const all = await listOpenCodeSessions(openCodeRunner(here), openCodeDataDir(here.env));
      const own = all.filter(({ directory, parentId }) => parentId === null && directory === cwd);
      return new Set(own.toSorted((a, b) => b.updatedAt - a.updatedAt).map(({ sessionId }) => sessionId));
    }
    const key = fixedKeyOf(here.env) ?? (await projectKeyOf(here.cwd));
    const own: { readonly sessionId: string; readonly mtimeMs: number }[] = [];
    for await (const one of listClaudeSessions(configDirOf(here.env))) if (one.key === key) own.push(one);
    return new Set(own.toSorted((a, b) => b.mtimeMs - a.mtimeMs).map(({ sessionId }) => sessionId));
  }
}
