// A store of a million facts, written by plain SQL, because the bench measures queries and not writes. Both engines get the same facts.
import type { Driver } from "../../src/storage/sql/driver.ts";

const SESSIONS = 500;
const MESSAGES_PER_SESSION = 100;
const CALLS_PER_SESSION = 30;
const START = 1_767_225_600_000;

/** One row for each n from `from` to `to`. */
function series(from: number, to: number): string {
  return `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`;
}

const PAIRS = (count: number) =>
  `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${SESSIONS}), ` +
  `m(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM m WHERE k < ${count})`;

export async function fill(driver: Driver): Promise<void> {
  const isPostgres = driver.dialect.engine === "postgres";
  const numbers = isPostgres ? " OVERRIDING SYSTEM VALUE" : "";
  const bytes = (text: string) => (isPostgres ? `convert_to(${text}, 'UTF8')` : `CAST(${text} AS BLOB)`);
  const digest = (text: string) =>
    isPostgres ? `sha256(convert_to(${text}, 'UTF8'))` : `CAST(substr(${text} || '${"-".repeat(32)}', 1, 32) AS BLOB)`;
  const word = (of: string, ...words: string[]) =>
    `CASE ${of} % ${words.length} ${words.map((one, i) => `WHEN ${i} THEN ${one}`).join(" ")} END`;
  const into = (table: string, columns: string, rows: string, own = "") =>
    `INSERT INTO ${table} (${columns})${own} ${rows}`;
  const status = word("(i + k)", "'ok'", "'ok'", "'error'", "'ok'", "'ok'");
  const model = word("k", "'opus'", "'sonnet'", "'haiku'", "'fable'");
  const statements = [
    into(
      "agents",
      "no, id, name, agent_type, created_at, updated_at, version",
      `${series(1, 10)} SELECT i, 'agent-' || i, ${bytes("'Agent'")}, 'a', ${START}, ${START}, 1 FROM n`,
      numbers,
    ),
    into(
      "sessions",
      "no, id, agent_no, title, status, created_at, updated_at, version, branch, seq, chain, messages, state_seq, kind, head_no",
      `${series(1, SESSIONS)} SELECT i, 'session-' || i, 1 + i % 10, ${bytes("'Title ' || (i % 50)")}, ` +
        `${word("i", "'open'", "'closed'")}, ${START} + i, ${START} + i, 1, 1, 200, ${bytes("'c'")}, 100, 0, 'entry', i * 10 FROM n`,
      numbers,
    ),
    into(
      "session_tags",
      "tag, session_no",
      `${series(1, SESSIONS)} SELECT ${word("i", "'red'", "'green'", "'blue'", "'grey'")}, i FROM n`,
    ),
    into(
      "events",
      "session_no, seq, branch, type, at, body, hash, agent_no, role, run, sha256, words, chars",
      `${PAIRS(MESSAGES_PER_SESSION)} SELECT i, k, 1, 'message/added', ${START} + i * 1000 + k, ${bytes("'{}'")}, ${bytes("'h'")}, ` +
        `1 + i % 10, CASE WHEN i % 10 = 0 THEN 'user' ELSE ${word("k", "'user'", "'assistant'")} END, 'run-' || (k % 5), ` +
        `${digest("'m' || i || ' ' || k")}, ${bytes("'w'")}, (i * k) % 997 FROM s, m ORDER BY i, k`,
    ),
    into(
      "calls",
      "session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, tokens_in, tokens_out, cost_usd, created_at",
      `${PAIRS(CALLS_PER_SESSION)} SELECT i, 100 + k, 100 + k, 1, 1, ${word("k", "'root'", "'leaf'")}, ${status}, ${model}, 'p', ` +
        `k * 10, k, (k % 8) / 8.0, ${START} + k FROM s, m`,
    ),
    into(
      "calls",
      "session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, tokens_in, tokens_out, cost_usd, created_at",
      `${PAIRS(CALLS_PER_SESSION)} SELECT i, 100 + k, 150 + k, 1, 1, ${word("k", "'root'", "'leaf'")}, 'done', ${model}, 'p', ` +
        `k * 10, k, (k % 8) / 8.0, ${START} + k FROM s, m WHERE k % 3 = 0`,
    ),
    into(
      "events",
      "session_no, seq, branch, type, at, body, hash",
      `${PAIRS(CALLS_PER_SESSION * 2)} SELECT i, 100 + k, 1, 'call/put', ${START} + k, ${bytes("'{}'")}, ` +
        `${bytes("'h'")} FROM s, m ORDER BY i, k`,
    ),
    into(
      "heads",
      "no, id, session_no, branch, seq, basis_no, status, chain, root, at",
      `${PAIRS(10)} SELECT i * 10 + k, 'head-' || i || '-' || k, i, 1, k, CASE WHEN k > 1 THEN i * 10 + k - 1 END, 'complete', ` +
        `${bytes("'c'")}, ${bytes("'r'")}, ${START} FROM s, m`,
      numbers,
    ),
    into(
      "derivations",
      "session_no, seq, type, source_session_no, source_branch, source_seq, at",
      `${series(2, SESSIONS)} SELECT i, 1, 'fork', i / 2, 1, 1, ${START} FROM n`,
    ),
  ];
  await driver.migrate(false, async (execute) => {
    for (const statement of statements) await execute(statement);
  });
}
