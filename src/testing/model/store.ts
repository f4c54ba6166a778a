// The data of the model: a list of sessions, each with all of its content.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json, JsonObject } from "../../contracts/json.ts";
import type { At } from "../../contracts/locators.ts";
import type { Message } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/session.ts";
import type { Board, Task } from "../../contracts/tasks.ts";

/** A message and its position among all messages of the store. */
export interface ModelMessage {
  readonly no: number;
  readonly message: Message;
}

interface Slot {
  readonly value: Json;
  readonly expiresAt: number;
}

export type ModelBoard = Omit<Board, "tasks"> & { tasks: Task[] };

export interface ModelSession {
  readonly id: string;
  readonly agent: string | null;
  readonly request: string | null;
  readonly createdAt: number;
  title: string | null;
  status: Session["status"];
  tags: readonly string[];
  metadata: JsonObject;
  updatedAt: number;
  version: number;
  /** Events so far. */
  seq: number;
  deleted: boolean;
  messages: ModelMessage[];
  state: Map<string, Slot>;
  stateVersion: number;
  boards: ModelBoard[];
}

/** The model has no heads: a locator is its session. */
export const idOf = (at: At): string => (typeof at === "string" ? at : at.session);

export class ModelStore {
  /** In order of creation, deleted ones too: ids are never used twice. */
  readonly sessions: ModelSession[] = [];
  readonly aliases = new Map<string, string>();
  readonly now: () => number;
  #counter = 0;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Returns a number that was not used before. */
  next(): number {
    return ++this.#counter;
  }

  find(at: At): ModelSession | undefined {
    const id = idOf(at);
    return this.sessions.find((session) => session.id === id && !session.deleted);
  }

  existing(at: At): ModelSession {
    const id = idOf(at);
    const session = this.find(id);
    if (session !== undefined) return session;
    const wasThere = this.sessions.some((one) => one.id === id);
    throw new HoldfastError(wasThere ? "SessionDeleted" : "NotFound", `there is no session ${id}`);
  }

  ensure(at: At, agent: string | null = null): ModelSession {
    const id = idOf(at);
    if (this.sessions.some((one) => one.id === id)) return this.existing(id);
    return this.add({ id, agent, request: null, title: null, tags: [], metadata: {} });
  }

  add(given: Pick<ModelSession, "id" | "agent" | "request" | "title" | "tags" | "metadata">): ModelSession {
    const at = this.now();
    const session: ModelSession = {
      ...given,
      status: "open",
      createdAt: at,
      updatedAt: at,
      version: 1,
      seq: 1,
      deleted: false,
      messages: [],
      state: new Map(),
      stateVersion: 0,
      boards: [],
    };
    this.sessions.push(session);
    return session;
  }
}
