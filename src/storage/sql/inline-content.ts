// Inline content by its hash. It is in the rows of its messages, and hashing on every append would cost as much as the
// append itself; so this index is derived, lags behind, and a lookup brings it up to date.
import { keepCounter } from "./checksum.ts";

/** This prefix of a hash finds the row, which contains the whole hash. */
export const PREFIX = (column: string) => `substr(${column}, 1, 8)`;

const UPTO = "(SELECT n FROM counters WHERE name = 'word_refs')";
const NEWEST = "coalesce((SELECT max(no) FROM events), 0)";
const LAST_UP_TO = "(SELECT coalesce(max(no), 0) FROM events WHERE no <= ?)";
const UNINDEXED = `no > ${UPTO} AND no <= ?`;

const FOUND =
  "SELECT e.no, (SELECT s.id FROM sessions s WHERE s.no = e.session_no) AS session, e.sha256, e.words AS body, " +
  "length(e.words) AS size, e.at AS created_at FROM ";

export const queries = () => ({
  "inline.lag": `SELECT ${UPTO} AS upto, ${NEWEST} AS newest`,
  "inline.get":
    `${FOUND}word_refs r JOIN events e ON e.no = r.event_no ` +
    "WHERE r.prefix = :prefix AND e.sha256 = :sha256 AND e.words IS NOT NULL " +
    "ORDER BY r.event_no LIMIT 1",
  // Rows that are not in the index yet, a page at a time.
  "inline.scan":
    `${FOUND}events e WHERE e.no > :after AND e.no <= :upTo AND e.sha256 = :sha256 AND e.words IS NOT NULL ` +
    "ORDER BY e.no LIMIT 1",
  "inline.count":
    "SELECT count(*) AS n FROM (SELECT 1 AS one FROM word_refs r JOIN events e ON e.no = r.event_no " +
    "WHERE r.prefix = :prefix AND r.event_no <= :upTo AND e.sha256 = :sha256 AND e.words IS NOT NULL LIMIT :most) c",
  "inline.countUnindexed":
    "SELECT count(*) AS n FROM events WHERE no > :after AND no <= :upTo AND sha256 = :sha256 AND words IS NOT NULL",
});

export const statements = () => ({
  // In the order of the hashes, so that a page of the index is written once for all that belong on it.
  "inline.index":
    `INSERT INTO word_refs (prefix, event_no) SELECT ${PREFIX("sha256")}, no FROM events WHERE ${UNINDEXED} ` +
    "AND words IS NOT NULL ORDER BY 1 ON CONFLICT DO NOTHING",
  // Only up to the last row, because SQLite may reuse higher numbers. Parameters: up to which row, twice.
  "inline.indexed": `UPDATE counters SET n = ${LAST_UP_TO}, ${keepCounter(LAST_UP_TO)} WHERE name = 'word_refs'`,
  // After rows were deleted: SQLite reuses the highest numbers.
  "inline.shorten": `UPDATE counters SET n = ${NEWEST}, ${keepCounter(NEWEST)} WHERE name = 'word_refs' AND n > ${NEWEST}`,
});

export const guards = () => ({
  /** By the hash as well: SQLite may give the number to another row. */
  "inline.there": "SELECT no AS value FROM events WHERE no = ? AND sha256 = ? AND words IS NOT NULL",
});
