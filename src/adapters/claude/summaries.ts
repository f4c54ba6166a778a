// Summaries of sessions, made by the SDK's own fold. Each is stored in the session's state with the last message that it includes, so
// that the next fold continues there, in the order of the log. So no entry is left out or counted twice, after any failure and with
// concurrent appends. Summaries are written by compare-and-set.
import { isDeepStrictEqual } from "node:util";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Json, JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { FoldSessionSummary, SessionSummaryEntry, SessionsOf } from "../../contracts/session-store.ts";
import { copyJson, isObject } from "../../core/check.ts";
import { entryOf } from "./entries.ts";
import type { Transcript, TranscriptKey } from "./transcript-sessions.ts";

const KEY = "claude-summary";

/** Most entries do not change the summary. It is then written only after this many entries. */
const BEHIND = 16;

interface StoredSummary {
  /** The last message that the summary includes, and how many it includes. */
  readonly upTo: number;
  readonly count: number;
  readonly summary: SessionSummaryEntry;
}

export class Summaries {
  readonly #hf: SessionsOf;
  readonly #agent: string;
  readonly #fold: FoldSessionSummary;

  constructor(hf: SessionsOf, agent: string, fold: FoldSessionSummary) {
    this.#hf = hf;
    this.#agent = agent;
    this.#fold = fold;
  }

  /** The summary of the session's current messages; undefined when it has none. */
  async of({ session, ...place }: Transcript): Promise<SessionSummaryEntry | undefined> {
    const { sessionId } = place;
    const kept = keptOf(await this.#hf.state.getKey(session.id, KEY));
    if (kept !== undefined && kept.count === session.messages) return { ...kept.summary, mtime: session.updatedAt };
    const summary = await this.follow(session.id, place);
    const now = summary === undefined ? null : await this.#hf.sessions.get(session.id);
    if (summary === undefined || now === null) return undefined;
    return { ...summary, sessionId, mtime: now.updatedAt };
  }

  /** Folds the messages that the stored summary does not include yet. */
  async follow(id: string, place: TranscriptKey): Promise<SessionSummaryEntry | undefined> {
    for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
      const { value, version } = await this.#hf.state.getVersioned(id);
      const kept = keptOf(value[KEY]);
      const next = await this.#next(id, place, kept);
      if (next === kept || next === undefined) return next?.summary;
      const isWorthWriting =
        kept === undefined || next.count - kept.count >= BEHIND || !isSame(kept.summary, next.summary);
      if (!isWorthWriting || (await this.#write(id, version, { ...value, [KEY]: next as unknown as Json }))) {
        return next.summary;
      }
    }
    // Other writers kept changing it; the next fold includes what is missing.
    return undefined;
  }

  async #next(
    id: string,
    { projectKey, sessionId }: TranscriptKey,
    kept: StoredSummary | undefined,
  ): Promise<StoredSummary | undefined> {
    const range = kept === undefined ? {} : { after: kept.upTo };
    const messages = await this.#hf.history.get({ session: id, agent: this.#agent }, range);
    const last = messages.at(-1);
    if (last === undefined) return kept;
    const entries = messages.flatMap((message) => entryOf(message) ?? []);
    const key = { projectKey, sessionId };
    const summary = copyJson(this.#fold(kept?.summary, key, entries, { mtime: last.at }), "summary");
    return {
      upTo: last.seq,
      count: (kept?.count ?? 0) + messages.length,
      summary: summary as unknown as SessionSummaryEntry,
    };
  }

  /** True also when the session was deleted meanwhile: then there is nothing left to write. */
  async #write(id: string, version: number, value: JsonObject): Promise<boolean> {
    try {
      return (await this.#hf.state.compareAndSet(id, version, value)) !== null;
    } catch (error) {
      if (isHoldfastError(error) && error.code === "SessionDeleted") return true;
      throw error;
    }
  }
}

function isSame(a: SessionSummaryEntry, b: SessionSummaryEntry): boolean {
  return isDeepStrictEqual(a.data, b.data);
}

function keptOf(value: Json | undefined): StoredSummary | undefined {
  if (!isObject(value)) return undefined;
  const { upTo, count, summary } = value as unknown as Partial<StoredSummary>;
  return typeof upTo === "number" && typeof count === "number" && summary !== undefined
    ? { upTo, count, summary }
    : undefined;
}
