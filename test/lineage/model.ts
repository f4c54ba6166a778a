// A naive model of sessions as a graph: every session and every head holds a whole copy of what it shows.

export interface Entry {
  readonly id: string;
  readonly text: string;
  readonly owner: string;
  /** The owner's seq when it was erased. */
  erasedAt: number | null;
}

/** A value of the state, and the session that set it. */
interface ModelValue {
  readonly value: number;
  readonly owner: string;
}

/** What a session or a head shows, and how far it knows the log of each session it shows messages of. */
export interface ModelView {
  readonly entries: readonly Entry[];
  readonly state: Readonly<Record<string, ModelValue>>;
  readonly horizons: Readonly<Record<string, number>>;
}

export interface ModelHead extends Omit<ModelView, "state"> {
  state: ModelView["state"];
  readonly id: string;
  readonly session: string;
  readonly aborted: boolean;
  /** Heads behind it, itself included. */
  readonly behind: ReadonlySet<string>;
}

export interface ModelSession {
  readonly id: string;
  now: ModelView;
  current: ModelHead | null;
  /** The head its line goes on from. */
  basis: ModelHead | null;
}

export class LineageModel {
  readonly sessions = new Map<string, ModelSession>();
  readonly heads: ModelHead[] = [];
  readonly #owned = new Map<string, Entry[]>();

  create(id: string, from?: ModelView): ModelSession {
    const made = { id, now: from ?? { entries: [], state: {}, horizons: {} }, current: null, basis: null };
    this.sessions.set(id, made);
    this.#owned.set(id, []);
    return made;
  }

  append(session: ModelSession, id: string, text: string): void {
    const entry: Entry = { id, text, owner: session.id, erasedAt: null };
    this.#owned.get(session.id)?.push(entry);
    session.now = { ...session.now, entries: [...session.now.entries, entry] };
  }

  publish(session: ModelSession, id: string, seq: number, moves = true): ModelHead {
    const behind = new Set([...(session.basis?.behind ?? []), id]);
    const horizons = { ...session.now.horizons, [session.id]: seq };
    const head: ModelHead = { ...session.now, horizons, id, session: session.id, aborted: !moves, behind };
    this.heads.push(head);
    if (moves) {
      session.current = head;
      session.basis = head;
    }
    return head;
  }

  goTo(session: ModelSession, head: ModelHead): void {
    session.now = { entries: head.entries, state: head.state, horizons: head.horizons };
    session.basis = head;
  }

  /** Its own messages are erased wherever they are shown; those it inherited are no longer shown by it. */
  clear(session: ModelSession, seq: number): void {
    for (const entry of this.#owned.get(session.id) ?? []) entry.erasedAt ??= seq;
    session.now = { ...session.now, entries: [] };
  }

  /** What others inherited of it they still show; when it goes everywhere, only that it was there. */
  delete(session: ModelSession, everywhere: boolean): void {
    this.sessions.delete(session.id);
    this.heads.splice(0, this.heads.length, ...this.heads.filter((head) => head.session !== session.id));
    if (!everywhere) return;
    for (const entry of this.#owned.get(session.id) ?? []) entry.erasedAt ??= Number.MAX_SAFE_INTEGER;
    const without = (state: ModelView["state"]) =>
      Object.fromEntries(Object.entries(state).filter(([, held]) => held.owner !== session.id));
    for (const one of this.sessions.values()) {
      one.now = { ...one.now, state: without(one.now.state) };
    }
    for (const head of this.heads) head.state = without(head.state);
  }

  /** What history shows. */
  history({ now }: ModelSession): readonly string[] {
    return now.entries.filter(({ erasedAt }) => erasedAt === null).map(({ text }) => text);
  }

  /** What a view shows: what was erased after it as a placeholder, what was erased before not at all. */
  at({ entries, horizons }: Omit<ModelView, "state">): readonly string[] {
    return entries
      .filter(({ erasedAt, owner }) => erasedAt === null || erasedAt > (horizons[owner] ?? Number.POSITIVE_INFINITY))
      .map(({ text, erasedAt }) => (erasedAt === null ? text : "(erased)"));
  }
}

export function valuesOf(state: ModelView["state"]): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(state).map(([key, { value }]) => [key, value]));
}
