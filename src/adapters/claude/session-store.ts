// The Claude Agent SDK's SessionStore over a Holdfast store: every transcript is a session, and every entry one of its messages. It uses
// only the public verbs of sessions, history and state.
import { type HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { MessageInput } from "../../contracts/messages.ts";
import type { ClaudeSessionStore, SessionStoreOptions, SessionsOf } from "../../contracts/session-store.ts";
import { checkId, checkOneOf, checkOptionalId, checkRecord, invalid } from "../../core/check.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { entryOf, messagesOf } from "./entries.ts";
import { Summaries } from "./summaries.ts";
import { TitleWriter } from "./titles.ts";
import {
  checkTranscriptKey,
  nameOf,
  type Transcript,
  type TranscriptKey,
  TranscriptSessions,
} from "./transcript-sessions.ts";

/** How many session ids are cached, so that an append is one commit. */
const REMEMBERED = 1000;

/** How many summaries are read at the same time. */
const AT_ONCE = 16;

export function claudeSessionStore(hf: SessionsOf, options: SessionStoreOptions = {}): ClaudeSessionStore {
  const { agent, projects, request, fold } = checkOptions(options);
  const places = new TranscriptSessions(hf, { agent, projects, request });
  const summaries = fold === undefined ? undefined : new Summaries(hf, agent, fold);
  const transcripts = new Transcripts(hf, places, agent);
  const titles = new TitleWriter(hf);
  const queue = new SerialQueue();
  /** Calls for one transcript run in the order in which they were made. */
  const serialize = <T>(place: TranscriptKey, work: () => Promise<T>) => queue.run(nameOf(place), work);
  return {
    async append(key, entries) {
      const place = checkTranscriptKey(key);
      const messages = messagesOf(entries);
      if (messages.length === 0) return;
      await serialize(place, async () => {
        const id = await transcripts.append(place, messages);
        if (place.subpath !== undefined) return;
        await titles.setTitleOnce(id, messages);
        await summaries?.follow(id, place);
      });
    },
    async load(key) {
      const id = await places.find(checkTranscriptKey(key));
      if (id === null) return null;
      const messages = await hf.history.get({ session: id, agent });
      const entries = messages.flatMap((message) => entryOf(message) ?? []);
      return entries.length === 0 ? null : entries;
    },
    async listSessions(projectKey) {
      const mains = await places.listMainTranscripts(checkProject(projectKey));
      return mains.map(({ sessionId, session }) => ({ sessionId, mtime: session.updatedAt }));
    },
    ...(summaries === undefined
      ? {}
      : {
          listSessionSummaries: async (projectKey: string) =>
            allOf(await places.listMainTranscripts(checkProject(projectKey)), (one) => summaries.of(one)),
        }),
    async delete(key) {
      const place = checkTranscriptKey(key);
      await serialize(place, async () => {
        const id = place.subpath === undefined ? null : await places.find(place);
        const gone =
          place.subpath === undefined
            ? (await places.listSessionTranscripts(place)).map(({ session }) => session.id)
            : [id];
        for (const one of gone) if (one !== null) await hf.sessions.delete(one);
      });
    },
    async listSubkeys(key) {
      const { projectKey, sessionId } = checkTranscriptKey(key);
      const family = await places.listSessionTranscripts({ projectKey, sessionId });
      return family.flatMap(({ subpath, session }) => (session.messages > 0 ? (subpath ?? []) : []));
    },
  };
}

const OPTIONS = ["projects", "fold", "agent", "request"] as const;

function checkOptions(options: SessionStoreOptions) {
  const given = checkRecord(options, "options", OPTIONS);
  if (given.fold !== undefined && typeof given.fold !== "function") throw invalid("fold", "a function", given.fold);
  return {
    agent: given.agent === undefined ? "claude-code" : checkId(given.agent, "agent"),
    projects:
      given.projects === undefined ? "separate" : checkOneOf(given.projects, "projects", ["separate", "any"] as const),
    request: checkOptionalId(given.request, "request"),
    fold: options.fold,
  };
}

function checkProject(value: unknown): string {
  if (typeof value !== "string") throw invalid("projectKey", "a string", value);
  return value;
}

async function allOf<T>(
  transcripts: readonly Transcript[],
  work: (one: Transcript) => Promise<T | undefined>,
): Promise<T[]> {
  const done: T[] = [];
  for (let i = 0; i < transcripts.length; i += AT_ONCE) {
    for (const one of await Promise.all(transcripts.slice(i, i + AT_ONCE).map(work))) {
      if (one !== undefined) done.push(one);
    }
  }
  return done;
}

/** Appends entries to the session that has the transcript now. */
class Transcripts {
  readonly #hf: SessionsOf;
  readonly #places: TranscriptSessions;
  readonly #agent: string;
  readonly #ids = new Map<string, string>();

  constructor(hf: SessionsOf, places: TranscriptSessions, agent: string) {
    this.#hf = hf;
    this.#places = places;
    this.#agent = agent;
  }

  async append(place: TranscriptKey, messages: readonly MessageInput[]): Promise<string> {
    const name = nameOf(place);
    for (let attempt = 1; ; attempt++) {
      const id = this.#ids.get(name) ?? (await this.#places.findOrMake(place));
      try {
        await this.#add(id, messages);
        this.#remember(name, id);
        return id;
      } catch (error) {
        // The session was deleted meanwhile: the transcript gets a new one.
        this.#ids.delete(name);
        if (!isDeleted(error) || attempt >= LIMITS.decideAttempts) throw error;
      }
    }
  }

  /** Appends in one commit. An entry with an existing key is stored already, even if its content differs, and is dropped. */
  async #add(session: string, messages: readonly MessageInput[]): Promise<void> {
    for (let left = messages; left.length > 0; ) {
      try {
        await this.#hf.history.appendMany({ session, agent: this.#agent }, left);
        return;
      } catch (error) {
        if (!isTaken(error)) throw error;
        const known = new Set((await this.#hf.history.session(session)).map(({ key }) => key));
        const fresh = left.filter(({ key }) => key === undefined || !known.has(key));
        if (fresh.length === left.length) throw error;
        left = fresh;
      }
    }
  }

  #remember(name: string, id: string): void {
    this.#ids.delete(name);
    this.#ids.set(name, id);
    const [oldest] = this.#ids.keys();
    if (this.#ids.size > REMEMBERED && oldest !== undefined) this.#ids.delete(oldest);
  }
}

function isDeleted(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && error.code === "SessionDeleted";
}

/** The session has another message with one of the keys. */
function isTaken(error: unknown): boolean {
  return isHoldfastError(error) && error.code === "Conflict" && error.details.key !== undefined;
}
