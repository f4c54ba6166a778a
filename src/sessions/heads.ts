// Heads: published positions of a session. Finds and lists them.
import type { Heads } from "../contracts/heads.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { HEAD_VERBS } from "../contracts/verbs/lineage.ts";
import { invalid } from "../core/check.ts";
import { type ListOrder, listStart, readPage } from "../core/cursor.ts";
import { decide } from "../core/decide.ts";
import { headOf } from "../core/head.ts";
import { lineageAt } from "../core/lineage.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession, findAt, type LocatedSession } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { compact } from "./compact.ts";
import { decideHead, prepareHead } from "./publish.ts";

const MOST_FOUND = 10;

export function createHeads(storage: Storage, payloads: Payloads, lookup: SessionLookup): Heads {
  return bindVerbs(HEAD_VERBS, lookup, {
    async get(id) {
      const [row] = await storage.query("head.get", { id });
      return row === undefined ? null : headOf(row);
    },
    async find(prefix) {
      if (!/^hd-[0-9a-f]{0,64}$/.test(prefix)) throw invalid("prefix", "the beginning of a head's id", prefix);
      // Sorts after every hex digit.
      const rows = await storage.query("heads.between", { from: prefix, to: `${prefix}g`, limit: MOST_FOUND });
      return rows.map(headOf);
    },
    async current(at) {
      const { session, head } = await findAt(storage, at);
      if (head !== null) return headOf(head);
      const [row] = await storage.query("head.current", { session: session.id });
      return row === undefined ? null : headOf(row);
    },
    async list(at, { limit, order, cursor }) {
      const found = await findAt(storage, at);
      return readPage({
        list: "heads.list",
        order,
        filter: [found.session.id, found.head?.id],
        limit,
        cursor,
        start: listStart(order),
        read: ([last], most) => readHeads(storage, found, order, last, most),
        item: headOf,
        position: ({ seq }) => [seq],
      });
    },
    publish: (id, input) =>
      payloads.preparing(async (prepare) => {
        const prepared = await prepareHead(storage, prepare, input);
        return decide(storage, async () =>
          decideHead(storage, {
            session: await existingSession(storage, id),
            prepared,
            status: "complete",
            at: storage.environment.now(),
          }),
        );
      }),
    compact: (id, input) => payloads.preparing((prepare) => compact(storage, prepare, id, input)),
  });
}

/**
 * The heads of the session; if the locator names a head, only those on the line that leads to it. `last` is the seq of
 * the last head of the page before.
 */
async function readHeads(
  storage: Storage,
  { session: { id, no }, head }: LocatedSession,
  order: ListOrder,
  last: number,
  most: number,
): Promise<readonly HeadRow[]> {
  const isNewest = order === "newest";
  if (head === null) {
    return isNewest
      ? storage.query("heads.list", { session: id, before: last, limit: most })
      : storage.query("heads.oldest", { session: id, after: last, limit: most });
  }
  const lineage = await lineageAt(storage, { no, branch: head.branch, seq: head.seq });
  const own = lineage.filter((one) => one.no === no);
  const rows = await Promise.all(
    own.map(({ branch, upTo }) => storage.query("heads.at", { session: no, branch, after: 0, upTo })),
  );
  return rows
    .flat()
    .filter(({ seq }) => (isNewest ? seq < last : seq > last))
    .toSorted((a, b) => (isNewest ? b.seq - a.seq : a.seq - b.seq))
    .slice(0, most);
}
