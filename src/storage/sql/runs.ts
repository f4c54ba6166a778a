// Runs, and what must be found of them without reading their log: signals that were not received, decisions that were
// not answered, and the position of the last checkpoint.
import { NEWEST_FIRST, OLDEST_FIRST, type Order } from "./list-order.ts";

const COLUMNS =
  "r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, " +
  "r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, " +
  "r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at";
const RUNS = `SELECT ${COLUMNS} FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no`;

/** With which event the newest run of a session began. */
const NEWEST =
  "SELECT (SELECT max(r.first_seq) FROM runs r WHERE r.session_no = s.no) AS value FROM sessions s WHERE s.id = :session";

/** Why it ended badly, or cannot continue, is in its last event. */
const LISTED =
  `SELECT ${COLUMNS}, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL ` +
  "THEN (SELECT e.body FROM events e " +
  "WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no " +
  "JOIN agents a ON a.no = r.agent_no";

/** Parameters: the number of the last that was seen, then each filter twice, the times, the limit. */
function list(first: string, order: Order): string {
  const or = (column: string, name: string) => `(CAST(:${name} AS TEXT) IS NULL OR ${column} = :${name})`;
  return (
    `${LISTED} WHERE ${first}r.no ${order.past} :last AND ${or("s.id", "session")} ` +
    `AND ${or("a.id", "agent")} AND ${or("r.status", "status")} ` +
    `AND r.created_at >= :after AND r.created_at <= :until ORDER BY r.no${order.direction} LIMIT :limit`
  );
}

const PAYLOAD =
  "e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, " +
  "CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, " +
  "coalesce(b.store, '') AS store, b.key AS blob_key";
const EVENT = `e.seq, e.branch, e.type, e.at, e.body AS envelope, ${PAYLOAD}`;
const BLOB = "LEFT JOIN blobs b ON b.no = e.content";

const CHECKPOINTS =
  `SELECT ${EVENT}, s.id AS session, a.id AS agent, c.run, c.iteration FROM checkpoints c ` +
  "JOIN sessions s ON s.no = c.session_no JOIN agents a ON a.no = c.agent_no " +
  `JOIN events e ON e.session_no = c.session_no AND e.seq = c.seq ${BLOB} ` +
  "WHERE s.id = :session AND s.deleted_at IS NULL AND a.id = :agent AND c.run = :run";

const DECISIONS =
  "SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d " +
  "JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL";

/** No lookup needs a run that has ended. */
const ALIVE = "EXISTS (SELECT 1 FROM runs r WHERE r.id = d.run AND r.ended_at IS NULL)";

/** By session and place in its log. */
const NEWEST_DECISIONS = "(d.session_no, d.seq) < (:session, :seq) ORDER BY d.session_no DESC, d.seq DESC LIMIT :limit";
const OLDEST_DECISIONS = "(d.session_no, d.seq) > (:session, :seq) ORDER BY d.session_no, d.seq LIMIT :limit";

/**
 * What stays of a deleted run: its id, so that it is never used again. No session has the number 0, and no worker has
 * this version or epoch.
 */
const TOMBSTONE =
  "UPDATE runs SET session_no = 0, first_seq = 0, seq = 0, branch = 0, parent = NULL, nested = 0, agent_no = 0, " +
  "agent_version = '', toolset = substr(toolset, 1, 0), status = 'deleted', version = -1, epoch = -1, beat = 0, held = 0, owner = NULL, " +
  "iteration = 0, checkpoint_seq = NULL, wake_at = NULL, waits = NULL, cancel = 0, pause_at = NULL, stop = NULL, " +
  "limits = substr(limits, 1, 0), priority = 0, lease_ms = 0, tokens = 0, cost_usd = NULL, created_at = 0, updated_at = 0, " +
  "ended_at = 0";

/** All rows of a session that the log repeats. */
export const CHECKED = {
  signals: "SELECT r.seq, r.branch, r.run, r.name, r.taken_seq FROM signals r WHERE r.session_no = :session",
  decisions: "SELECT r.seq, r.branch, r.run, r.step_seq, r.answered_seq FROM decisions r WHERE r.session_no = :session",
  checkpoints:
    "SELECT r.seq, r.branch, (SELECT a.id FROM agents a WHERE a.no = r.agent_no) AS agent, r.run, r.iteration " +
    "FROM checkpoints r WHERE r.session_no = :session",
} as const;

export const queries = () => ({
  "run.get": `${RUNS} WHERE r.id = :id AND s.deleted_at IS NULL`,
  "run.taken": "SELECT r.session_no FROM runs r WHERE r.id = :id",
  "runs.beginning": `${RUNS} WHERE r.id >= :from AND r.id < :to AND s.deleted_at IS NULL ORDER BY r.id LIMIT :limit`,
  /** The root run; or, where that has ended, its children in the session that have not noticed yet. */
  "run.active": `${RUNS} WHERE s.id = :session AND s.deleted_at IS NULL AND r.ended_at IS NULL ORDER BY r.nested, r.no LIMIT 1`,
  "runs.list": list("s.deleted_at IS NULL AND ", NEWEST_FIRST),
  "runs.list.oldest": list("s.deleted_at IS NULL AND ", OLDEST_FIRST),
  "runs.bySession": list(
    "r.session_no = (SELECT no FROM sessions WHERE id = :session AND deleted_at IS NULL) AND ",
    NEWEST_FIRST,
  ),
  "runs.bySession.oldest": list(
    "r.session_no = (SELECT no FROM sessions WHERE id = :session AND deleted_at IS NULL) AND ",
    OLDEST_FIRST,
  ),
  "runs.byAgent": list(
    "s.deleted_at IS NULL AND r.agent_no = (SELECT no FROM agents WHERE id = :agent) AND ",
    NEWEST_FIRST,
  ),
  "runs.byAgent.oldest": list(
    "s.deleted_at IS NULL AND r.agent_no = (SELECT no FROM agents WHERE id = :agent) AND ",
    OLDEST_FIRST,
  ),
  "runs.byStatus": list("s.deleted_at IS NULL AND r.status = :status AND ", NEWEST_FIRST),
  "runs.byStatus.oldest": list("s.deleted_at IS NULL AND r.status = :status AND ", OLDEST_FIRST),
  "runs.createdAfter":
    `SELECT ${EVENT}, e.run FROM events e ${BLOB} WHERE e.session_no = :session AND e.seq > :after AND e.type = 'run/created' ` +
    "ORDER BY e.seq LIMIT :limit",
  "runs.newest": NEWEST,
  "runs.children": `${RUNS} WHERE r.parent = :parent ORDER BY r.no`,
  /** Runs that a worker could claim by now, or is working on; not held runs (core/run-owner.ts). */
  "runs.owned":
    `${RUNS} WHERE r.ended_at IS NULL AND r.owner IS NOT NULL AND r.beat >= 0 AND s.deleted_at IS NULL AND r.no > :after ` +
    "ORDER BY r.no LIMIT :limit",
  "runs.due":
    `${RUNS} WHERE r.ended_at IS NULL AND r.wake_at <= :now AND r.beat >= 0 AND s.deleted_at IS NULL ` +
    "ORDER BY r.wake_at, r.no LIMIT :limit",
  "run.journal":
    `SELECT ${EVENT} FROM events e ${BLOB} WHERE e.session_no = :session AND e.run = :run AND e.erased_seq IS NULL AND e.seq > :after ` +
    "AND e.seq <= :upTo ORDER BY e.seq LIMIT :limit",
  "run.events":
    "SELECT e.seq, e.branch, e.type, e.at, e.body, e.hash FROM events e WHERE e.session_no = :session " +
    "AND e.run = :run AND e.erased_seq IS NULL AND e.seq > :after AND e.seq <= :upTo ORDER BY e.seq LIMIT :limit",
  "run.event": `SELECT ${EVENT} FROM events e ${BLOB} WHERE e.session_no = (SELECT no FROM sessions WHERE id = :session) AND e.seq = :seq`,
  "run.signals": `${CHECKED.signals} AND r.run = :run AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "run.decisions": `${CHECKED.decisions} AND r.run = :run AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "run.checkpoints": `${CHECKED.checkpoints} AND r.run = :run AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "signal.next":
    `SELECT ${EVENT} FROM signals g JOIN events e ON e.session_no = g.session_no AND e.seq = g.seq ${BLOB} ` +
    "WHERE g.run = :run AND g.name = :name AND g.taken_seq IS NULL AND e.run = g.run ORDER BY g.seq LIMIT 1",
  "decisions.open": `${DECISIONS} AND d.answered_seq IS NULL AND ${ALIVE} AND ${NEWEST_DECISIONS}`,
  "decisions.open.oldest": `${DECISIONS} AND d.answered_seq IS NULL AND ${ALIVE} AND ${OLDEST_DECISIONS}`,
  "decisions.answered": `${DECISIONS} AND d.answered_seq IS NOT NULL AND ${NEWEST_DECISIONS}`,
  "decisions.answered.oldest": `${DECISIONS} AND d.answered_seq IS NOT NULL AND ${OLDEST_DECISIONS}`,
  "decisions.list": `${DECISIONS} AND ${NEWEST_DECISIONS}`,
  "decisions.list.oldest": `${DECISIONS} AND ${OLDEST_DECISIONS}`,
  "decisions.openByRun": `${DECISIONS} AND d.run = :run AND d.answered_seq IS NULL AND ${ALIVE} AND ${NEWEST_DECISIONS}`,
  "decisions.openByRun.oldest": `${DECISIONS} AND d.run = :run AND d.answered_seq IS NULL AND ${ALIVE} AND ${OLDEST_DECISIONS}`,
  "decisions.answeredByRun": `${DECISIONS} AND d.run = :run AND d.answered_seq IS NOT NULL AND ${NEWEST_DECISIONS}`,
  "decisions.answeredByRun.oldest": `${DECISIONS} AND d.run = :run AND d.answered_seq IS NOT NULL AND ${OLDEST_DECISIONS}`,
  "decisions.byRun": `${DECISIONS} AND d.run = :run AND ${NEWEST_DECISIONS}`,
  "decisions.byRun.oldest": `${DECISIONS} AND d.run = :run AND ${OLDEST_DECISIONS}`,
  "decision.get": `${DECISIONS} AND s.id = :session AND d.step_seq = :step ORDER BY d.seq DESC LIMIT 1`,
  "checkpoint.last": `${CHECKPOINTS} ORDER BY c.seq DESC LIMIT 1`,
  "checkpoint.at": `${CHECKPOINTS} AND c.iteration = :iteration ORDER BY c.seq DESC LIMIT 1`,
});

export const guards = () => ({
  "run.version": "SELECT version AS value FROM runs WHERE id = ?",
  "run.epoch": "SELECT epoch AS value FROM runs WHERE id = ?",
  "run.beat": "SELECT beat AS value FROM runs WHERE id = ?",
  /** The root run that has not ended. */
  "runs.newest": NEWEST,
  "run.active":
    "SELECT (SELECT r.id FROM runs r WHERE r.session_no = s.no AND r.ended_at IS NULL ORDER BY r.nested, r.no LIMIT 1) AS value " +
    "FROM sessions s WHERE s.id = ?",
  /** The last checkpoint that a caller's own loop saved. */
  "checkpoint.last":
    "SELECT (SELECT max(c.seq) FROM checkpoints c JOIN agents a ON a.no = c.agent_no WHERE a.id = ? " +
    "AND c.session_no = s.no AND c.run = '') AS value FROM sessions s WHERE s.id = ?",
  "decision.answered":
    "SELECT (SELECT d.answered_seq FROM decisions d WHERE d.session_no = s.no AND d.seq = ?) AS value FROM sessions s WHERE s.id = ?",
  "signal.taken":
    "SELECT (SELECT g.taken_seq FROM signals g WHERE g.session_no = s.no AND g.seq = ?) AS value FROM sessions s WHERE s.id = ?",
});

export const statements = () => ({
  "run.move":
    "UPDATE runs SET status = ?, version = ?, epoch = ?, owner = ?, iteration = ?, checkpoint_seq = ?, wake_at = ?, waits = ?, " +
    "cancel = ?, pause_at = ?, stop = ?, tokens = ?, cost_usd = ?, seq = ?, updated_at = ?, ended_at = ? WHERE id = ?",
  "run.progress":
    "UPDATE runs SET version = ?, iteration = ?, checkpoint_seq = ?, tokens = ?, cost_usd = ?, seq = ?, updated_at = ? WHERE id = ?",
  /** A run that begins with another's checkpoint. */
  "run.continueFrom": "UPDATE runs SET iteration = ?, checkpoint_seq = ?, seq = ?, version = 2 WHERE id = ?",
  "run.beat": "UPDATE runs SET beat = beat + 1 WHERE id = ? AND epoch = ?",
  "run.admit": "UPDATE runs SET beat = -1 - beat, held = 0 WHERE id = ? AND beat < 0",
  "signal.take": "UPDATE signals SET taken_seq = ? WHERE session_no = ? AND seq = ?",
  "runs.removeAll": `${TOMBSTONE} WHERE session_no = ?`,
  "signals.removeAll": "DELETE FROM signals WHERE session_no = ?",
  "decisions.removeAll": "DELETE FROM decisions WHERE session_no = ?",
  "checkpoints.removeAll": "DELETE FROM checkpoints WHERE session_no = ?",
  "runs.drop": `${TOMBSTONE} WHERE id = ?`,
  "signals.drop": "DELETE FROM signals WHERE run = ?",
  "decisions.drop": "DELETE FROM decisions WHERE run = ?",
  "checkpoints.drop": "DELETE FROM checkpoints WHERE session_no = ? AND agent_no = ? AND run = ?",
  "checkpoints.dropSaved": "DELETE FROM checkpoints WHERE session_no = ? AND agent_no = ? AND run = ''",
  "decision.answer": "UPDATE decisions SET answered_seq = ? WHERE session_no = ? AND seq = ?",
});
