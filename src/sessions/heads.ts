// Heads: published positions of a session, found again by their ids.
import type { ListOrder } from "../contracts/json.ts";
import type { Heads } from "../contracts/lineage.ts";
import type { HeadRow } from "../contracts/lineage-queries.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId, checkLimit, checkOrder, checkRecord, invalid } from "../core/check.ts";
import { readCursor, writeCursor } from "../core/cursor.ts";
import { decide } from "../core/decide.ts";
import { existingSession } from "../core/existing.ts";
import { type Found, findAt } from "../core/find.ts";
import { headOf } from "../core/head.ts";
import { lineageAt } from "../core/lineage.ts";
import type { Locate } from "../core/locate.ts";
import { checkHeadId } from "../core/locator.ts";
import { compact } from "./compact.ts";
import { decideHead, prepareHead } from "./publish.ts";

const MOST_FOUND = 10;

export function createHeads(storage: Storage, payloads: Payloads, locate: Locate): Heads {
  return {
    async get(id) {
      const [row] = await storage.query("head.get", checkHeadId(id));
      return row === undefined ? null : headOf(row);
    },
    async find(prefix) {
      const begins = checkId(prefix, "prefix");
      if (!/^hd-[0-9a-f]{0,64}$/.test(begins)) throw invalid("prefix", "the beginning of a head's id", prefix);
      // Behind every hex digit.
      const rows = await storage.query("heads.between", begins, `${begins}g`, MOST_FOUND);
      return rows.map(headOf);
    },
    async current(at) {
      const { session, head } = await findAt(storage, await locate(at));
      if (head !== null) return headOf(head);
      const [row] = await storage.query("head.current", session.id);
      return row === undefined ? null : headOf(row);
    },
    async list(at, range) {
      const given = checkRecord(range, "range", ["limit", "cursor", "order"]);
      const limit = checkLimit(given.limit, "page", 100);
      const order = checkOrder(given.order);
      const found = await findAt(storage, await locate(at));
      const rows = await readHeads(storage, found, order, readCursor(given.cursor), limit + 1);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map(headOf),
        next: rows.length > limit && last !== undefined ? writeCursor(last.seq) : null,
      };
    },
    async publish(session, input) {
      const id = checkId(session, "session");
      return payloads.preparing(async (prepare) => {
        const prepared = await prepareHead(storage, prepare, input);
        return decide(storage, async () =>
          decideHead(storage, {
            session: await existingSession(storage, id),
            prepared,
            status: "complete",
            at: storage.environment.now(),
          }),
        );
      });
    },
    async compact(session, input) {
      const id = checkId(session, "session");
      return payloads.preparing((prepare) => compact(storage, prepare, id, input));
    },
  };
}

/** Those of the session; with a head, of the line that leads to it. `last` is the seq of the last one seen. */
async function readHeads(
  storage: Storage,
  { session: { id, no }, head }: Found,
  order: ListOrder,
  last: number | null,
  most: number,
): Promise<readonly HeadRow[]> {
  const isNewest = order === "newest";
  const edge = last ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0);
  if (head === null) return storage.query(isNewest ? "heads.list" : "heads.oldest", id, edge, most);
  const lineage = await lineageAt(storage, { no, branch: head.branch, seq: head.seq });
  const own = lineage.filter((one) => one.no === no);
  const rows = await Promise.all(own.map(({ branch, upTo }) => storage.query("heads.at", no, branch, 0, upTo)));
  return rows
    .flat()
    .filter(({ seq }) => (isNewest ? seq < edge : seq > edge))
    .toSorted((a, b) => (isNewest ? b.seq - a.seq : a.seq - b.seq))
    .slice(0, most);
}
