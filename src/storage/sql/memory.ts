// Long-term memory in SQL. A memory belongs to the row of its scope; its changes name it by its id. The text index and the index of
// metadata name it by its number, which only the database knows when the memory is new: their entries are made from its row.
import { NUMBERS } from "./driver.ts";
import { NEWEST_FIRST, OLDEST_FIRST, type Order } from "./list-order.ts";

const OWN_COLUMNS =
  "m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, " +
  "m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, " +
  "m.superseded_by, m.superseded_from, m.version";
const COLUMNS = `${OWN_COLUMNS}, s.namespace, s.agent`;
const MEMORIES = `SELECT ${COLUMNS} FROM memories m JOIN memory_scopes s ON s.no = m.scope_no`;

const LIVES = "(m.expires_at IS NULL OR m.expires_at > :now)";
const HOLDS =
  "(:all = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > :now) AND (m.valid_to IS NULL OR m.valid_to > :now)))";

function list(where: string, { past, direction }: Order): string {
  return (
    `${MEMORIES} WHERE m.scope_no = :scope AND ${where}m.no ${past} :last AND ${LIVES} AND ${HOLDS} ` +
    `AND (CAST(:kind AS TEXT) IS NULL OR m.kind = :kind) ORDER BY m.no${direction} LIMIT :limit`
  );
}

const OF_SUBJECT = "m.subject_key = :subject AND ";
const OF_FACT = "m.fact_key = :fact AND ";

const CHANGE = "h.no, h.memory_id, h.version, h.change, h.at, h.by_id, h.session, h.message, h.run";

/** A row of the recursion is a memory that superseded another one of it, or was superseded by one. */
function changes({ past, direction }: Order): string {
  return (
    "WITH RECURSIVE fact (id, superseded_by) AS (" +
    "SELECT m.id, m.superseded_by FROM memories m WHERE m.id = :id AND m.scope_no = :scope UNION " +
    "SELECT n.id, n.superseded_by FROM fact f JOIN memories n ON n.id = f.superseded_by OR n.superseded_by = f.id) " +
    `SELECT ${CHANGE} FROM fact f JOIN memories m ON m.id = f.id JOIN memory_changes h ON h.memory_id = f.id ` +
    `WHERE h.no ${past} :last AND ${LIVES} ORDER BY h.no${direction} LIMIT :limit`
  );
}

const BYTES = "length(m.content) + coalesce(length(m.value), 0) + coalesce(length(m.metadata), 0)";

function count(condition: string): string {
  return `CAST(coalesce(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0) AS BIGINT)`;
}

const EXPIRED = "m.expires_at IS NOT NULL AND m.expires_at <= :now";
const COUNTS =
  `${count(LIVES)} AS memories, ${count(`${LIVES} AND m.superseded_from IS NOT NULL AND m.superseded_from <= :now`)} AS superseded, ` +
  `${count(EXPIRED)} AS expired`;

function scopes({ past, direction }: Order): string {
  return (
    `SELECT s.no, s.namespace, s.agent, ${COUNTS} FROM (SELECT c.no, c.namespace, c.agent FROM memory_scopes c ` +
    `WHERE c.no ${past} :last AND EXISTS (SELECT 1 FROM memories e WHERE e.scope_no = c.no) ORDER BY c.no${direction} LIMIT :limit) s ` +
    `JOIN memories m ON m.scope_no = s.no GROUP BY s.no, s.namespace, s.agent ORDER BY s.no${direction}`
  );
}

const NEWEST_SAME = "(SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.digest = ?)";
const NEWEST_OF_FACT = "(SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.fact_key = ?)";
const OF_SCOPE = "FROM memory_scopes s WHERE s.no = ?";

const named = (text: string, ...names: readonly string[]) => names.reduce((sql, name) => sql.replace("?", name), text);

export const queries = () => ({
  "memory.scope": "SELECT s.no FROM memory_scopes s WHERE s.namespace = :namespace AND s.agent = :agent",
  "memory.scopesOf":
    "SELECT s.no, s.namespace FROM memory_scopes s WHERE s.agent = :agent AND s.no > :after " +
    "AND EXISTS (SELECT 1 FROM memories e WHERE e.scope_no = s.no) ORDER BY s.no LIMIT :limit",
  "memories.ofAgent":
    "SELECT count(*) AS n FROM memory_scopes s JOIN memories m ON m.scope_no = s.no WHERE s.agent = :agent",
  "memory.get": `${MEMORIES} WHERE m.id = :id AND m.scope_no = :scope`,
  "memory.byNumber": `${MEMORIES} WHERE m.no = :no AND m.scope_no = :scope`,
  "memories.list": list("", NEWEST_FIRST),
  "memories.list.oldest": list("", OLDEST_FIRST),
  "memories.bySubject": list(OF_SUBJECT, NEWEST_FIRST),
  "memories.bySubject.oldest": list(OF_SUBJECT, OLDEST_FIRST),
  "memories.byFact": list(OF_FACT, NEWEST_FIRST),
  "memories.byFact.oldest": list(OF_FACT, OLDEST_FIRST),
  "memories.same": `${MEMORIES} WHERE m.scope_no = :scope AND m.digest = :digest ORDER BY m.no`,
  "memories.heldAt":
    `${MEMORIES} WHERE m.scope_no = :scope AND m.fact_key = :fact AND m.valid_from <= :at ` +
    "AND (m.superseded_from IS NULL OR m.superseded_from > :at) AND (m.valid_to IS NULL OR m.valid_to > :at) " +
    `AND ${LIVES} ORDER BY m.valid_from, m.no LIMIT :limit`,
  "memories.heldAfter":
    `${MEMORIES} WHERE m.scope_no = :scope AND m.fact_key = :fact AND m.valid_from > :at AND ${LIVES} ` +
    "ORDER BY m.valid_from, m.no LIMIT :limit",
  "memory.newestSame": named(`SELECT ${NEWEST_SAME} AS value ${OF_SCOPE}`, ":digest", ":scope"),
  "memory.newestOfFact": named(`SELECT ${NEWEST_OF_FACT} AS value ${OF_SCOPE}`, ":fact", ":scope"),
  "memory.changes": changes(NEWEST_FIRST),
  "memory.changes.oldest": changes(OLDEST_FIRST),
  "memories.promotions":
    `SELECT ${CHANGE} FROM (SELECT c.memory_id, max(c.version) AS version FROM memories m JOIN memory_changes c ` +
    "ON c.memory_id = m.id WHERE m.scope_no = :scope AND m.no > :after AND m.no <= :upTo AND c.change IN " +
    "('saved', 'touched', 'promoted', 'demoted', 'withdrawn', 'pinned', 'unpinned') GROUP BY c.memory_id, c.change) g " +
    "JOIN memory_changes h ON h.memory_id = g.memory_id AND h.version = g.version",
  "memories.placements":
    "SELECT DISTINCT m.no, m.id, m.content, c.by_id AS block FROM memories m JOIN memory_changes c ON c.memory_id = m.id " +
    "WHERE m.scope_no = :scope AND m.no > :after AND m.no <= :upTo AND c.change = 'promoted' AND c.by_id IS NOT NULL " +
    "ORDER BY m.no, c.by_id",
  "memories.inBlock":
    "SELECT DISTINCT m.no, m.id, m.content, s.namespace FROM memory_changes c JOIN memories m ON m.id = c.memory_id " +
    "JOIN memory_scopes s ON s.no = m.scope_no WHERE c.by_id = :block AND c.change = 'promoted' AND s.namespace <> :namespace " +
    "ORDER BY m.no",
  "memories.numbers":
    "SELECT m.no FROM memories m WHERE m.scope_no = :scope AND m.no > :after ORDER BY m.no LIMIT :limit",
  "memories.texts":
    "SELECT m.no, m.scope_no, m.content, m.kind, m.subject, m.attribute, m.value, m.valid_from FROM memories m " +
    `WHERE m.scope_no = :scope AND m.no ${NUMBERS} :items ORDER BY m.no`,
  "memories.totals":
    `SELECT count(*) AS memories, CAST(coalesce(sum(m.version), 0) AS BIGINT) AS changes, ` +
    `CAST(coalesce(sum(${BYTES}), 0) AS BIGINT) AS bytes FROM memories m WHERE m.scope_no = :scope`,
  "memories.expired":
    `${MEMORIES} WHERE m.expires_at IS NOT NULL AND m.expires_at <= :now AND (m.expires_at, m.no) > (:after, :afterNo) ` +
    "ORDER BY m.expires_at, m.no LIMIT :limit",
  "memory.scopes": scopes(NEWEST_FIRST),
  "memory.scopes.oldest": scopes(OLDEST_FIRST),
  "memory.status": `SELECT count(DISTINCT m.scope_no) AS scopes, ${COUNTS} FROM memories m`,
  "memories.ofSession":
    "SELECT count(DISTINCT h.memory_id) AS n FROM memory_changes h WHERE h.session IS NOT NULL AND h.session = :session",
  "check.memories":
    `SELECT ${COLUMNS}, (SELECT max(h.version) FROM memory_changes h WHERE h.memory_id = m.id) AS newest, ` +
    "(SELECT count(*) FROM memory_changes h WHERE h.memory_id = m.id) AS changes, " +
    "(SELECT count(*) FROM metadata_fields f WHERE f.kind = 'memories' AND f.scope = m.scope_no AND f.item = m.no) AS fields " +
    "FROM memories m LEFT JOIN memory_scopes s ON s.no = m.scope_no WHERE m.no > :after ORDER BY m.no LIMIT :limit",
  "check.memoryChanges":
    "SELECT r.memory_id, r.version, r.change, r.at, r.by_id, r.session, r.message, r.run, m.id AS memory FROM memory_changes r " +
    "LEFT JOIN memories m ON m.id = r.memory_id WHERE (r.memory_id, r.version) > (:afterMemory, :afterVersion) " +
    "ORDER BY r.memory_id, r.version LIMIT :limit",
  "check.memoryFields":
    "SELECT f.path, f.value FROM metadata_fields f WHERE f.kind = 'memories' AND f.scope = :scope AND f.item = :item " +
    "ORDER BY f.path, f.value",
  "check.strayMemoryFields":
    "SELECT DISTINCT f.scope, f.item FROM metadata_fields f LEFT JOIN memories m ON m.no = f.item AND m.scope_no = f.scope " +
    "WHERE f.kind = 'memories' AND m.no IS NULL ORDER BY f.scope, f.item LIMIT :limit",
});

export const statements = () => ({
  "memory.addField":
    "INSERT INTO metadata_fields (kind, scope, path, value, item) " +
    "SELECT 'memories', m.scope_no, :path, :value, m.no FROM memories m WHERE m.id = :id",
  "memory.addIndexItem":
    "INSERT INTO index_items (kind, group_no, item, segment) " +
    "SELECT 'memories', m.scope_no, m.no, NULL FROM memories m WHERE m.id = :id",
  "memory.remove": "DELETE FROM memories WHERE id = :id",
  "memory.removeChanges": "DELETE FROM memory_changes WHERE memory_id = :id",
  "memories.removeScope": "DELETE FROM memories WHERE scope_no = :scope",
  "memories.removeScopeChanges":
    "DELETE FROM memory_changes WHERE memory_id IN (SELECT m.id FROM memories m WHERE m.scope_no = :scope)",
});

export const guards = () => ({
  "memory.scope": "SELECT no AS value FROM memory_scopes WHERE no = ?",
  "memory.version": "SELECT version AS value FROM memories WHERE id = ?",
  "memory.same": `SELECT ${NEWEST_SAME} AS value ${OF_SCOPE}`,
  "memory.fact": `SELECT ${NEWEST_OF_FACT} AS value ${OF_SCOPE}`,
});
