// The ten queries of the bench, each beside the SQL that an expert of the tables would write by hand.

export interface MeasuredQuery {
  readonly name: string;
  readonly datalog: string;
  readonly rules?: string;
  readonly inputs?: readonly unknown[];
  readonly sql: string;
  readonly params?: readonly (string | number)[];
}

const NEWEST =
  "NOT EXISTS (SELECT 1 FROM calls n WHERE n.session_no = c.session_no AND n.first_seq = c.first_seq AND n.seq > c.seq)";

export const QUERIES: readonly MeasuredQuery[] = [
  {
    name: "messages of each session",
    datalog: "[:find ?id (count ?m) :where [?m :message/session ?s] [?s :session/id ?id]]",
    sql:
      "SELECT s.id AS a, count(*) AS b FROM events e JOIN sessions s ON s.no = e.session_no " +
      "WHERE e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND s.deleted_at IS NULL GROUP BY s.id",
  },
  {
    name: "calls of one session",
    datalog:
      "[:find ?c ?model ?cost :in $ ?id :where [?s :session/id ?id] [?c :call/session ?s] [?c :call/model " +
      "?model] [?c :call/cost-usd ?cost]]",
    inputs: ["session-77"],
    sql:
      "SELECT s.id || '#' || c.first_seq AS a, c.model AS b, c.cost_usd AS d FROM sessions s JOIN calls c ON c.session_no = s.no " +
      `WHERE s.id = ? AND s.deleted_at IS NULL AND c.model IS NOT NULL AND c.cost_usd IS NOT NULL AND ${NEWEST}`,
    params: ["session-77"],
  },
  {
    name: "cost by model",
    datalog: "[:find ?model (sum ?cost) (count ?c) :where [?c :call/model ?model] [?c :call/cost-usd ?cost]]",
    sql:
      "SELECT c.model AS a, sum(c.cost_usd) AS b, count(*) AS d FROM calls c " +
      `WHERE c.model IS NOT NULL AND c.cost_usd IS NOT NULL AND ${NEWEST} GROUP BY c.model`,
  },
  {
    name: "sessions nobody answered",
    datalog:
      '[:find [?id ...] :where [?s :session/id ?id] (not [?m :message/session ?s] [?m :message/role "assistant"])]',
    sql:
      "SELECT s.id AS a FROM sessions s WHERE s.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM events e " +
      "WHERE e.session_no = s.no AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND e.role = 'assistant')",
  },
  {
    name: "failed calls under a tag",
    datalog:
      '[:find ?c ?id :where [?s :session/tag "red"] [?s :session/id ?id] [?c :call/session ?s] [?c ' +
      ':call/status "error"]]',
    sql:
      "SELECT s.id || '#' || c.first_seq AS a, s.id AS b FROM session_tags t JOIN sessions s ON s.no = t.session_no " +
      `JOIN calls c ON c.session_no = s.no WHERE t.tag = 'red' AND s.deleted_at IS NULL AND c.status = 'error' AND ${NEWEST}`,
  },
  {
    name: "what a session was made from",
    datalog:
      '[:find [?from ...] :in $ % :where [?d :session/id "session-499"] (made-from ?d ?s) [?s :session/id ?from]]',
    rules:
      "[[(made-from ?a ?b) [?x :derivation/target-session ?a] [?x :derivation/source-session ?b]] " +
      "[(made-from ?a ?c) [?x :derivation/target-session ?a] [?x :derivation/source-session ?b] (made-from ?b ?c)]]",
    sql:
      "WITH RECURSIVE up(no) AS (SELECT d.source_session_no FROM derivations d JOIN sessions s ON s.no = d.session_no " +
      "WHERE s.id = 'session-499' UNION SELECT d.source_session_no FROM derivations d JOIN up ON d.session_no = up.no) " +
      "SELECT s.id AS a FROM up JOIN sessions s ON s.no = up.no WHERE s.deleted_at IS NULL",
  },
  {
    name: "by title or by tag",
    datalog:
      '[:find [?id ...] :where [?s :session/id ?id] (or [?s :session/title "Title 7"] [?s :session/tag "blue"])]',
    sql:
      "SELECT s.id AS a FROM sessions s WHERE s.deleted_at IS NULL AND (s.title = {title} " +
      "OR EXISTS (SELECT 1 FROM session_tags t WHERE t.session_no = s.no AND t.tag = 'blue'))",
  },
  {
    name: "length of messages by role, of one agent",
    datalog:
      '[:find ?role (avg ?n) (max ?n) :with ?m :where [?a :agent/id "agent-3"] [?m :message/agent ?a] [?m ' +
      ":message/role ?role] [?m :message/char-count ?n]]",
    sql:
      "SELECT e.role AS a, avg(e.chars) AS b, max(e.chars) AS d FROM agents a JOIN events e ON e.agent_no = a.no " +
      "WHERE a.id = 'agent-3' AND a.deleted_at IS NULL AND e.erased_seq IS NULL AND e.chars IS NOT NULL " +
      "GROUP BY e.role",
  },
  {
    name: "the most expensive sessions",
    datalog:
      "[:find ?id (sum ?cost) :with ?c :where [?c :call/session ?s] [?s :session/id ?id] [?c " +
      ":call/cost-usd ?cost] :order-by [[(sum ?cost) :desc] ?id] :limit 10]",
    sql:
      "SELECT s.id AS a, sum(c.cost_usd) AS b FROM calls c JOIN sessions s ON s.no = c.session_no " +
      `WHERE s.deleted_at IS NULL AND c.cost_usd IS NOT NULL AND ${NEWEST} GROUP BY s.id ORDER BY b DESC, a LIMIT 10`,
  },
  {
    name: "long messages since a time",
    datalog:
      "[:find (count ?m) . :in $ ?since :where [?m :message/created-at ?at] [(>= ?at ?since)] [?m " +
      ":message/char-count ?n] [(> ?n 900)]]",
    inputs: [1_767_225_600_000 + 250_000],
    sql: "SELECT count(*) AS a FROM events e WHERE e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND e.at >= ? AND e.chars > 900",
    params: [1_767_225_600_000 + 250_000],
  },
];
