// One session: a long-lived conversation thread, the owner of a log.
import type { JsonableObject, JsonObject, PageOptions } from "./json.ts";

export interface Session {
  readonly id: string;
  readonly agent: string | null;
  readonly title: string | null;
  readonly status: "open" | "closed";
  readonly tags: readonly string[];
  readonly aliases: readonly string[];
  readonly metadata: JsonObject;
  /** The caller's id that groups sessions (and captures): one piece of work for one requester. */
  readonly request: string | null;
  /** How it came into being: by itself, or as a child that a caller spawned or attached. What it is for, the calls say. */
  readonly kind: "entry" | "spawned" | "attached";
  /** The caller's word for where it came from. */
  readonly origin: string | null;
  /** What a provider's cache may go by: forks share it with what they were made from. */
  readonly cacheId: string;
  /** The current head; null when none was published yet. */
  readonly head: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Length of the log and its chain head, hex. */
  readonly seq: number;
  readonly chain: string;
  /**
   * The messages it shows in its current state: of its line and of what it inherits, without what was cleared. The
   * result of fork() says what the head counted, also when some of it was cleared since; a fork without a head, of a
   * past of more than 1,000 events, says 0, and sessions.get() counts.
   */
  readonly messages: number;
  /** Grows with every change of the fields above that update() can change. */
  readonly version: number;
}

export interface SessionInput<M extends object = JsonObject> {
  readonly id?: string;
  readonly agent?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonableObject<M>;
  readonly request?: string;
  readonly origin?: string;
  /** Its id when not given. */
  readonly cacheId?: string;
}

export interface SessionFilter extends PageOptions {
  readonly agent?: string;
  readonly tag?: string;
  readonly status?: Session["status"];
  readonly request?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}
