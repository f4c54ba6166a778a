// Which session shows a message now: the one that wrote it, if the message is on its line, or a fork that inherits it.
import type { Locator } from "../contracts/locators.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { currentLineage, isHidden, type LineageStretch, lineageAt, NOW } from "../core/lineage.ts";
import { findAt } from "../core/session-lookup.ts";

/** A message as far as it decides what shows it. */
interface MessagePosition {
  readonly session: string;
  readonly no: number;
  readonly branch: number;
  readonly seq: number;
  readonly agent: string;
  readonly run: string | null;
}

export interface Showing {
  /** null: no session shows the message. */
  readonly session: string | null;
  readLine(): Promise<MessageLine>;
}

export interface MessageLine {
  /** A line that has the message, newest stretch first, and the index of the message's stretch. */
  readonly lineage: readonly LineageStretch[];
  readonly stretch: number;
}

export interface ShownMessages {
  /** The numbers of the logs that may have messages; null: all. */
  readonly logs: ReadonlySet<number> | null;
  /** `writer` is the session in whose log the message is. null: the search does not find the message. */
  find(message: MessagePosition, writer: SessionRow | undefined): Promise<Showing | null>;
}

/** Forks of a session that are tried, the oldest first. */
const HEIRS_MAX = 1000;

/** What all sessions show now; with `isRewoundToo` also what none shows any more. */
export function shownAnywhere(storage: Storage, isRewoundToo: boolean): ShownMessages {
  const lineages = new Map<string, Promise<readonly LineageStretch[]>>();
  const heirs = new Map<number, Promise<readonly { readonly id: string }[]>>();
  const lineageOf = (session: string) => remember(lineages, session, () => currentLineage(storage, session));
  const rewoundShowing = rewoundShowings(storage);
  const heirsOf = (no: number) =>
    remember(heirs, no, () => storage.query("lineage.heirs", { session: no, limit: HEIRS_MAX }));
  return {
    logs: null,
    async find(message, writer) {
      // Most messages are on the current branch of their session, whose newest stretch it is.
      if (writer?.deleted_at === null && writer.branch === message.branch) {
        const { session } = message;
        return { session, readLine: async () => ({ lineage: await lineageOf(session), stretch: 0 }) };
      }
      const own = showingIn(message.session, await lineageOf(message.session), message);
      if (own !== null) return own;
      for (const { id } of await heirsOf(message.no)) {
        const found = showingIn(id, await lineageOf(id), message);
        if (found !== null) return found;
      }
      return isRewoundToo ? rewoundShowing(message) : null;
    },
  };
}

/** What one session shows now or at a head; with `isRewoundToo` also what is in its own log beside that. */
export async function shownIn(storage: Storage, locator: Locator, isRewoundToo: boolean): Promise<ShownMessages> {
  const { session, head } = await findAt(storage, locator);
  const lineage =
    head === null
      ? await currentLineage(storage, session.id)
      : await lineageAt(storage, { no: session.no, branch: head.branch, seq: head.seq });
  const rewoundShowing = rewoundShowings(storage);
  return {
    logs: new Set([session.no, ...lineage.map(({ no }) => no)]),
    async find(message) {
      const shown = showingIn(session.id, lineage, message);
      if (shown !== null || !isRewoundToo || message.no !== session.no) return shown;
      return rewoundShowing(message);
    },
  };
}

function remember<K, V>(known: Map<K, V>, key: K, read: () => V): V {
  const found = known.get(key) ?? read();
  known.set(key, found);
  return found;
}

function showingIn(session: string, lineage: readonly LineageStretch[], message: MessagePosition): Showing | null {
  const stretch = findStretch(lineage, message);
  return stretch === -1 ? null : { session, readLine: async () => ({ lineage, stretch }) };
}

/** The index of the stretch that has the message; -1: the lineage does not show it. */
export function findStretch(lineage: readonly LineageStretch[], message: Omit<MessagePosition, "session">): number {
  return lineage.findIndex(
    (one) =>
      one.no === message.no &&
      one.branch === message.branch &&
      message.seq <= one.upTo &&
      !isHidden(one, { agent: message.agent, run: message.run }),
  );
}

/** On the line on which a message was written. */
function rewoundShowings(storage: Storage): (message: MessagePosition) => Showing {
  const lineages = new Map<string, Promise<readonly LineageStretch[]>>();
  return ({ no, branch }) => ({
    session: null,
    readLine: async () => {
      const lineage = await remember(lineages, `${no}/${branch}`, () => lineageAt(storage, { no, branch, seq: NOW }));
      return { lineage, stretch: 0 };
    },
  });
}
