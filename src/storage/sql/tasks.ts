// Boards and tasks in SQL. A board belongs to its session's row; an agent's part in a board is its id, not its number,
// because "" is the session's root board and a sub-agent need not be registered.
const BOARD = "b.id, s.id AS session, b.agent, b.ord, b.label, b.parent, b.max_retries, b.created_at, b.version";

const TASK = "t.board_id, t.id, t.title, t.status, t.ord, t.retry_count, t.note, t.version, t.created_at, t.updated_at";

export const queries = () => ({
  "board.get": `SELECT ${BOARD} FROM boards b JOIN sessions s ON s.no = b.session_no WHERE b.id = :id`,
  "boards.bySession": `
    SELECT ${BOARD} FROM sessions s JOIN boards b ON b.session_no = s.no
    WHERE s.id = :session ORDER BY b.ord, b.id`,
  "tasks.byBoard": `SELECT ${TASK} FROM tasks t WHERE t.board_id = :board ORDER BY t.ord, t.id`,
  "tasks.bySession": `
    SELECT ${TASK} FROM sessions s JOIN boards b ON b.session_no = s.no JOIN tasks t ON t.board_id = b.id
    WHERE s.id = :session ORDER BY t.board_id, t.ord, t.id`,
  "task.get": `SELECT ${TASK} FROM tasks t WHERE t.board_id = :board AND t.id = :task`,
});

export const statements = () => ({
  "tasks.removeAll": "DELETE FROM tasks WHERE board_id IN (SELECT id FROM boards WHERE session_no = ?)",
  "tasks.removeBoard": "DELETE FROM tasks WHERE board_id = ?",
  "boards.removeAll": "DELETE FROM boards WHERE session_no = ?",
});

export const guards = () => ({
  /** Of the one board an agent has in a session. */
  "board.id":
    "SELECT b.id AS value FROM sessions s JOIN boards b ON b.session_no = s.no WHERE s.id = ? AND b.agent = ?",
  /** -1 where there is none; null where there is no session. */
  "boards.last":
    "SELECT (SELECT coalesce(max(b.ord), -1) FROM boards b WHERE b.session_no = s.no) AS value FROM sessions s WHERE s.id = ?",
  /** Grows with whatever changes which tasks the board has. */
  "board.version": "SELECT version AS value FROM boards WHERE id = ?",
  "task.version": "SELECT version AS value FROM tasks WHERE board_id = ? AND id = ?",
});
