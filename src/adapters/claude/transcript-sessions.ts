// Finds the session of a transcript. The session's id has a hash of the SDK's key, because the key may be any text; tags are used to
// find the session. The id of a deleted session is never used again, so a transcript that begins again gets the next number. A number is
// used only when the session before it is known to be deleted, so at most one of them exists.
import { MIRROR } from "../../coding/conversation/sdk-mirror.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Session, SessionFilter } from "../../contracts/session.ts";
import type { ProjectScope, SessionKey, SessionsOf } from "../../contracts/session-store.ts";
import type { SessionBasics } from "../../contracts/sessions.ts";
import { MIRROR_TAG } from "../../core/agent-sessions.ts";
import { encodeText, sha256, toHex } from "../../core/bytes.ts";
import { checkSome, invalid, isObject } from "../../core/check.ts";

export interface TranscriptKey {
  readonly projectKey: string;
  readonly sessionId: string;
  readonly subpath?: string;
}

/** A transcript with its session. */
export interface Transcript extends TranscriptKey {
  readonly session: Session;
}

export interface MirrorScope {
  readonly agent: string;
  readonly projects: ProjectScope;
  readonly request: string | undefined;
}

const PAGE = 1000;

export function checkTranscriptKey(key: unknown): TranscriptKey {
  const { projectKey, sessionId, subpath } = checkSome(key, "key", ["projectKey", "sessionId", "subpath"]);
  const text = (value: unknown, what: string): string => {
    if (typeof value === "string") return value;
    throw invalid(`key.${what}`, "a string", value);
  };
  const main = { projectKey: text(projectKey, "projectKey"), sessionId: text(sessionId, "sessionId") };
  if (subpath === undefined) return main;
  if (subpath === "") throw invalid("key.subpath", "left out, or not empty", subpath);
  return { ...main, subpath: text(subpath, "subpath") };
}

/** A text that is unique for each key. */
export function nameOf({ projectKey, sessionId, subpath }: TranscriptKey): string {
  return JSON.stringify([projectKey, sessionId, subpath ?? null]);
}

export class TranscriptSessions {
  readonly #hf: SessionsOf;
  readonly #scope: MirrorScope;

  constructor(hf: SessionsOf, scope: MirrorScope) {
    this.#hf = hf;
    this.#scope = scope;
  }

  /** The id of the session that holds the transcript; null when there is none. */
  async find(key: TranscriptKey): Promise<string | null> {
    return this.#findByExactKey(await this.#resolveStoredKey(key));
  }

  async findOrMake(key: TranscriptKey): Promise<string> {
    const stored = await this.#resolveStoredKey(key);
    return (await this.#findByExactKey(stored)) ?? this.#make(stored);
  }

  /** Main transcripts with messages, one for each session id. */
  async listMainTranscripts(projectKey: string): Promise<readonly Transcript[]> {
    const tag = this.#scope.projects === "any" ? MIRROR_TAG : `claude-project:${wordOf(projectKey)}`;
    const newest = new Map<string, Transcript>();
    for (const one of await this.#list(tag)) {
      if (one.subpath !== undefined || one.session.messages === 0) continue;
      if (this.#scope.projects === "separate" && one.projectKey !== projectKey) continue;
      const other = newest.get(one.sessionId);
      const isOwn = one.projectKey === projectKey;
      if (other !== undefined && !isOwn && (other.projectKey === projectKey || isNewer(other, one))) continue;
      newest.set(one.sessionId, one);
    }
    return [...newest.values()];
  }

  /** All transcripts of the session, the main one last. */
  async listSessionTranscripts(key: TranscriptKey): Promise<readonly Transcript[]> {
    const stored = await this.#resolveStoredKey(key);
    const found = await this.#list(this.#familyTag(stored));
    return found.sort((a, b) => Number(a.subpath === undefined) - Number(b.subpath === undefined));
  }

  /** The key under which the transcript is stored. With `projects: "any"` that may be another project, which has the session. */
  async #resolveStoredKey(key: TranscriptKey): Promise<TranscriptKey> {
    if (this.#scope.projects === "separate") return key;
    const mains = await this.#list(`${MIRROR_TAG}:${wordOf(key.sessionId)}`);
    const held = mains.filter((one) => one.sessionId === key.sessionId && one.session.messages > 0);
    const own = held.find((one) => one.projectKey === key.projectKey);
    const newest = held.reduce<Transcript | undefined>((a, b) => (a !== undefined && isNewer(a, b) ? a : b), undefined);
    return { ...key, projectKey: (own ?? newest ?? key).projectKey };
  }

  async #findByExactKey(key: TranscriptKey): Promise<string | null> {
    const id = this.#id(key, 1);
    // Usually this is the session. The id may also be an alias of another session, which is not a transcript.
    if ((await this.#hf.sessions.get(id))?.id === id) return id;
    const [again] = await this.#list(`claude-key:${this.#digest(key)}`);
    return again?.session.id ?? null;
  }

  async #make(key: TranscriptKey): Promise<string> {
    const { agent, request } = this.#scope;
    const { projectKey, sessionId, subpath } = key;
    const described = {
      agent,
      origin: MIRROR,
      tags: this.#tags(key),
      metadata: { claude: { projectKey, sessionId, ...(subpath === undefined ? {} : { subpath }) } },
      ...(request === undefined ? {} : { request }),
    };
    for (let n = 1; ; n++) {
      const id = this.#id(key, n);
      try {
        await this.#hf.sessions.create({ id, ...described });
        return id;
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
        // Another process created it first.
        if (error.code === "AlreadyExists") return id;
        if (error.code !== "SessionDeleted") throw error;
      }
    }
  }

  #tags(key: TranscriptKey): readonly string[] {
    const own = [`claude-key:${this.#digest(key)}`, this.#familyTag(key)];
    if (key.subpath !== undefined) return ["claude-subpath", ...own];
    return [MIRROR_TAG, `claude-project:${wordOf(key.projectKey)}`, `${MIRROR_TAG}:${wordOf(key.sessionId)}`, ...own];
  }

  #familyTag({ projectKey, sessionId }: TranscriptKey): string {
    return `claude-family:${this.#digest({ projectKey, sessionId })}`;
  }

  #id(key: TranscriptKey, n: number): string {
    const number = n === 1 ? "" : `:${n}`;
    return `claude:${wordOf(key.sessionId)}:${this.#digest(key)}${number}`;
  }

  #digest(key: TranscriptKey): string {
    return hashOf(`${JSON.stringify(this.#scope.agent)}${nameOf(key)}`);
  }

  async #list(tag: string): Promise<Transcript[]> {
    const found: Transcript[] = [];
    let cursor: string | null = null;
    do {
      const filter: SessionFilter = { tag, agent: this.#scope.agent, limit: PAGE };
      const page: Awaited<ReturnType<SessionBasics["list"]>> = await this.#hf.sessions.list(
        cursor === null ? filter : { ...filter, cursor },
      );
      found.push(...page.items.flatMap((session) => transcriptOf(session) ?? []));
      cursor = page.next;
    } while (cursor !== null);
    return found;
  }
}

function isNewer(a: Transcript, b: Transcript): boolean {
  return a.session.updatedAt > b.session.updatedAt;
}

/** undefined for another session with the same tag. */
function transcriptOf(session: Session): Transcript | undefined {
  const { claude } = session.metadata;
  if (!isObject(claude)) return undefined;
  const { projectKey, sessionId, subpath } = claude as Partial<SessionKey>;
  if (typeof projectKey !== "string" || typeof sessionId !== "string") return undefined;
  return { projectKey, sessionId, ...(subpath === undefined ? {} : { subpath }), session };
}

/** A form that is valid in ids and tags: the text if it is a plain word, otherwise "~" and its hash. */
function wordOf(text: string): string {
  return /^[0-9a-z_-]{1,256}$/i.test(text) ? text : `~${hashOf(JSON.stringify(text))}`;
}

/** 128 bits make a collision infeasible, also when the texts are chosen to collide. */
function hashOf(text: string): string {
  return toHex(sha256(encodeText(text))).slice(0, 32);
}
