// SQL over a session's row for the number of messages that the session shows, as `sessions.list` returns it.
import type { SqlFragments } from "../contracts/storage/storage.ts";

const IN_LINE = "e.session_no = l.session_no AND e.branch = l.branch AND e.seq <= l.upto";

/**
 * Counts the messages that the session shows, with inherited ones: the row counts those that the session itself wrote,
 * on all branches. A lineage is read only for a session that has left its first branch, or is a fork.
 */
export const shownMessages = (a: string, own: SqlFragments): string => {
  const parent = (column: string) =>
    `(SELECT b.${column} FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch)`;
  const end = `CAST(${Number.MAX_SAFE_INTEGER} AS ${own.int})`;
  // A clear erases messages of its own session; it only hides inherited ones.
  const isHidden =
    "EXISTS (SELECT 1 FROM l k JOIN clears c ON c.session_no = k.session_no AND c.branch = k.branch AND c.seq <= k.upto " +
    "WHERE k.depth < l.depth AND k.session_no <> l.session_no AND c.agent_no = e.agent_no " +
    "AND (c.run IS NULL OR c.run = e.run))";
  return (
    `CASE WHEN EXISTS (SELECT 1 FROM branches f WHERE f.session_no = ${a}.no AND f.branch = ${a}.branch) THEN ` +
    `(WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS ${own.int}), ${a}.no, ${a}.branch, ${end} ` +
    `UNION ALL SELECT l.depth + 1, ${parent("parent_session_no")}, ${parent("parent_branch")}, ${parent("cut_seq")} FROM l ` +
    `WHERE l.session_no IS NOT NULL) SELECT count(*) FROM l JOIN events e ON ${IN_LINE} ` +
    `WHERE e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND NOT ${isHidden}) ELSE ${a}.messages END`
  );
};
