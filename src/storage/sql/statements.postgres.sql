-- A snapshot, generated from the SQL in this folder. No program reads it. statements.test.ts compares it, and writes it with:
-- npm test -- src/storage/sql/statements.test.ts -u
-- session.get
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.id = $1;
-- sessions.byNumbers
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.no = ANY(CAST(translate(CAST($1 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY s.no;
-- session.byAlias
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no JOIN aliases l ON l.session_no = s.no WHERE l.name = $1 AND s.deleted_at IS NULL;
-- alias.get
SELECT coalesce((SELECT s.id FROM sessions s WHERE s.no = l.session_no AND s.deleted_at IS NULL), '') AS session FROM aliases l WHERE l.name = $1;
-- session.aliases
SELECT l.name FROM aliases l JOIN sessions s ON s.no = l.session_no WHERE s.id = $1 ORDER BY l.name;
-- sessions.list
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.deleted_at IS NULL AND s.no < $1 AND (CAST($2 AS TEXT) IS NULL OR s.status = $3) AND s.created_at >= $4 AND s.created_at <= $5 ORDER BY s.no DESC LIMIT $6;
-- sessions.list.oldest
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.deleted_at IS NULL AND s.no > $1 AND (CAST($2 AS TEXT) IS NULL OR s.status = $3) AND s.created_at >= $4 AND s.created_at <= $5 ORDER BY s.no LIMIT $6;
-- sessions.byAgent
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.agent_no = (SELECT no FROM agents WHERE id = $1) AND s.deleted_at IS NULL AND s.no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY s.no DESC LIMIT $7;
-- sessions.byAgent.oldest
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.agent_no = (SELECT no FROM agents WHERE id = $1) AND s.deleted_at IS NULL AND s.no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY s.no LIMIT $7;
-- sessions.byTag
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no JOIN session_tags t ON t.session_no = s.no WHERE t.tag = $1 AND s.deleted_at IS NULL AND t.session_no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY t.session_no DESC LIMIT $7;
-- sessions.byTag.oldest
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no JOIN session_tags t ON t.session_no = s.no WHERE t.tag = $1 AND s.deleted_at IS NULL AND t.session_no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY t.session_no LIMIT $7;
-- sessions.byRequest
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.request = $1 AND s.deleted_at IS NULL AND s.no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY s.no DESC LIMIT $7;
-- sessions.byRequest.oldest
SELECT s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.request = $1 AND s.deleted_at IS NULL AND s.no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.status = $4) AND s.created_at >= $5 AND s.created_at <= $6 ORDER BY s.no LIMIT $7;
-- lineage.current
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth < $2) SELECT (SELECT s.id FROM sessions s WHERE s.no = l.session_no) AS session, l.session_no, l.branch, l.upto, (SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears FROM l WHERE l.session_no IS NOT NULL ORDER BY l.depth;
-- lineage.at
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT) UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth < $4) SELECT (SELECT s.id FROM sessions s WHERE s.no = l.session_no) AS session, l.session_no, l.branch, l.upto, (SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears FROM l WHERE l.session_no IS NOT NULL ORDER BY l.depth;
-- lineage.heirs
WITH RECURSIVE d (no) AS (SELECT b.session_no FROM branches b WHERE b.parent_session_no = $1 UNION SELECT b.session_no FROM d JOIN branches b ON b.parent_session_no = d.no) SELECT s.id FROM d JOIN sessions s ON s.no = d.no WHERE s.deleted_at IS NULL AND d.no <> $2 ORDER BY d.no + 0 LIMIT $3;
-- lineage.newestHead
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT) UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND (SELECT n.no FROM heads n WHERE n.session_no = l.session_no AND n.branch = l.branch AND n.seq >= l.branch AND n.seq <= l.upto ORDER BY n.seq DESC LIMIT 1) IS NULL) SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.no = (SELECT (SELECT n.no FROM heads n WHERE n.session_no = l.session_no AND n.branch = l.branch AND n.seq >= l.branch AND n.seq <= l.upto ORDER BY n.seq DESC LIMIT 1) FROM l WHERE l.session_no IS NOT NULL ORDER BY l.depth DESC LIMIT 1);
-- lineage.countsSince
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT) UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND (SELECT n.no FROM heads n WHERE n.session_no = l.session_no AND n.branch = l.branch AND n.seq >= l.branch AND n.seq <= l.upto ORDER BY n.seq DESC LIMIT 1) IS NULL) SELECT CAST(coalesce(sum(c.messages), 0) AS BIGINT) AS messages, CAST(coalesce(sum(c.turns), 0) AS BIGINT) AS turns, CAST(coalesce(sum(c.evals), 0) AS BIGINT) AS evals, CAST(coalesce(sum(c.calls), 0) AS BIGINT) AS calls, CAST(coalesce(sum(c.invocations), 0) AS BIGINT) AS invocations, CAST(coalesce(sum(c.snapshots), 0) AS BIGINT) AS snapshots FROM (SELECT (SELECT count(*) FROM events e WHERE e.session_no = w.session_no AND e.branch = w.branch AND e.seq > w.after AND e.seq <= w.upto AND e.agent_no IS NOT NULL) AS messages, (SELECT count(*) FROM turns r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS turns, (SELECT count(*) FROM evals r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS evals, (SELECT count(*) FROM calls r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS calls, (SELECT count(*) FROM invocations r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS invocations, (SELECT count(*) FROM snapshots r WHERE r.session_no = w.session_no AND r.branch = w.branch AND r.seq > w.after AND r.seq <= w.upto) AS snapshots FROM (SELECT l.session_no, l.branch, coalesce((SELECT n.seq FROM heads n WHERE n.session_no = l.session_no AND n.branch = l.branch AND n.seq >= l.branch AND n.seq <= l.upto ORDER BY n.seq DESC LIMIT 1), 0) AS after, l.upto FROM l WHERE l.session_no IS NOT NULL) w) c;
-- lineage.stated
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT l.session_no, l.branch, l.upto FROM l WHERE l.session_no IS NOT NULL AND (SELECT st.seq FROM state st WHERE st.session_no = l.session_no AND st.branch = l.branch AND st.seq <= l.upto AND (st.until_seq IS NULL OR st.until_seq > l.upto) LIMIT 1) IS NOT NULL ORDER BY l.depth;
-- lineage.statedAt
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT) UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT l.session_no, l.branch, l.upto FROM l WHERE l.session_no IS NOT NULL AND (SELECT st.seq FROM state st WHERE st.session_no = l.session_no AND st.branch = l.branch AND st.seq <= l.upto AND (st.until_seq IS NULL OR st.until_seq > l.upto) LIMIT 1) IS NOT NULL ORDER BY l.depth;
-- lineage.statedKey
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT l.session_no, l.branch, l.upto FROM l WHERE l.session_no IS NOT NULL AND (SELECT st.seq FROM state st WHERE st.session_no = l.session_no AND st.branch = l.branch AND st.seq <= l.upto AND (st.until_seq IS NULL OR st.until_seq > l.upto) AND st.key IN ($2, '') LIMIT 1) IS NOT NULL ORDER BY l.depth LIMIT 1;
-- lineage.messages
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n, CAST(coalesce(sum(c.clears), 0) AS BIGINT) AS clears FROM (SELECT (SELECT count(*) FROM events e WHERE e.session_no = l.session_no AND e.branch = l.branch AND e.seq <= l.upto AND e.erased_seq IS NULL AND e.agent_no IS NOT NULL) AS n, (SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears FROM l WHERE l.session_no IS NOT NULL) c;
-- lineage.agentMessages
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n, CAST(coalesce(sum(c.clears), 0) AS BIGINT) AS clears FROM (SELECT (SELECT count(*) FROM events e WHERE e.session_no = l.session_no AND e.branch = l.branch AND e.seq <= l.upto AND e.erased_seq IS NULL AND e.agent_no + 0 = (SELECT no FROM agents WHERE id = $2)) AS n, (SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears FROM l WHERE l.session_no IS NOT NULL) c;
-- lineage.runMessages
WITH RECURSIVE l (depth, session_no, branch, upto) AS (SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(9007199254740991 AS BIGINT) FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION ALL SELECT l.depth + 1, (SELECT b.parent_session_no FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.parent_branch FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch), (SELECT b.cut_seq FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch) FROM l WHERE l.session_no IS NOT NULL AND l.depth >= 0) SELECT CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n, CAST(coalesce(sum(c.clears), 0) AS BIGINT) AS clears FROM (SELECT (SELECT count(*) FROM events e WHERE e.session_no = l.session_no AND e.branch = l.branch AND e.seq <= l.upto AND e.erased_seq IS NULL AND e.agent_no + 0 = (SELECT no FROM agents WHERE id = $2) AND e.run = $3) AS n, (SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears FROM l WHERE l.session_no IS NOT NULL) c;
-- lineage.clears
SELECT c.seq, a.id AS agent, c.run FROM clears c JOIN agents a ON a.no = c.agent_no WHERE c.session_no = $1 AND c.branch = $2 AND c.seq <= $3 ORDER BY c.seq;
-- messages.at
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, m.erased_seq, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT e.session_no, e.agent_no, e.seq, e.role, e.run, e.key, e.at, e.sha256, e.words, e.content, e.erased_seq FROM events e WHERE e.session_no = $1 AND e.branch = $2 AND e.seq > $3 AND e.seq <= $4 AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > $5) ORDER BY e.seq ASC LIMIT $6) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- messages.lastAt
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, m.erased_seq, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT e.session_no, e.agent_no, e.seq, e.role, e.run, e.key, e.at, e.sha256, e.words, e.content, e.erased_seq FROM events e WHERE e.session_no = $1 AND e.branch = $2 AND e.seq > $3 AND e.seq <= $4 AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > $5) ORDER BY e.seq DESC LIMIT $6) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- messages.count
SELECT a.id AS agent, c.run, c.n FROM (SELECT e.agent_no, CAST(NULL AS TEXT) AS run, count(*) AS n FROM events e WHERE e.session_no = $1 AND e.branch = $2 AND e.seq > $3 AND e.seq <= $4 AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > $5) GROUP BY e.agent_no) c JOIN agents a ON a.no = c.agent_no;
-- messages.countRuns
SELECT a.id AS agent, c.run, c.n FROM (SELECT e.agent_no, e.run AS run, count(*) AS n FROM events e WHERE e.session_no = $1 AND e.branch = $2 AND e.seq > $3 AND e.seq <= $4 AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > $5) GROUP BY e.agent_no, e.run) c JOIN agents a ON a.no = c.agent_no;
-- messages.erasedUpTo
SELECT max(e.erased_seq) AS value FROM events e WHERE e.session_no = $1 AND e.branch = $2 AND e.seq > $3 AND e.seq <= $4 AND e.agent_no IS NOT NULL;
-- lineage.counts
SELECT (SELECT count(*) FROM events e WHERE e.session_no = w.session_no AND e.branch = w.branch AND e.seq > w.after AND e.seq <= w.upto AND e.agent_no IS NOT NULL) AS messages, (SELECT count(*) FROM turns r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS turns, (SELECT count(*) FROM evals r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS evals, (SELECT count(*) FROM calls r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS calls, (SELECT count(*) FROM invocations r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS invocations, (SELECT count(*) FROM snapshots r WHERE r.session_no = w.session_no AND r.branch = w.branch AND r.seq > w.after AND r.seq <= w.upto) AS snapshots FROM (SELECT CAST($1 AS BIGINT) AS session_no, CAST($2 AS BIGINT) AS branch, CAST($3 AS BIGINT) AS after, CAST($4 AS BIGINT) AS upto) w;
-- branch.position
SELECT w.head_id, w.head_root, (SELECT count(*) FROM events e WHERE e.session_no = w.session_no AND e.branch = w.branch AND e.seq > w.after AND e.seq <= w.upto AND e.agent_no IS NOT NULL) AS messages, (SELECT count(*) FROM turns r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS turns, (SELECT count(*) FROM evals r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS evals, (SELECT count(*) FROM calls r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS calls, (SELECT count(*) FROM invocations r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch AND r.first_seq > w.after AND r.first_seq <= w.upto) AS invocations, (SELECT count(*) FROM snapshots r WHERE r.session_no = w.session_no AND r.branch = w.branch AND r.seq > w.after AND r.seq <= w.upto) AS snapshots FROM (SELECT s.no AS session_no, s.branch, h.id AS head_id, h.root AS head_root, coalesce(h.seq, 0) AS after, CAST(9007199254740991 AS BIGINT) AS upto FROM sessions s LEFT JOIN heads h ON h.no = (SELECT n.no FROM heads n WHERE n.session_no = s.no AND n.branch = s.branch AND n.seq >= s.branch ORDER BY n.seq DESC LIMIT 1) WHERE s.id = $1) w;
-- head.get
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.id = $1 AND s.deleted_at IS NULL;
-- head.current
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.no = (SELECT c.head_no FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL);
-- head.before
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.session_no = $1 AND h.branch = $2 AND h.seq >= h.branch AND h.seq <= $3 ORDER BY h.seq DESC LIMIT 1;
-- heads.list
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE s.id = $1 AND s.deleted_at IS NULL AND h.seq < $2 ORDER BY h.seq DESC LIMIT $3;
-- heads.oldest
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE s.id = $1 AND s.deleted_at IS NULL AND h.seq > $2 ORDER BY h.seq LIMIT $3;
-- heads.between
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.id >= $1 AND h.id < $2 AND s.deleted_at IS NULL ORDER BY h.id LIMIT $3;
-- heads.beginning
SELECT h.id FROM heads h WHERE h.session_no = $1 AND h.id >= $2 AND h.id < $3 ORDER BY h.id LIMIT $4;
-- heads.at
SELECT h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final WHERE h.session_no = $1 AND h.branch = $2 AND h.seq > $3 AND h.seq <= $4 ORDER BY h.seq, h.no;
-- turns.at
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.status, a.id AS agent, r.run, r.at FROM turns r JOIN sessions s ON s.no = r.session_no LEFT JOIN agents a ON a.no = r.agent_no WHERE r.session_no = $1 AND r.branch = $2 AND r.seq > $3 AND r.seq <= $4 AND NOT EXISTS (SELECT 1 FROM turns n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq AND n.branch = r.branch AND n.seq <= $5) ORDER BY r.first_seq;
-- turn.get
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.status, a.id AS agent, r.run, r.at FROM turns r JOIN sessions s ON s.no = r.session_no LEFT JOIN agents a ON a.no = r.agent_no WHERE s.id = $1 AND s.deleted_at IS NULL AND r.first_seq = $2 ORDER BY r.seq DESC LIMIT 1;
-- evals.at
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.message_seq, r.status, r.salts, r.at, r.erased_seq, b_code.sha256 AS code, b_result.sha256 AS result, b_final.sha256 AS final, b_error.sha256 AS error FROM evals r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b_code ON b_code.no = r.code LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_final ON b_final.no = r.final LEFT JOIN blobs b_error ON b_error.no = r.error WHERE r.session_no = $1 AND r.branch = $2 AND r.seq > $3 AND r.seq <= $4 AND NOT EXISTS (SELECT 1 FROM evals n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq AND n.branch = r.branch AND n.seq <= $5) ORDER BY r.first_seq;
-- eval.get
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.message_seq, r.status, r.salts, r.at, r.erased_seq, b_code.sha256 AS code, b_result.sha256 AS result, b_final.sha256 AS final, b_error.sha256 AS error FROM evals r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b_code ON b_code.no = r.code LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_final ON b_final.no = r.final LEFT JOIN blobs b_error ON b_error.no = r.error WHERE s.id = $1 AND s.deleted_at IS NULL AND r.first_seq = $2 ORDER BY r.seq DESC LIMIT 1;
-- calls.at
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.type, r.status, r.model, r.provider, b_request.sha256 AS request, b_response.sha256 AS response, b_result.sha256 AS result, b_error.sha256 AS error, r.salts, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq FROM calls r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b_request ON b_request.no = r.request LEFT JOIN blobs b_response ON b_response.no = r.response LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_error ON b_error.no = r.error WHERE r.session_no = $1 AND r.branch = $2 AND r.seq > $3 AND r.seq <= $4 AND NOT EXISTS (SELECT 1 FROM calls n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq AND n.branch = r.branch AND n.seq <= $5) ORDER BY r.first_seq;
-- call.get
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.type, r.status, r.model, r.provider, b_request.sha256 AS request, b_response.sha256 AS response, b_result.sha256 AS result, b_error.sha256 AS error, r.salts, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq FROM calls r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b_request ON b_request.no = r.request LEFT JOIN blobs b_response ON b_response.no = r.response LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_error ON b_error.no = r.error WHERE s.id = $1 AND s.deleted_at IS NULL AND r.first_seq = $2 ORDER BY r.seq DESC LIMIT 1;
-- snapshots.at
SELECT s.id AS session, r.seq, r.branch, r.turn_seq, b.sha256 AS vars, r.salt, r.at, r.erased_seq FROM snapshots r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b ON b.no = r.vars WHERE r.session_no = $1 AND r.branch = $2 AND r.seq > $3 AND r.seq <= $4 ORDER BY r.seq;
-- snapshot.get
SELECT s.id AS session, r.seq, r.branch, r.turn_seq, b.sha256 AS vars, r.salt, r.at, r.erased_seq FROM snapshots r JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b ON b.no = r.vars WHERE s.id = $1 AND s.deleted_at IS NULL AND r.seq = $2;
-- invocations.at
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.type, r.status, e.id AS callee, r.call_seq, r.label, o.id AS source, r.source_snapshot_seq, r.source_fingerprint, r.created_at, r.completed_at, r.callee_session_no, r.caller_head_before, r.callee_head_before, r.source_session_no, r.source_head AS source_head_no, h_caller_before.id AS caller_before, h_caller_after.id AS caller_after, h_callee_before.id AS callee_before, h_callee_after.id AS callee_after, h_source_head.id AS source_head FROM invocations r JOIN sessions s ON s.no = r.session_no LEFT JOIN sessions e ON e.no = r.callee_session_no LEFT JOIN sessions o ON o.no = r.source_session_no LEFT JOIN heads h_caller_before ON h_caller_before.no = r.caller_head_before LEFT JOIN heads h_caller_after ON h_caller_after.no = r.caller_head_after LEFT JOIN heads h_callee_before ON h_callee_before.no = r.callee_head_before LEFT JOIN heads h_callee_after ON h_callee_after.no = r.callee_head_after LEFT JOIN heads h_source_head ON h_source_head.no = r.source_head WHERE r.session_no = $1 AND r.branch = $2 AND r.seq > $3 AND r.seq <= $4 AND NOT EXISTS (SELECT 1 FROM invocations n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq AND n.branch = r.branch AND n.seq <= $5) ORDER BY r.first_seq;
-- invocation.get
SELECT s.id AS session, r.first_seq, r.seq, r.branch, r.type, r.status, e.id AS callee, r.call_seq, r.label, o.id AS source, r.source_snapshot_seq, r.source_fingerprint, r.created_at, r.completed_at, r.callee_session_no, r.caller_head_before, r.callee_head_before, r.source_session_no, r.source_head AS source_head_no, h_caller_before.id AS caller_before, h_caller_after.id AS caller_after, h_callee_before.id AS callee_before, h_callee_after.id AS callee_after, h_source_head.id AS source_head FROM invocations r JOIN sessions s ON s.no = r.session_no LEFT JOIN sessions e ON e.no = r.callee_session_no LEFT JOIN sessions o ON o.no = r.source_session_no LEFT JOIN heads h_caller_before ON h_caller_before.no = r.caller_head_before LEFT JOIN heads h_caller_after ON h_caller_after.no = r.caller_head_after LEFT JOIN heads h_callee_before ON h_callee_before.no = r.callee_head_before LEFT JOIN heads h_callee_after ON h_callee_after.no = r.callee_head_after LEFT JOIN heads h_source_head ON h_source_head.no = r.source_head WHERE s.id = $1 AND s.deleted_at IS NULL AND r.first_seq = $2 ORDER BY r.seq DESC LIMIT 1;
-- invocations.waiting
WITH RECURSIVE up (no) AS (SELECT c.no FROM sessions c WHERE c.id = $1 AND c.deleted_at IS NULL UNION SELECT r.session_no FROM up JOIN invocations r ON r.callee_session_no = up.no WHERE r.status = 'running' AND NOT EXISTS (SELECT 1 FROM invocations n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq)) SELECT s.id FROM up JOIN sessions s ON s.no = up.no WHERE s.deleted_at IS NULL ORDER BY s.no;
-- archive.events
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.branch, r.type, r.at, r.body, r.hash, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.role, r.run, r.key, r.sha256, r.words, (SELECT x.sha256 FROM blobs x WHERE x.no = r.content) AS content, r.salt, r.chars, r.erased_seq FROM events r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.branches
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.branch, r.seq, (SELECT x.id FROM sessions x WHERE x.no = r.parent_session_no) AS parent_session, r.parent_branch, r.cut_seq, r.at FROM branches r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.heads
SELECT r.id, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.branch, r.seq, (SELECT x.id FROM heads x WHERE x.no = r.basis_no) AS basis, r.status, r.chain, r.root, (SELECT x.sha256 FROM blobs x WHERE x.no = r.final) AS final, r.salt, r.final_summary, r.snapshot_seq, r.fingerprint, r.turn_seq, r.cache_id, r.at FROM heads r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.turns
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.first_seq, r.seq, r.branch, r.status, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.run, r.at FROM turns r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.clears
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.branch, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.run FROM clears r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.evals
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.message_seq, r.status, (SELECT x.sha256 FROM blobs x WHERE x.no = r.code) AS code, (SELECT x.sha256 FROM blobs x WHERE x.no = r.result) AS result, (SELECT x.sha256 FROM blobs x WHERE x.no = r.final) AS final, (SELECT x.sha256 FROM blobs x WHERE x.no = r.error) AS error, r.salts, r.at, r.erased_seq FROM evals r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.calls
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.first_seq, r.seq, r.branch, r.turn_seq, r.type, r.status, r.model, r.provider, (SELECT x.sha256 FROM blobs x WHERE x.no = r.request) AS request, (SELECT x.sha256 FROM blobs x WHERE x.no = r.response) AS response, (SELECT x.sha256 FROM blobs x WHERE x.no = r.result) AS result, (SELECT x.sha256 FROM blobs x WHERE x.no = r.error) AS error, r.salts, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq FROM calls r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.snapshots
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.branch, r.turn_seq, (SELECT x.sha256 FROM blobs x WHERE x.no = r.vars) AS vars, r.salt, r.at, r.erased_seq FROM snapshots r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.invocations
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.first_seq, r.seq, r.branch, r.type, r.status, (SELECT x.id FROM sessions x WHERE x.no = r.callee_session_no) AS callee_session, (SELECT x.id FROM heads x WHERE x.no = r.caller_head_before) AS caller_head_before, (SELECT x.id FROM heads x WHERE x.no = r.caller_head_after) AS caller_head_after, (SELECT x.id FROM heads x WHERE x.no = r.callee_head_before) AS callee_head_before, (SELECT x.id FROM heads x WHERE x.no = r.callee_head_after) AS callee_head_after, r.call_seq, r.label, (SELECT x.id FROM sessions x WHERE x.no = r.source_session_no) AS source_session, (SELECT x.id FROM heads x WHERE x.no = r.source_head) AS source_head, r.source_snapshot_seq, r.source_fingerprint, r.created_at, r.completed_at FROM invocations r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.derivations
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.type, (SELECT x.id FROM sessions x WHERE x.no = r.source_session_no) AS source_session, (SELECT x.id FROM heads x WHERE x.no = r.source_head) AS source_head, r.source_branch, r.source_seq, r.at FROM derivations r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.annotations
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, (SELECT x.sha256 FROM blobs x WHERE x.no = r.payload) AS payload, r.salt FROM annotations r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq;
-- archive.state
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.branch, r.key, r.seq, r.ord, r.until_seq, (SELECT x.sha256 FROM blobs x WHERE x.no = r.value) AS value, r.salt, r.expires_at FROM state r WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq, r.branch, r.ord, r.key;
-- archive.sessions
SELECT r.id, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.title, r.status, r.tags, r.metadata, r.request, r.created_at, r.updated_at, r.deleted_at, r.version, r.branch, r.seq, r.chain, r.messages, r.state_seq, r.kind, r.origin, r.cache_id, (SELECT x.id FROM heads x WHERE x.no = r.head_no) AS head FROM sessions r WHERE r.no = $1;
-- archive.boards
SELECT r.id, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.agent, r.ord, r.label, r.parent, r.max_retries, r.created_at, r.version FROM boards r WHERE r.session_no = $1 ORDER BY r.ord, r.id;
-- archive.tasks
SELECT r.board_id, r.id, r.title, r.status, r.ord, r.retry_count, r.note, r.version, r.created_at, r.updated_at FROM tasks r JOIN boards b ON b.id = r.board_id WHERE b.session_no = $1 ORDER BY r.board_id, r.ord, r.id;
-- archive.session_tags
SELECT r.tag, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session FROM session_tags r WHERE r.session_no = $1 ORDER BY r.tag;
-- archive.aliases
SELECT r.name, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.created_at FROM aliases r WHERE r.session_no = $1 ORDER BY r.name;
-- archive.runs
SELECT r.id, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.first_seq, r.seq, r.branch, r.parent, r.nested, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r WHERE r.session_no = $1 ORDER BY r.first_seq;
-- archive.signals
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.branch, r.run, r.name, r.taken_seq FROM signals r WHERE r.session_no = $1 ORDER BY r.seq;
-- archive.decisions
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.branch, r.run, r.step_seq, r.answered_seq FROM decisions r WHERE r.session_no = $1 ORDER BY r.seq;
-- archive.checkpoints
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, (SELECT x.id FROM agents x WHERE x.no = r.agent_no) AS agent, r.run, r.seq, r.branch, r.iteration FROM checkpoints r WHERE r.session_no = $1 ORDER BY r.seq;
-- archive.captures
SELECT r.id, (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.seq, r.request, r.agent, r.agent_session, r.generation, r.diverged, r.cwd, r.config_dir, r.project_key, r.agent_version, (SELECT x.sha256 FROM blobs x WHERE x.no = r.manifest) AS manifest, r.salt, r.files, r.size, r.stored, r.created_at, r.saved_at, r.expires_at FROM captures r WHERE r.session_no = $1 ORDER BY r.no;
-- archive.remains
SELECT (SELECT x.id FROM sessions x WHERE x.no = r.session_no) AS session, r.branch, r.upto FROM remains r WHERE r.session_no = $1 ORDER BY r.branch;
-- session.linked
SELECT s.id FROM sessions s WHERE s.deleted_at IS NULL AND s.no IN (SELECT d.source_session_no FROM derivations d WHERE d.session_no = $1 UNION SELECT d.session_no FROM derivations d WHERE d.source_session_no = $2 UNION SELECT i.callee_session_no FROM invocations i WHERE i.session_no = $3 UNION SELECT i.session_no FROM invocations i WHERE i.callee_session_no = $4) ORDER BY s.no;
-- invocations.naming
SELECT s.id AS session, r.seq, r.first_seq, e.body, f.body AS first FROM invocations r JOIN sessions s ON s.no = r.session_no JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq JOIN events f ON f.session_no = r.session_no AND f.seq = r.first_seq WHERE r.callee_session_no = (SELECT no FROM sessions WHERE id = $1) UNION SELECT s.id AS session, r.seq, r.first_seq, e.body, f.body AS first FROM invocations r JOIN sessions s ON s.no = r.session_no JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq JOIN events f ON f.session_no = r.session_no AND f.seq = r.first_seq WHERE r.source_session_no = (SELECT no FROM sessions WHERE id = $2) ORDER BY 1, 2;
-- invocations.marked
SELECT (SELECT count(*) || ':' || coalesce(sum(r.session_no), 0) || ':' || coalesce(sum(r.seq), 0) FROM invocations r WHERE r.callee_session_no = s.no) || '/' || (SELECT count(*) || ':' || coalesce(sum(r.session_no), 0) || ':' || coalesce(sum(r.seq), 0) FROM invocations r WHERE r.source_session_no = s.no) AS value FROM sessions s WHERE s.id = $1;
-- session.namers
SELECT s.id FROM sessions s WHERE s.no IN (SELECT i.session_no FROM invocations i WHERE i.callee_session_no = $1 UNION SELECT i.session_no FROM invocations i WHERE i.source_session_no = $2) ORDER BY s.no LIMIT $3;
-- session.names
SELECT s.no, s.id FROM sessions s WHERE s.no IN (SELECT i.callee_session_no FROM invocations i WHERE i.session_no = $1 UNION SELECT i.source_session_no FROM invocations i WHERE i.session_no = $2) AND s.deleted_at IS NOT NULL AND s.version = 1 ORDER BY s.no;
-- session.heirs
WITH RECURSIVE d (no) AS (SELECT CAST($1 AS BIGINT) UNION SELECT b.session_no FROM d JOIN sessions p ON p.no = d.no JOIN branches b ON b.parent_session_no = d.no WHERE p.deleted_at IS NOT NULL) SELECT s.id FROM d JOIN sessions s ON s.no = d.no WHERE s.deleted_at IS NULL ORDER BY s.no LIMIT $2;
-- calls.spending
SELECT s.id AS session, c.provider, c.model, count(*) AS calls, CAST(coalesce(sum(c.tokens_in), 0) AS BIGINT) AS tokens_in, CAST(coalesce(sum(c.tokens_out), 0) AS BIGINT) AS tokens_out, CAST(coalesce(sum(c.tokens_cached), 0) AS BIGINT) AS tokens_cached, sum(CASE WHEN c.tokens_in IS NULL OR c.tokens_out IS NULL THEN 1 ELSE 0 END) AS unknown_tokens, coalesce(sum(c.cost_usd), 0) AS cost_usd, sum(CASE WHEN c.cost_usd IS NULL THEN 1 ELSE 0 END) AS unknown_costs FROM sessions s JOIN calls c ON c.session_no = s.no WHERE s.deleted_at IS NULL AND (CAST($1 AS TEXT) IS NULL OR s.id = $2) AND NOT EXISTS (SELECT 1 FROM calls n WHERE n.session_no = c.session_no AND n.first_seq = c.first_seq AND n.seq > c.seq) GROUP BY s.id, c.provider, c.model ORDER BY s.id, c.provider, c.model;
-- blob.names
SELECT b.sha256 FROM blobs p JOIN blob_links l ON l.parent_no = p.no JOIN blobs b ON b.no = l.child_no WHERE p.sha256 = $1 AND l.ord < 0 ORDER BY l.ord DESC;
-- events.read
SELECT e.seq, e.type, e.at, e.body, e.hash, e.branch FROM events e WHERE e.session_no = (SELECT no FROM sessions WHERE id = $1) AND e.seq > $2 ORDER BY e.seq LIMIT $3;
-- events.whole
SELECT e.seq, e.type, e.at, e.body, e.hash, e.branch, CASE WHEN e.agent_no IS NULL THEN NULL ELSE coalesce(a.id, '') END AS agent, e.role, e.run, e.key, e.sha256, e.salt, e.words, e.content, b.sha256 AS content_sha256, e.chars, e.erased_seq FROM events e LEFT JOIN agents a ON a.no = e.agent_no LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = (SELECT no FROM sessions WHERE id = $1) AND e.seq > $2 ORDER BY e.seq LIMIT $3;
-- events.at
SELECT e.seq, e.type, e.at, e.body, e.hash, e.branch FROM events e WHERE e.session_no = (SELECT no FROM sessions WHERE id = $1) AND e.seq = $2;
-- annotation.get
SELECT b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM annotations n LEFT JOIN blobs b ON b.no = n.payload WHERE n.session_no = (SELECT no FROM sessions WHERE id = $1) AND n.seq = $2;
-- history.range
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4) AND seq > $5 AND at >= $6 ORDER BY seq LIMIT $7 OFFSET $8) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.rangeRun
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4) AND run = $5 AND seq > $6 AND at >= $7 ORDER BY seq LIMIT $8 OFFSET $9) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.last
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4) AND seq > $5 AND at >= $6 ORDER BY seq DESC LIMIT $7) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.lastRun
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4) AND run = $5 AND seq > $6 AND at >= $7 ORDER BY seq DESC LIMIT $8) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.session
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL AND seq > $4 AND at >= $5 ORDER BY seq LIMIT $6 OFFSET $7) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.sessionLast
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL AND seq > $4 AND at >= $5 ORDER BY seq DESC LIMIT $6) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.sessionRun
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL AND run = $4 AND seq > $5 AND at >= $6 ORDER BY seq LIMIT $7 OFFSET $8) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.sessionRunLast
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL AND run = $4 AND seq > $5 AND at >= $6 ORDER BY seq DESC LIMIT $7) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq;
-- history.byAgent
SELECT s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE agent_no = (SELECT no FROM agents WHERE id = $1) AND erased_seq IS NULL AND at >= $2 AND at <= $3 ORDER BY no DESC LIMIT $4) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.no;
-- history.byKey
SELECT m.branch, s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT branch, no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events WHERE session_no = (SELECT no FROM sessions WHERE id = $1) AND key = $2 AND erased_seq IS NULL) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.seq + 0 DESC;
-- history.messages
SELECT m.session_no, m.branch, s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT branch, no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events JOIN (SELECT CAST(j.pair ->> 0 AS BIGINT) AS a, CAST(j.pair ->> 1 AS BIGINT) AS b FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS j(pair)) w ON session_no = w.a AND seq = w.b WHERE agent_no IS NOT NULL AND erased_seq IS NULL) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.no;
-- history.positions
SELECT s.id AS session, e.session_no, e.branch, e.seq, a.id AS agent, e.run FROM events e JOIN (SELECT CAST(j.pair ->> 0 AS BIGINT) AS a, CAST(j.pair ->> 1 AS BIGINT) AS b FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS j(pair)) w ON e.session_no = w.a AND e.seq = w.b JOIN sessions s ON s.no = e.session_no JOIN agents a ON a.no = e.agent_no WHERE e.erased_seq IS NULL;
-- history.count
SELECT count(*) AS n FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4);
-- history.countUpTo
SELECT (SELECT count(*) FROM events m WHERE m.session_no = s.no AND m.erased_seq IS NULL AND m.seq <= $1 AND m.agent_no = (SELECT no FROM agents WHERE id = $2)) AS n FROM sessions s WHERE s.id = $3;
-- history.countRun
SELECT count(*) AS n FROM events WHERE session_no = $1 AND branch = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no = (SELECT no FROM agents WHERE id = $4) AND run = $5;
-- messages.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT content AS no FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- messages.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT content FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL);
-- run.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT content AS no FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- run.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT content FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL);
-- allMessages.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT content AS no FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- allMessages.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT content FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL);
-- journal.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT content AS no FROM events WHERE session_no = $1 AND run = $2 AND seq >= $3 AND seq <= $4 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- journal.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT content FROM events WHERE session_no = $1 AND run = $2 AND seq >= $3 AND seq <= $4 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL);
-- saved.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT content AS no FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $1 AND c.agent_no = $2 AND c.run = '')) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- saved.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT content FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $1 AND c.agent_no = $2 AND c.run = ''));
-- allState.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT value AS no FROM state WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto)) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- allState.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT value FROM state WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto));
-- allAnnotations.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT payload AS no FROM annotations WHERE session_no = $1) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- allAnnotations.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT payload FROM annotations WHERE session_no = $1);
-- allWork.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT payload AS no FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = w.session_no AND k.branch = w.branch AND w.seq <= k.upto)) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- allWork.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT payload FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = w.session_no AND k.branch = w.branch AND w.seq <= k.upto));
-- capture.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT manifest AS no FROM captures WHERE id = $1) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- capture.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT manifest FROM captures WHERE id = $1);
-- allCaptures.erasable
SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM (SELECT manifest AS no FROM captures WHERE session_no = $1) r JOIN blobs b ON b.no = r.no GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key;
-- allCaptures.named
SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no WHERE l.ord < 0 AND l.parent_no IN (SELECT manifest FROM captures WHERE session_no = $1);
-- messages.inline
SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL;
-- messages.copies
SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL OR b.expires_at > $1 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept FROM (SELECT sha256 FROM events WHERE session_no = $2 AND agent_no = $3 AND seq <= $4 AND erased_seq IS NULL AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256;
-- run.inline
SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL;
-- run.copies
SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL OR b.expires_at > $1 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept FROM (SELECT sha256 FROM events WHERE session_no = $2 AND agent_no = $3 AND run = $4 AND seq <= $5 AND erased_seq IS NULL AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256;
-- allMessages.inline
SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL;
-- allMessages.copies
SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL OR b.expires_at > $1 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept FROM (SELECT sha256 FROM events WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256;
-- journal.inline
SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE session_no = $1 AND run = $2 AND seq >= $3 AND seq <= $4 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL;
-- journal.copies
SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL OR b.expires_at > $1 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept FROM (SELECT sha256 FROM events WHERE session_no = $2 AND run = $3 AND seq >= $4 AND seq <= $5 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256;
-- saved.inline
SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $1 AND c.agent_no = $2 AND c.run = '');
-- saved.copies
SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL OR b.expires_at > $1 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept FROM (SELECT sha256 FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $2 AND c.agent_no = $3 AND c.run = '') AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256;
-- branches.needed
SELECT f.parent_branch AS branch, max(f.cut_seq) AS upto FROM (SELECT b.parent_branch, b.cut_seq FROM branches b JOIN sessions c ON c.no = b.session_no WHERE b.parent_session_no = $1 AND b.session_no <> $2 AND (c.deleted_at IS NULL OR EXISTS (SELECT 1 FROM remains k WHERE k.session_no = b.session_no AND k.branch = b.branch))) f GROUP BY f.parent_branch ORDER BY f.parent_branch;
-- remains.messages
SELECT count(*) AS n FROM events WHERE session_no = $1 AND agent_no IS NOT NULL AND erased_seq IS NULL AND EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto);
-- remains.events
SELECT count(*) AS n, CAST(coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) THEN 1 ELSE 0 END), 0) AS BIGINT) AS kept FROM events WHERE session_no = $1;
-- remains.list
SELECT s.id AS session, r.session_no, r.branch, r.upto FROM remains r JOIN sessions s ON s.no = r.session_no ORDER BY r.session_no, r.branch;
-- run.get
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.id = $1 AND s.deleted_at IS NULL;
-- run.taken
SELECT r.session_no FROM runs r WHERE r.id = $1;
-- runs.beginning
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.id >= $1 AND r.id < $2 AND s.deleted_at IS NULL ORDER BY r.id LIMIT $3;
-- run.active
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.id = $1 AND s.deleted_at IS NULL AND r.ended_at IS NULL ORDER BY r.nested, r.no LIMIT 1;
-- runs.list
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.no < $1 AND (CAST($2 AS TEXT) IS NULL OR s.id = $3) AND (CAST($4 AS TEXT) IS NULL OR a.id = $5) AND (CAST($6 AS TEXT) IS NULL OR r.status = $7) AND r.created_at >= $8 AND r.created_at <= $9 ORDER BY r.no DESC LIMIT $10;
-- runs.list.oldest
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.no > $1 AND (CAST($2 AS TEXT) IS NULL OR s.id = $3) AND (CAST($4 AS TEXT) IS NULL OR a.id = $5) AND (CAST($6 AS TEXT) IS NULL OR r.status = $7) AND r.created_at >= $8 AND r.created_at <= $9 ORDER BY r.no LIMIT $10;
-- runs.bySession
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.session_no = (SELECT no FROM sessions WHERE id = $1 AND deleted_at IS NULL) AND r.no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no DESC LIMIT $11;
-- runs.bySession.oldest
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.session_no = (SELECT no FROM sessions WHERE id = $1 AND deleted_at IS NULL) AND r.no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no LIMIT $11;
-- runs.byAgent
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.agent_no = (SELECT no FROM agents WHERE id = $1) AND r.no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no DESC LIMIT $11;
-- runs.byAgent.oldest
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.agent_no = (SELECT no FROM agents WHERE id = $1) AND r.no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no LIMIT $11;
-- runs.byStatus
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.status = $1 AND r.no < $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no DESC LIMIT $11;
-- runs.byStatus.oldest
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at, CASE WHEN r.status IN ('failed', 'cancelled') OR r.status = 'running' AND r.owner IS NULL THEN (SELECT e.body FROM events e WHERE e.session_no = r.session_no AND e.seq = r.seq) END AS ending FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE s.deleted_at IS NULL AND r.status = $1 AND r.no > $2 AND (CAST($3 AS TEXT) IS NULL OR s.id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.id = $6) AND (CAST($7 AS TEXT) IS NULL OR r.status = $8) AND r.created_at >= $9 AND r.created_at <= $10 ORDER BY r.no LIMIT $11;
-- runs.createdAfter
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key, e.run FROM events e LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = $1 AND e.seq > $2 AND e.type = 'run/created' ORDER BY e.seq LIMIT $3;
-- runs.newest
SELECT (SELECT max(r.first_seq) FROM runs r WHERE r.session_no = s.no) AS value FROM sessions s WHERE s.id = $1;
-- runs.children
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.parent = $1 ORDER BY r.no;
-- runs.owned
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.ended_at IS NULL AND r.owner IS NOT NULL AND r.beat >= 0 AND s.deleted_at IS NULL AND r.no > $1 ORDER BY r.no LIMIT $2;
-- runs.due
SELECT r.no, r.id, s.id AS session, r.session_no, r.first_seq, r.seq, r.branch, r.parent, r.nested, a.id AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.beat, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r JOIN sessions s ON s.no = r.session_no JOIN agents a ON a.no = r.agent_no WHERE r.ended_at IS NULL AND r.wake_at <= $1 AND r.beat >= 0 AND s.deleted_at IS NULL ORDER BY r.wake_at, r.no LIMIT $2;
-- run.journal
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM events e LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = $1 AND e.run = $2 AND e.erased_seq IS NULL AND e.seq > $3 AND e.seq <= $4 ORDER BY e.seq LIMIT $5;
-- run.events
SELECT e.seq, e.branch, e.type, e.at, e.body, e.hash FROM events e WHERE e.session_no = $1 AND e.run = $2 AND e.erased_seq IS NULL AND e.seq > $3 AND e.seq <= $4 ORDER BY e.seq LIMIT $5;
-- run.event
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM events e LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = (SELECT no FROM sessions WHERE id = $1) AND e.seq = $2;
-- run.signals
SELECT r.seq, r.branch, r.run, r.name, r.taken_seq FROM signals r WHERE r.session_no = $1 AND r.run = $2 AND r.seq > $3 ORDER BY r.seq LIMIT $4;
-- run.decisions
SELECT r.seq, r.branch, r.run, r.step_seq, r.answered_seq FROM decisions r WHERE r.session_no = $1 AND r.run = $2 AND r.seq > $3 ORDER BY r.seq LIMIT $4;
-- run.checkpoints
SELECT r.seq, r.branch, (SELECT a.id FROM agents a WHERE a.no = r.agent_no) AS agent, r.run, r.iteration FROM checkpoints r WHERE r.session_no = $1 AND r.run = $2 AND r.seq > $3 ORDER BY r.seq LIMIT $4;
-- signal.next
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM signals g JOIN events e ON e.session_no = g.session_no AND e.seq = g.seq LEFT JOIN blobs b ON b.no = e.content WHERE g.run = $1 AND g.name = $2 AND g.taken_seq IS NULL AND e.run = g.run ORDER BY g.seq LIMIT 1;
-- decisions.open
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.answered_seq IS NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.id = d.run AND r.ended_at IS NULL) AND (d.session_no, d.seq) < ($1, $2) ORDER BY d.session_no DESC, d.seq DESC LIMIT $3;
-- decisions.open.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.answered_seq IS NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.id = d.run AND r.ended_at IS NULL) AND (d.session_no, d.seq) > ($1, $2) ORDER BY d.session_no, d.seq LIMIT $3;
-- decisions.answered
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.answered_seq IS NOT NULL AND (d.session_no, d.seq) < ($1, $2) ORDER BY d.session_no DESC, d.seq DESC LIMIT $3;
-- decisions.answered.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.answered_seq IS NOT NULL AND (d.session_no, d.seq) > ($1, $2) ORDER BY d.session_no, d.seq LIMIT $3;
-- decisions.list
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND (d.session_no, d.seq) < ($1, $2) ORDER BY d.session_no DESC, d.seq DESC LIMIT $3;
-- decisions.list.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND (d.session_no, d.seq) > ($1, $2) ORDER BY d.session_no, d.seq LIMIT $3;
-- decisions.openByRun
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND d.answered_seq IS NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.id = d.run AND r.ended_at IS NULL) AND (d.session_no, d.seq) < ($2, $3) ORDER BY d.session_no DESC, d.seq DESC LIMIT $4;
-- decisions.openByRun.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND d.answered_seq IS NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.id = d.run AND r.ended_at IS NULL) AND (d.session_no, d.seq) > ($2, $3) ORDER BY d.session_no, d.seq LIMIT $4;
-- decisions.answeredByRun
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND d.answered_seq IS NOT NULL AND (d.session_no, d.seq) < ($2, $3) ORDER BY d.session_no DESC, d.seq DESC LIMIT $4;
-- decisions.answeredByRun.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND d.answered_seq IS NOT NULL AND (d.session_no, d.seq) > ($2, $3) ORDER BY d.session_no, d.seq LIMIT $4;
-- decisions.byRun
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND (d.session_no, d.seq) < ($2, $3) ORDER BY d.session_no DESC, d.seq DESC LIMIT $4;
-- decisions.byRun.oldest
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND d.run = $1 AND (d.session_no, d.seq) > ($2, $3) ORDER BY d.session_no, d.seq LIMIT $4;
-- decision.get
SELECT d.session_no, d.seq, d.run, d.step_seq, d.answered_seq, s.id AS session FROM decisions d JOIN sessions s ON s.no = d.session_no WHERE s.deleted_at IS NULL AND s.id = $1 AND d.step_seq = $2 ORDER BY d.seq DESC LIMIT 1;
-- checkpoint.last
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key, s.id AS session, a.id AS agent, c.run, c.iteration FROM checkpoints c JOIN sessions s ON s.no = c.session_no JOIN agents a ON a.no = c.agent_no JOIN events e ON e.session_no = c.session_no AND e.seq = c.seq LEFT JOIN blobs b ON b.no = e.content WHERE s.id = $1 AND s.deleted_at IS NULL AND a.id = $2 AND c.run = $3 ORDER BY c.seq DESC LIMIT 1;
-- checkpoint.at
SELECT e.seq, e.branch, e.type, e.at, e.body AS envelope, e.sha256, CASE WHEN e.content IS NULL THEN length(e.words) ELSE b.size END AS size, CASE WHEN e.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(e.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key, s.id AS session, a.id AS agent, c.run, c.iteration FROM checkpoints c JOIN sessions s ON s.no = c.session_no JOIN agents a ON a.no = c.agent_no JOIN events e ON e.session_no = c.session_no AND e.seq = c.seq LEFT JOIN blobs b ON b.no = e.content WHERE s.id = $1 AND s.deleted_at IS NULL AND a.id = $2 AND c.run = $3 AND c.iteration = $4 ORDER BY c.seq DESC LIMIT 1;
-- state.current
SELECT st.key, st.seq, CASE WHEN st.ord < 0 THEN 0 ELSE 1 END AS given, st.expires_at, b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM state st LEFT JOIN blobs b ON b.no = st.value WHERE st.session_no = $1 AND st.branch = $2 AND st.until_seq IS NULL ORDER BY st.seq, st.ord;
-- state.key
SELECT st.key, st.seq, CASE WHEN st.ord < 0 THEN 0 ELSE 1 END AS given, st.expires_at, b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM state st LEFT JOIN blobs b ON b.no = st.value WHERE st.session_no = $1 AND st.branch = $2 AND st.until_seq IS NULL AND st.key IN ($3, '') ORDER BY st.seq DESC, st.ord DESC;
-- state.at
SELECT st.key, st.seq, CASE WHEN st.ord < 0 THEN 0 ELSE 1 END AS given, st.expires_at, b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM state st LEFT JOIN blobs b ON b.no = st.value WHERE st.session_no = $1 AND st.branch = $2 AND st.seq <= $3 AND (st.until_seq IS NULL OR st.until_seq > $4) ORDER BY st.seq, st.ord;
-- state.keyAt
SELECT st.key, st.seq, CASE WHEN st.ord < 0 THEN 0 ELSE 1 END AS given, st.expires_at, b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM state st LEFT JOIN blobs b ON b.no = st.value WHERE st.session_no = $1 AND st.branch = $2 AND st.seq <= $3 AND (st.until_seq IS NULL OR st.until_seq > $4) AND st.key IN ($5, '') ORDER BY st.seq DESC, st.ord DESC;
-- agent.get
SELECT a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, a.created_at, a.updated_at, a.deleted_at, a.version FROM agents a WHERE a.id = $1;
-- agents.list
SELECT a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, a.created_at, a.updated_at, a.deleted_at, a.version FROM agents a WHERE a.no < $1 AND (CAST($2 AS TEXT) IS NULL OR a.agent_type = $3) AND a.deleted_at IS NULL ORDER BY a.no DESC LIMIT $4;
-- agents.oldest
SELECT a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, a.created_at, a.updated_at, a.deleted_at, a.version FROM agents a WHERE a.no > $1 AND (CAST($2 AS TEXT) IS NULL OR a.agent_type = $3) AND a.deleted_at IS NULL ORDER BY a.no LIMIT $4;
-- agents.byTag

    SELECT a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, a.created_at, a.updated_at, a.deleted_at, a.version FROM agent_tags t JOIN agents a ON a.no = t.agent_no
    WHERE t.tag = $1 AND t.agent_no < $2 AND (CAST($3 AS TEXT) IS NULL OR a.agent_type = $4) AND a.deleted_at IS NULL ORDER BY t.agent_no DESC LIMIT $5;
-- agents.oldestByTag

    SELECT a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, a.created_at, a.updated_at, a.deleted_at, a.version FROM agent_tags t JOIN agents a ON a.no = t.agent_no
    WHERE t.tag = $1 AND t.agent_no > $2 AND (CAST($3 AS TEXT) IS NULL OR a.agent_type = $4) AND a.deleted_at IS NULL ORDER BY t.agent_no LIMIT $5;
-- blocks.load

    SELECT x.block_id AS id, b.label, b.char_limit, b.description, b.read_only, b.version, b.created_at, b.updated_at, x.ord, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no LEFT JOIN blocks b ON b.id = x.block_id LEFT JOIN block_versions v ON v.block_id = b.id AND v.version = b.version LEFT JOIN blobs p ON p.no = v.value
    WHERE a.id = $1 AND a.deleted_at IS NULL ORDER BY x.ord;
-- block.get
SELECT b.id, b.label, b.char_limit, b.description, b.read_only, b.version, b.created_at, b.updated_at, 0 AS ord, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key FROM blocks b LEFT JOIN block_versions v ON v.block_id = b.id AND v.version = b.version LEFT JOIN blobs p ON p.no = v.value WHERE b.id = $1;
-- block.byLabel

    SELECT b.id, b.label, b.char_limit, b.description, b.read_only, b.version, b.created_at, b.updated_at, x.ord, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no JOIN blocks b ON b.id = x.block_id LEFT JOIN block_versions v ON v.block_id = b.id AND v.version = b.version LEFT JOIN blobs p ON p.no = v.value
    WHERE a.id = $1 AND a.deleted_at IS NULL AND b.label = $2;
-- block.users

    SELECT x.block_id AS block, a.id AS agent, a.version
    FROM agent_blocks x JOIN agents a ON a.no = x.agent_no
    WHERE x.block_id = $1 ORDER BY a.no;
-- blocks.users

    SELECT x.block_id AS block, u.id AS agent, u.version
    FROM agents a JOIN agent_blocks mine ON mine.agent_no = a.no
    JOIN agent_blocks x ON x.block_id = mine.block_id JOIN agents u ON u.no = x.agent_no
    WHERE a.id = $1 AND a.deleted_at IS NULL ORDER BY mine.ord, u.no;
-- blocks.discarded

    SELECT DISTINCT p.sha256, p.store, p.key
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no JOIN block_versions v ON v.block_id = x.block_id
    JOIN blobs p ON p.no = v.value
    WHERE a.id = $1 AND a.deleted_at IS NULL AND (p.form >= 2 OR p.store <> '' OR EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = p.no));
-- block.versions

    SELECT v.version, v.edit, v.at, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key
    FROM block_versions v LEFT JOIN blobs p ON p.no = v.value
    WHERE v.block_id = $1 AND v.version < $2 ORDER BY v.version DESC LIMIT $3;
-- block.versions.oldest

    SELECT v.version, v.edit, v.at, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key
    FROM block_versions v LEFT JOIN blobs p ON p.no = v.value
    WHERE v.block_id = $1 AND v.version > $2 ORDER BY v.version LIMIT $3;
-- board.get
SELECT b.id, s.id AS session, b.agent, b.ord, b.label, b.parent, b.max_retries, b.created_at, b.version FROM boards b JOIN sessions s ON s.no = b.session_no WHERE b.id = $1;
-- boards.bySession

    SELECT b.id, s.id AS session, b.agent, b.ord, b.label, b.parent, b.max_retries, b.created_at, b.version FROM sessions s JOIN boards b ON b.session_no = s.no
    WHERE s.id = $1 ORDER BY b.ord, b.id;
-- tasks.byBoard
SELECT t.board_id, t.id, t.title, t.status, t.ord, t.retry_count, t.note, t.version, t.created_at, t.updated_at FROM tasks t WHERE t.board_id = $1 ORDER BY t.ord, t.id;
-- tasks.bySession

    SELECT t.board_id, t.id, t.title, t.status, t.ord, t.retry_count, t.note, t.version, t.created_at, t.updated_at FROM sessions s JOIN boards b ON b.session_no = s.no JOIN tasks t ON t.board_id = b.id
    WHERE s.id = $1 ORDER BY t.board_id, t.ord, t.id;
-- task.get
SELECT t.board_id, t.id, t.title, t.status, t.ord, t.retry_count, t.note, t.version, t.created_at, t.updated_at FROM tasks t WHERE t.board_id = $1 AND t.id = $2;
-- capture.get
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.id = $1;
-- capture.newest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 AND c.agent = $2 AND c.agent_session = $3 AND c.diverged = 0 ORDER BY c.no DESC LIMIT 1;
-- captures.list
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.no < $1 AND (c.expires_at IS NULL OR c.expires_at > $2) AND (CAST($3 AS TEXT) IS NULL OR c.agent = $4) AND c.diverged <= $5 ORDER BY c.no DESC LIMIT $6;
-- captures.list.oldest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.no > $1 AND (c.expires_at IS NULL OR c.expires_at > $2) AND (CAST($3 AS TEXT) IS NULL OR c.agent = $4) AND c.diverged <= $5 ORDER BY c.no LIMIT $6;
-- captures.byRequest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 AND c.no < $2 AND (c.expires_at IS NULL OR c.expires_at > $3) AND (CAST($4 AS TEXT) IS NULL OR c.agent = $5) AND c.diverged <= $6 ORDER BY c.no DESC LIMIT $7;
-- captures.byRequest.oldest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 AND c.no > $2 AND (c.expires_at IS NULL OR c.expires_at > $3) AND (CAST($4 AS TEXT) IS NULL OR c.agent = $5) AND c.diverged <= $6 ORDER BY c.no LIMIT $7;
-- captures.bySession
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.agent_session = $1 AND c.no < $2 AND (c.expires_at IS NULL OR c.expires_at > $3) AND (CAST($4 AS TEXT) IS NULL OR c.agent = $5) AND c.diverged <= $6 ORDER BY c.no DESC LIMIT $7;
-- captures.bySession.oldest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.agent_session = $1 AND c.no > $2 AND (c.expires_at IS NULL OR c.expires_at > $3) AND (CAST($4 AS TEXT) IS NULL OR c.agent = $5) AND c.diverged <= $6 ORDER BY c.no LIMIT $7;
-- captures.byBoth
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 AND c.agent_session = $2 AND c.no < $3 AND (c.expires_at IS NULL OR c.expires_at > $4) AND (CAST($5 AS TEXT) IS NULL OR c.agent = $6) AND c.diverged <= $7 ORDER BY c.no DESC LIMIT $8;
-- captures.byBoth.oldest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 AND c.agent_session = $2 AND c.no > $3 AND (c.expires_at IS NULL OR c.expires_at > $4) AND (CAST($5 AS TEXT) IS NULL OR c.agent = $6) AND c.diverged <= $7 ORDER BY c.no LIMIT $8;
-- capture.stored

    SELECT CAST(b.stored + coalesce((SELECT sum(p.stored) FROM blob_links l JOIN blobs p ON p.no = l.child_no
      WHERE l.parent_no = b.no AND l.ord >= 0), 0) + coalesce((SELECT sum(f.stored) FROM blob_segments u
      JOIN segment_frames f ON f.segment_id = u.segment_id WHERE u.blob_no = b.no), 0) AS BIGINT) AS stored, b.size
    FROM blobs b WHERE b.sha256 = $1;
-- captures.ofRequest
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.request = $1 ORDER BY c.no LIMIT $2;
-- captures.expired
SELECT c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, c.saved_at, c.expires_at FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest WHERE c.expires_at IS NOT NULL AND c.expires_at <= $1 AND (c.expires_at, c.no) > ($2, $3) ORDER BY c.expires_at, c.no LIMIT $4;
-- claim.get
SELECT value FROM holdfast_meta WHERE name = $1;
-- claims.list
SELECT name, value FROM holdfast_meta WHERE name > $1 AND name < 'claim;' ORDER BY name LIMIT $2;
-- blob.get
SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked, b.body FROM blobs b WHERE b.sha256 = $1;
-- blob.payload
SELECT b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM blobs b WHERE b.sha256 = $1;
-- blob.head
SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE b.sha256 = $1;
-- blobs.list
SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE b.no < $1 ORDER BY b.no DESC LIMIT $2;
-- blobs.list.oldest
SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE b.no > $1 ORDER BY b.no LIMIT $2;
-- blobs.largest

    SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE (b.size, b.no) < ($1, $2) AND b.form <> 4
    AND (b.expires_at IS NULL OR b.expires_at > 0 OR b.refs > 0 OR b.pinned > 0) ORDER BY b.size DESC, b.no DESC LIMIT $3;
-- blob.chunks

    SELECT l.ord, b.sha256, b.size, b.form, b.store, b.key, b.body
    FROM blob_links l JOIN blobs b ON b.no = l.child_no
    WHERE l.parent_no = $1 AND l.ord > $2 ORDER BY l.ord LIMIT $3;
-- blob.parts

    SELECT l.ord, b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs w JOIN blob_links l ON l.parent_no = w.no JOIN blobs b ON b.no = l.child_no
    WHERE w.sha256 = $1 ORDER BY l.ord LIMIT $2;
-- blob.named
SELECT l.parent_no AS no FROM blob_links l WHERE l.child_no = $1 AND l.ord < 0 LIMIT 1;
-- blob.segments

    SELECT s.id, u.ord, u.length, s.size, s.sealed, s.sha256
    FROM blob_segments u JOIN segments s ON s.id = u.segment_id WHERE u.blob_no = $1 ORDER BY u.ord;
-- blob.ownBytes

    WITH me(no) AS (SELECT CAST($1 AS BIGINT))
    SELECT CAST(coalesce((
      SELECT sum(c.stored) FROM me JOIN blobs c ON c.no IN
        (SELECT l.child_no FROM blob_links l WHERE l.parent_no = me.no AND l.ord >= 0)
      WHERE c.refs = 0 AND NOT EXISTS (SELECT 1 FROM blob_links o WHERE o.child_no = c.no AND o.parent_no <> me.no)
    ), 0) + coalesce((
      SELECT sum(f.stored) FROM me CROSS JOIN blob_segments u CROSS JOIN segment_frames f
      WHERE u.blob_no = me.no AND f.segment_id = u.segment_id
      AND NOT EXISTS (SELECT 1 FROM blob_segments o WHERE o.segment_id = u.segment_id AND o.blob_no <> me.no)
    ), 0) AS BIGINT) AS n;
-- segment.get
SELECT s.size, s.sealed, s.sha256, (SELECT max(u.length) FROM blob_segments u WHERE u.segment_id = s.id) AS used FROM segments s WHERE s.id = $1;
-- segment.frames
SELECT f.start, f.size, f.stored, f.store, f.key, f.body FROM segment_frames f WHERE f.segment_id = $1 ORDER BY f.start;
-- segment.frameHeaders
SELECT f.start, f.size, f.stored, f.store, f.key FROM segment_frames f WHERE f.segment_id = $1 ORDER BY f.start;
-- segments.unsealed

    SELECT s.id FROM segments s WHERE s.sealed = 0 AND s.touched_at <= $1 AND s.id || '' > $2
    ORDER BY s.id || '' LIMIT $3;
-- segments.overlong
SELECT s.id FROM segments s WHERE s.id > $1 AND s.size > (SELECT max(u.length) FROM blob_segments u WHERE u.segment_id = s.id) ORDER BY s.id LIMIT $2;
-- segments.unused

    SELECT s.id, (SELECT CAST(coalesce(sum(f.stored), 0) AS BIGINT) FROM segment_frames f WHERE f.segment_id = s.id) AS stored FROM segments s
    WHERE s.id > $1 AND NOT EXISTS (SELECT 1 FROM blob_segments u WHERE u.segment_id = s.id) ORDER BY s.id LIMIT $2;
-- gc.epoch
SELECT n FROM counters WHERE name = 'gc';
-- gc.unreferenced
SELECT b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, b.epoch, b.condemned, b.created_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE b.refs = 0 AND b.no > $1 ORDER BY b.no LIMIT $2;
-- gc.freeable

    WITH clock(now) AS (SELECT CAST($1 AS BIGINT)) SELECT b.no, b.stored, b.condemned, CASE WHEN (b.refs > 0 OR b.pinned > 0 OR b.expires_at IS NULL OR b.expires_at > clock.now OR EXISTS (SELECT 1 FROM blob_links l2 JOIN blobs p2 ON p2.no = l2.parent_no WHERE l2.child_no = b.no AND (p2.refs > 0 OR p2.pinned > 0 OR p2.expires_at IS NULL OR p2.expires_at > clock.now OR EXISTS (SELECT 1 FROM blob_links l1 JOIN blobs p1 ON p1.no = l1.parent_no WHERE l1.child_no = p2.no AND (p1.refs > 0 OR p1.pinned > 0 OR p1.expires_at IS NULL OR p1.expires_at > clock.now))))) THEN 0 ELSE 1 END AS free,
      CASE WHEN b.form = 4 OR b.expires_at = 0 THEN 1 ELSE 0 END AS chunk
    FROM clock CROSS JOIN (SELECT no, refs, pinned, expires_at, condemned, form, stored FROM blobs
      WHERE refs = 0 AND no > $2 ORDER BY no LIMIT $3) b ORDER BY b.no;
-- gc.freeableSegments

    WITH clock(now) AS (SELECT CAST($1 AS BIGINT)) SELECT s.id, (SELECT CAST(coalesce(sum(f.stored), 0) AS BIGINT) FROM segment_frames f WHERE f.segment_id = s.id) AS stored, CASE WHEN EXISTS (
      SELECT 1 FROM blob_segments u JOIN blobs b ON b.no = u.blob_no WHERE u.segment_id = s.id AND (b.refs > 0 OR b.pinned > 0 OR b.expires_at IS NULL OR b.expires_at > clock.now OR EXISTS (SELECT 1 FROM blob_links l2 JOIN blobs p2 ON p2.no = l2.parent_no WHERE l2.child_no = b.no AND (p2.refs > 0 OR p2.pinned > 0 OR p2.expires_at IS NULL OR p2.expires_at > clock.now OR EXISTS (SELECT 1 FROM blob_links l1 JOIN blobs p1 ON p1.no = l1.parent_no WHERE l1.child_no = p2.no AND (p1.refs > 0 OR p1.pinned > 0 OR p1.expires_at IS NULL OR p1.expires_at > clock.now)))))
    ) THEN 0 ELSE 1 END AS free
    FROM clock CROSS JOIN (SELECT id FROM segments WHERE id > $2 ORDER BY id LIMIT $3) s ORDER BY s.id;
-- gc.parents
SELECT o.no, CASE WHEN EXISTS (SELECT 1 FROM blobs b WHERE b.no = o.no) THEN 1 ELSE 0 END AS there FROM (SELECT DISTINCT parent_no AS no FROM blob_links WHERE parent_no > $1 ORDER BY parent_no LIMIT $2) o ORDER BY o.no;
-- gc.grown
SELECT o.no, CASE WHEN EXISTS (SELECT 1 FROM blobs b WHERE b.no = o.no) THEN 1 ELSE 0 END AS there FROM (SELECT DISTINCT blob_no AS no FROM blob_segments WHERE blob_no > $1 ORDER BY blob_no LIMIT $2) o ORDER BY o.no;
-- external.key
SELECT 1 AS n FROM blobs WHERE key = $1 UNION ALL SELECT 1 FROM segment_frames WHERE key = $2;
-- inline.lag
SELECT (SELECT n FROM counters WHERE name = 'word_refs') AS upto, coalesce((SELECT max(no) FROM events), 0) AS newest;
-- inline.get
SELECT e.no, (SELECT s.id FROM sessions s WHERE s.no = e.session_no) AS session, e.sha256, e.words AS body, length(e.words) AS size, e.at AS created_at FROM word_refs r JOIN events e ON e.no = r.event_no WHERE r.prefix = $1 AND e.sha256 = $2 AND e.words IS NOT NULL ORDER BY r.event_no LIMIT 1;
-- inline.scan
SELECT e.no, (SELECT s.id FROM sessions s WHERE s.no = e.session_no) AS session, e.sha256, e.words AS body, length(e.words) AS size, e.at AS created_at FROM events e WHERE e.no > $1 AND e.no <= $2 AND e.sha256 = $3 AND e.words IS NOT NULL ORDER BY e.no LIMIT 1;
-- inline.count
SELECT count(*) AS n FROM (SELECT 1 AS one FROM word_refs r JOIN events e ON e.no = r.event_no WHERE r.prefix = $1 AND r.event_no <= $2 AND e.sha256 = $3 AND e.words IS NOT NULL LIMIT $4) c;
-- inline.countUnindexed
SELECT count(*) AS n FROM events WHERE no > $1 AND no <= $2 AND sha256 = $3 AND words IS NOT NULL;
-- blob.referrers
WITH t (via, named) AS (SELECT b.no, 0 FROM blobs b WHERE b.sha256 = $1 UNION SELECT l.parent_no, 1 FROM blobs b JOIN blob_links l ON l.child_no = b.no AND l.ord < 0 WHERE b.sha256 = $2) SELECT x.source, x.named, s.id AS session, x.seq, x.type, x.name FROM (SELECT 'events' AS source, t.named, r.session_no, r.seq AS seq, r.type AS type, CAST(NULL AS TEXT) AS name FROM t JOIN events r ON r.content = t.via UNION SELECT 'annotations' AS source, t.named, r.session_no, r.seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN annotations r ON r.payload = t.via UNION SELECT 'state' AS source, t.named, r.session_no, r.seq AS seq, CAST(NULL AS TEXT) AS type, r.key AS name FROM t JOIN state r ON r.value = t.via UNION SELECT 'evals' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN evals r ON r.code = t.via UNION SELECT 'evals' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN evals r ON r.result = t.via UNION SELECT 'evals' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN evals r ON r.final = t.via UNION SELECT 'evals' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN evals r ON r.error = t.via UNION SELECT 'calls' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN calls r ON r.request = t.via UNION SELECT 'calls' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN calls r ON r.response = t.via UNION SELECT 'calls' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN calls r ON r.result = t.via UNION SELECT 'calls' AS source, t.named, r.session_no, r.first_seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN calls r ON r.error = t.via UNION SELECT 'snapshots' AS source, t.named, r.session_no, r.seq AS seq, CAST(NULL AS TEXT) AS type, CAST(NULL AS TEXT) AS name FROM t JOIN snapshots r ON r.vars = t.via UNION SELECT 'heads' AS source, t.named, r.session_no, r.seq AS seq, CAST(NULL AS TEXT) AS type, r.id AS name FROM t JOIN heads r ON r.final = t.via UNION SELECT 'captures' AS source, t.named, r.session_no, r.seq AS seq, CAST(NULL AS TEXT) AS type, r.id AS name FROM t JOIN captures r ON r.manifest = t.via UNION SELECT 'blocks' AS source, t.named, CAST(NULL AS BIGINT) AS session_no, r.version AS seq, CAST(NULL AS TEXT) AS type, r.block_id AS name FROM t JOIN block_versions r ON r.value = t.via UNION SELECT 'documents' AS source, t.named, CAST(NULL AS BIGINT) AS session_no, r.item AS seq, CAST(NULL AS TEXT) AS type, c.name || '/' || r.id AS name FROM t JOIN documents r ON r.content = t.via JOIN vector_collections c ON c.no = r.collection_no) x LEFT JOIN sessions s ON s.no = x.session_no ORDER BY coalesce(x.session_no, 0) DESC, x.seq DESC, x.source, x.name LIMIT $3;
-- inline.referrers
SELECT 'events' AS source, 0 AS named, s.id AS session, e.seq, e.type, CAST(NULL AS TEXT) AS name FROM word_refs r JOIN events e ON e.no = r.event_no JOIN sessions s ON s.no = e.session_no WHERE r.prefix = $1 AND e.sha256 = $2 AND e.words IS NOT NULL ORDER BY e.no DESC LIMIT $3;
-- inline.referrersUnindexed
SELECT 'events' AS source, 0 AS named, s.id AS session, e.seq, e.type, CAST(NULL AS TEXT) AS name FROM events e JOIN sessions s ON s.no = e.session_no WHERE e.no > (SELECT n FROM counters WHERE name = 'word_refs') AND e.sha256 = $1 AND e.words IS NOT NULL ORDER BY e.no DESC LIMIT $2;
-- stats.sessions
WITH held (session_no, no) AS (SELECT r.session_no, r.content FROM events r WHERE r.content IS NOT NULL UNION SELECT r.session_no, r.payload FROM annotations r WHERE r.payload IS NOT NULL UNION SELECT r.session_no, r.value FROM state r WHERE r.value IS NOT NULL UNION SELECT r.session_no, r.code FROM evals r WHERE r.code IS NOT NULL UNION SELECT r.session_no, r.result FROM evals r WHERE r.result IS NOT NULL UNION SELECT r.session_no, r.final FROM evals r WHERE r.final IS NOT NULL UNION SELECT r.session_no, r.error FROM evals r WHERE r.error IS NOT NULL UNION SELECT r.session_no, r.request FROM calls r WHERE r.request IS NOT NULL UNION SELECT r.session_no, r.response FROM calls r WHERE r.response IS NOT NULL UNION SELECT r.session_no, r.result FROM calls r WHERE r.result IS NOT NULL UNION SELECT r.session_no, r.error FROM calls r WHERE r.error IS NOT NULL UNION SELECT r.session_no, r.vars FROM snapshots r WHERE r.vars IS NOT NULL UNION SELECT r.session_no, r.final FROM heads r WHERE r.final IS NOT NULL UNION SELECT r.session_no, r.manifest FROM captures r WHERE r.manifest IS NOT NULL), owned (session_no, no) AS (SELECT session_no, no FROM held UNION SELECT h.session_no, l.child_no FROM held h JOIN blob_links l ON l.parent_no = h.no AND l.ord < 0), holders (no, n) AS (SELECT no, count(*) FROM owned GROUP BY no), sizes (session_no, bytes, shared) AS (SELECT o.session_no, CAST(coalesce(sum(b.size), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN k.n > 1 THEN b.size ELSE 0 END), 0) AS BIGINT) FROM owned o JOIN holders k ON k.no = o.no JOIN blobs b ON b.no = o.no GROUP BY o.session_no), inlined (session_no, bytes) AS (SELECT e.session_no, CAST(coalesce(sum(length(e.words)), 0) AS BIGINT) FROM events e WHERE e.words IS NOT NULL GROUP BY e.session_no) SELECT s.id, s.seq AS events, s.messages, coalesce(z.bytes, 0) + coalesce(i.bytes, 0) AS bytes, coalesce(z.shared, 0) AS shared FROM sessions s LEFT JOIN sizes z ON z.session_no = s.no LEFT JOIN inlined i ON i.session_no = s.no WHERE s.deleted_at IS NULL ORDER BY bytes DESC, s.no LIMIT $1;
-- stats.tables
SELECT 'agents' AS name, count(*) - count(deleted_at) AS rows, count(deleted_at) AS deleted, 0 AS partial FROM agents UNION ALL SELECT 'agent_tags' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM agent_tags UNION ALL SELECT 'blocks' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM blocks UNION ALL SELECT 'block_versions' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM block_versions UNION ALL SELECT 'agent_blocks' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM agent_blocks UNION ALL SELECT 'sessions' AS name, count(*) - count(deleted_at) AS rows, count(deleted_at) AS deleted, count(CASE WHEN version = 1 THEN deleted_at END) AS partial FROM sessions UNION ALL SELECT 'branches' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM branches UNION ALL SELECT 'turns' AS name, count(CASE WHEN seq = first_seq THEN 1 END) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM turns UNION ALL SELECT 'clears' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM clears UNION ALL SELECT 'remains' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM remains UNION ALL SELECT 'evals' AS name, count(CASE WHEN seq = first_seq THEN 1 END) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM evals UNION ALL SELECT 'calls' AS name, count(CASE WHEN seq = first_seq THEN 1 END) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM calls UNION ALL SELECT 'snapshots' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM snapshots UNION ALL SELECT 'heads' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM heads UNION ALL SELECT 'invocations' AS name, count(CASE WHEN seq = first_seq THEN 1 END) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM invocations UNION ALL SELECT 'derivations' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM derivations UNION ALL SELECT 'runs' AS name, count(NULLIF(session_no, 0)) AS rows, count(*) - count(NULLIF(session_no, 0)) AS deleted, 0 AS partial FROM runs UNION ALL SELECT 'signals' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM signals UNION ALL SELECT 'decisions' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM decisions UNION ALL SELECT 'checkpoints' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM checkpoints UNION ALL SELECT 'blobs' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM blobs UNION ALL SELECT 'blob_links' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM blob_links UNION ALL SELECT 'segments' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM segments UNION ALL SELECT 'segment_frames' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM segment_frames UNION ALL SELECT 'blob_segments' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM blob_segments UNION ALL SELECT 'embedding_failures' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM embedding_failures UNION ALL SELECT 'passages' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM passages UNION ALL SELECT 'metadata_fields' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM metadata_fields UNION ALL SELECT 'vector_collections' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM vector_collections UNION ALL SELECT 'vector_generations' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM vector_generations UNION ALL SELECT 'documents' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM documents UNION ALL SELECT 'vectors' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM vectors UNION ALL SELECT 'vector_pages' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM vector_pages UNION ALL SELECT 'memory_scopes' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM memory_scopes UNION ALL SELECT 'memories' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM memories UNION ALL SELECT 'memory_changes' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM memory_changes UNION ALL SELECT 'session_tags' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM session_tags UNION ALL SELECT 'aliases' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM aliases UNION ALL SELECT 'events' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM events UNION ALL SELECT 'word_refs' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM word_refs UNION ALL SELECT 'annotations' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM annotations UNION ALL SELECT 'state' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM state UNION ALL SELECT 'boards' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM boards UNION ALL SELECT 'tasks' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM tasks UNION ALL SELECT 'captures' AS name, count(*) AS rows, CAST(NULL AS BIGINT) AS deleted, 0 AS partial FROM captures UNION ALL SELECT 'messages', count(*), NULL, 0 FROM events WHERE agent_no IS NOT NULL AND erased_seq IS NULL;
-- stats.blobs

    SELECT CASE WHEN b.part = 1 THEN 2 ELSE b.form END AS form, CAST(coalesce(sum(1 - b.part), 0) AS BIGINT) AS n,
      CAST(coalesce(sum(b.size * (1 - b.part)), 0) AS BIGINT) AS size, CAST(coalesce(sum(b.stored), 0) AS BIGINT) AS stored,
      CAST(coalesce(sum(CASE WHEN b.part = 1 THEN 0 WHEN b.refs > 1 THEN b.size * b.refs ELSE b.size END), 0) AS BIGINT) AS referenced,
      CAST(coalesce(sum(CASE WHEN b.store = '' THEN 0 ELSE b.stored END), 0) AS BIGINT) AS outside
    FROM (SELECT form, size, stored, store, refs, CASE WHEN form = 4 OR (refs = 0 AND pinned = 0 AND expires_at = 0) THEN 1 ELSE 0 END AS part FROM blobs) b
    GROUP BY CASE WHEN b.part = 1 THEN 2 ELSE b.form END
    UNION ALL SELECT 3, 0, 0, CAST(coalesce(sum(stored), 0) AS BIGINT), 0, CAST(coalesce(sum(CASE WHEN store = '' THEN 0 ELSE stored END), 0) AS BIGINT)
      FROM segment_frames
    UNION ALL SELECT 0, count(*), CAST(coalesce(sum(length(words)), 0) AS BIGINT), CAST(coalesce(sum(length(words)), 0) AS BIGINT), CAST(coalesce(sum(length(words)), 0) AS BIGINT), 0
      FROM events WHERE words IS NOT NULL;
-- check.sessions
SELECT s.no, s.id, s.deleted_at, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.status, s.tags, s.kind, s.origin, s.cache_id, s.agent_no, a.id AS agent, s.request, CASE WHEN s.title IS NULL AND s.metadata IS NULL THEN 0 ELSE 1 END AS described, s.created_at, s.updated_at, s.version, s.head_no, h.id AS head, h.session_no AS head_session, h.status AS head_status, CASE WHEN EXISTS (SELECT 1 FROM derivations d WHERE d.session_no = h.session_no AND d.source_session_no = s.no) THEN 1 ELSE 0 END AS head_derived FROM sessions s LEFT JOIN heads h ON h.no = s.head_no LEFT JOIN agents a ON a.no = s.agent_no WHERE s.no > $1 ORDER BY s.no LIMIT $2;
-- check.session
SELECT s.no, s.id, s.deleted_at, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.status, s.tags, s.kind, s.origin, s.cache_id, s.agent_no, a.id AS agent, s.request, CASE WHEN s.title IS NULL AND s.metadata IS NULL THEN 0 ELSE 1 END AS described, s.created_at, s.updated_at, s.version, s.head_no, h.id AS head, h.session_no AS head_session, h.status AS head_status, CASE WHEN EXISTS (SELECT 1 FROM derivations d WHERE d.session_no = h.session_no AND d.source_session_no = s.no) THEN 1 ELSE 0 END AS head_derived FROM sessions s LEFT JOIN heads h ON h.no = s.head_no LEFT JOIN agents a ON a.no = s.agent_no WHERE s.id = $1;
-- check.heads
SELECT r.no, r.id, r.branch, r.seq, r.basis_no, p.id AS basis, p.session_no AS basis_session, r.status, r.chain, r.root, r.final AS final_no, b_final.sha256 AS final, r.salt, r.final_summary, r.snapshot_seq, CASE WHEN EXISTS (SELECT 1 FROM snapshots x WHERE x.session_no = r.session_no AND x.seq = r.snapshot_seq) THEN 1 ELSE 0 END AS snapshot_there, r.turn_seq, CASE WHEN EXISTS (SELECT 1 FROM turns t WHERE t.session_no = r.session_no AND t.first_seq = r.turn_seq AND t.seq = r.seq) THEN 1 ELSE 0 END AS turn_there, r.fingerprint, r.cache_id, r.at, l.hash AS chain_at, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM heads r LEFT JOIN heads p ON p.no = r.basis_no LEFT JOIN blobs b_final ON b_final.no = r.final LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq LEFT JOIN events l ON l.session_no = r.session_no AND l.seq = r.seq - 1 WHERE r.session_no = $1 AND (r.seq, r.no) > ($2, $3) ORDER BY r.seq, r.no LIMIT $4;
-- check.branches
SELECT r.branch, r.seq, r.parent_session_no, p.id AS parent, p.deleted_at AS parent_deleted, p.seq AS parent_seq, r.parent_branch, CASE WHEN EXISTS (SELECT 1 FROM branches q WHERE q.session_no = r.parent_session_no AND q.branch = r.parent_branch) THEN 1 ELSE 0 END AS parent_branch_there, r.cut_seq, r.at, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM branches r LEFT JOIN sessions p ON p.no = r.parent_session_no LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND r.branch > $2 ORDER BY r.branch LIMIT $3;
-- check.branch
SELECT r.parent_session_no, r.parent_branch FROM branches r WHERE r.session_no = $1 AND r.branch = $2;
-- check.derivations
SELECT r.seq, r.type, r.source_session_no, s.id AS source, s.deleted_at AS source_deleted, r.source_head, h.id AS head, h.session_no AS head_session, r.source_branch, r.source_seq, r.at, b.parent_session_no, b.parent_branch, b.cut_seq, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM derivations r LEFT JOIN sessions s ON s.no = r.source_session_no LEFT JOIN heads h ON h.no = r.source_head LEFT JOIN branches b ON b.session_no = r.session_no AND b.branch = 1 LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.turns
SELECT r.first_seq, r.seq, r.branch, r.status, a.id AS agent, r.run, r.at, (SELECT min(h.status) FROM heads h WHERE h.session_no = r.session_no AND h.seq = r.seq) AS head_status, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM turns r LEFT JOIN agents a ON a.no = r.agent_no LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND (r.first_seq, r.seq) > ($2, $3) ORDER BY r.first_seq, r.seq LIMIT $4;
-- check.clears
SELECT r.seq, r.branch, a.id AS agent, r.run, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM clears r LEFT JOIN agents a ON a.no = r.agent_no LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.evals
SELECT r.first_seq, r.seq, r.branch, r.status, r.turn_seq, CASE WHEN EXISTS (SELECT 1 FROM turns t WHERE t.session_no = r.session_no AND t.first_seq = r.turn_seq) THEN 1 ELSE 0 END AS turn_there, r.message_seq, CASE WHEN EXISTS (SELECT 1 FROM events m WHERE m.session_no = r.session_no AND m.seq = r.message_seq AND m.role IS NOT NULL) THEN 1 ELSE 0 END AS message_there, r.code AS code_no, b_code.sha256 AS code, r.result AS result_no, b_result.sha256 AS result, r.final AS final_no, b_final.sha256 AS final, r.error AS error_no, b_error.sha256 AS error, r.salts, r.at, r.erased_seq, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM evals r LEFT JOIN blobs b_code ON b_code.no = r.code LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_final ON b_final.no = r.final LEFT JOIN blobs b_error ON b_error.no = r.error LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND (r.first_seq, r.seq) > ($2, $3) ORDER BY r.first_seq, r.seq LIMIT $4;
-- check.calls
SELECT r.first_seq, r.seq, r.branch, r.status, r.turn_seq, CASE WHEN EXISTS (SELECT 1 FROM turns t WHERE t.session_no = r.session_no AND t.first_seq = r.turn_seq) THEN 1 ELSE 0 END AS turn_there, r.type, r.model, r.provider, r.request AS request_no, b_request.sha256 AS request, r.response AS response_no, b_response.sha256 AS response, r.result AS result_no, b_result.sha256 AS result, r.error AS error_no, b_error.sha256 AS error, r.salts, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM calls r LEFT JOIN blobs b_request ON b_request.no = r.request LEFT JOIN blobs b_response ON b_response.no = r.response LEFT JOIN blobs b_result ON b_result.no = r.result LEFT JOIN blobs b_error ON b_error.no = r.error LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND (r.first_seq, r.seq) > ($2, $3) ORDER BY r.first_seq, r.seq LIMIT $4;
-- check.invocations
SELECT r.first_seq, r.seq, r.branch, r.status, r.type, r.callee_session_no AS callee_no, c.id AS callee, c.deleted_at AS callee_deleted, c.seq AS callee_seq, r.source_session_no AS source_no, o.id AS source, o.deleted_at AS source_deleted, r.call_seq, (SELECT k.type FROM calls k WHERE k.session_no = r.session_no AND k.first_seq = r.call_seq AND k.seq = r.call_seq) AS call_type, r.label, r.source_snapshot_seq, r.source_fingerprint, h_source_head.snapshot_seq AS source_head_snapshot, h_source_head.fingerprint AS source_head_fingerprint, r.created_at, r.completed_at, r.caller_head_before AS caller_before_no, h_caller_before.id AS caller_before, h_caller_before.session_no AS caller_before_session, r.caller_head_after AS caller_after_no, h_caller_after.id AS caller_after, h_caller_after.session_no AS caller_after_session, r.callee_head_before AS callee_before_no, h_callee_before.id AS callee_before, h_callee_before.session_no AS callee_before_session, r.callee_head_after AS callee_after_no, h_callee_after.id AS callee_after, h_callee_after.session_no AS callee_after_session, r.source_head AS source_head_no, h_source_head.id AS source_head, h_source_head.session_no AS source_head_session, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM invocations r LEFT JOIN sessions c ON c.no = r.callee_session_no LEFT JOIN sessions o ON o.no = r.source_session_no LEFT JOIN heads h_caller_before ON h_caller_before.no = r.caller_head_before LEFT JOIN heads h_caller_after ON h_caller_after.no = r.caller_head_after LEFT JOIN heads h_callee_before ON h_callee_before.no = r.callee_head_before LEFT JOIN heads h_callee_after ON h_callee_after.no = r.callee_head_after LEFT JOIN heads h_source_head ON h_source_head.no = r.source_head LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND (r.first_seq, r.seq) > ($2, $3) ORDER BY r.first_seq, r.seq LIMIT $4;
-- check.snapshots
SELECT r.seq, r.branch, r.turn_seq, CASE WHEN EXISTS (SELECT 1 FROM turns t WHERE t.session_no = r.session_no AND t.first_seq = r.turn_seq) THEN 1 ELSE 0 END AS turn_there, r.vars AS vars_no, b_vars.sha256 AS vars, r.salt, r.at, r.erased_seq, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM snapshots r LEFT JOIN blobs b_vars ON b_vars.no = r.vars LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.annotations
SELECT r.seq, r.payload AS note_no, b.sha256 AS note, r.salt, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM annotations r LEFT JOIN blobs b ON b.no = r.payload LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.state
SELECT r.branch, r.key, r.seq, r.ord, r.until_seq, r.expires_at, r.value AS value_no, b_value.sha256 AS value, r.salt, e.type AS event_type, e.body AS event_body, e.branch AS event_branch FROM state r LEFT JOIN blobs b_value ON b_value.no = r.value LEFT JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq WHERE r.session_no = $1 AND (r.branch, r.key, r.seq) > ($2, $3, $4) ORDER BY r.branch, r.key, r.seq LIMIT $5;
-- check.events
SELECT r.seq, r.branch, r.type, r.at, r.body, CASE WHEN r.role IS NULL THEN 0 ELSE 1 END AS message, r.erased_seq, r.sha256, r.content AS content_no, b_content.sha256 AS content FROM events r LEFT JOIN blobs b_content ON b_content.no = r.content WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.runs
SELECT r.id, r.first_seq, r.seq, r.branch, r.parent, r.nested, (SELECT a.id FROM agents a WHERE a.no = r.agent_no) AS agent, r.agent_version, r.toolset, r.status, r.version, r.epoch, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, r.ended_at FROM runs r WHERE r.session_no = $1 AND r.id > $2 ORDER BY r.id LIMIT $3;
-- check.signals
SELECT r.seq, r.branch, r.run, r.name, r.taken_seq FROM signals r WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.decisions
SELECT r.seq, r.branch, r.run, r.step_seq, r.answered_seq FROM decisions r WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.checkpoints
SELECT r.seq, r.branch, (SELECT a.id FROM agents a WHERE a.no = r.agent_no) AS agent, r.run, r.iteration FROM checkpoints r WHERE r.session_no = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3;
-- check.boards
SELECT r.id, r.agent, r.ord, r.parent, r.max_retries, r.created_at, r.version FROM boards r WHERE r.session_no = $1 AND r.id > $2 ORDER BY r.id LIMIT $3;
-- check.captures
SELECT r.id, r.seq, r.request, r.agent, r.agent_session, r.generation, r.diverged, r.files, r.size, r.stored, r.created_at, r.saved_at, r.expires_at, b.sha256 AS manifest, r.salt, (SELECT count(*) FROM blob_links l WHERE l.parent_no = r.manifest AND l.ord < 0) AS named FROM captures r LEFT JOIN blobs b ON b.no = r.manifest WHERE r.session_no = $1 AND r.id > $2 ORDER BY r.id LIMIT $3;
-- check.boardTasks
SELECT r.board_id, r.id, r.status, r.ord, r.retry_count, r.version, r.created_at, r.updated_at FROM boards b JOIN tasks r ON r.board_id = b.id WHERE b.session_no = $1 AND (r.board_id, r.id) > ($2, $3) ORDER BY r.board_id, r.id LIMIT $4;
-- check.namesOf
SELECT r.name, r.created_at FROM aliases r WHERE r.session_no = $1 AND r.name > $2 ORDER BY r.name LIMIT $3;
-- check.tagsOf
SELECT r.tag FROM session_tags r WHERE r.session_no = $1 AND r.tag > $2 ORDER BY r.tag LIMIT $3;
-- check.beyond
SELECT min(r.seq) AS seq FROM events r WHERE r.session_no = $1 AND r.seq > $2;
-- check.contents
SELECT r.seq, r.content AS content_no FROM events r LEFT JOIN blobs b ON b.no = r.content WHERE r.session_no = $1 AND r.seq > $2 AND r.seq <= $3 AND r.content IS NOT NULL AND b.no IS NULL ORDER BY r.seq;
-- check.eventsUpTo
SELECT max(k.no) AS upto FROM (SELECT r.no FROM events r WHERE r.no > $1 ORDER BY r.no LIMIT $2) k;
-- check.refs.events
SELECT r.content AS blob_no FROM events r WHERE r.no > $1 AND r.no <= $2 AND r.content IS NOT NULL;
-- check.refs.annotations
SELECT r.session_no, r.seq, r.payload AS blob_0 FROM annotations r WHERE (r.session_no, r.seq) > ($1, $2) ORDER BY r.session_no, r.seq LIMIT $3;
-- check.refs.state
SELECT r.session_no, r.branch, r.key, r.seq, r.value AS blob_0 FROM state r WHERE (r.session_no, r.branch, r.key, r.seq) > ($1, $2, $3, $4) ORDER BY r.session_no, r.branch, r.key, r.seq LIMIT $5;
-- check.refs.evals
SELECT r.session_no, r.first_seq, r.seq, r.code AS blob_0, r.result AS blob_1, r.final AS blob_2, r.error AS blob_3 FROM evals r WHERE (r.session_no, r.first_seq, r.seq) > ($1, $2, $3) ORDER BY r.session_no, r.first_seq, r.seq LIMIT $4;
-- check.refs.calls
SELECT r.session_no, r.first_seq, r.seq, r.request AS blob_0, r.response AS blob_1, r.result AS blob_2, r.error AS blob_3 FROM calls r WHERE (r.session_no, r.first_seq, r.seq) > ($1, $2, $3) ORDER BY r.session_no, r.first_seq, r.seq LIMIT $4;
-- check.refs.snapshots
SELECT r.session_no, r.seq, r.vars AS blob_0 FROM snapshots r WHERE (r.session_no, r.seq) > ($1, $2) ORDER BY r.session_no, r.seq LIMIT $3;
-- check.refs.heads
SELECT r.no, r.final AS blob_0 FROM heads r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- check.refs.captures
SELECT r.no, r.manifest AS blob_0 FROM captures r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- check.refs.documents
SELECT r.collection_no, r.item, r.content AS blob_0 FROM documents r WHERE (r.collection_no, r.item) > ($1, $2) ORDER BY r.collection_no, r.item LIMIT $3;
-- check.blockRefs
SELECT r.block_id, r.version, r.edit, r.at, o.id AS block, r.value AS value_no, b.sha256 AS value FROM block_versions r LEFT JOIN blocks o ON o.id = r.block_id LEFT JOIN blobs b ON b.no = r.value WHERE (r.block_id, r.version) > ($1, $2) ORDER BY r.block_id, r.version LIMIT $3;
-- check.agents
SELECT r.no, r.id, r.name, r.agent_type, r.model, r.system, r.tool_ids, r.tags, r.metadata, r.created_at, r.updated_at, r.deleted_at, r.version FROM agents r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- check.agentTags
SELECT r.tag FROM agent_tags r WHERE r.agent_no = $1 ORDER BY r.tag;
-- check.strayTags
SELECT r.tag, r.agent_no FROM agent_tags r LEFT JOIN agents a ON a.no = r.agent_no WHERE a.no IS NULL ORDER BY r.tag, r.agent_no LIMIT $1;
-- check.blocks
SELECT r.id, r.label, r.char_limit, r.description, r.read_only, r.version, r.created_at, r.updated_at, (SELECT max(v.version) FROM block_versions v WHERE v.block_id = r.id) AS newest, (SELECT count(*) FROM block_versions v WHERE v.block_id = r.id) AS versions, (SELECT v.at FROM block_versions v WHERE v.block_id = r.id AND v.version = 1) AS first_at, (SELECT v.at FROM block_versions v WHERE v.block_id = r.id AND v.version = r.version) AS newest_at FROM blocks r WHERE r.id > $1 ORDER BY r.id LIMIT $2;
-- check.strayBlocks
SELECT a.id AS agent, r.agent_no, r.block_id FROM agent_blocks r LEFT JOIN agents a ON a.no = r.agent_no LEFT JOIN blocks b ON b.id = r.block_id WHERE a.no IS NULL OR b.id IS NULL ORDER BY r.agent_no, r.ord LIMIT $1;
-- check.refsOf
WITH w (no) AS (VALUES (CAST($1 AS BIGINT)), (CAST($2 AS BIGINT)), (CAST($3 AS BIGINT)), (CAST($4 AS BIGINT)), (CAST($5 AS BIGINT)), (CAST($6 AS BIGINT)), (CAST($7 AS BIGINT)), (CAST($8 AS BIGINT)), (CAST($9 AS BIGINT)), (CAST($10 AS BIGINT)), (CAST($11 AS BIGINT)), (CAST($12 AS BIGINT)), (CAST($13 AS BIGINT)), (CAST($14 AS BIGINT)), (CAST($15 AS BIGINT)), (CAST($16 AS BIGINT))) SELECT b.no, b.sha256, b.refs, CAST(coalesce(max(g.n), 0) AS BIGINT) AS n FROM blobs b LEFT JOIN (SELECT u.no, count(*) AS n FROM (SELECT r.content AS no FROM events r WHERE r.content IN (SELECT no FROM w) UNION ALL SELECT r.payload AS no FROM annotations r WHERE r.payload IN (SELECT no FROM w) UNION ALL SELECT r.value AS no FROM state r WHERE r.value IN (SELECT no FROM w) UNION ALL SELECT r.code AS no FROM evals r WHERE r.code IN (SELECT no FROM w) UNION ALL SELECT r.result AS no FROM evals r WHERE r.result IN (SELECT no FROM w) UNION ALL SELECT r.final AS no FROM evals r WHERE r.final IN (SELECT no FROM w) UNION ALL SELECT r.error AS no FROM evals r WHERE r.error IN (SELECT no FROM w) UNION ALL SELECT r.request AS no FROM calls r WHERE r.request IN (SELECT no FROM w) UNION ALL SELECT r.response AS no FROM calls r WHERE r.response IN (SELECT no FROM w) UNION ALL SELECT r.result AS no FROM calls r WHERE r.result IN (SELECT no FROM w) UNION ALL SELECT r.error AS no FROM calls r WHERE r.error IN (SELECT no FROM w) UNION ALL SELECT r.vars AS no FROM snapshots r WHERE r.vars IN (SELECT no FROM w) UNION ALL SELECT r.final AS no FROM heads r WHERE r.final IN (SELECT no FROM w) UNION ALL SELECT r.manifest AS no FROM captures r WHERE r.manifest IN (SELECT no FROM w) UNION ALL SELECT r.value AS no FROM block_versions r WHERE r.value IN (SELECT no FROM w) UNION ALL SELECT r.content AS no FROM documents r WHERE r.content IN (SELECT no FROM w)) u GROUP BY u.no) g ON g.no = b.no WHERE b.no IN (SELECT no FROM w) GROUP BY b.no, b.sha256, b.refs ORDER BY b.no;
-- check.referrers
WITH w (no) AS (VALUES (CAST($1 AS BIGINT)), (CAST($2 AS BIGINT)), (CAST($3 AS BIGINT)), (CAST($4 AS BIGINT)), (CAST($5 AS BIGINT)), (CAST($6 AS BIGINT)), (CAST($7 AS BIGINT)), (CAST($8 AS BIGINT)), (CAST($9 AS BIGINT)), (CAST($10 AS BIGINT)), (CAST($11 AS BIGINT)), (CAST($12 AS BIGINT)), (CAST($13 AS BIGINT)), (CAST($14 AS BIGINT)), (CAST($15 AS BIGINT)), (CAST($16 AS BIGINT))), t (no, via) AS (SELECT w.no, w.no FROM w UNION SELECT l.child_no, l.parent_no FROM blob_links l WHERE l.child_no IN (SELECT no FROM w)) SELECT x.no, x.session, x.block, x.seq FROM (SELECT t.no, s.id AS session, u.block, u.seq, row_number() OVER (PARTITION BY t.no ORDER BY u.session_no, u.block, u.seq) AS n FROM t JOIN (SELECT r.content AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM events r WHERE r.content IN (SELECT via FROM t) UNION SELECT r.payload AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM annotations r WHERE r.payload IN (SELECT via FROM t) UNION SELECT r.value AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM state r WHERE r.value IN (SELECT via FROM t) UNION SELECT r.code AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM evals r WHERE r.code IN (SELECT via FROM t) UNION SELECT r.result AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM evals r WHERE r.result IN (SELECT via FROM t) UNION SELECT r.final AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM evals r WHERE r.final IN (SELECT via FROM t) UNION SELECT r.error AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM evals r WHERE r.error IN (SELECT via FROM t) UNION SELECT r.request AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM calls r WHERE r.request IN (SELECT via FROM t) UNION SELECT r.response AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM calls r WHERE r.response IN (SELECT via FROM t) UNION SELECT r.result AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM calls r WHERE r.result IN (SELECT via FROM t) UNION SELECT r.error AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.first_seq AS seq FROM calls r WHERE r.error IN (SELECT via FROM t) UNION SELECT r.vars AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM snapshots r WHERE r.vars IN (SELECT via FROM t) UNION SELECT r.final AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM heads r WHERE r.final IN (SELECT via FROM t) UNION SELECT r.manifest AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.seq AS seq FROM captures r WHERE r.manifest IN (SELECT via FROM t) UNION SELECT r.value AS no, NULL AS session_no, r.block_id AS block, r.version AS seq FROM block_versions r WHERE r.value IN (SELECT via FROM t) UNION SELECT r.content AS no, NULL AS session_no, c.name || '/' || r.id AS block, r.item AS seq FROM documents r JOIN vector_collections c ON c.no = r.collection_no WHERE r.content IN (SELECT via FROM t)) u ON u.no = t.via LEFT JOIN sessions s ON s.no = u.session_no) x WHERE x.n <= 5 ORDER BY x.no, x.n;
-- check.named
SELECT l.ord, c.sha256 FROM blobs p JOIN blob_links l ON l.parent_no = p.no LEFT JOIN blobs c ON c.no = l.child_no WHERE p.sha256 = $1 AND l.ord > $2 AND l.ord < 0 ORDER BY l.ord LIMIT $3;
-- check.blobs
SELECT b.no, b.sha256, b.media, b.utf8, b.form, b.refs, b.pinned, b.expires_at, CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked FROM blobs b WHERE b.no > $1 ORDER BY b.no LIMIT $2;
-- check.parts
SELECT k.parent_no, k.ord, k.child_no, p.sha256 AS parent, c.no AS child FROM (SELECT parent_no, ord, child_no FROM blob_links WHERE (parent_no, ord) > ($1, $2) ORDER BY parent_no, ord LIMIT $3) k LEFT JOIN blobs p ON p.no = k.parent_no LEFT JOIN blobs c ON c.no = k.child_no ORDER BY k.parent_no, k.ord;
-- check.counters
SELECT name, n FROM counters ORDER BY name;
-- check.aliases
SELECT r.name, s.no AS there, s.deleted_at FROM aliases r LEFT JOIN sessions s ON s.no = r.session_no WHERE r.name > $1 ORDER BY r.name LIMIT $2;
-- check.tasks
SELECT r.board_id, r.id, b.id AS there FROM tasks r LEFT JOIN boards b ON b.id = r.board_id WHERE (r.board_id, r.id) > ($1, $2) ORDER BY r.board_id, r.id LIMIT $3;
-- check.strays.events
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM events r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM events r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.branches
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM branches r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM branches r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.turns
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM turns r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM turns r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.clears
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM clears r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM clears r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.evals
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM evals r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM evals r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.calls
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM calls r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM calls r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.snapshots
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM snapshots r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM snapshots r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.heads
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM heads r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM heads r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.invocations
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM invocations r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM invocations r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.derivations
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM derivations r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM derivations r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.annotations
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM annotations r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM annotations r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.state
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM state r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM state r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.boards
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM boards r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM boards r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.captures
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM captures r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM captures r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.runs
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM runs r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM runs r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.signals
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM signals r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM signals r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.decisions
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM decisions r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM decisions r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.checkpoints
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM checkpoints r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM checkpoints r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- check.strays.session_tags
WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM session_tags r WHERE r.session_no > $1) UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM session_tags r WHERE r.session_no > d.no) FROM d WHERE d.no IS NOT NULL AND d.n < $2) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no WHERE d.no IS NOT NULL ORDER BY d.no;
-- checksums.sessions
SELECT r.id AS name FROM sessions r WHERE r.no = $1 AND NOT (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.title), 'hex'), 'n'), coalesce('t' || replace(r.status, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) LIMIT $2;
-- checksums.boards
SELECT r.id AS name FROM boards r WHERE r.session_no = $1 AND NOT (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'boards', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.label), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) LIMIT $2;
-- checksums.tasks
SELECT r.id AS name FROM tasks r WHERE r.board_id IN (SELECT b.id FROM boards b WHERE b.session_no = $1) AND NOT (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'tasks', coalesce('t' || replace(r.board_id, ',', ',,'), 'n'), coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.title), 'hex'), 'n'), coalesce('x' || encode(sha256(r.note), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) LIMIT $2;
-- checksums.invocations
SELECT r.seq AS seq FROM invocations r WHERE r.session_no = $1 AND NOT (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'invocations', coalesce('i' || CAST(CAST(r.first_seq AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.seq AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.label), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) LIMIT $2;
-- checksums.captures
SELECT r.id AS name FROM captures r WHERE r.session_no = $1 AND NOT (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'captures', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.cwd), 'hex'), 'n'), coalesce('x' || encode(sha256(r.config_dir), 'hex'), 'n'), coalesce('x' || encode(sha256(r.project_key), 'hex'), 'n'), coalesce('x' || encode(sha256(r.agent_version), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) LIMIT $2;
-- checksums.agents
SELECT r.no, r.id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'agents', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.name), 'hex'), 'n'), coalesce('t' || replace(r.agent_type, ',', ',,'), 'n'), coalesce('t' || replace(r.model, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.system), 'hex'), 'n'), coalesce('x' || encode(sha256(r.tool_ids), 'hex'), 'n'), coalesce('x' || encode(sha256(r.tags), 'hex'), 'n'), coalesce('x' || encode(sha256(r.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.updated_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM agents r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- checksums.agent_blocks
SELECT r.agent_no, r.ord, r.block_id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'agent_blocks', coalesce('i' || CAST(CAST(r.agent_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.ord AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.block_id, ',', ',,'), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM agent_blocks r WHERE (r.agent_no, r.ord) > ($1, $2) ORDER BY r.agent_no, r.ord LIMIT $3;
-- checksums.blocks
SELECT r.id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blocks', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('t' || replace(r.label, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.char_limit AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.description), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.read_only AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.updated_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM blocks r WHERE r.id > $1 ORDER BY r.id LIMIT $2;
-- checksums.block_versions
SELECT r.block_id, r.version, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'block_versions', coalesce('t' || replace(r.block_id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = r.value)), 'hex'), 'n'), coalesce('t' || replace(r.edit, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM block_versions r WHERE (r.block_id, r.version) > ($1, $2) ORDER BY r.block_id, r.version LIMIT $3;
-- checksums.memory_scopes
SELECT r.no, r.namespace, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'memory_scopes', coalesce('t' || replace(r.namespace, ',', ',,'), 'n'), coalesce('t' || replace(r.agent, ',', ',,'), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM memory_scopes r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- checksums.memories
SELECT r.no, r.id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'memories', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.scope_no AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.digest), 'hex'), 'n'), coalesce('x' || encode(sha256(r.subject_key), 'hex'), 'n'), coalesce('x' || encode(sha256(r.fact_key), 'hex'), 'n'), coalesce('x' || encode(sha256(r.content), 'hex'), 'n'), coalesce('t' || replace(r.kind, ',', ',,'), 'n'), coalesce('t' || replace(r.subject, ',', ',,'), 'n'), coalesce('t' || replace(r.attribute, ',', ',,'), 'n'), coalesce('x' || encode(sha256(r.value), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.importance AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.valid_from AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.valid_to AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.recorded_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.confirmations AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.confirmed_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.superseded_by, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.superseded_from AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM memories r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- checksums.memory_changes
SELECT r.memory_id, r.version, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'memory_changes', coalesce('t' || replace(r.memory_id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.version AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.change, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.at AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.by_id, ',', ',,'), 'n'), coalesce('t' || replace(r.session, ',', ',,'), 'n'), coalesce('t' || replace(r.message, ',', ',,'), 'n'), coalesce('t' || replace(r.run, ',', ',,'), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM memory_changes r WHERE (r.memory_id, r.version) > ($1, $2) ORDER BY r.memory_id, r.version LIMIT $3;
-- checksums.segments
SELECT r.id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'segments', coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.sealed AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.sha256), 'hex'), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.touched_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM segments r WHERE r.id > $1 ORDER BY r.id LIMIT $2;
-- checksums.segment_frames
SELECT r.segment_id, r.start, CASE WHEN (r.checksum IS NULL OR r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'segment_frames', coalesce('t' || replace(r.segment_id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.start AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.size AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.stored AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM segment_frames r WHERE (r.segment_id, r.start) > ($1, $2) ORDER BY r.segment_id, r.start LIMIT $3;
-- checksums.blobs
SELECT r.no, r.sha256, CASE WHEN (r.checksum IS NULL OR r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(r.sha256), 'hex'), 'n'), coalesce('t' || replace(r.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM blobs r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- checksums.vector_collections
SELECT r.no, r.name, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_collections', coalesce('i' || CAST(CAST(r.no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.change AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.last_item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.documents AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM vector_collections r WHERE r.no > $1 ORDER BY r.no LIMIT $2;
-- checksums.vector_generations
SELECT r.collection_no, r.generation, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_generations', coalesce('i' || CAST(CAST(r.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.generation AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.model, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.dimension AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.metric, ',', ',,'), 'n'), coalesce('t' || replace(r.precision, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.seed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.packed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.removals AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.vectors AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM vector_generations r WHERE (r.collection_no, r.generation) > ($1, $2) ORDER BY r.collection_no, r.generation LIMIT $3;
-- checksums.documents
SELECT r.collection_no, r.item, r.id, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(r.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(r.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(r.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.pending AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = r.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM documents r WHERE (r.collection_no, r.item) > ($1, $2) ORDER BY r.collection_no, r.item LIMIT $3;
-- checksums.vectors
SELECT r.collection_no, r.generation, r.item, CASE WHEN (r.checksum IS NOT NULL AND r.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vectors', coalesce('i' || CAST(CAST(r.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(r.item AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(r.embedding), 'hex'), 'n')), 'UTF8')), 'hex'), 16)) THEN 1 ELSE 0 END AS proven FROM vectors r WHERE (r.collection_no, r.generation, r.item) > ($1, $2, $3) ORDER BY r.collection_no, r.generation, r.item LIMIT $4;
-- checksums.counters
SELECT counters.name FROM counters WHERE counters.checksum IS NOT NULL AND counters.checksum <> left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(counters.n AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ORDER BY counters.name;
-- checksums.meta
SELECT m.name FROM holdfast_meta m WHERE m.name = 'checksum' AND m.value = left(encode(sha256(convert_to(concat_ws(',', 'holdfast_meta', coalesce('t' || replace((SELECT value FROM holdfast_meta WHERE name = 'store_id'), ',', ',,'), 'n'), coalesce('t' || replace((SELECT value FROM holdfast_meta WHERE name = 'created_at'), ',', ',,'), 'n')), 'UTF8')), 'hex'), 16);
-- check.epochs
SELECT b.no, b.sha256, CASE WHEN b.epoch >= 0 AND b.epoch <= g.n AND (b.condemned IS NULL OR b.condemned <= g.n AND b.condemned >= b.epoch + 2) THEN 1 ELSE 0 END AS proven FROM blobs b CROSS JOIN counters g WHERE g.name = 'gc' AND b.no > $1 ORDER BY b.no LIMIT $2;
-- check.held
SELECT r.id FROM runs r WHERE r.session_no = $1 AND NOT ((r.beat < 0 AND r.held = 1) OR (r.beat >= 0 AND r.held = 0)) LIMIT $2;
-- check.aliasCount
SELECT s.alias_count AS stored, (SELECT count(*) FROM aliases l WHERE l.session_no = s.no) AS counted FROM sessions s WHERE s.no = $1;
-- trace.events
SELECT e.seq, e.type, e.at, e.body, e.hash, e.branch, e.erased_seq FROM events e WHERE e.session_no = (SELECT no FROM sessions WHERE id = $1 AND deleted_at IS NULL) AND e.seq > $2 ORDER BY e.seq LIMIT $3;
-- trace.turn
SELECT t.first_seq, (SELECT min(n.seq) FROM turns n WHERE n.session_no = t.session_no AND n.first_seq = t.first_seq AND n.seq > t.first_seq) AS ended FROM turns t WHERE t.session_no = (SELECT no FROM sessions WHERE id = $1 AND deleted_at IS NULL) AND t.branch = $2 AND t.first_seq < $3 AND t.seq = t.first_seq ORDER BY t.first_seq DESC LIMIT 1;
-- trace.invokedBy
SELECT s.id AS session, r.first_seq FROM invocations r JOIN sessions s ON s.no = r.session_no WHERE r.callee_session_no = (SELECT no FROM sessions WHERE id = $1 AND deleted_at IS NULL) ORDER BY r.session_no, r.first_seq LIMIT 1;
-- memory.scope
SELECT s.no FROM memory_scopes s WHERE s.namespace = $1 AND s.agent = $2;
-- memory.scopesOf
SELECT s.no, s.namespace FROM memory_scopes s WHERE s.agent = $1 AND s.no > $2 AND EXISTS (SELECT 1 FROM memories e WHERE e.scope_no = s.no) ORDER BY s.no LIMIT $3;
-- memories.ofAgent
SELECT count(*) AS n FROM memory_scopes s JOIN memories m ON m.scope_no = s.no WHERE s.agent = $1;
-- memory.get
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.id = $1 AND m.scope_no = $2;
-- memory.byNumber
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.no = $1 AND m.scope_no = $2;
-- memories.list
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.no < $2 AND (m.expires_at IS NULL OR m.expires_at > $3) AND ($4 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $5) AND (m.valid_to IS NULL OR m.valid_to > $6))) AND (CAST($7 AS TEXT) IS NULL OR m.kind = $8) ORDER BY m.no DESC LIMIT $9;
-- memories.list.oldest
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.no > $2 AND (m.expires_at IS NULL OR m.expires_at > $3) AND ($4 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $5) AND (m.valid_to IS NULL OR m.valid_to > $6))) AND (CAST($7 AS TEXT) IS NULL OR m.kind = $8) ORDER BY m.no LIMIT $9;
-- memories.bySubject
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.subject_key = $2 AND m.no < $3 AND (m.expires_at IS NULL OR m.expires_at > $4) AND ($5 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $6) AND (m.valid_to IS NULL OR m.valid_to > $7))) AND (CAST($8 AS TEXT) IS NULL OR m.kind = $9) ORDER BY m.no DESC LIMIT $10;
-- memories.bySubject.oldest
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.subject_key = $2 AND m.no > $3 AND (m.expires_at IS NULL OR m.expires_at > $4) AND ($5 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $6) AND (m.valid_to IS NULL OR m.valid_to > $7))) AND (CAST($8 AS TEXT) IS NULL OR m.kind = $9) ORDER BY m.no LIMIT $10;
-- memories.byFact
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.fact_key = $2 AND m.no < $3 AND (m.expires_at IS NULL OR m.expires_at > $4) AND ($5 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $6) AND (m.valid_to IS NULL OR m.valid_to > $7))) AND (CAST($8 AS TEXT) IS NULL OR m.kind = $9) ORDER BY m.no DESC LIMIT $10;
-- memories.byFact.oldest
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.fact_key = $2 AND m.no > $3 AND (m.expires_at IS NULL OR m.expires_at > $4) AND ($5 = 1 OR ((m.superseded_from IS NULL OR m.superseded_from > $6) AND (m.valid_to IS NULL OR m.valid_to > $7))) AND (CAST($8 AS TEXT) IS NULL OR m.kind = $9) ORDER BY m.no LIMIT $10;
-- memories.same
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.digest = $2 ORDER BY m.no;
-- memories.heldAt
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.fact_key = $2 AND m.valid_from <= $3 AND (m.superseded_from IS NULL OR m.superseded_from > $4) AND (m.valid_to IS NULL OR m.valid_to > $5) AND (m.expires_at IS NULL OR m.expires_at > $6) ORDER BY m.valid_from, m.no LIMIT $7;
-- memories.heldAfter
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.scope_no = $1 AND m.fact_key = $2 AND m.valid_from > $3 AND (m.expires_at IS NULL OR m.expires_at > $4) ORDER BY m.valid_from, m.no LIMIT $5;
-- memory.newestSame
SELECT (SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.digest = $1) AS value FROM memory_scopes s WHERE s.no = $2;
-- memory.newestOfFact
SELECT (SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.fact_key = $1) AS value FROM memory_scopes s WHERE s.no = $2;
-- memory.changes
WITH RECURSIVE fact (id, superseded_by) AS (SELECT m.id, m.superseded_by FROM memories m WHERE m.id = $1 AND m.scope_no = $2 UNION SELECT n.id, n.superseded_by FROM fact f JOIN memories n ON n.id = f.superseded_by OR n.superseded_by = f.id) SELECT h.no, h.memory_id, h.version, h.change, h.at, h.by_id, h.session, h.message, h.run FROM fact f JOIN memories m ON m.id = f.id JOIN memory_changes h ON h.memory_id = f.id WHERE h.no < $3 AND (m.expires_at IS NULL OR m.expires_at > $4) ORDER BY h.no DESC LIMIT $5;
-- memory.changes.oldest
WITH RECURSIVE fact (id, superseded_by) AS (SELECT m.id, m.superseded_by FROM memories m WHERE m.id = $1 AND m.scope_no = $2 UNION SELECT n.id, n.superseded_by FROM fact f JOIN memories n ON n.id = f.superseded_by OR n.superseded_by = f.id) SELECT h.no, h.memory_id, h.version, h.change, h.at, h.by_id, h.session, h.message, h.run FROM fact f JOIN memories m ON m.id = f.id JOIN memory_changes h ON h.memory_id = f.id WHERE h.no > $3 AND (m.expires_at IS NULL OR m.expires_at > $4) ORDER BY h.no LIMIT $5;
-- memories.promotions
SELECT h.no, h.memory_id, h.version, h.change, h.at, h.by_id, h.session, h.message, h.run FROM (SELECT c.memory_id, max(c.version) AS version FROM memories m JOIN memory_changes c ON c.memory_id = m.id WHERE m.scope_no = $1 AND m.no > $2 AND m.no <= $3 AND c.change IN ('saved', 'touched', 'promoted', 'demoted', 'withdrawn', 'pinned', 'unpinned') GROUP BY c.memory_id, c.change) g JOIN memory_changes h ON h.memory_id = g.memory_id AND h.version = g.version;
-- memories.placements
SELECT DISTINCT m.no, m.id, m.content, c.by_id AS block FROM memories m JOIN memory_changes c ON c.memory_id = m.id WHERE m.scope_no = $1 AND m.no > $2 AND m.no <= $3 AND c.change = 'promoted' AND c.by_id IS NOT NULL ORDER BY m.no, c.by_id;
-- memories.inBlock
SELECT DISTINCT m.no, m.id, m.content, s.namespace FROM memory_changes c JOIN memories m ON m.id = c.memory_id JOIN memory_scopes s ON s.no = m.scope_no WHERE c.by_id = $1 AND c.change = 'promoted' AND s.namespace <> $2 ORDER BY m.no;
-- memories.numbers
SELECT m.no FROM memories m WHERE m.scope_no = $1 AND m.no > $2 ORDER BY m.no LIMIT $3;
-- memories.texts
SELECT m.no, m.scope_no, m.content, m.kind, m.subject, m.attribute, m.value, m.valid_from FROM memories m WHERE m.scope_no = $1 AND m.no = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY m.no;
-- memories.totals
SELECT count(*) AS memories, CAST(coalesce(sum(m.version), 0) AS BIGINT) AS changes, CAST(coalesce(sum(length(m.content) + coalesce(length(m.value), 0) + coalesce(length(m.metadata), 0)), 0) AS BIGINT) AS bytes FROM memories m WHERE m.scope_no = $1;
-- memories.expired
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent FROM memories m JOIN memory_scopes s ON s.no = m.scope_no WHERE m.expires_at IS NOT NULL AND m.expires_at <= $1 AND (m.expires_at, m.no) > ($2, $3) ORDER BY m.expires_at, m.no LIMIT $4;
-- memory.scopes
SELECT s.no, s.namespace, s.agent, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $1) THEN 1 ELSE 0 END), 0) AS BIGINT) AS memories, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $2) AND m.superseded_from IS NOT NULL AND m.superseded_from <= $3 THEN 1 ELSE 0 END), 0) AS BIGINT) AS superseded, CAST(coalesce(sum(CASE WHEN m.expires_at IS NOT NULL AND m.expires_at <= $4 THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired FROM (SELECT c.no, c.namespace, c.agent FROM memory_scopes c WHERE c.no < $5 AND EXISTS (SELECT 1 FROM memories e WHERE e.scope_no = c.no) ORDER BY c.no DESC LIMIT $6) s JOIN memories m ON m.scope_no = s.no GROUP BY s.no, s.namespace, s.agent ORDER BY s.no DESC;
-- memory.scopes.oldest
SELECT s.no, s.namespace, s.agent, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $1) THEN 1 ELSE 0 END), 0) AS BIGINT) AS memories, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $2) AND m.superseded_from IS NOT NULL AND m.superseded_from <= $3 THEN 1 ELSE 0 END), 0) AS BIGINT) AS superseded, CAST(coalesce(sum(CASE WHEN m.expires_at IS NOT NULL AND m.expires_at <= $4 THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired FROM (SELECT c.no, c.namespace, c.agent FROM memory_scopes c WHERE c.no > $5 AND EXISTS (SELECT 1 FROM memories e WHERE e.scope_no = c.no) ORDER BY c.no LIMIT $6) s JOIN memories m ON m.scope_no = s.no GROUP BY s.no, s.namespace, s.agent ORDER BY s.no;
-- memory.status
SELECT count(DISTINCT m.scope_no) AS scopes, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $1) THEN 1 ELSE 0 END), 0) AS BIGINT) AS memories, CAST(coalesce(sum(CASE WHEN (m.expires_at IS NULL OR m.expires_at > $2) AND m.superseded_from IS NOT NULL AND m.superseded_from <= $3 THEN 1 ELSE 0 END), 0) AS BIGINT) AS superseded, CAST(coalesce(sum(CASE WHEN m.expires_at IS NOT NULL AND m.expires_at <= $4 THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired FROM memories m;
-- memories.ofSession
SELECT count(DISTINCT h.memory_id) AS n FROM memory_changes h WHERE h.session IS NOT NULL AND h.session = $1;
-- check.memories
SELECT m.no, m.id, m.scope_no, m.digest, m.subject_key, m.fact_key, m.content, m.kind, m.subject, m.attribute, m.value, m.importance, m.metadata, m.valid_from, m.valid_to, m.recorded_at, m.confirmations, m.confirmed_at, m.expires_at, m.superseded_by, m.superseded_from, m.version, s.namespace, s.agent, (SELECT max(h.version) FROM memory_changes h WHERE h.memory_id = m.id) AS newest, (SELECT count(*) FROM memory_changes h WHERE h.memory_id = m.id) AS changes, (SELECT count(*) FROM metadata_fields f WHERE f.kind = 'memories' AND f.scope = m.scope_no AND f.item = m.no) AS fields FROM memories m LEFT JOIN memory_scopes s ON s.no = m.scope_no WHERE m.no > $1 ORDER BY m.no LIMIT $2;
-- check.memoryChanges
SELECT r.memory_id, r.version, r.change, r.at, r.by_id, r.session, r.message, r.run, m.id AS memory FROM memory_changes r LEFT JOIN memories m ON m.id = r.memory_id WHERE (r.memory_id, r.version) > ($1, $2) ORDER BY r.memory_id, r.version LIMIT $3;
-- check.memoryFields
SELECT f.path, f.value FROM metadata_fields f WHERE f.kind = 'memories' AND f.scope = $1 AND f.item = $2 ORDER BY f.path, f.value;
-- check.strayMemoryFields
SELECT DISTINCT f.scope, f.item FROM metadata_fields f LEFT JOIN memories m ON m.no = f.item AND m.scope_no = f.scope WHERE f.kind = 'memories' AND m.no IS NULL ORDER BY f.scope, f.item LIMIT $1;
-- metadata.items

    SELECT value, item FROM metadata_fields
    WHERE kind = $1 AND scope = $2 AND path = $3 AND (value, item) > ($4, $5) AND value < $6
    ORDER BY value, item LIMIT $7;
-- index.messages
SELECT m.no, m.session_no, s.id AS session, a.id AS agent, m.seq, m.role, m.at, m.sha256, CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, coalesce(b.store, '') AS store, b.key AS blob_key FROM (SELECT * FROM events WHERE no > $1 AND no <= $2 AND agent_no IS NOT NULL AND erased_seq IS NULL ORDER BY no LIMIT $3) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.no;
-- index.keys
SELECT no, salt FROM events WHERE no > $1 AND no <= $2 AND agent_no IS NOT NULL AND erased_seq IS NULL ORDER BY no LIMIT $3;
-- index.state
SELECT k.epoch, k.indexed, k.settled, (SELECT coalesce(max(no), 0) FROM events) AS newest, CASE WHEN $1 = 'messages' THEN (SELECT count(*) FROM (SELECT e.no FROM events e WHERE e.no > (SELECT i.indexed FROM index_kinds i WHERE i.kind = 'messages') AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL LIMIT 2048) m) ELSE (SELECT count(*) FROM (SELECT p.item FROM index_items p WHERE p.kind = $2 AND p.segment IS NULL LIMIT 2048) o) END AS pending, k.language, s.segment, s.low, s.high, s.version, s.dropped, s.marked, s.units, s.items, s.removed, s.bytes, s.directory, s.language AS segment_language, s.tokeniser AS segment_tokeniser FROM index_kinds k LEFT JOIN index_segments s ON s.kind = k.kind WHERE k.kind = $3 ORDER BY s.low, s.segment;
-- index.stats
SELECT k.language, count(s.segment) AS segments, CAST(coalesce(sum(s.items), 0) AS BIGINT) AS items, CAST(coalesce(sum(s.units - s.removed), 0) AS BIGINT) AS units, CAST(coalesce(sum(s.bytes), 0) AS BIGINT) AS bytes, (SELECT count(*) FROM events e WHERE e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND (e.no > (SELECT i.indexed FROM index_kinds i WHERE i.kind = 'messages') OR EXISTS (SELECT 1 FROM index_segments d WHERE d.kind = 'messages' AND d.dropped = 1 AND e.no > d.low AND e.no <= d.high))) AS pending FROM index_kinds k LEFT JOIN index_segments s ON s.kind = k.kind AND s.dropped = 0 WHERE k.kind = $1 GROUP BY k.kind, k.language;
-- index.version
SELECT version FROM index_segments WHERE kind = $1 AND segment = $2 AND dropped = 0;
-- index.directory
SELECT p.page, p.first FROM index_pages p JOIN index_segments s ON s.kind = p.kind AND s.segment = p.segment WHERE p.kind = $1 AND p.segment = $2 AND s.version = $3 AND s.dropped = 0 AND p.page >= 0 ORDER BY p.page;
-- index.page
SELECT p.body FROM index_pages p JOIN index_segments s ON s.kind = p.kind AND s.segment = p.segment WHERE p.kind = $1 AND p.segment = $2 AND s.version = $3 AND s.dropped = 0 AND p.page = $4;
-- index.pages
SELECT p.page, p.first, p.body FROM index_pages p JOIN index_segments s ON s.kind = p.kind AND s.segment = p.segment WHERE p.kind = $1 AND p.segment = $2 AND s.version = $3 AND s.dropped = 0 AND p.page >= $4 AND p.page < $5 ORDER BY p.page LIMIT $6;
-- index.items
SELECT group_no, item FROM index_items WHERE kind = $1 AND segment = $2 AND (group_no, item) > ($3, $4) ORDER BY group_no, item LIMIT $5;
-- index.pendingItems
SELECT k.epoch, i.group_no, i.item FROM index_kinds k LEFT JOIN index_items i ON i.kind = k.kind AND i.segment IS NULL AND (i.group_no, i.item) > ($1, $2) WHERE k.kind = $3 ORDER BY i.group_no, i.item LIMIT $4;
-- index.segmentsOfPages
WITH RECURSIVE found (segment) AS (SELECT (SELECT min(t.segment) FROM index_pages t WHERE t.kind = $1) UNION ALL SELECT (SELECT min(t.segment) FROM index_pages t WHERE t.kind = $2 AND t.segment > found.segment) FROM found WHERE found.segment IS NOT NULL) SELECT segment FROM found WHERE segment IS NOT NULL;
-- index.segmentsOfItems
WITH RECURSIVE found (segment) AS (SELECT (SELECT min(t.segment) FROM index_items t WHERE t.kind = $1) UNION ALL SELECT (SELECT min(t.segment) FROM index_items t WHERE t.kind = $2 AND t.segment > found.segment) FROM found WHERE found.segment IS NOT NULL) SELECT segment FROM found WHERE segment IS NOT NULL;
-- index.strayKinds
SELECT k.kind FROM (SELECT f.kind FROM (WITH RECURSIVE found (kind) AS (SELECT (SELECT min(t.kind) FROM index_kinds t) UNION ALL SELECT (SELECT min(t.kind) FROM index_kinds t WHERE t.kind > found.kind) FROM found WHERE found.kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL) f UNION SELECT f.kind FROM (WITH RECURSIVE found (kind) AS (SELECT (SELECT min(t.kind) FROM index_segments t) UNION ALL SELECT (SELECT min(t.kind) FROM index_segments t WHERE t.kind > found.kind) FROM found WHERE found.kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL) f UNION SELECT f.kind FROM (WITH RECURSIVE found (kind) AS (SELECT (SELECT min(t.kind) FROM index_pages t) UNION ALL SELECT (SELECT min(t.kind) FROM index_pages t WHERE t.kind > found.kind) FROM found WHERE found.kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL) f UNION SELECT f.kind FROM (WITH RECURSIVE found (kind) AS (SELECT (SELECT min(t.kind) FROM index_items t) UNION ALL SELECT (SELECT min(t.kind) FROM index_items t WHERE t.kind > found.kind) FROM found WHERE found.kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL) f) k WHERE k.kind NOT IN ('messages', 'memories', 'documents') ORDER BY k.kind;
-- check.indexItems
SELECT i.kind, i.group_no, i.item, CASE WHEN i.segment IS NULL OR s.segment IS NOT NULL THEN 1 ELSE 0 END AS placed, CASE i.kind WHEN 'memories' THEN CASE WHEN m.no IS NULL THEN 0 ELSE 1 END WHEN 'documents' THEN CASE WHEN d.item IS NULL THEN 0 ELSE 1 END ELSE 1 END AS there FROM index_items i LEFT JOIN index_segments s ON s.kind = i.kind AND s.segment = i.segment LEFT JOIN memories m ON m.no = i.item AND m.scope_no = i.group_no LEFT JOIN documents d ON d.collection_no = i.group_no AND d.item = i.item WHERE (i.kind, i.group_no, i.item) > ($1, $2, $3) ORDER BY i.kind, i.group_no, i.item LIMIT $4;
-- check.unindexedMemories
SELECT m.no, m.id FROM memories m LEFT JOIN index_items i ON i.kind = 'memories' AND i.group_no = m.scope_no AND i.item = m.no WHERE m.no > $1 AND i.item IS NULL ORDER BY m.no LIMIT $2;
-- check.unindexedDocuments
SELECT d.collection_no AS collection, d.item, d.id FROM documents d LEFT JOIN index_items i ON i.kind = 'documents' AND i.group_no = d.collection_no AND i.item = d.item WHERE (d.collection_no, d.item) > ($1, $2) AND i.item IS NULL ORDER BY d.collection_no, d.item LIMIT $3;
-- index.itemCount
SELECT count(*) AS items FROM index_items WHERE kind = $1 AND segment = $2;
-- index.segmentOf
SELECT segment FROM index_items WHERE kind = $1 AND group_no = $2 AND item = $3;
-- vectors.collection

    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents, c.created_at, g.model, g.dimension, g.metric, g.precision, g.seed, g.packed, g.removals, g.vectors, g.created_at AS generation_at
    FROM vector_collections c LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation WHERE c.name = $1;
-- vectors.collections
SELECT c.name FROM vector_collections c WHERE c.name > $1 AND NOT (c.name >= 'holdfast:' AND c.name < 'holdfast;') ORDER BY c.name LIMIT $2;
-- vectors.generations

    SELECT g.generation, g.model, g.dimension, g.metric, g.precision, g.seed, g.packed, g.removals, g.vectors, g.created_at FROM vector_generations g WHERE g.collection_no = $1
    ORDER BY g.generation;
-- documents.byIds
SELECT d.id, d.item, d.words, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key FROM documents d LEFT JOIN blobs p ON p.no = d.content WHERE d.collection_no = $1 AND d.id = ANY(ARRAY(SELECT j.item COLLATE "C" FROM jsonb_array_elements_text(CAST(CAST($2 AS TEXT) AS JSONB)) AS j(item))) ORDER BY d.item;
-- documents.byItems
SELECT d.id, d.item, d.words, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key FROM documents d LEFT JOIN blobs p ON p.no = d.content WHERE d.collection_no = $1 AND d.item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY d.item;
-- vectors.byItems

    SELECT v.item, v.embedding FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2 AND v.item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY v.item;
-- vectors.itemsIn
SELECT v.item FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2 AND v.item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY v.item;
-- vectors.after

    SELECT v.item, v.embedding FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2 AND v.item > $3 ORDER BY v.item LIMIT $4;
-- vectors.pages

    SELECT v.first_item, v.change, v.codes FROM vector_pages v
    WHERE v.collection_no = $1 AND v.generation = $2 AND (v.change, v.first_item) > ($3, $4) ORDER BY v.change, v.first_item LIMIT $5;
-- vectors.pageStarts

    SELECT v.first_item FROM vector_pages v WHERE v.collection_no = $1 AND v.generation = $2 ORDER BY v.first_item;
-- vectors.pagesAt

    SELECT v.first_item, v.change, v.codes FROM vector_pages v WHERE v.collection_no = $1 AND v.generation = $2 AND v.first_item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]))
    ORDER BY v.first_item;
-- documents.discarded

    SELECT DISTINCT p.sha256, p.store, p.key FROM documents d JOIN blobs p ON p.no = d.content
    WHERE d.collection_no = $1 AND d.item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]))
    AND (p.form >= 2 OR p.store <> '' OR EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = p.no));
-- documents.allDiscarded

    SELECT DISTINCT p.sha256, p.store, p.key FROM documents d JOIN blobs p ON p.no = d.content
    WHERE d.collection_no = $1 
    AND (p.form >= 2 OR p.store <> '' OR EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = p.no));
-- documents.after
SELECT d.id, d.item, d.words, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key FROM documents d LEFT JOIN blobs p ON p.no = d.content WHERE d.collection_no = $1 AND d.item > $2 ORDER BY d.item LIMIT $3;
-- check.collections

    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents,
      (SELECT count(*) FROM documents d WHERE d.collection_no = c.no)
        + (SELECT count(*) FROM passages p WHERE p.collection_no = c.no) AS counted,
      coalesce((SELECT max(d.item) FROM documents d WHERE d.collection_no = c.no),
        (SELECT max(p.item) FROM passages p WHERE p.collection_no = c.no)) AS newest FROM vector_collections c WHERE c.no > $1 ORDER BY c.no LIMIT $2;
-- check.collection

    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents,
      (SELECT count(*) FROM documents d WHERE d.collection_no = c.no)
        + (SELECT count(*) FROM passages p WHERE p.collection_no = c.no) AS counted,
      coalesce((SELECT max(d.item) FROM documents d WHERE d.collection_no = c.no),
        (SELECT max(p.item) FROM passages p WHERE p.collection_no = c.no)) AS newest FROM vector_collections c WHERE c.no = $1;
-- check.embeddings
SELECT count(*) AS n FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2;
-- check.strayEmbeddings

    SELECT v.generation, v.item FROM vectors v LEFT JOIN documents d ON d.collection_no = v.collection_no AND d.item = v.item
    LEFT JOIN passages p ON p.collection_no = v.collection_no AND p.item = v.item
    LEFT JOIN vector_generations g ON g.collection_no = v.collection_no AND g.generation = v.generation
    WHERE v.collection_no = $1 AND ((d.item IS NULL AND p.item IS NULL) OR g.generation IS NULL)
    ORDER BY v.generation, v.item LIMIT $2;
-- check.strayItems

    SELECT 'vector_generations' AS source, min(r.collection_no) AS collection FROM vector_generations r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0 UNION ALL 
    SELECT 'documents' AS source, min(r.collection_no) AS collection FROM documents r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0 UNION ALL 
    SELECT 'passages' AS source, min(r.collection_no) AS collection FROM passages r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0 UNION ALL 
    SELECT 'vectors' AS source, min(r.collection_no) AS collection FROM vectors r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0 UNION ALL 
    SELECT 'vector_pages' AS source, min(r.collection_no) AS collection FROM vector_pages r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0;
-- check.documents

    SELECT d.id, d.item, d.pending, CASE WHEN d.words IS NULL AND b.no IS NULL THEN 1 ELSE 0 END AS blob_missing,
      v.item AS embedded
    FROM documents d LEFT JOIN blobs b ON b.no = d.content
    LEFT JOIN vectors v ON v.collection_no = d.collection_no AND v.generation = $1 AND v.item = d.item
    WHERE d.collection_no = $2 AND d.item > $3 ORDER BY d.item LIMIT $4;
-- check.documentRows

    SELECT d.id, d.item, d.words, p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key FROM documents d LEFT JOIN blobs p ON p.no = d.content WHERE d.collection_no = $1 AND d.item >= $2 AND d.item <= $3 ORDER BY d.item;
-- check.metadata

    SELECT m.item, m.path, m.value FROM metadata_fields m
    WHERE m.kind = $1 AND m.scope = $2 AND m.item >= $3 AND m.item <= $4;
-- vectors.totals
SELECT count(*) AS collections FROM vector_collections c WHERE NOT (c.name >= 'holdfast:' AND c.name < 'holdfast;');
-- vectors.collectionAt

    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents, c.created_at, g.model, g.dimension, g.metric, g.precision, g.seed, g.packed, g.removals, g.vectors, g.created_at AS generation_at
    FROM vector_collections c LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation WHERE c.no = $1;
-- documents.nextPending

    SELECT d.collection_no AS collection FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no > $1
    ORDER BY d.collection_no, d.item LIMIT 1;
-- documents.pending

    SELECT d.item FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no = $1 AND d.item > $2
    AND NOT EXISTS (SELECT 1 FROM embedding_failures f WHERE f.kind = 'documents' AND f.scope = d.collection_no
      AND f.item = d.item AND (f.due_at IS NULL OR f.due_at > $3))
    ORDER BY d.item LIMIT $4;
-- documents.countPending
SELECT count(*) AS n FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no = $1;
-- documents.waiting

    SELECT g.model, g.dimension, g.vectors, w.n
    FROM (SELECT d.collection_no, count(*) AS n FROM documents d WHERE d.pending IS NOT NULL GROUP BY d.collection_no) w
    JOIN vector_collections c ON c.no = w.collection_no
    LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation;
-- documents.items

    SELECT d.item FROM documents d WHERE d.collection_no = $1 AND d.item > $2 ORDER BY d.item LIMIT $3;
-- vectors.lastItem

    SELECT coalesce(max(v.item), 0) AS item FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2;
-- vectors.firstItems

    SELECT v.item FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2 ORDER BY v.item LIMIT $3;
-- generations.ofModel

    SELECT g.collection_no AS collection, g.generation FROM vector_generations g
    WHERE g.model = $1 AND g.collection_no > $2 ORDER BY g.collection_no, g.generation LIMIT $3;
-- failures.list

    SELECT f.scope, f.item, f.attempts, f.due_at, f.reason, f.at FROM embedding_failures f WHERE f.kind = $1 AND (f.scope, f.item) > ($2, $3) ORDER BY f.scope, f.item LIMIT $4;
-- failures.in
SELECT f.scope, f.item, f.attempts, f.due_at, f.reason, f.at FROM embedding_failures f WHERE f.kind = $1 AND f.scope = $2 AND f.item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY f.item;
-- failures.totals

    SELECT count(*) AS failed, coalesce(sum(CASE WHEN f.due_at IS NULL THEN 1 ELSE 0 END), 0) AS parked,
      min(f.due_at) AS next FROM embedding_failures f WHERE f.kind = $1;
-- passages.byItems
SELECT p.item, p.group_no, p.number, p.part FROM passages p WHERE p.collection_no = $1 AND p.item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[])) ORDER BY p.item;
-- passages.embedded

    SELECT p.item, p.group_no, p.number, p.part FROM passages p WHERE p.collection_no = $1 AND p.item > $2 AND p.pending IS NULL ORDER BY p.item LIMIT $3;
-- passages.known

    SELECT p.number, p.part FROM passages p WHERE p.collection_no = $1 AND p.group_no = $2 AND p.number = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]));
-- passages.nextPending

    SELECT p.collection_no AS collection FROM passages p WHERE p.pending = 1 AND p.collection_no > $1
    ORDER BY p.collection_no, p.item LIMIT 1;
-- passages.pending

    SELECT p.item FROM passages p WHERE p.pending = 1 AND p.collection_no = $1 AND p.item > $2
    AND NOT EXISTS (SELECT 1 FROM embedding_failures f WHERE f.kind IN ('messages', 'memories') AND f.scope = p.collection_no
      AND f.item = p.item AND (f.due_at IS NULL OR f.due_at > $3))
    ORDER BY p.item LIMIT $4;
-- passages.countPending
SELECT count(*) AS n FROM passages p WHERE p.pending = 1 AND p.collection_no = $1;
-- passages.items
SELECT p.item FROM passages p WHERE p.collection_no = $1 AND p.item > $2 ORDER BY p.item LIMIT $3;
-- passages.waiting

    SELECT c.name, g.model, w.n
    FROM (SELECT p.collection_no, count(*) AS n FROM passages p WHERE p.pending = 1 GROUP BY p.collection_no) w
    JOIN vector_collections c ON c.no = w.collection_no
    LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation;
-- messages.cut
SELECT k.epoch, k.cut, (SELECT coalesce(max(e.no), 0) FROM events e) AS newest FROM index_kinds k WHERE k.kind = 'messages';
-- events.count
SELECT count(*) AS n FROM events e WHERE e.no > $1 AND e.no <= $2;
-- messages.countUncut

    SELECT count(*) AS n FROM events e WHERE e.no > (SELECT k.cut FROM index_kinds k WHERE k.kind = 'messages') AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL;
-- memories.uncut
SELECT i.group_no, i.item FROM index_items i WHERE i.kind = 'memories' AND i.cut IS NULL AND (i.group_no, i.item) > ($1, $2) ORDER BY i.group_no, i.item LIMIT $3;
-- memories.countUncut
SELECT count(*) AS n FROM index_items i WHERE i.kind = 'memories' AND i.cut IS NULL;
-- memories.countUncutIn
SELECT count(*) AS n FROM index_items i WHERE i.kind = 'memories' AND i.cut IS NULL AND i.group_no = $1;
-- memories.epoch
SELECT k.epoch FROM index_kinds k WHERE k.kind = 'memories';
-- vectors.emptyPages

    SELECT v.first_item, v.change FROM vector_pages v WHERE v.collection_no = $1 AND v.generation = $2
    AND length(v.codes) = 0 ORDER BY v.first_item LIMIT $3;
-- vectors.inPage

    SELECT v.item, v.embedding FROM vectors v WHERE v.collection_no = $1 AND v.generation = $2
    AND v.item > $3 AND v.item < coalesce((SELECT min(q.first_item) FROM vector_pages q WHERE q.collection_no = $4 AND q.generation = $5 AND q.first_item > $6), (SELECT g.packed + 1 FROM vector_generations g WHERE g.collection_no = $7 AND g.generation = $8)) ORDER BY v.item LIMIT $9;
-- check.strayPassages

    SELECT p.item FROM passages p
    LEFT JOIN events e ON e.session_no = p.group_no AND e.seq = p.number AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL
    LEFT JOIN memories m ON m.no = p.number AND m.scope_no = p.group_no
    WHERE p.collection_no = $1 AND CASE WHEN $2 = 'messages' THEN e.no ELSE m.no END IS NULL
    ORDER BY p.item LIMIT $3;
-- check.passages

    SELECT p.item, p.pending FROM passages p
    LEFT JOIN vectors v ON v.collection_no = p.collection_no AND v.generation = $1 AND v.item = p.item
    WHERE p.collection_no = $2 AND (p.pending IS NULL) <> (v.item IS NOT NULL) ORDER BY p.item LIMIT $3;
-- session.describe
UPDATE sessions SET agent_no = CAST($1 AS BIGINT), title = $2, status = $3, tags = $4, metadata = $5, request = $6, version = $7, checksum = left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(sessions.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256($8), 'hex'), 'n'), coalesce('t' || replace($9, ',', ',,'), 'n'), coalesce('x' || encode(sha256($10), 'hex'), 'n'), coalesce('i' || CAST(CAST(sessions.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($11 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) WHERE no = $12;
-- session.born
UPDATE sessions SET kind = $1, origin = $2, cache_id = $3 WHERE no = $4;
-- session.untag
DELETE FROM session_tags WHERE session_no = $1;
-- session.unalias
DELETE FROM aliases WHERE session_no = $1;
-- session.countAliases
UPDATE sessions SET alias_count = alias_count + $1 WHERE no = $2;
-- session.recountAliases
UPDATE sessions SET alias_count = (SELECT count(*) FROM aliases l WHERE l.session_no = sessions.no) WHERE no = $1;
-- session.tombstone
UPDATE sessions SET deleted_at = $1, agent_no = NULL, title = NULL, tags = NULL, metadata = NULL, request = NULL, messages = 0, head_no = NULL, origin = NULL, cache_id = NULL, version = version + 1, alias_count = 0, checksum = left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(sessions.id, ',', ',,'), 'n'), 'n', coalesce('t' || replace(sessions.status, ',', ',,'), 'n'), 'n', coalesce('i' || CAST(CAST(sessions.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($2 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.version + 1 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) WHERE no = $3;
-- session.branchTo
UPDATE sessions SET branch = $1 WHERE no = $2;
-- session.headTo
UPDATE sessions SET head_no = (SELECT no FROM heads WHERE id = $1) WHERE no = $2;
-- session.remainsTo
UPDATE sessions SET seq = $1, chain = $2, created_at = $3, kind = $4, checksum = CASE WHEN sessions.checksum IS NULL OR sessions.checksum = left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(sessions.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(sessions.title), 'hex'), 'n'), coalesce('t' || replace(sessions.status, ',', ',,'), 'n'), coalesce('x' || encode(sha256(sessions.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(sessions.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(sessions.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(sessions.title), 'hex'), 'n'), coalesce('t' || replace(sessions.status, ',', ',,'), 'n'), coalesce('x' || encode(sha256(sessions.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST($5 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(sessions.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE sessions.checksum END WHERE id = $6 AND deleted_at IS NOT NULL AND seq < $7;
-- session.complete
UPDATE sessions SET deleted_at = NULL, agent_no = CAST($1 AS BIGINT), title = $2, status = $3, tags = $4, metadata = $5, request = $6, created_at = $7, updated_at = $8, version = $9, branch = $10, seq = $11, chain = $12, messages = $13, state_seq = $14, kind = $15, origin = $16, cache_id = $17, head_no = (SELECT no FROM heads WHERE id = $18), checksum = left(encode(sha256(convert_to(concat_ws(',', 'sessions', coalesce('t' || replace(sessions.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256($19), 'hex'), 'n'), coalesce('t' || replace($20, ',', ',,'), 'n'), coalesce('x' || encode(sha256($21), 'hex'), 'n'), coalesce('i' || CAST(CAST($22 AS BIGINT) AS TEXT), 'n'), 'n', coalesce('i' || CAST(CAST($23 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) WHERE id = $24;
-- session.forget
DELETE FROM sessions WHERE no = $1 AND deleted_at IS NOT NULL AND version = 1 AND NOT EXISTS (SELECT 1 FROM remains x WHERE x.session_no = sessions.no) AND NOT EXISTS (SELECT 1 FROM events x WHERE x.session_no = sessions.no) AND NOT EXISTS (SELECT 1 FROM branches x WHERE x.parent_session_no = sessions.no) AND NOT EXISTS (SELECT 1 FROM derivations x WHERE x.source_session_no = sessions.no) AND NOT EXISTS (SELECT 1 FROM invocations x WHERE x.callee_session_no = sessions.no) AND NOT EXISTS (SELECT 1 FROM invocations x WHERE x.source_session_no = sessions.no);
-- invocation.link
UPDATE invocations SET callee_head_before = (SELECT h.no FROM heads h JOIN sessions o ON o.no = h.session_no WHERE h.id = $1 AND o.id = $2), callee_head_after = (SELECT h.no FROM heads h JOIN sessions o ON o.no = h.session_no WHERE h.id = $3 AND o.id = $4), source_head = (SELECT h.no FROM heads h JOIN sessions o ON o.no = h.session_no WHERE h.id = $5 AND o.id = $6) WHERE session_no = (SELECT no FROM sessions WHERE id = $7) AND seq = $8;
-- messages.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL GROUP BY content) AS g WHERE g.no = blobs.no;
-- messages.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND agent_no = $3 AND seq <= $4 AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- messages.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND agent_no = $3 AND seq <= $4 AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- messages.erase
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE session_no = $2 AND agent_no = $3 AND seq <= $4 AND erased_seq IS NULL;
-- run.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL GROUP BY content) AS g WHERE g.no = blobs.no;
-- run.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND agent_no = $3 AND run = $4 AND seq <= $5 AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- run.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND agent_no = $3 AND run = $4 AND seq <= $5 AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- run.erase
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE session_no = $2 AND agent_no = $3 AND run = $4 AND seq <= $5 AND erased_seq IS NULL;
-- allMessages.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL GROUP BY content) AS g WHERE g.no = blobs.no;
-- allMessages.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allMessages.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allMessages.erase
DELETE FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto);
-- journal.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE session_no = $1 AND run = $2 AND seq >= $3 AND seq <= $4 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL GROUP BY content) AS g WHERE g.no = blobs.no;
-- journal.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND run = $3 AND seq >= $4 AND seq <= $5 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- journal.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE session_no = $2 AND run = $3 AND seq >= $4 AND seq <= $5 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- journal.erase
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE session_no = $2 AND run = $3 AND seq >= $4 AND seq <= $5 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL;
-- saved.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $1 AND c.agent_no = $2 AND c.run = '') GROUP BY content) AS g WHERE g.no = blobs.no;
-- saved.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $2 AND c.agent_no = $3 AND c.run = '')) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- saved.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT content FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $2 AND c.agent_no = $3 AND c.run = '')) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- saved.erase
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $2 AND c.agent_no = $3 AND c.run = '');
-- allState.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT value AS no, count(*) AS n FROM state WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto) GROUP BY value) AS g WHERE g.no = blobs.no;
-- allState.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT value FROM state WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto)) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allState.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT value FROM state WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto)) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allState.erase
DELETE FROM state WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = state.session_no AND k.branch = state.branch AND state.seq <= k.upto);
-- allAnnotations.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM annotations WHERE session_no = $1 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- allAnnotations.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT payload FROM annotations WHERE session_no = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allAnnotations.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT payload FROM annotations WHERE session_no = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allAnnotations.erase
DELETE FROM annotations WHERE session_no = $1;
-- allWork.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = w.session_no AND k.branch = w.branch AND w.seq <= k.upto) GROUP BY payload) AS g WHERE g.no = blobs.no;
-- allWork.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT payload FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = w.session_no AND k.branch = w.branch AND w.seq <= k.upto)) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allWork.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT payload FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL UNION ALL SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $2 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = w.session_no AND k.branch = w.branch AND w.seq <= k.upto)) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allWork.erase
DELETE FROM clears WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = clears.session_no AND k.branch = clears.branch AND clears.seq <= k.upto);
-- capture.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT manifest AS no, count(*) AS n FROM captures WHERE id = $1 GROUP BY manifest) AS g WHERE g.no = blobs.no;
-- capture.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT manifest FROM captures WHERE id = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- capture.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT manifest FROM captures WHERE id = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- capture.erase
DELETE FROM captures WHERE id = $1;
-- allCaptures.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT manifest AS no, count(*) AS n FROM captures WHERE session_no = $1 GROUP BY manifest) AS g WHERE g.no = blobs.no;
-- allCaptures.dropLinks
DELETE FROM blob_links WHERE parent_no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT manifest FROM captures WHERE session_no = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allCaptures.drop
DELETE FROM blobs WHERE no IN (SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= $1 AND d.no IN (SELECT manifest FROM captures WHERE session_no = $2) AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no));
-- allCaptures.erase
DELETE FROM captures WHERE session_no = $1;
-- row.events.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT content AS no, count(*) AS n FROM events WHERE session_no = $1 AND seq = $2 AND erased_seq IS NULL GROUP BY content) AS g WHERE g.no = blobs.no;
-- row.evals.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM (SELECT session_no, branch, seq, code AS payload FROM evals WHERE code IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM evals WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, final AS payload FROM evals WHERE final IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM evals WHERE error IS NOT NULL) AS w WHERE session_no = $1 AND seq = $2 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- row.calls.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM (SELECT session_no, branch, seq, request AS payload FROM calls WHERE request IS NOT NULL UNION ALL SELECT session_no, branch, seq, response AS payload FROM calls WHERE response IS NOT NULL UNION ALL SELECT session_no, branch, seq, result AS payload FROM calls WHERE result IS NOT NULL UNION ALL SELECT session_no, branch, seq, error AS payload FROM calls WHERE error IS NOT NULL) AS w WHERE session_no = $1 AND seq = $2 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- row.snapshots.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM (SELECT session_no, branch, seq, vars AS payload FROM snapshots WHERE vars IS NOT NULL) AS w WHERE session_no = $1 AND seq = $2 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- row.heads.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM (SELECT session_no, branch, seq, final AS payload FROM heads WHERE final IS NOT NULL) AS w WHERE session_no = $1 AND seq = $2 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- row.state.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT value AS no, count(*) AS n FROM state WHERE session_no = $1 AND seq = $2 GROUP BY value) AS g WHERE g.no = blobs.no;
-- row.annotations.release
UPDATE blobs SET refs = blobs.refs - g.n FROM (SELECT payload AS no, count(*) AS n FROM annotations WHERE session_no = $1 AND seq = $2 GROUP BY payload) AS g WHERE g.no = blobs.no;
-- row.events.erase
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE session_no = $2 AND seq = $3 AND (erased_seq IS NULL OR erased_seq > $4);
-- row.evals.erase
UPDATE evals SET code = NULL, result = NULL, final = NULL, error = NULL, salts = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL AND seq = $3;
-- row.calls.erase
UPDATE calls SET request = NULL, response = NULL, result = NULL, error = NULL, salts = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL AND seq = $3;
-- row.snapshots.erase
UPDATE snapshots SET vars = NULL, salt = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL AND seq = $3;
-- row.heads.erase
UPDATE heads SET final = NULL, salt = NULL, final_summary = NULL WHERE session_no = $1 AND seq = $2;
-- row.invocations.erase
UPDATE invocations SET label = NULL, checksum = left(encode(sha256(convert_to(concat_ws(',', 'invocations', coalesce('i' || CAST(CAST(invocations.first_seq AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(invocations.seq AS BIGINT) AS TEXT), 'n'), 'n'), 'UTF8')), 'hex'), 16) WHERE session_no = $1 AND seq = $2;
-- row.state.erase
UPDATE state SET value = NULL, salt = NULL, expires_at = NULL, ord = -1 WHERE session_no = $1 AND seq = $2;
-- row.annotations.erase
DELETE FROM annotations WHERE session_no = $1 AND seq = $2;
-- row.events.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE session_no = $1 AND seq = $2 AND erased_seq IS NULL AND words IS NOT NULL);
-- row.events.dropSegments
UPDATE index_segments SET dropped = 1, version = (SELECT k.epoch FROM index_kinds k WHERE k.kind = 'messages') WHERE kind = 'messages' AND dropped = 0 AND marked = 0 AND low IN (SELECT (SELECT max(s.low) FROM index_segments s WHERE s.kind = 'messages' AND s.low < events.no) FROM events WHERE session_no = $1 AND seq = $2 AND erased_seq IS NULL AND agent_no IS NOT NULL AND no <= (SELECT k.indexed FROM index_kinds k WHERE k.kind = 'messages'));
-- row.events.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:messages') AND (group_no, number) IN (SELECT events.session_no, events.seq FROM events WHERE session_no = $1 AND seq = $2 AND erased_seq IS NULL AND agent_no IS NOT NULL);
-- messages.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL AND words IS NOT NULL);
-- run.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL AND words IS NOT NULL);
-- allMessages.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL AND words IS NOT NULL);
-- journal.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE session_no = $1 AND run = $2 AND seq >= $3 AND seq <= $4 AND agent_no IS NULL AND sha256 IS NOT NULL AND erased_seq IS NULL AND words IS NOT NULL);
-- saved.unindex
DELETE FROM word_refs WHERE (prefix, event_no) IN (SELECT substr(sha256, 1, 8), no FROM events WHERE sha256 IS NOT NULL AND erased_seq IS NULL AND (session_no, seq) IN (SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = $1 AND c.agent_no = $2 AND c.run = '') AND words IS NOT NULL);
-- messages.dropSegments
UPDATE index_segments SET dropped = 1, version = (SELECT k.epoch FROM index_kinds k WHERE k.kind = 'messages') WHERE kind = 'messages' AND dropped = 0 AND marked = 0 AND low IN (SELECT (SELECT max(s.low) FROM index_segments s WHERE s.kind = 'messages' AND s.low < events.no) FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL AND no <= (SELECT k.indexed FROM index_kinds k WHERE k.kind = 'messages'));
-- messages.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:messages') AND (group_no, number) IN (SELECT events.session_no, events.seq FROM events WHERE session_no = $1 AND agent_no = $2 AND seq <= $3 AND erased_seq IS NULL AND agent_no IS NOT NULL);
-- run.dropSegments
UPDATE index_segments SET dropped = 1, version = (SELECT k.epoch FROM index_kinds k WHERE k.kind = 'messages') WHERE kind = 'messages' AND dropped = 0 AND marked = 0 AND low IN (SELECT (SELECT max(s.low) FROM index_segments s WHERE s.kind = 'messages' AND s.low < events.no) FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL AND agent_no IS NOT NULL AND no <= (SELECT k.indexed FROM index_kinds k WHERE k.kind = 'messages'));
-- run.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:messages') AND (group_no, number) IN (SELECT events.session_no, events.seq FROM events WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq <= $4 AND erased_seq IS NULL AND agent_no IS NOT NULL);
-- allMessages.dropSegments
UPDATE index_segments SET dropped = 1, version = (SELECT k.epoch FROM index_kinds k WHERE k.kind = 'messages') WHERE kind = 'messages' AND dropped = 0 AND marked = 0 AND low IN (SELECT (SELECT max(s.low) FROM index_segments s WHERE s.kind = 'messages' AND s.low < events.no) FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL AND agent_no IS NOT NULL AND no <= (SELECT k.indexed FROM index_kinds k WHERE k.kind = 'messages'));
-- allMessages.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:messages') AND (group_no, number) IN (SELECT events.session_no, events.seq FROM events WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = events.session_no AND k.branch = events.branch AND events.seq <= k.upto) AND sha256 IS NOT NULL AND erased_seq IS NULL AND agent_no IS NOT NULL);
-- turns.dropAll
DELETE FROM turns WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = turns.session_no AND k.branch = turns.branch AND turns.seq <= k.upto);
-- evals.dropAll
DELETE FROM evals WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = evals.session_no AND k.branch = evals.branch AND evals.seq <= k.upto);
-- calls.dropAll
DELETE FROM calls WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = calls.session_no AND k.branch = calls.branch AND calls.seq <= k.upto);
-- snapshots.dropAll
DELETE FROM snapshots WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = snapshots.session_no AND k.branch = snapshots.branch AND snapshots.seq <= k.upto);
-- heads.dropAll
DELETE FROM heads WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = heads.session_no AND k.branch = heads.branch AND heads.seq <= k.upto);
-- invocations.dropAll
DELETE FROM invocations WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = invocations.session_no AND k.branch = invocations.branch AND invocations.seq <= k.upto);
-- remains.clear
DELETE FROM remains WHERE session_no = $1;
-- remains.keep
INSERT INTO remains (session_no, branch, upto) WITH RECURSIVE need (branch, upto) AS (SELECT b.parent_branch, b.cut_seq FROM branches b JOIN sessions c ON c.no = b.session_no WHERE b.parent_session_no = $1 AND b.session_no <> $2 AND (c.deleted_at IS NULL OR EXISTS (SELECT 1 FROM remains k WHERE k.session_no = b.session_no AND k.branch = b.branch)) UNION SELECT p.parent_branch, p.cut_seq FROM need n JOIN branches p ON p.branch = n.branch WHERE p.session_no = $3 AND p.parent_session_no = $4) SELECT CAST($5 AS BIGINT), need.branch, max(need.upto) FROM need GROUP BY need.branch;
-- derivations.dropAll
DELETE FROM derivations WHERE session_no = $1;
-- branches.dropAll
DELETE FROM branches WHERE session_no = $1 AND NOT EXISTS (SELECT 1 FROM remains k WHERE k.session_no = branches.session_no AND k.branch = branches.branch);
-- remains.forgetMessages
UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = $1 WHERE session_no = $2 AND sha256 IS NOT NULL AND erased_seq IS NULL;
-- remains.forgetEvals
UPDATE evals SET code = NULL, result = NULL, final = NULL, error = NULL, salts = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL;
-- remains.forgetCalls
UPDATE calls SET request = NULL, response = NULL, result = NULL, error = NULL, salts = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL;
-- remains.forgetSnapshots
UPDATE snapshots SET vars = NULL, salt = NULL, erased_seq = $1 WHERE session_no = $2 AND erased_seq IS NULL;
-- remains.forgetHeads
UPDATE heads SET final = NULL, salt = NULL, final_summary = NULL WHERE session_no = $1;
-- remains.forgetInvocations
UPDATE invocations SET label = NULL, checksum = left(encode(sha256(convert_to(concat_ws(',', 'invocations', coalesce('i' || CAST(CAST(invocations.first_seq AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(invocations.seq AS BIGINT) AS TEXT), 'n'), 'n'), 'UTF8')), 'hex'), 16) WHERE session_no = $1;
-- remains.forgetState
UPDATE state SET value = NULL, salt = NULL, expires_at = NULL, ord = -1 WHERE session_no = $1;
-- run.move
UPDATE runs SET status = $1, version = $2, epoch = $3, owner = $4, iteration = $5, checkpoint_seq = $6, wake_at = $7, waits = $8, cancel = $9, pause_at = $10, stop = $11, tokens = $12, cost_usd = $13, seq = $14, updated_at = $15, ended_at = $16 WHERE id = $17;
-- run.progress
UPDATE runs SET version = $1, iteration = $2, checkpoint_seq = $3, tokens = $4, cost_usd = $5, seq = $6, updated_at = $7 WHERE id = $8;
-- run.continueFrom
UPDATE runs SET iteration = $1, checkpoint_seq = $2, seq = $3, version = 2 WHERE id = $4;
-- run.beat
UPDATE runs SET beat = beat + 1 WHERE id = $1 AND epoch = $2;
-- run.admit
UPDATE runs SET beat = -1 - beat, held = 0 WHERE id = $1 AND beat < 0;
-- signal.take
UPDATE signals SET taken_seq = $1 WHERE session_no = $2 AND seq = $3;
-- runs.removeAll
UPDATE runs SET session_no = 0, first_seq = 0, seq = 0, branch = 0, parent = NULL, nested = 0, agent_no = 0, agent_version = '', toolset = substr(toolset, 1, 0), status = 'deleted', version = -1, epoch = -1, beat = 0, held = 0, owner = NULL, iteration = 0, checkpoint_seq = NULL, wake_at = NULL, waits = NULL, cancel = 0, pause_at = NULL, stop = NULL, limits = substr(limits, 1, 0), priority = 0, lease_ms = 0, tokens = 0, cost_usd = NULL, created_at = 0, updated_at = 0, ended_at = 0 WHERE session_no = $1;
-- signals.removeAll
DELETE FROM signals WHERE session_no = $1;
-- decisions.removeAll
DELETE FROM decisions WHERE session_no = $1;
-- checkpoints.removeAll
DELETE FROM checkpoints WHERE session_no = $1;
-- runs.drop
UPDATE runs SET session_no = 0, first_seq = 0, seq = 0, branch = 0, parent = NULL, nested = 0, agent_no = 0, agent_version = '', toolset = substr(toolset, 1, 0), status = 'deleted', version = -1, epoch = -1, beat = 0, held = 0, owner = NULL, iteration = 0, checkpoint_seq = NULL, wake_at = NULL, waits = NULL, cancel = 0, pause_at = NULL, stop = NULL, limits = substr(limits, 1, 0), priority = 0, lease_ms = 0, tokens = 0, cost_usd = NULL, created_at = 0, updated_at = 0, ended_at = 0 WHERE id = $1;
-- signals.drop
DELETE FROM signals WHERE run = $1;
-- decisions.drop
DELETE FROM decisions WHERE run = $1;
-- checkpoints.drop
DELETE FROM checkpoints WHERE session_no = $1 AND agent_no = $2 AND run = $3;
-- checkpoints.dropSaved
DELETE FROM checkpoints WHERE session_no = $1 AND agent_no = $2 AND run = '';
-- decision.answer
UPDATE decisions SET answered_seq = $1 WHERE session_no = $2 AND seq = $3;
-- state.close
UPDATE state SET until_seq = $1 WHERE session_no = $2 AND branch = $3 AND key = $4 AND until_seq IS NULL;
-- state.hide
INSERT INTO state (session_no, branch, key, seq, ord) SELECT b.session_no, b.branch, CAST($1 AS TEXT), CAST($2 AS BIGINT), -1 FROM branches b WHERE b.session_no = $3 AND b.branch = $4;
-- state.closeAll
UPDATE state SET until_seq = $1 WHERE session_no = $2 AND branch = $3 AND until_seq IS NULL;
-- agent.touch
UPDATE agents SET version = version + 1, updated_at = $1, checksum = CASE WHEN agents.checksum IS NULL OR agents.checksum = left(encode(sha256(convert_to(concat_ws(',', 'agents', coalesce('t' || replace(agents.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(agents.name), 'hex'), 'n'), coalesce('t' || replace(agents.agent_type, ',', ',,'), 'n'), coalesce('t' || replace(agents.model, ',', ',,'), 'n'), coalesce('x' || encode(sha256(agents.system), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.tool_ids), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.tags), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(agents.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(agents.updated_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(agents.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(agents.version AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'agents', coalesce('t' || replace(agents.id, ',', ',,'), 'n'), coalesce('x' || encode(sha256(agents.name), 'hex'), 'n'), coalesce('t' || replace(agents.agent_type, ',', ',,'), 'n'), coalesce('t' || replace(agents.model, ',', ',,'), 'n'), coalesce('x' || encode(sha256(agents.system), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.tool_ids), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.tags), 'hex'), 'n'), coalesce('x' || encode(sha256(agents.metadata), 'hex'), 'n'), coalesce('i' || CAST(CAST(agents.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($2 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(agents.deleted_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(agents.version + 1 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE agents.checksum END WHERE id = $3;
-- agent.untag
DELETE FROM agent_tags WHERE agent_no = $1;
-- agent.detachBlocks
DELETE FROM agent_blocks WHERE agent_no = $1;
-- block.release

    UPDATE blobs SET refs = blobs.refs - used.n
    FROM (SELECT value, count(*) AS n FROM block_versions WHERE block_id = $1 GROUP BY value) AS used
    WHERE blobs.no = used.value;
-- block.drop

    DELETE FROM blobs WHERE no IN (SELECT value FROM block_versions WHERE block_id = $1) AND form < 2 AND refs = 0
    AND pinned = 0 AND expires_at IS NOT NULL AND expires_at <= $2
    AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = blobs.no)
    AND NOT EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = blobs.no);
-- block.removeVersions
DELETE FROM block_versions WHERE block_id = $1;
-- tasks.removeAll
DELETE FROM tasks WHERE board_id IN (SELECT id FROM boards WHERE session_no = $1);
-- tasks.removeBoard
DELETE FROM tasks WHERE board_id = $1;
-- boards.removeAll
DELETE FROM boards WHERE session_no = $1;
-- capture.expire
UPDATE captures SET expires_at = $1, seq = $2 WHERE id = $3;
-- capture.diverge
UPDATE captures SET diverged = $1, seq = $2 WHERE id = $3;
-- claim.put
INSERT INTO holdfast_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;
-- claim.remove
DELETE FROM holdfast_meta WHERE name = $1;
-- claim.sweep
DELETE FROM holdfast_meta WHERE name = $1 AND value = $2;
-- blob.pin
UPDATE blobs SET pinned = $1, condemned = NULL, epoch = (SELECT n FROM counters WHERE name = 'gc'), checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($2 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END WHERE sha256 = $3;
-- blob.drop
DELETE FROM blobs WHERE sha256 = $1 AND refs = 0;
-- blob.disown

    UPDATE blobs SET sha256 = $1, size = 0, form = 4, body = NULL, key = NULL, stored = 0, pinned = 0, expires_at = 0,
      checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256($2), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(0 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(0 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(0 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16)
    WHERE sha256 = $3 AND refs = 0;
-- blob.regrow
UPDATE blobs SET form = 3, body = NULL, key = NULL, stored = 0, checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(0 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END WHERE sha256 = $1;
-- blobs.condemn

    UPDATE blobs SET condemned = $1 WHERE no > $2 AND no <= $3 AND refs = 0 AND pinned = 0 AND condemned IS NULL
    AND expires_at IS NOT NULL AND expires_at <= $4 AND epoch <= $5
    AND NOT EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = blobs.no);
-- links.makeRoom

    DELETE FROM blob_links WHERE ord >= 0 AND parent_no = (SELECT no FROM blobs WHERE sha256 = $1)
    AND EXISTS (SELECT 1 FROM blobs WHERE sha256 = $2 AND form = 4);
-- links.adopt

    UPDATE blob_links SET parent_no = (SELECT no FROM blobs WHERE sha256 = $1) WHERE parent_no = (SELECT no FROM blobs WHERE sha256 = $2)
    AND EXISTS (SELECT 1 FROM blobs WHERE sha256 = $3 AND form = 2);
-- links.move
UPDATE blob_links SET parent_no = (SELECT no FROM blobs WHERE sha256 = $1) WHERE ord >= 0 AND parent_no = (SELECT no FROM blobs WHERE sha256 = $2);
-- links.cut
DELETE FROM blob_links WHERE parent_no = (SELECT no FROM blobs WHERE sha256 = $1) AND ord <= $2;
-- links.forget
DELETE FROM blob_links WHERE parent_no = (SELECT no FROM blobs WHERE sha256 = $1) AND ord < 0;
-- links.drop
DELETE FROM blob_links WHERE parent_no = $1 AND NOT EXISTS (SELECT 1 FROM blobs WHERE no = $2);
-- segments.forget
DELETE FROM blob_segments WHERE blob_no = (SELECT no FROM blobs WHERE sha256 = $1);
-- segments.drop
DELETE FROM blob_segments WHERE blob_no = $1 AND NOT EXISTS (SELECT 1 FROM blobs WHERE no = $2);
-- segment.grow
UPDATE segments SET size = $1, sealed = 0, sha256 = NULL, touched_at = $2, checksum = CASE WHEN segments.checksum IS NULL OR segments.checksum = left(encode(sha256(convert_to(concat_ws(',', 'segments', coalesce('t' || replace(segments.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(segments.sealed AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(segments.sha256), 'hex'), 'n'), coalesce('i' || CAST(CAST(segments.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(segments.touched_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'segments', coalesce('t' || replace(segments.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(0 AS BIGINT) AS TEXT), 'n'), 'n', coalesce('i' || CAST(CAST(segments.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($3 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE segments.checksum END WHERE id = $4;
-- segment.seal
UPDATE segments SET size = $1, sealed = 1, sha256 = $2, checksum = CASE WHEN segments.checksum IS NULL OR segments.checksum = left(encode(sha256(convert_to(concat_ws(',', 'segments', coalesce('t' || replace(segments.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(segments.sealed AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(segments.sha256), 'hex'), 'n'), coalesce('i' || CAST(CAST(segments.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(segments.touched_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'segments', coalesce('t' || replace(segments.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(1 AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256($3), 'hex'), 'n'), coalesce('i' || CAST(CAST(segments.created_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(segments.touched_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE segments.checksum END WHERE id = $4;
-- segment.drop
DELETE FROM segments WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM blob_segments u WHERE u.segment_id = $2);
-- frames.clear
DELETE FROM segment_frames WHERE segment_id = $1 AND start >= $2;
-- frames.drop
DELETE FROM segment_frames WHERE segment_id = $1 AND NOT EXISTS (SELECT 1 FROM blob_segments u WHERE u.segment_id = $2);
-- gc.advance
UPDATE counters SET n = n + 1, checksum = CASE WHEN counters.checksum IS NULL OR counters.checksum = left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(counters.n AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(counters.n + 1 AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE counters.checksum END WHERE name = 'gc';
-- inline.index
INSERT INTO word_refs (prefix, event_no) SELECT substr(sha256, 1, 8), no FROM events WHERE no > (SELECT n FROM counters WHERE name = 'word_refs') AND no <= $1 AND words IS NOT NULL ORDER BY 1 ON CONFLICT DO NOTHING;
-- inline.indexed
UPDATE counters SET n = (SELECT coalesce(max(no), 0) FROM events WHERE no <= $1), checksum = CASE WHEN counters.checksum IS NULL OR counters.checksum = left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(counters.n AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST((SELECT coalesce(max(no), 0) FROM events WHERE no <= $2) AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE counters.checksum END WHERE name = 'word_refs';
-- inline.shorten
UPDATE counters SET n = coalesce((SELECT max(no) FROM events), 0), checksum = CASE WHEN counters.checksum IS NULL OR counters.checksum = left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(counters.n AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'counters', coalesce('t' || replace(counters.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(coalesce((SELECT max(no) FROM events), 0) AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE counters.checksum END WHERE name = 'word_refs' AND n > coalesce((SELECT max(no) FROM events), 0);
-- memory.addField
INSERT INTO metadata_fields (kind, scope, path, value, item) SELECT 'memories', m.scope_no, $1, $2, m.no FROM memories m WHERE m.id = $3;
-- memory.addIndexItem
INSERT INTO index_items (kind, group_no, item, segment) SELECT 'memories', m.scope_no, m.no, NULL FROM memories m WHERE m.id = $1;
-- memory.remove
DELETE FROM memories WHERE id = $1;
-- memory.removeChanges
DELETE FROM memory_changes WHERE memory_id = $1;
-- memories.removeScope
DELETE FROM memories WHERE scope_no = $1;
-- memories.removeScopeChanges
DELETE FROM memory_changes WHERE memory_id IN (SELECT m.id FROM memories m WHERE m.scope_no = $1);
-- metadata.removeItem
DELETE FROM metadata_fields WHERE kind = $1 AND scope = $2 AND item = $3;
-- metadata.removeItems
DELETE FROM metadata_fields WHERE kind = $1 AND scope = $2 AND item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]));
-- metadata.removeStrays
DELETE FROM metadata_fields WHERE kind = $1 AND scope = $2 AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.collection_no = metadata_fields.scope AND d.item = metadata_fields.item);
-- metadata.removeScope
DELETE FROM metadata_fields WHERE kind = $1 AND scope = $2;
-- documents.release

    UPDATE blobs SET refs = blobs.refs - used.n
    FROM (SELECT d.content, count(*) AS n FROM documents d
      WHERE d.collection_no = $1 AND d.item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[])) AND d.content IS NOT NULL GROUP BY d.content) AS used
    WHERE blobs.no = used.content;
-- documents.drop

    DELETE FROM blobs WHERE no IN (SELECT d.content FROM documents d WHERE d.collection_no = $1 AND d.item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[])))
    AND form < 2 AND refs = 0 AND pinned = 0 AND expires_at IS NOT NULL AND expires_at <= $3
    AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = blobs.no) AND NOT EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = blobs.no);
-- documents.remove
DELETE FROM documents WHERE collection_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- vectors.remove

    DELETE FROM vectors WHERE collection_no = $1 AND generation = $2 AND item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]));
-- vectors.touch
UPDATE vector_collections SET change = change + 1, checksum = CASE WHEN vector_collections.checksum IS NULL OR vector_collections.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_collections', coalesce('i' || CAST(CAST(vector_collections.no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_collections.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_collections.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.change AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.last_item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.documents AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'vector_collections', coalesce('i' || CAST(CAST(vector_collections.no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_collections.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_collections.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.change + 1 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.last_item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.documents AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE vector_collections.checksum END WHERE no = $1;
-- vectors.pack
UPDATE vector_generations SET packed = $1, checksum = CASE WHEN vector_generations.checksum IS NULL OR vector_generations.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_generations', coalesce('i' || CAST(CAST(vector_generations.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.generation AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.model, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.dimension AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.metric, ',', ',,'), 'n'), coalesce('t' || replace(vector_generations.precision, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.seed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.packed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.removals AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.vectors AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'vector_generations', coalesce('i' || CAST(CAST(vector_generations.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.generation AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.model, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.dimension AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.metric, ',', ',,'), 'n'), coalesce('t' || replace(vector_generations.precision, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.seed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST($2 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.removals AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.vectors AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE vector_generations.checksum END WHERE collection_no = $3 AND generation = $4;
-- vectors.addPage
INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) SELECT c.no, $1, $2, c.change, $3 FROM vector_collections c WHERE c.no = $4;
-- documents.releaseAll

    UPDATE blobs SET refs = blobs.refs - used.n
    FROM (SELECT d.content, count(*) AS n FROM documents d
      WHERE d.collection_no = $1  AND d.content IS NOT NULL GROUP BY d.content) AS used
    WHERE blobs.no = used.content;
-- documents.dropAll

    DELETE FROM blobs WHERE no IN (SELECT d.content FROM documents d WHERE d.collection_no = $1 )
    AND form < 2 AND refs = 0 AND pinned = 0 AND expires_at IS NOT NULL AND expires_at <= $2
    AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = blobs.no) AND NOT EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = blobs.no);
-- documents.removeAll
DELETE FROM documents WHERE collection_no = $1;
-- vectors.removeAll
DELETE FROM vectors WHERE collection_no = $1;
-- vectors.removePages
DELETE FROM vector_pages WHERE collection_no = $1;
-- vectors.removeGenerations
DELETE FROM vector_generations WHERE collection_no = $1;
-- documents.embed
UPDATE documents SET item = $1, pending = NULL, checksum = CASE WHEN documents.checksum IS NULL OR documents.checksum = left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(documents.pending AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST($2 AS BIGINT) AS TEXT), 'n'), 'n', coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) ELSE documents.checksum END WHERE collection_no = $3 AND item = $4;
-- documents.needNone
UPDATE documents SET pending = NULL, checksum = CASE WHEN documents.checksum IS NULL OR documents.checksum = left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(documents.pending AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), 'n', coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) ELSE documents.checksum END  WHERE collection_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- documents.needOne
UPDATE documents SET pending = 1, checksum = CASE WHEN documents.checksum IS NULL OR documents.checksum = left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(documents.pending AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(1 AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) ELSE documents.checksum END  WHERE collection_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- documents.settle
UPDATE documents SET pending = NULL, checksum = CASE WHEN documents.checksum IS NULL OR documents.checksum = left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(documents.pending AS BIGINT) AS TEXT), 'n'), coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'documents', coalesce('i' || CAST(CAST(documents.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(documents.id, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(documents.item AS BIGINT) AS TEXT), 'n'), 'n', coalesce('x' || encode(sha256(documents.words), 'hex'), 'n'), coalesce('x' || encode(sha256((SELECT x.sha256 FROM blobs x WHERE x.no = documents.content)), 'hex'), 'n')), 'UTF8')), 'hex'), 16) ELSE documents.checksum END  WHERE pending IS NOT NULL AND collection_no = $1
    AND EXISTS (SELECT 1 FROM vectors v WHERE v.collection_no = $2 AND v.generation = $3
      AND v.item = documents.item);
-- vectors.dropGenerationPages
DELETE FROM vector_pages WHERE collection_no = $1 AND generation = $2;
-- failures.forget
DELETE FROM embedding_failures WHERE kind = $1 AND scope = $2 AND item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]));
-- failures.forgetScope
DELETE FROM embedding_failures WHERE kind = $1 AND scope = $2;
-- failures.retryDue
UPDATE embedding_failures SET due_at = 0 WHERE kind = $1 AND due_at IS NOT NULL;
-- failures.retry
UPDATE embedding_failures SET due_at = 0, attempts = 0 WHERE kind = $1;
-- passages.embed
UPDATE passages SET item = $1, pending = NULL WHERE collection_no = $2 AND item = $3;
-- passages.needOne
UPDATE passages SET pending = 1 WHERE collection_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- passages.settle
UPDATE passages SET pending = NULL WHERE collection_no = $1 AND pending = 1
    AND EXISTS (SELECT 1 FROM vectors v WHERE v.collection_no = $2 AND v.generation = $3
      AND v.item = passages.item);
-- index.cutTo
UPDATE index_kinds SET cut = $1 WHERE kind = 'messages';
-- memories.cut
UPDATE index_items SET cut = 1 WHERE kind = 'memories' AND group_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- memory.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:memories:' || CAST(CAST($1 AS BIGINT) AS TEXT)) AND group_no = $2 AND number = $3;
-- memories.markPassages
UPDATE passages SET pending = -1 WHERE collection_no = (SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:memories:' || CAST(CAST($1 AS BIGINT) AS TEXT)) AND group_no = $2;
-- passages.mark
UPDATE passages SET pending = -1 WHERE collection_no = $1 AND item = ANY(CAST(translate(CAST($2 AS TEXT), '[]', '{}') AS BIGINT[]));
-- passages.touch
UPDATE vector_collections SET change = change + 1, documents = vector_collections.documents - (SELECT count(*) FROM passages p WHERE p.pending = -1 AND p.collection_no = vector_collections.no), checksum = CASE WHEN vector_collections.checksum IS NULL OR vector_collections.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_collections', coalesce('i' || CAST(CAST(vector_collections.no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_collections.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_collections.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.change AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.last_item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.documents AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'vector_collections', coalesce('i' || CAST(CAST(vector_collections.no AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_collections.name, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_collections.generation AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.change + 1 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.last_item AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.documents - (SELECT count(*) FROM passages p WHERE p.pending = -1 AND p.collection_no = vector_collections.no) AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_collections.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE vector_collections.checksum END WHERE no IN (SELECT p.collection_no FROM passages p WHERE p.pending = -1);
-- passages.emptyPages
UPDATE vector_pages SET codes = CASE WHEN length(codes) = 0 THEN codes ELSE substr(codes, 1, 0) END, change = (SELECT c.change FROM vector_collections c WHERE c.no = vector_pages.collection_no) WHERE (collection_no, generation, first_item) IN (SELECT p.collection_no, g.generation, (SELECT max(q.first_item) FROM vector_pages q WHERE q.collection_no = p.collection_no AND q.generation = g.generation AND q.first_item <= p.item) FROM passages p JOIN vector_generations g ON g.collection_no = p.collection_no WHERE p.pending = -1 AND p.item <= g.packed);
-- passages.countVectors
UPDATE vector_generations SET removals = removals + 1, vectors = vector_generations.vectors - (SELECT count(*) FROM passages p JOIN vectors v ON v.collection_no = p.collection_no AND v.generation = vector_generations.generation AND v.item = p.item WHERE p.pending = -1 AND p.collection_no = vector_generations.collection_no), checksum = CASE WHEN vector_generations.checksum IS NULL OR vector_generations.checksum = left(encode(sha256(convert_to(concat_ws(',', 'vector_generations', coalesce('i' || CAST(CAST(vector_generations.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.generation AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.model, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.dimension AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.metric, ',', ',,'), 'n'), coalesce('t' || replace(vector_generations.precision, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.seed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.packed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.removals AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.vectors AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'vector_generations', coalesce('i' || CAST(CAST(vector_generations.collection_no AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.generation AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.model, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.dimension AS BIGINT) AS TEXT), 'n'), coalesce('t' || replace(vector_generations.metric, ',', ',,'), 'n'), coalesce('t' || replace(vector_generations.precision, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(vector_generations.seed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.packed AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.removals + 1 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.vectors - (SELECT count(*) FROM passages p JOIN vectors v ON v.collection_no = p.collection_no AND v.generation = vector_generations.generation AND v.item = p.item WHERE p.pending = -1 AND p.collection_no = vector_generations.collection_no) AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(vector_generations.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE vector_generations.checksum END WHERE collection_no IN (SELECT p.collection_no FROM passages p WHERE p.pending = -1);
-- passages.dropVectors
DELETE FROM vectors WHERE (collection_no, generation, item) IN (SELECT p.collection_no, g.generation, p.item FROM passages p JOIN vector_generations g ON g.collection_no = p.collection_no WHERE p.pending = -1);
-- passages.dropFailures
DELETE FROM embedding_failures WHERE kind IN ('messages', 'memories') AND (scope, item) IN (SELECT p.collection_no, p.item FROM passages p WHERE p.pending = -1);
-- passages.drop
DELETE FROM passages WHERE pending = -1;
-- vectors.refillPage
UPDATE vector_pages SET codes = $1, change = (SELECT c.change FROM vector_collections c WHERE c.no = $2) WHERE collection_no = $3 AND generation = $4 AND first_item = $5;
-- index.advance
UPDATE index_kinds SET epoch = epoch + $1, indexed = $2, language = $3 WHERE kind = $4;
-- index.repair
UPDATE index_kinds SET epoch = $1, indexed = $2, settled = $3, language = $4 WHERE kind = $5;
-- index.removeKind
DELETE FROM index_kinds WHERE kind = $1;
-- index.removeSegments
DELETE FROM index_segments WHERE kind = $1;
-- index.removePages
DELETE FROM index_pages WHERE kind = $1;
-- index.removeItems
DELETE FROM index_items WHERE kind = $1;
-- index.addMissingMemories
INSERT INTO index_items (kind, group_no, item, segment) SELECT 'memories', m.scope_no, m.no, NULL FROM memories m WHERE NOT EXISTS (SELECT 1 FROM index_items i WHERE i.kind = 'memories' AND i.group_no = m.scope_no AND i.item = m.no);
-- index.removeStrayMemories
DELETE FROM index_items WHERE kind = 'memories' AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.scope_no = index_items.group_no AND m.no = index_items.item);
-- index.addMissingDocuments
INSERT INTO index_items (kind, group_no, item, segment) SELECT 'documents', d.collection_no, d.item, NULL FROM documents d WHERE NOT EXISTS (SELECT 1 FROM index_items i WHERE i.kind = 'documents' AND i.group_no = d.collection_no AND i.item = d.item);
-- index.removeStrayDocuments
DELETE FROM index_items WHERE kind = 'documents' AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.collection_no = index_items.group_no AND d.item = index_items.item);
-- index.bump
UPDATE index_kinds SET epoch = epoch + 1 WHERE kind = $1;
-- index.settle
UPDATE index_kinds SET settled = (SELECT coalesce(max(no), 0) FROM events) WHERE kind = 'messages';
-- index.dropSegment
DELETE FROM index_segments WHERE kind = $1 AND segment = $2;
-- index.dropPages
DELETE FROM index_pages WHERE kind = $1 AND segment = $2;
-- index.moveItems
UPDATE index_items SET segment = $1 WHERE kind = $2 AND segment = $3;
-- index.removeDropped
DELETE FROM index_pages WHERE kind = 'messages' AND segment IN (SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' AND s.dropped = 1);
-- index.unmark
UPDATE index_segments SET marked = 0 WHERE kind = 'messages' AND marked = 1;
-- index.removeBeyond
DELETE FROM index_pages WHERE kind = 'messages' AND segment IN (SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' AND s.low >= (SELECT coalesce(max(no), 0) FROM events));
-- index.dropBeyond
DELETE FROM index_segments WHERE kind = 'messages' AND low >= (SELECT coalesce(max(no), 0) FROM events);
-- index.shorten
UPDATE index_segments SET high = (SELECT coalesce(max(no), 0) FROM events) WHERE kind = 'messages' AND high > (SELECT coalesce(max(no), 0) FROM events);
-- index.shortenKind
UPDATE index_kinds SET indexed = CASE WHEN indexed > (SELECT coalesce(max(no), 0) FROM events) THEN (SELECT coalesce(max(no), 0) FROM events) ELSE indexed END, settled = CASE WHEN settled > (SELECT coalesce(max(no), 0) FROM events) THEN (SELECT coalesce(max(no), 0) FROM events) ELSE settled END, cut = CASE WHEN cut > (SELECT coalesce(max(no), 0) FROM events) THEN (SELECT coalesce(max(no), 0) FROM events) ELSE cut END WHERE kind = 'messages';
-- index.dropPagesOfItem
DELETE FROM index_pages WHERE kind = $1 AND segment = (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = $4);
-- index.dropSegmentOfItem
DELETE FROM index_segments WHERE kind = $1 AND segment = (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = $4);
-- index.pendSegmentOfItem
UPDATE index_items SET segment = NULL WHERE kind = $1 AND segment = (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = $4);
-- index.cover
UPDATE index_items SET segment = $1 WHERE kind = $2 AND group_no = $3 AND item = $4;
-- index.removeItem
DELETE FROM index_items WHERE kind = $1 AND group_no = $2 AND item = $3;
-- index.dropPagesOfItems
DELETE FROM index_pages WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = ANY(CAST(translate(CAST($4 AS TEXT), '[]', '{}') AS BIGINT[])) AND i.segment IS NOT NULL);
-- index.dropSegmentsOfItems
DELETE FROM index_segments WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = ANY(CAST(translate(CAST($4 AS TEXT), '[]', '{}') AS BIGINT[])) AND i.segment IS NOT NULL);
-- index.pendSegmentsOfItems
UPDATE index_items SET segment = NULL WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.item = ANY(CAST(translate(CAST($4 AS TEXT), '[]', '{}') AS BIGINT[])) AND i.segment IS NOT NULL);
-- index.removeSomeItems
DELETE FROM index_items WHERE kind = $1 AND group_no = $2 AND item = ANY(CAST(translate(CAST($3 AS TEXT), '[]', '{}') AS BIGINT[]));
-- index.dropPagesOfGroup
DELETE FROM index_pages WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.segment IS NOT NULL);
-- index.dropSegmentsOfGroup
DELETE FROM index_segments WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.segment IS NOT NULL);
-- index.pendSegmentsOfGroup
UPDATE index_items SET segment = NULL WHERE kind = $1 AND segment IN (SELECT i.segment FROM index_items i WHERE i.kind = $2 AND i.group_no = $3 AND i.segment IS NOT NULL);
-- index.removeGroup
DELETE FROM index_items WHERE kind = $1 AND group_no = $2;
-- session.id
SELECT id AS value FROM sessions WHERE id = $1 FOR UPDATE;
-- session.version
SELECT version AS value FROM sessions WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;
-- session.tombstone
SELECT version AS value FROM sessions WHERE id = $1 AND deleted_at IS NOT NULL FOR UPDATE;
-- alias.session
SELECT coalesce((SELECT s.id FROM sessions s WHERE s.no = l.session_no AND s.deleted_at IS NULL), '') AS value FROM aliases l WHERE l.name = $1 FOR UPDATE;
-- session.seq
SELECT seq AS value FROM sessions WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;
-- session.branch
SELECT branch AS value FROM sessions WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;
-- session.head
SELECT (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS value FROM sessions s WHERE s.id = $1 AND s.deleted_at IS NULL FOR UPDATE;
-- turn.version
SELECT (SELECT max(r.seq) FROM turns r WHERE r.session_no = s.no AND r.first_seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- call.version
SELECT (SELECT max(r.seq) FROM calls r WHERE r.session_no = s.no AND r.first_seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- eval.version
SELECT (SELECT max(r.seq) FROM evals r WHERE r.session_no = s.no AND r.first_seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- invocation.version
SELECT (SELECT max(r.seq) FROM invocations r WHERE r.session_no = s.no AND r.first_seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- invocation.waits
SELECT (WITH RECURSIVE up (no) AS (SELECT c.no FROM sessions c WHERE c.id = $1 UNION SELECT r.session_no FROM up JOIN invocations r ON r.callee_session_no = up.no WHERE r.status = 'running' AND NOT EXISTS (SELECT 1 FROM invocations n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq AND n.seq > r.seq)) SELECT count(*) FROM up WHERE up.no = s.no) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- store.lock
SELECT name AS value FROM holdfast_meta WHERE name = $1 FOR UPDATE;
-- session.named
SELECT (SELECT count(*) || ':' || coalesce(sum(r.session_no), 0) || ':' || coalesce(sum(r.seq), 0) FROM invocations r WHERE r.callee_session_no = s.no) || '/' || (SELECT count(*) || ':' || coalesce(sum(r.session_no), 0) || ':' || coalesce(sum(r.seq), 0) FROM invocations r WHERE r.source_session_no = s.no) AS value FROM sessions s WHERE s.id = $1 FOR UPDATE;
-- remains.upto
SELECT r.upto AS value FROM remains r WHERE r.session_no = (SELECT no FROM sessions WHERE id = $1) AND r.branch = $2 FOR UPDATE;
-- messages.live
SELECT (SELECT count(*) FROM events m WHERE m.session_no = s.no AND m.erased_seq IS NULL AND m.seq <= $1 AND m.agent_no = (SELECT no FROM agents WHERE id = $2)) AS value FROM sessions s WHERE s.id = $3 FOR UPDATE;
-- message.key
SELECT e.seq AS value FROM sessions s JOIN events e ON e.session_no = s.no AND e.branch = s.branch WHERE s.id = $1 AND e.key = $2 FOR UPDATE;
-- run.version
SELECT version AS value FROM runs WHERE id = $1 FOR UPDATE;
-- run.epoch
SELECT epoch AS value FROM runs WHERE id = $1 FOR UPDATE;
-- run.beat
SELECT beat AS value FROM runs WHERE id = $1 FOR UPDATE;
-- runs.newest
SELECT (SELECT max(r.first_seq) FROM runs r WHERE r.session_no = s.no) AS value FROM sessions s WHERE s.id = $1 FOR UPDATE;
-- run.active
SELECT (SELECT r.id FROM runs r WHERE r.session_no = s.no AND r.ended_at IS NULL ORDER BY r.nested, r.no LIMIT 1) AS value FROM sessions s WHERE s.id = $1 FOR UPDATE;
-- checkpoint.last
SELECT (SELECT max(c.seq) FROM checkpoints c JOIN agents a ON a.no = c.agent_no WHERE a.id = $1 AND c.session_no = s.no AND c.run = '') AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- decision.answered
SELECT (SELECT d.answered_seq FROM decisions d WHERE d.session_no = s.no AND d.seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- signal.taken
SELECT (SELECT g.taken_seq FROM signals g WHERE g.session_no = s.no AND g.seq = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- state.version
SELECT state_seq AS value FROM sessions WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;
-- agent.version
SELECT version AS value FROM agents WHERE id = $1 FOR UPDATE;
-- block.version
SELECT version AS value FROM blocks WHERE id = $1 FOR UPDATE;
-- board.id
SELECT b.id AS value FROM sessions s JOIN boards b ON b.session_no = s.no WHERE s.id = $1 AND b.agent = $2 FOR UPDATE;
-- boards.last
SELECT (SELECT coalesce(max(b.ord), -1) FROM boards b WHERE b.session_no = s.no) AS value FROM sessions s WHERE s.id = $1 FOR UPDATE;
-- board.version
SELECT version AS value FROM boards WHERE id = $1 FOR UPDATE;
-- task.version
SELECT version AS value FROM tasks WHERE board_id = $1 AND id = $2 FOR UPDATE;
-- capture.seq
SELECT (SELECT CAST(c.session_no AS TEXT) || ' ' || CAST(c.seq AS TEXT) FROM captures c WHERE c.id = $1) AS value FROM sessions s WHERE s.id = $2 FOR UPDATE;
-- capture.newest
SELECT (SELECT c.id FROM captures c WHERE c.request = $1 AND c.agent = $2 AND c.agent_session = $3 AND c.diverged = 0 ORDER BY c.no DESC LIMIT 1) AS value FROM sessions s WHERE s.id = $4 FOR UPDATE;
-- claim.value
SELECT value FROM holdfast_meta WHERE name = $1 FOR UPDATE;
-- memory.scope
SELECT no AS value FROM memory_scopes WHERE no = $1 FOR UPDATE;
-- memory.version
SELECT version AS value FROM memories WHERE id = $1 FOR UPDATE;
-- memory.same
SELECT (SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.digest = $1) AS value FROM memory_scopes s WHERE s.no = $2 FOR UPDATE;
-- memory.fact
SELECT (SELECT max(m.no) FROM memories m WHERE m.scope_no = s.no AND m.fact_key = $1) AS value FROM memory_scopes s WHERE s.no = $2 FOR UPDATE;
-- blob.claims
SELECT no || ':' || form || ':' || refs || ':' || pinned || ':' || epoch || ':' || coalesce(expires_at, -1) || ':' || coalesce(condemned, -1) AS value FROM blobs WHERE sha256 = $1 FOR UPDATE;
-- blob.parents
SELECT CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = blobs.no) THEN 1 ELSE 0 END AS value FROM blobs WHERE sha256 = $1 FOR UPDATE;
-- segment.size
SELECT size AS value FROM segments WHERE id = $1 FOR UPDATE;
-- segment.used
SELECT (SELECT max(u.length) FROM blob_segments u WHERE u.segment_id = s.id) AS value FROM segments s WHERE s.id = $1 FOR UPDATE;
-- gc.epoch
SELECT n AS value FROM counters WHERE name = 'gc' FOR UPDATE;
-- inline.there
SELECT no AS value FROM events WHERE no = $1 AND sha256 = $2 AND words IS NOT NULL FOR UPDATE;
-- collection.generation
SELECT generation AS value FROM vector_collections WHERE no = $1 FOR UPDATE;
-- collection.change
SELECT change AS value FROM vector_collections WHERE no = $1 FOR UPDATE;
-- collection.no
SELECT no AS value FROM vector_collections WHERE name = $1 FOR UPDATE;
-- generation.tail
SELECT CAST(packed AS TEXT) || ':' || CAST(removals AS TEXT) AS value FROM vector_generations WHERE collection_no = $1 AND generation = $2 FOR UPDATE;
-- page.change
SELECT change AS value FROM vector_pages WHERE collection_no = $1 AND generation = $2 AND first_item = $3 FOR UPDATE;
-- index.epoch
SELECT epoch AS value FROM index_kinds WHERE kind = $1 FOR UPDATE;
SELECT no, id, seq, chain, branch, messages, state_seq, deleted_at, version FROM sessions WHERE id = ANY($1) ORDER BY no FOR UPDATE;
SELECT no, id FROM agents WHERE id = ANY($1) ORDER BY no FOR UPDATE;
SELECT no, sha256, expires_at, CASE WHEN pinned = 1 OR refs > 0 OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = no) THEN 1 ELSE 0 END AS kept FROM blobs WHERE sha256 = ANY($1) ORDER BY no FOR UPDATE;
SELECT id, seq, deleted_at FROM sessions WHERE id = ANY($1);
-- agents.insert × 1
INSERT INTO agents (id, name, agent_type, model, system, tool_ids, tags, metadata, created_at, updated_at, deleted_at, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);
-- agents.insert × 2
INSERT INTO agents (id, name, agent_type, model, system, tool_ids, tags, metadata, created_at, updated_at, deleted_at, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12 FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12);
-- agent_tags.insert × 1
INSERT INTO agent_tags (tag, agent_no) VALUES ($1, $2);
-- agent_tags.insert × 2
INSERT INTO agent_tags (tag, agent_no) SELECT u.c0, u.c1 FROM unnest($1::text[], $2::bigint[]) AS u(c0, c1);
-- blocks.insert × 1
INSERT INTO blocks (id, label, char_limit, description, read_only, version, created_at, updated_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);
-- blocks.insert × 2
INSERT INTO blocks (id, label, char_limit, description, read_only, version, created_at, updated_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8);
-- block_versions.insert × 1
INSERT INTO block_versions (block_id, version, value, edit, at, checksum) VALUES ($1, $2, (SELECT no FROM blobs WHERE sha256 = $3), $4, $5, $6);
-- block_versions.insert × 2
INSERT INTO block_versions (block_id, version, value, edit, at, checksum) SELECT u.c0, u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2), u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bigint[], $6::text[]) AS u(c0, c1, c2, c3, c4, c5);
-- agent_blocks.insert × 1
INSERT INTO agent_blocks (agent_no, ord, block_id, checksum) VALUES ($1, $2, $3, $4);
-- agent_blocks.insert × 2
INSERT INTO agent_blocks (agent_no, ord, block_id, checksum) SELECT u.c0, u.c1, u.c2, u.c3 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS u(c0, c1, c2, c3);
-- sessions.insert × 1
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, head_no, alias_count, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);
-- sessions.insert × 2
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, head_no, alias_count, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::bigint[], $21::bigint[], $22::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21);
-- branches.insert × 1
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) VALUES ($1, $2, $3, $4, $5, $6, $7);
-- branches.insert × 2
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6);
-- turns.insert × 1
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
-- turns.insert × 2
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- clears.insert × 1
INSERT INTO clears (session_no, seq, branch, agent_no, run) VALUES ($1, $2, $3, $4, $5);
-- clears.insert × 2
INSERT INTO clears (session_no, seq, branch, agent_no, run) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS u(c0, c1, c2, c3, c4);
-- remains.insert × 1
INSERT INTO remains (session_no, branch, upto) VALUES ($1, $2, $3);
-- remains.insert × 2
INSERT INTO remains (session_no, branch, upto) SELECT u.c0, u.c1, u.c2 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2);
-- evals.insert × 1
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT no FROM blobs WHERE sha256 = $8), (SELECT no FROM blobs WHERE sha256 = $9), (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), $12, $13, $14);
-- evals.insert × 2
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM blobs WHERE sha256 = u.c7), (SELECT no FROM blobs WHERE sha256 = u.c8), (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), u.c11, u.c12, u.c13 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13);
-- calls.insert × 1
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), (SELECT no FROM blobs WHERE sha256 = $12), (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21);
-- calls.insert × 2
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), (SELECT no FROM blobs WHERE sha256 = u.c11), (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::float8[], $19::bigint[], $20::bigint[], $21::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20);
-- snapshots.insert × 1
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) VALUES ($1, $2, $3, $4, (SELECT no FROM blobs WHERE sha256 = $5), $6, $7, $8);
-- snapshots.insert × 2
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, (SELECT no FROM blobs WHERE sha256 = u.c4), u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- heads.insert × 1
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT no FROM blobs WHERE sha256 = $9), $10, $11, $12, $13, $14, $15, $16);
-- heads.insert × 2
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, (SELECT no FROM blobs WHERE sha256 = u.c8), u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bigint[], $13::text[], $14::bigint[], $15::text[], $16::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15);
-- invocations.insert × 1
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20);
-- invocations.insert × 2
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[], $19::bigint[], $20::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19);
-- derivations.insert × 1
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
-- derivations.insert × 2
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- runs.insert × 1
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31);
-- runs.insert × 2
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21, u.c22, u.c23, u.c24, u.c25, u.c26, u.c27, u.c28, u.c29, u.c30 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bytea[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[], $23::bytea[], $24::bigint[], $25::bigint[], $26::bigint[], $27::float8[], $28::bigint[], $29::bigint[], $30::bigint[], $31::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24, c25, c26, c27, c28, c29, c30);
-- signals.insert × 1
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) VALUES ($1, $2, $3, $4, $5, $6);
-- signals.insert × 2
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- decisions.insert × 1
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) VALUES ($1, $2, $3, $4, $5, $6);
-- decisions.insert × 2
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- checkpoints.insert × 1
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) VALUES ($1, $2, $3, $4, $5, $6);
-- checkpoints.insert × 2
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- blobs.insert × 1
INSERT INTO blobs (sha256, size, media, utf8, form, stored, store, key, refs, pinned, expires_at, epoch, condemned, created_at, body, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);
-- blobs.insert × 2
INSERT INTO blobs (sha256, size, media, utf8, form, stored, store, key, refs, pinned, expires_at, epoch, condemned, created_at, body, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15 FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[], $16::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15);
-- blob_links.insert × 1
INSERT INTO blob_links (parent_no, ord, child_no) VALUES ((SELECT no FROM blobs WHERE sha256 = $1), $2, (SELECT no FROM blobs WHERE sha256 = $3)) ON CONFLICT DO NOTHING;
-- blob_links.insert × 2
INSERT INTO blob_links (parent_no, ord, child_no) SELECT (SELECT no FROM blobs WHERE sha256 = u.c0), u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2) FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS u(c0, c1, c2) ON CONFLICT DO NOTHING;
-- segments.insert × 1
INSERT INTO segments (id, size, sealed, sha256, created_at, touched_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7);
-- segments.insert × 2
INSERT INTO segments (id, size, sealed, sha256, created_at, touched_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[]) AS u(c0, c1, c2, c3, c4, c5, c6);
-- segment_frames.insert × 1
INSERT INTO segment_frames (segment_id, start, size, stored, store, key, body, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
-- segment_frames.insert × 2
INSERT INTO segment_frames (segment_id, start, size, stored, store, key, body, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[], $8::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- blob_segments.insert × 1
INSERT INTO blob_segments (blob_no, ord, segment_id, length) VALUES ((SELECT no FROM blobs WHERE sha256 = $1), $2, $3, $4) ON CONFLICT DO NOTHING;
-- blob_segments.insert × 2
INSERT INTO blob_segments (blob_no, ord, segment_id, length) SELECT (SELECT no FROM blobs WHERE sha256 = u.c0), u.c1, u.c2, u.c3 FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[]) AS u(c0, c1, c2, c3) ON CONFLICT DO NOTHING;
-- embedding_failures.insert × 1
INSERT INTO embedding_failures (kind, scope, item, attempts, due_at, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7);
-- embedding_failures.insert × 2
INSERT INTO embedding_failures (kind, scope, item, attempts, due_at, reason, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6);
-- passages.insert × 1
INSERT INTO passages (collection_no, item, pending, group_no, number, part) VALUES ($1, $2, $3, $4, $5, $6);
-- passages.insert × 2
INSERT INTO passages (collection_no, item, pending, group_no, number, part) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- index_kinds.insert × 1
INSERT INTO index_kinds (kind, epoch, indexed, settled, language, cut) VALUES ($1, $2, $3, $4, $5, $6);
-- index_kinds.insert × 2
INSERT INTO index_kinds (kind, epoch, indexed, settled, language, cut) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- index_segments.insert × 1
INSERT INTO index_segments (kind, segment, low, high, version, dropped, marked, units, items, removed, bytes, directory, language, tokeniser) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
-- index_segments.insert × 2
INSERT INTO index_segments (kind, segment, low, high, version, dropped, marked, units, items, removed, bytes, directory, language, tokeniser) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13);
-- index_pages.insert × 1
INSERT INTO index_pages (kind, segment, page, first, body) VALUES ($1, $2, $3, $4, $5);
-- index_pages.insert × 2
INSERT INTO index_pages (kind, segment, page, first, body) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) AS u(c0, c1, c2, c3, c4);
-- index_items.insert × 1
INSERT INTO index_items (kind, group_no, item, segment, cut) VALUES ($1, $2, $3, $4, $5);
-- index_items.insert × 2
INSERT INTO index_items (kind, group_no, item, segment, cut) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u(c0, c1, c2, c3, c4);
-- metadata_fields.insert × 1
INSERT INTO metadata_fields (kind, scope, path, value, item) VALUES ($1, $2, $3, $4, $5);
-- metadata_fields.insert × 2
INSERT INTO metadata_fields (kind, scope, path, value, item) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[]) AS u(c0, c1, c2, c3, c4);
-- vector_collections.insert × 1
INSERT INTO vector_collections (no, name, generation, change, last_item, documents, created_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
-- vector_collections.insert × 2
INSERT INTO vector_collections (no, name, generation, change, last_item, documents, created_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- vector_generations.insert × 1
INSERT INTO vector_generations (collection_no, generation, model, dimension, metric, precision, seed, packed, removals, vectors, created_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
-- vector_generations.insert × 2
INSERT INTO vector_generations (collection_no, generation, model, dimension, metric, precision, seed, packed, removals, vectors, created_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11);
-- documents.insert × 1
INSERT INTO documents (collection_no, id, item, pending, words, content, checksum) VALUES ($1, $2, $3, $4, $5, (SELECT no FROM blobs WHERE sha256 = $6), $7);
-- documents.insert × 2
INSERT INTO documents (collection_no, id, item, pending, words, content, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, (SELECT no FROM blobs WHERE sha256 = u.c5), u.c6 FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[]) AS u(c0, c1, c2, c3, c4, c5, c6);
-- vectors.insert × 1
INSERT INTO vectors (collection_no, generation, item, embedding, checksum) VALUES ($1, $2, $3, $4, $5);
-- vectors.insert × 2
INSERT INTO vectors (collection_no, generation, item, embedding, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[]) AS u(c0, c1, c2, c3, c4);
-- vector_pages.insert × 1
INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) VALUES ($1, $2, $3, $4, $5);
-- vector_pages.insert × 2
INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) AS u(c0, c1, c2, c3, c4);
-- memory_scopes.insert × 1
INSERT INTO memory_scopes (namespace, agent, checksum) VALUES ($1, $2, $3);
-- memory_scopes.insert × 2
INSERT INTO memory_scopes (namespace, agent, checksum) SELECT u.c0, u.c1, u.c2 FROM unnest($1::text[], $2::text[], $3::text[]) AS u(c0, c1, c2);
-- memories.insert × 1
INSERT INTO memories (id, scope_no, digest, subject_key, fact_key, content, kind, subject, attribute, value, importance, metadata, valid_from, valid_to, recorded_at, confirmations, confirmed_at, expires_at, superseded_by, superseded_from, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);
-- memories.insert × 2
INSERT INTO memories (id, scope_no, digest, subject_key, fact_key, content, kind, subject, attribute, value, importance, metadata, valid_from, valid_to, recorded_at, confirmations, confirmed_at, expires_at, superseded_by, superseded_from, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bigint[], $12::bytea[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21);
-- memory_changes.insert × 1
INSERT INTO memory_changes (memory_id, version, change, at, by_id, session, message, run, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);
-- memory_changes.insert × 2
INSERT INTO memory_changes (memory_id, version, change, at, by_id, session, message, run, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8);
-- session_tags.insert × 1
INSERT INTO session_tags (tag, session_no) VALUES ($1, $2);
-- session_tags.insert × 2
INSERT INTO session_tags (tag, session_no) SELECT u.c0, u.c1 FROM unnest($1::text[], $2::bigint[]) AS u(c0, c1);
-- aliases.insert × 1
INSERT INTO aliases (name, session_no, created_at) VALUES ($1, $2, $3);
-- aliases.insert × 2
INSERT INTO aliases (name, session_no, created_at) SELECT u.c0, u.c1, u.c2 FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2);
-- word_refs.insert × 1
INSERT INTO word_refs (prefix, event_no) VALUES ($1, $2);
-- word_refs.insert × 2
INSERT INTO word_refs (prefix, event_no) SELECT u.c0, u.c1 FROM unnest($1::bytea[], $2::bigint[]) AS u(c0, c1);
-- annotations.insert × 1
INSERT INTO annotations (session_no, seq, payload, salt) VALUES ($1, $2, (SELECT no FROM blobs WHERE sha256 = $3), $4);
-- annotations.insert × 2
INSERT INTO annotations (session_no, seq, payload, salt) SELECT u.c0, u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2), u.c3 FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) AS u(c0, c1, c2, c3);
-- state.insert × 1
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) VALUES ($1, $2, $3, $4, $5, $6, (SELECT no FROM blobs WHERE sha256 = $7), $8, $9);
-- state.insert × 2
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, (SELECT no FROM blobs WHERE sha256 = u.c6), u.c7, u.c8 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8);
-- boards.insert × 1
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
-- boards.insert × 2
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9);
-- tasks.insert × 1
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
-- tasks.insert × 2
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10);
-- captures.insert × 1
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21);
-- captures.insert × 2
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20);
-- agents.put × 1
INSERT INTO agents (id, name, agent_type, model, system, tool_ids, tags, metadata, created_at, updated_at, deleted_at, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO UPDATE SET name = excluded.name, agent_type = excluded.agent_type, model = excluded.model, system = excluded.system, tool_ids = excluded.tool_ids, tags = excluded.tags, metadata = excluded.metadata, created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, version = excluded.version, checksum = excluded.checksum;
-- agents.put × 2
INSERT INTO agents (id, name, agent_type, model, system, tool_ids, tags, metadata, created_at, updated_at, deleted_at, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12 FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12) ON CONFLICT (id) DO UPDATE SET name = excluded.name, agent_type = excluded.agent_type, model = excluded.model, system = excluded.system, tool_ids = excluded.tool_ids, tags = excluded.tags, metadata = excluded.metadata, created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, version = excluded.version, checksum = excluded.checksum;
-- agent_tags.put × 1
INSERT INTO agent_tags (tag, agent_no) VALUES ($1, $2) ON CONFLICT (tag, agent_no) DO NOTHING;
-- agent_tags.put × 2
INSERT INTO agent_tags (tag, agent_no) SELECT u.c0, u.c1 FROM unnest($1::text[], $2::bigint[]) AS u(c0, c1) ON CONFLICT (tag, agent_no) DO NOTHING;
-- blocks.put × 1
INSERT INTO blocks (id, label, char_limit, description, read_only, version, created_at, updated_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET label = excluded.label, char_limit = excluded.char_limit, description = excluded.description, read_only = excluded.read_only, version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at, checksum = excluded.checksum;
-- blocks.put × 2
INSERT INTO blocks (id, label, char_limit, description, read_only, version, created_at, updated_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8) ON CONFLICT (id) DO UPDATE SET label = excluded.label, char_limit = excluded.char_limit, description = excluded.description, read_only = excluded.read_only, version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at, checksum = excluded.checksum;
-- block_versions.put × 1
INSERT INTO block_versions (block_id, version, value, edit, at, checksum) VALUES ($1, $2, (SELECT no FROM blobs WHERE sha256 = $3), $4, $5, $6) ON CONFLICT (block_id, version) DO UPDATE SET value = excluded.value, edit = excluded.edit, at = excluded.at, checksum = excluded.checksum;
-- block_versions.put × 2
INSERT INTO block_versions (block_id, version, value, edit, at, checksum) SELECT u.c0, u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2), u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bigint[], $6::text[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (block_id, version) DO UPDATE SET value = excluded.value, edit = excluded.edit, at = excluded.at, checksum = excluded.checksum;
-- agent_blocks.put × 1
INSERT INTO agent_blocks (agent_no, ord, block_id, checksum) VALUES ($1, $2, $3, $4) ON CONFLICT (agent_no, ord) DO UPDATE SET block_id = excluded.block_id, checksum = excluded.checksum;
-- agent_blocks.put × 2
INSERT INTO agent_blocks (agent_no, ord, block_id, checksum) SELECT u.c0, u.c1, u.c2, u.c3 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS u(c0, c1, c2, c3) ON CONFLICT (agent_no, ord) DO UPDATE SET block_id = excluded.block_id, checksum = excluded.checksum;
-- sessions.put × 1
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, head_no, alias_count, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) ON CONFLICT (id) DO UPDATE SET agent_no = excluded.agent_no, title = excluded.title, status = excluded.status, tags = excluded.tags, metadata = excluded.metadata, request = excluded.request, created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, version = excluded.version, branch = excluded.branch, seq = excluded.seq, chain = excluded.chain, messages = excluded.messages, state_seq = excluded.state_seq, kind = excluded.kind, origin = excluded.origin, cache_id = excluded.cache_id, head_no = excluded.head_no, alias_count = excluded.alias_count, checksum = excluded.checksum;
-- sessions.put × 2
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, head_no, alias_count, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::bigint[], $21::bigint[], $22::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21) ON CONFLICT (id) DO UPDATE SET agent_no = excluded.agent_no, title = excluded.title, status = excluded.status, tags = excluded.tags, metadata = excluded.metadata, request = excluded.request, created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, version = excluded.version, branch = excluded.branch, seq = excluded.seq, chain = excluded.chain, messages = excluded.messages, state_seq = excluded.state_seq, kind = excluded.kind, origin = excluded.origin, cache_id = excluded.cache_id, head_no = excluded.head_no, alias_count = excluded.alias_count, checksum = excluded.checksum;
-- branches.put × 1
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (session_no, branch) DO UPDATE SET seq = excluded.seq, parent_session_no = excluded.parent_session_no, parent_branch = excluded.parent_branch, cut_seq = excluded.cut_seq, at = excluded.at;
-- branches.put × 2
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6) ON CONFLICT (session_no, branch) DO UPDATE SET seq = excluded.seq, parent_session_no = excluded.parent_session_no, parent_branch = excluded.parent_branch, cut_seq = excluded.cut_seq, at = excluded.at;
-- turns.put × 1
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, status = excluded.status, agent_no = excluded.agent_no, run = excluded.run, at = excluded.at;
-- turns.put × 2
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, status = excluded.status, agent_no = excluded.agent_no, run = excluded.run, at = excluded.at;
-- clears.put × 1
INSERT INTO clears (session_no, seq, branch, agent_no, run) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, agent_no = excluded.agent_no, run = excluded.run;
-- clears.put × 2
INSERT INTO clears (session_no, seq, branch, agent_no, run) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, agent_no = excluded.agent_no, run = excluded.run;
-- remains.put × 1
INSERT INTO remains (session_no, branch, upto) VALUES ($1, $2, $3) ON CONFLICT (session_no, branch) DO UPDATE SET upto = excluded.upto;
-- remains.put × 2
INSERT INTO remains (session_no, branch, upto) SELECT u.c0, u.c1, u.c2 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) ON CONFLICT (session_no, branch) DO UPDATE SET upto = excluded.upto;
-- evals.put × 1
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT no FROM blobs WHERE sha256 = $8), (SELECT no FROM blobs WHERE sha256 = $9), (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), $12, $13, $14) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, message_seq = excluded.message_seq, status = excluded.status, code = excluded.code, result = excluded.result, final = excluded.final, error = excluded.error, salts = excluded.salts, at = excluded.at, erased_seq = excluded.erased_seq;
-- evals.put × 2
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM blobs WHERE sha256 = u.c7), (SELECT no FROM blobs WHERE sha256 = u.c8), (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), u.c11, u.c12, u.c13 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, message_seq = excluded.message_seq, status = excluded.status, code = excluded.code, result = excluded.result, final = excluded.final, error = excluded.error, salts = excluded.salts, at = excluded.at, erased_seq = excluded.erased_seq;
-- calls.put × 1
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), (SELECT no FROM blobs WHERE sha256 = $12), (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, type = excluded.type, status = excluded.status, model = excluded.model, provider = excluded.provider, request = excluded.request, response = excluded.response, result = excluded.result, error = excluded.error, salts = excluded.salts, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached, cost_usd = excluded.cost_usd, created_at = excluded.created_at, completed_at = excluded.completed_at, erased_seq = excluded.erased_seq;
-- calls.put × 2
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), (SELECT no FROM blobs WHERE sha256 = u.c11), (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::float8[], $19::bigint[], $20::bigint[], $21::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, type = excluded.type, status = excluded.status, model = excluded.model, provider = excluded.provider, request = excluded.request, response = excluded.response, result = excluded.result, error = excluded.error, salts = excluded.salts, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached, cost_usd = excluded.cost_usd, created_at = excluded.created_at, completed_at = excluded.completed_at, erased_seq = excluded.erased_seq;
-- snapshots.put × 1
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) VALUES ($1, $2, $3, $4, (SELECT no FROM blobs WHERE sha256 = $5), $6, $7, $8) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, vars = excluded.vars, salt = excluded.salt, at = excluded.at, erased_seq = excluded.erased_seq;
-- snapshots.put × 2
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) SELECT u.c0, u.c1, u.c2, u.c3, (SELECT no FROM blobs WHERE sha256 = u.c4), u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, turn_seq = excluded.turn_seq, vars = excluded.vars, salt = excluded.salt, at = excluded.at, erased_seq = excluded.erased_seq;
-- heads.put × 1
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT no FROM blobs WHERE sha256 = $9), $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, branch = excluded.branch, seq = excluded.seq, basis_no = excluded.basis_no, status = excluded.status, chain = excluded.chain, root = excluded.root, final = excluded.final, salt = excluded.salt, final_summary = excluded.final_summary, snapshot_seq = excluded.snapshot_seq, fingerprint = excluded.fingerprint, turn_seq = excluded.turn_seq, cache_id = excluded.cache_id, at = excluded.at;
-- heads.put × 2
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, (SELECT no FROM blobs WHERE sha256 = u.c8), u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bigint[], $13::text[], $14::bigint[], $15::text[], $16::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, branch = excluded.branch, seq = excluded.seq, basis_no = excluded.basis_no, status = excluded.status, chain = excluded.chain, root = excluded.root, final = excluded.final, salt = excluded.salt, final_summary = excluded.final_summary, snapshot_seq = excluded.snapshot_seq, fingerprint = excluded.fingerprint, turn_seq = excluded.turn_seq, cache_id = excluded.cache_id, at = excluded.at;
-- invocations.put × 1
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, type = excluded.type, status = excluded.status, callee_session_no = excluded.callee_session_no, caller_head_before = excluded.caller_head_before, caller_head_after = excluded.caller_head_after, callee_head_before = excluded.callee_head_before, callee_head_after = excluded.callee_head_after, call_seq = excluded.call_seq, label = excluded.label, source_session_no = excluded.source_session_no, source_head = excluded.source_head, source_snapshot_seq = excluded.source_snapshot_seq, source_fingerprint = excluded.source_fingerprint, created_at = excluded.created_at, completed_at = excluded.completed_at, checksum = excluded.checksum;
-- invocations.put × 2
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[], $19::bigint[], $20::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19) ON CONFLICT (session_no, first_seq, seq) DO UPDATE SET branch = excluded.branch, type = excluded.type, status = excluded.status, callee_session_no = excluded.callee_session_no, caller_head_before = excluded.caller_head_before, caller_head_after = excluded.caller_head_after, callee_head_before = excluded.callee_head_before, callee_head_after = excluded.callee_head_after, call_seq = excluded.call_seq, label = excluded.label, source_session_no = excluded.source_session_no, source_head = excluded.source_head, source_snapshot_seq = excluded.source_snapshot_seq, source_fingerprint = excluded.source_fingerprint, created_at = excluded.created_at, completed_at = excluded.completed_at, checksum = excluded.checksum;
-- derivations.put × 1
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session_no, seq) DO UPDATE SET type = excluded.type, source_session_no = excluded.source_session_no, source_head = excluded.source_head, source_branch = excluded.source_branch, source_seq = excluded.source_seq, at = excluded.at;
-- derivations.put × 2
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7) ON CONFLICT (session_no, seq) DO UPDATE SET type = excluded.type, source_session_no = excluded.source_session_no, source_head = excluded.source_head, source_branch = excluded.source_branch, source_seq = excluded.source_seq, at = excluded.at;
-- runs.put × 1
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, first_seq = excluded.first_seq, seq = excluded.seq, branch = excluded.branch, parent = excluded.parent, nested = excluded.nested, agent_no = excluded.agent_no, agent_version = excluded.agent_version, toolset = excluded.toolset, status = excluded.status, version = excluded.version, epoch = excluded.epoch, beat = excluded.beat, owner = excluded.owner, iteration = excluded.iteration, checkpoint_seq = excluded.checkpoint_seq, wake_at = excluded.wake_at, waits = excluded.waits, cancel = excluded.cancel, pause_at = excluded.pause_at, stop = excluded.stop, limits = excluded.limits, priority = excluded.priority, lease_ms = excluded.lease_ms, tokens = excluded.tokens, cost_usd = excluded.cost_usd, created_at = excluded.created_at, updated_at = excluded.updated_at, ended_at = excluded.ended_at, held = excluded.held;
-- runs.put × 2
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21, u.c22, u.c23, u.c24, u.c25, u.c26, u.c27, u.c28, u.c29, u.c30 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bytea[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[], $23::bytea[], $24::bigint[], $25::bigint[], $26::bigint[], $27::float8[], $28::bigint[], $29::bigint[], $30::bigint[], $31::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24, c25, c26, c27, c28, c29, c30) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, first_seq = excluded.first_seq, seq = excluded.seq, branch = excluded.branch, parent = excluded.parent, nested = excluded.nested, agent_no = excluded.agent_no, agent_version = excluded.agent_version, toolset = excluded.toolset, status = excluded.status, version = excluded.version, epoch = excluded.epoch, beat = excluded.beat, owner = excluded.owner, iteration = excluded.iteration, checkpoint_seq = excluded.checkpoint_seq, wake_at = excluded.wake_at, waits = excluded.waits, cancel = excluded.cancel, pause_at = excluded.pause_at, stop = excluded.stop, limits = excluded.limits, priority = excluded.priority, lease_ms = excluded.lease_ms, tokens = excluded.tokens, cost_usd = excluded.cost_usd, created_at = excluded.created_at, updated_at = excluded.updated_at, ended_at = excluded.ended_at, held = excluded.held;
-- signals.put × 1
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, run = excluded.run, name = excluded.name, taken_seq = excluded.taken_seq;
-- signals.put × 2
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, run = excluded.run, name = excluded.name, taken_seq = excluded.taken_seq;
-- decisions.put × 1
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, run = excluded.run, step_seq = excluded.step_seq, answered_seq = excluded.answered_seq;
-- decisions.put × 2
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (session_no, seq) DO UPDATE SET branch = excluded.branch, run = excluded.run, step_seq = excluded.step_seq, answered_seq = excluded.answered_seq;
-- checkpoints.put × 1
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session_no, agent_no, run, seq) DO UPDATE SET branch = excluded.branch, iteration = excluded.iteration;
-- checkpoints.put × 2
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (session_no, agent_no, run, seq) DO UPDATE SET branch = excluded.branch, iteration = excluded.iteration;
-- blobs.put × 1
INSERT INTO blobs (sha256, size, media, utf8, form, stored, store, key, refs, pinned, expires_at, epoch, condemned, created_at, body, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (sha256) DO UPDATE SET size = excluded.size, media = excluded.media, utf8 = excluded.utf8, form = excluded.form, stored = excluded.stored, store = excluded.store, key = excluded.key, refs = excluded.refs, pinned = excluded.pinned, expires_at = excluded.expires_at, epoch = excluded.epoch, condemned = excluded.condemned, created_at = excluded.created_at, body = excluded.body, checksum = excluded.checksum;
-- blobs.put × 2
INSERT INTO blobs (sha256, size, media, utf8, form, stored, store, key, refs, pinned, expires_at, epoch, condemned, created_at, body, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15 FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[], $16::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15) ON CONFLICT (sha256) DO UPDATE SET size = excluded.size, media = excluded.media, utf8 = excluded.utf8, form = excluded.form, stored = excluded.stored, store = excluded.store, key = excluded.key, refs = excluded.refs, pinned = excluded.pinned, expires_at = excluded.expires_at, epoch = excluded.epoch, condemned = excluded.condemned, created_at = excluded.created_at, body = excluded.body, checksum = excluded.checksum;
-- blob_links.put × 1
INSERT INTO blob_links (parent_no, ord, child_no) VALUES ((SELECT no FROM blobs WHERE sha256 = $1), $2, (SELECT no FROM blobs WHERE sha256 = $3)) ON CONFLICT (parent_no, ord) DO NOTHING;
-- blob_links.put × 2
INSERT INTO blob_links (parent_no, ord, child_no) SELECT (SELECT no FROM blobs WHERE sha256 = u.c0), u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2) FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS u(c0, c1, c2) ON CONFLICT (parent_no, ord) DO NOTHING;
-- segments.put × 1
INSERT INTO segments (id, size, sealed, sha256, created_at, touched_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET size = excluded.size, sealed = excluded.sealed, sha256 = excluded.sha256, created_at = excluded.created_at, touched_at = excluded.touched_at, checksum = excluded.checksum;
-- segments.put × 2
INSERT INTO segments (id, size, sealed, sha256, created_at, touched_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[]) AS u(c0, c1, c2, c3, c4, c5, c6) ON CONFLICT (id) DO UPDATE SET size = excluded.size, sealed = excluded.sealed, sha256 = excluded.sha256, created_at = excluded.created_at, touched_at = excluded.touched_at, checksum = excluded.checksum;
-- segment_frames.put × 1
INSERT INTO segment_frames (segment_id, start, size, stored, store, key, body, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (segment_id, start) DO UPDATE SET size = excluded.size, stored = excluded.stored, store = excluded.store, key = excluded.key, body = excluded.body, checksum = excluded.checksum;
-- segment_frames.put × 2
INSERT INTO segment_frames (segment_id, start, size, stored, store, key, body, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[], $8::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7) ON CONFLICT (segment_id, start) DO UPDATE SET size = excluded.size, stored = excluded.stored, store = excluded.store, key = excluded.key, body = excluded.body, checksum = excluded.checksum;
-- blob_segments.put × 1
INSERT INTO blob_segments (blob_no, ord, segment_id, length) VALUES ((SELECT no FROM blobs WHERE sha256 = $1), $2, $3, $4) ON CONFLICT (blob_no, ord) DO NOTHING;
-- blob_segments.put × 2
INSERT INTO blob_segments (blob_no, ord, segment_id, length) SELECT (SELECT no FROM blobs WHERE sha256 = u.c0), u.c1, u.c2, u.c3 FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[]) AS u(c0, c1, c2, c3) ON CONFLICT (blob_no, ord) DO NOTHING;
-- embedding_failures.put × 1
INSERT INTO embedding_failures (kind, scope, item, attempts, due_at, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, scope, item) DO UPDATE SET attempts = excluded.attempts, due_at = excluded.due_at, reason = excluded.reason, at = excluded.at;
-- embedding_failures.put × 2
INSERT INTO embedding_failures (kind, scope, item, attempts, due_at, reason, at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6) ON CONFLICT (kind, scope, item) DO UPDATE SET attempts = excluded.attempts, due_at = excluded.due_at, reason = excluded.reason, at = excluded.at;
-- passages.put × 1
INSERT INTO passages (collection_no, item, pending, group_no, number, part) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (collection_no, item) DO UPDATE SET pending = excluded.pending, group_no = excluded.group_no, number = excluded.number, part = excluded.part;
-- passages.put × 2
INSERT INTO passages (collection_no, item, pending, group_no, number, part) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (collection_no, item) DO UPDATE SET pending = excluded.pending, group_no = excluded.group_no, number = excluded.number, part = excluded.part;
-- index_kinds.put × 1
INSERT INTO index_kinds (kind, epoch, indexed, settled, language, cut) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind) DO UPDATE SET epoch = excluded.epoch, indexed = excluded.indexed, settled = excluded.settled, language = excluded.language, cut = excluded.cut;
-- index_kinds.put × 2
INSERT INTO index_kinds (kind, epoch, indexed, settled, language, cut) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) ON CONFLICT (kind) DO UPDATE SET epoch = excluded.epoch, indexed = excluded.indexed, settled = excluded.settled, language = excluded.language, cut = excluded.cut;
-- index_segments.put × 1
INSERT INTO index_segments (kind, segment, low, high, version, dropped, marked, units, items, removed, bytes, directory, language, tokeniser) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (kind, segment) DO UPDATE SET low = excluded.low, high = excluded.high, version = excluded.version, dropped = excluded.dropped, marked = excluded.marked, units = excluded.units, items = excluded.items, removed = excluded.removed, bytes = excluded.bytes, directory = excluded.directory, language = excluded.language, tokeniser = excluded.tokeniser;
-- index_segments.put × 2
INSERT INTO index_segments (kind, segment, low, high, version, dropped, marked, units, items, removed, bytes, directory, language, tokeniser) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13) ON CONFLICT (kind, segment) DO UPDATE SET low = excluded.low, high = excluded.high, version = excluded.version, dropped = excluded.dropped, marked = excluded.marked, units = excluded.units, items = excluded.items, removed = excluded.removed, bytes = excluded.bytes, directory = excluded.directory, language = excluded.language, tokeniser = excluded.tokeniser;
-- index_pages.put × 1
INSERT INTO index_pages (kind, segment, page, first, body) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, segment, page) DO UPDATE SET first = excluded.first, body = excluded.body;
-- index_pages.put × 2
INSERT INTO index_pages (kind, segment, page, first, body) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (kind, segment, page) DO UPDATE SET first = excluded.first, body = excluded.body;
-- index_items.put × 1
INSERT INTO index_items (kind, group_no, item, segment, cut) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, group_no, item) DO UPDATE SET segment = excluded.segment, cut = excluded.cut;
-- index_items.put × 2
INSERT INTO index_items (kind, group_no, item, segment, cut) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (kind, group_no, item) DO UPDATE SET segment = excluded.segment, cut = excluded.cut;
-- metadata_fields.put × 1
INSERT INTO metadata_fields (kind, scope, path, value, item) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, scope, path, value, item) DO NOTHING;
-- metadata_fields.put × 2
INSERT INTO metadata_fields (kind, scope, path, value, item) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (kind, scope, path, value, item) DO NOTHING;
-- vector_collections.put × 1
INSERT INTO vector_collections (no, name, generation, change, last_item, documents, created_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (no) DO UPDATE SET name = excluded.name, generation = excluded.generation, change = excluded.change, last_item = excluded.last_item, documents = excluded.documents, created_at = excluded.created_at, checksum = excluded.checksum;
-- vector_collections.put × 2
INSERT INTO vector_collections (no, name, generation, change, last_item, documents, created_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7 FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7) ON CONFLICT (no) DO UPDATE SET name = excluded.name, generation = excluded.generation, change = excluded.change, last_item = excluded.last_item, documents = excluded.documents, created_at = excluded.created_at, checksum = excluded.checksum;
-- vector_generations.put × 1
INSERT INTO vector_generations (collection_no, generation, model, dimension, metric, precision, seed, packed, removals, vectors, created_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (collection_no, generation) DO UPDATE SET model = excluded.model, dimension = excluded.dimension, metric = excluded.metric, precision = excluded.precision, seed = excluded.seed, packed = excluded.packed, removals = excluded.removals, vectors = excluded.vectors, created_at = excluded.created_at, checksum = excluded.checksum;
-- vector_generations.put × 2
INSERT INTO vector_generations (collection_no, generation, model, dimension, metric, precision, seed, packed, removals, vectors, created_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11) ON CONFLICT (collection_no, generation) DO UPDATE SET model = excluded.model, dimension = excluded.dimension, metric = excluded.metric, precision = excluded.precision, seed = excluded.seed, packed = excluded.packed, removals = excluded.removals, vectors = excluded.vectors, created_at = excluded.created_at, checksum = excluded.checksum;
-- documents.put × 1
INSERT INTO documents (collection_no, id, item, pending, words, content, checksum) VALUES ($1, $2, $3, $4, $5, (SELECT no FROM blobs WHERE sha256 = $6), $7) ON CONFLICT (collection_no, id) DO UPDATE SET item = excluded.item, pending = excluded.pending, words = excluded.words, content = excluded.content, checksum = excluded.checksum;
-- documents.put × 2
INSERT INTO documents (collection_no, id, item, pending, words, content, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, (SELECT no FROM blobs WHERE sha256 = u.c5), u.c6 FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[]) AS u(c0, c1, c2, c3, c4, c5, c6) ON CONFLICT (collection_no, id) DO UPDATE SET item = excluded.item, pending = excluded.pending, words = excluded.words, content = excluded.content, checksum = excluded.checksum;
-- vectors.put × 1
INSERT INTO vectors (collection_no, generation, item, embedding, checksum) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (collection_no, generation, item) DO UPDATE SET embedding = excluded.embedding, checksum = excluded.checksum;
-- vectors.put × 2
INSERT INTO vectors (collection_no, generation, item, embedding, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (collection_no, generation, item) DO UPDATE SET embedding = excluded.embedding, checksum = excluded.checksum;
-- vector_pages.put × 1
INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (collection_no, generation, first_item) DO UPDATE SET change = excluded.change, codes = excluded.codes;
-- vector_pages.put × 2
INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) SELECT u.c0, u.c1, u.c2, u.c3, u.c4 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) AS u(c0, c1, c2, c3, c4) ON CONFLICT (collection_no, generation, first_item) DO UPDATE SET change = excluded.change, codes = excluded.codes;
-- memory_scopes.put × 1
INSERT INTO memory_scopes (namespace, agent, checksum) VALUES ($1, $2, $3) ON CONFLICT (namespace, agent) DO UPDATE SET checksum = excluded.checksum;
-- memory_scopes.put × 2
INSERT INTO memory_scopes (namespace, agent, checksum) SELECT u.c0, u.c1, u.c2 FROM unnest($1::text[], $2::text[], $3::text[]) AS u(c0, c1, c2) ON CONFLICT (namespace, agent) DO UPDATE SET checksum = excluded.checksum;
-- memories.put × 1
INSERT INTO memories (id, scope_no, digest, subject_key, fact_key, content, kind, subject, attribute, value, importance, metadata, valid_from, valid_to, recorded_at, confirmations, confirmed_at, expires_at, superseded_by, superseded_from, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) ON CONFLICT (id) DO UPDATE SET scope_no = excluded.scope_no, digest = excluded.digest, subject_key = excluded.subject_key, fact_key = excluded.fact_key, content = excluded.content, kind = excluded.kind, subject = excluded.subject, attribute = excluded.attribute, value = excluded.value, importance = excluded.importance, metadata = excluded.metadata, valid_from = excluded.valid_from, valid_to = excluded.valid_to, recorded_at = excluded.recorded_at, confirmations = excluded.confirmations, confirmed_at = excluded.confirmed_at, expires_at = excluded.expires_at, superseded_by = excluded.superseded_by, superseded_from = excluded.superseded_from, version = excluded.version, checksum = excluded.checksum;
-- memories.put × 2
INSERT INTO memories (id, scope_no, digest, subject_key, fact_key, content, kind, subject, attribute, value, importance, metadata, valid_from, valid_to, recorded_at, confirmations, confirmed_at, expires_at, superseded_by, superseded_from, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bigint[], $12::bytea[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21) ON CONFLICT (id) DO UPDATE SET scope_no = excluded.scope_no, digest = excluded.digest, subject_key = excluded.subject_key, fact_key = excluded.fact_key, content = excluded.content, kind = excluded.kind, subject = excluded.subject, attribute = excluded.attribute, value = excluded.value, importance = excluded.importance, metadata = excluded.metadata, valid_from = excluded.valid_from, valid_to = excluded.valid_to, recorded_at = excluded.recorded_at, confirmations = excluded.confirmations, confirmed_at = excluded.confirmed_at, expires_at = excluded.expires_at, superseded_by = excluded.superseded_by, superseded_from = excluded.superseded_from, version = excluded.version, checksum = excluded.checksum;
-- memory_changes.put × 1
INSERT INTO memory_changes (memory_id, version, change, at, by_id, session, message, run, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (memory_id, version) DO UPDATE SET change = excluded.change, at = excluded.at, by_id = excluded.by_id, session = excluded.session, message = excluded.message, run = excluded.run, checksum = excluded.checksum;
-- memory_changes.put × 2
INSERT INTO memory_changes (memory_id, version, change, at, by_id, session, message, run, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8) ON CONFLICT (memory_id, version) DO UPDATE SET change = excluded.change, at = excluded.at, by_id = excluded.by_id, session = excluded.session, message = excluded.message, run = excluded.run, checksum = excluded.checksum;
-- session_tags.put × 1
INSERT INTO session_tags (tag, session_no) VALUES ($1, $2) ON CONFLICT (tag, session_no) DO NOTHING;
-- session_tags.put × 2
INSERT INTO session_tags (tag, session_no) SELECT u.c0, u.c1 FROM unnest($1::text[], $2::bigint[]) AS u(c0, c1) ON CONFLICT (tag, session_no) DO NOTHING;
-- aliases.put × 1
INSERT INTO aliases (name, session_no, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET session_no = excluded.session_no, created_at = excluded.created_at;
-- aliases.put × 2
INSERT INTO aliases (name, session_no, created_at) SELECT u.c0, u.c1, u.c2 FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) ON CONFLICT (name) DO UPDATE SET session_no = excluded.session_no, created_at = excluded.created_at;
-- word_refs.put × 1
INSERT INTO word_refs (prefix, event_no) VALUES ($1, $2) ON CONFLICT (prefix, event_no) DO NOTHING;
-- word_refs.put × 2
INSERT INTO word_refs (prefix, event_no) SELECT u.c0, u.c1 FROM unnest($1::bytea[], $2::bigint[]) AS u(c0, c1) ON CONFLICT (prefix, event_no) DO NOTHING;
-- annotations.put × 1
INSERT INTO annotations (session_no, seq, payload, salt) VALUES ($1, $2, (SELECT no FROM blobs WHERE sha256 = $3), $4) ON CONFLICT (session_no, seq) DO UPDATE SET payload = excluded.payload, salt = excluded.salt;
-- annotations.put × 2
INSERT INTO annotations (session_no, seq, payload, salt) SELECT u.c0, u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2), u.c3 FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) AS u(c0, c1, c2, c3) ON CONFLICT (session_no, seq) DO UPDATE SET payload = excluded.payload, salt = excluded.salt;
-- state.put × 1
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) VALUES ($1, $2, $3, $4, $5, $6, (SELECT no FROM blobs WHERE sha256 = $7), $8, $9) ON CONFLICT (session_no, branch, key, seq) DO UPDATE SET ord = excluded.ord, until_seq = excluded.until_seq, value = excluded.value, salt = excluded.salt, expires_at = excluded.expires_at;
-- state.put × 2
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, (SELECT no FROM blobs WHERE sha256 = u.c6), u.c7, u.c8 FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8) ON CONFLICT (session_no, branch, key, seq) DO UPDATE SET ord = excluded.ord, until_seq = excluded.until_seq, value = excluded.value, salt = excluded.salt, expires_at = excluded.expires_at;
-- boards.put × 1
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, agent = excluded.agent, ord = excluded.ord, label = excluded.label, parent = excluded.parent, max_retries = excluded.max_retries, created_at = excluded.created_at, version = excluded.version, checksum = excluded.checksum;
-- boards.put × 2
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, agent = excluded.agent, ord = excluded.ord, label = excluded.label, parent = excluded.parent, max_retries = excluded.max_retries, created_at = excluded.created_at, version = excluded.version, checksum = excluded.checksum;
-- tasks.put × 1
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (board_id, id) DO UPDATE SET title = excluded.title, status = excluded.status, ord = excluded.ord, retry_count = excluded.retry_count, note = excluded.note, version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at, checksum = excluded.checksum;
-- tasks.put × 2
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10) ON CONFLICT (board_id, id) DO UPDATE SET title = excluded.title, status = excluded.status, ord = excluded.ord, retry_count = excluded.retry_count, note = excluded.note, version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at, checksum = excluded.checksum;
-- captures.put × 1
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, seq = excluded.seq, request = excluded.request, agent = excluded.agent, agent_session = excluded.agent_session, generation = excluded.generation, diverged = excluded.diverged, cwd = excluded.cwd, config_dir = excluded.config_dir, project_key = excluded.project_key, agent_version = excluded.agent_version, manifest = excluded.manifest, salt = excluded.salt, files = excluded.files, size = excluded.size, stored = excluded.stored, created_at = excluded.created_at, saved_at = excluded.saved_at, expires_at = excluded.expires_at, checksum = excluded.checksum;
-- captures.put × 2
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20) ON CONFLICT (id) DO UPDATE SET session_no = excluded.session_no, seq = excluded.seq, request = excluded.request, agent = excluded.agent, agent_session = excluded.agent_session, generation = excluded.generation, diverged = excluded.diverged, cwd = excluded.cwd, config_dir = excluded.config_dir, project_key = excluded.project_key, agent_version = excluded.agent_version, manifest = excluded.manifest, salt = excluded.salt, files = excluded.files, size = excluded.size, stored = excluded.stored, created_at = excluded.created_at, saved_at = excluded.saved_at, expires_at = excluded.expires_at, checksum = excluded.checksum;
-- agents.remove × 1
DELETE FROM agents WHERE id = $1;
-- agents.remove × 2
DELETE FROM agents USING unnest($1::text[]) AS u(c0) WHERE agents.id = u.c0;
-- agent_tags.remove × 1
DELETE FROM agent_tags WHERE tag = $1 AND agent_no = $2;
-- agent_tags.remove × 2
DELETE FROM agent_tags USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE agent_tags.tag = u.c0 AND agent_tags.agent_no = u.c1;
-- blocks.remove × 1
DELETE FROM blocks WHERE id = $1;
-- blocks.remove × 2
DELETE FROM blocks USING unnest($1::text[]) AS u(c0) WHERE blocks.id = u.c0;
-- block_versions.remove × 1
DELETE FROM block_versions WHERE block_id = $1 AND version = $2;
-- block_versions.remove × 2
DELETE FROM block_versions USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE block_versions.block_id = u.c0 AND block_versions.version = u.c1;
-- agent_blocks.remove × 1
DELETE FROM agent_blocks WHERE agent_no = $1 AND ord = $2;
-- agent_blocks.remove × 2
DELETE FROM agent_blocks USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE agent_blocks.agent_no = u.c0 AND agent_blocks.ord = u.c1;
-- sessions.remove × 1
DELETE FROM sessions WHERE id = $1;
-- sessions.remove × 2
DELETE FROM sessions USING unnest($1::text[]) AS u(c0) WHERE sessions.id = u.c0;
-- branches.remove × 1
DELETE FROM branches WHERE session_no = $1 AND branch = $2;
-- branches.remove × 2
DELETE FROM branches USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE branches.session_no = u.c0 AND branches.branch = u.c1;
-- turns.remove × 1
DELETE FROM turns WHERE session_no = $1 AND first_seq = $2 AND seq = $3;
-- turns.remove × 2
DELETE FROM turns USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE turns.session_no = u.c0 AND turns.first_seq = u.c1 AND turns.seq = u.c2;
-- clears.remove × 1
DELETE FROM clears WHERE session_no = $1 AND seq = $2;
-- clears.remove × 2
DELETE FROM clears USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE clears.session_no = u.c0 AND clears.seq = u.c1;
-- remains.remove × 1
DELETE FROM remains WHERE session_no = $1 AND branch = $2;
-- remains.remove × 2
DELETE FROM remains USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE remains.session_no = u.c0 AND remains.branch = u.c1;
-- evals.remove × 1
DELETE FROM evals WHERE session_no = $1 AND first_seq = $2 AND seq = $3;
-- evals.remove × 2
DELETE FROM evals USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE evals.session_no = u.c0 AND evals.first_seq = u.c1 AND evals.seq = u.c2;
-- calls.remove × 1
DELETE FROM calls WHERE session_no = $1 AND first_seq = $2 AND seq = $3;
-- calls.remove × 2
DELETE FROM calls USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE calls.session_no = u.c0 AND calls.first_seq = u.c1 AND calls.seq = u.c2;
-- snapshots.remove × 1
DELETE FROM snapshots WHERE session_no = $1 AND seq = $2;
-- snapshots.remove × 2
DELETE FROM snapshots USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE snapshots.session_no = u.c0 AND snapshots.seq = u.c1;
-- heads.remove × 1
DELETE FROM heads WHERE id = $1;
-- heads.remove × 2
DELETE FROM heads USING unnest($1::text[]) AS u(c0) WHERE heads.id = u.c0;
-- invocations.remove × 1
DELETE FROM invocations WHERE session_no = $1 AND first_seq = $2 AND seq = $3;
-- invocations.remove × 2
DELETE FROM invocations USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE invocations.session_no = u.c0 AND invocations.first_seq = u.c1 AND invocations.seq = u.c2;
-- derivations.remove × 1
DELETE FROM derivations WHERE session_no = $1 AND seq = $2;
-- derivations.remove × 2
DELETE FROM derivations USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE derivations.session_no = u.c0 AND derivations.seq = u.c1;
-- runs.remove × 1
DELETE FROM runs WHERE id = $1;
-- runs.remove × 2
DELETE FROM runs USING unnest($1::text[]) AS u(c0) WHERE runs.id = u.c0;
-- signals.remove × 1
DELETE FROM signals WHERE session_no = $1 AND seq = $2;
-- signals.remove × 2
DELETE FROM signals USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE signals.session_no = u.c0 AND signals.seq = u.c1;
-- decisions.remove × 1
DELETE FROM decisions WHERE session_no = $1 AND seq = $2;
-- decisions.remove × 2
DELETE FROM decisions USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE decisions.session_no = u.c0 AND decisions.seq = u.c1;
-- checkpoints.remove × 1
DELETE FROM checkpoints WHERE session_no = $1 AND agent_no = $2 AND run = $3 AND seq = $4;
-- checkpoints.remove × 2
DELETE FROM checkpoints USING unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS u(c0, c1, c2, c3) WHERE checkpoints.session_no = u.c0 AND checkpoints.agent_no = u.c1 AND checkpoints.run = u.c2 AND checkpoints.seq = u.c3;
-- blobs.remove × 1
DELETE FROM blobs WHERE sha256 = $1;
-- blobs.remove × 2
DELETE FROM blobs USING unnest($1::bytea[]) AS u(c0) WHERE blobs.sha256 = u.c0;
-- blob_links.remove × 1
DELETE FROM blob_links WHERE parent_no = (SELECT no FROM blobs WHERE sha256 = $1) AND ord = $2;
-- blob_links.remove × 2
DELETE FROM blob_links USING unnest($1::bytea[], $2::bigint[]) AS u(c0, c1) WHERE blob_links.parent_no = (SELECT no FROM blobs WHERE sha256 = u.c0) AND blob_links.ord = u.c1;
-- segments.remove × 1
DELETE FROM segments WHERE id = $1;
-- segments.remove × 2
DELETE FROM segments USING unnest($1::text[]) AS u(c0) WHERE segments.id = u.c0;
-- segment_frames.remove × 1
DELETE FROM segment_frames WHERE segment_id = $1 AND start = $2;
-- segment_frames.remove × 2
DELETE FROM segment_frames USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE segment_frames.segment_id = u.c0 AND segment_frames.start = u.c1;
-- blob_segments.remove × 1
DELETE FROM blob_segments WHERE blob_no = (SELECT no FROM blobs WHERE sha256 = $1) AND ord = $2;
-- blob_segments.remove × 2
DELETE FROM blob_segments USING unnest($1::bytea[], $2::bigint[]) AS u(c0, c1) WHERE blob_segments.blob_no = (SELECT no FROM blobs WHERE sha256 = u.c0) AND blob_segments.ord = u.c1;
-- embedding_failures.remove × 1
DELETE FROM embedding_failures WHERE kind = $1 AND scope = $2 AND item = $3;
-- embedding_failures.remove × 2
DELETE FROM embedding_failures USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE embedding_failures.kind = u.c0 AND embedding_failures.scope = u.c1 AND embedding_failures.item = u.c2;
-- passages.remove × 1
DELETE FROM passages WHERE collection_no = $1 AND item = $2;
-- passages.remove × 2
DELETE FROM passages USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE passages.collection_no = u.c0 AND passages.item = u.c1;
-- index_kinds.remove × 1
DELETE FROM index_kinds WHERE kind = $1;
-- index_kinds.remove × 2
DELETE FROM index_kinds USING unnest($1::text[]) AS u(c0) WHERE index_kinds.kind = u.c0;
-- index_segments.remove × 1
DELETE FROM index_segments WHERE kind = $1 AND segment = $2;
-- index_segments.remove × 2
DELETE FROM index_segments USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE index_segments.kind = u.c0 AND index_segments.segment = u.c1;
-- index_pages.remove × 1
DELETE FROM index_pages WHERE kind = $1 AND segment = $2 AND page = $3;
-- index_pages.remove × 2
DELETE FROM index_pages USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE index_pages.kind = u.c0 AND index_pages.segment = u.c1 AND index_pages.page = u.c2;
-- index_items.remove × 1
DELETE FROM index_items WHERE kind = $1 AND group_no = $2 AND item = $3;
-- index_items.remove × 2
DELETE FROM index_items USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE index_items.kind = u.c0 AND index_items.group_no = u.c1 AND index_items.item = u.c2;
-- metadata_fields.remove × 1
DELETE FROM metadata_fields WHERE kind = $1 AND scope = $2 AND path = $3 AND value = $4 AND item = $5;
-- metadata_fields.remove × 2
DELETE FROM metadata_fields USING unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[]) AS u(c0, c1, c2, c3, c4) WHERE metadata_fields.kind = u.c0 AND metadata_fields.scope = u.c1 AND metadata_fields.path = u.c2 AND metadata_fields.value = u.c3 AND metadata_fields.item = u.c4;
-- vector_collections.remove × 1
DELETE FROM vector_collections WHERE no = $1;
-- vector_collections.remove × 2
DELETE FROM vector_collections USING unnest($1::bigint[]) AS u(c0) WHERE vector_collections.no = u.c0;
-- vector_generations.remove × 1
DELETE FROM vector_generations WHERE collection_no = $1 AND generation = $2;
-- vector_generations.remove × 2
DELETE FROM vector_generations USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE vector_generations.collection_no = u.c0 AND vector_generations.generation = u.c1;
-- documents.remove × 1
DELETE FROM documents WHERE collection_no = $1 AND id = $2;
-- documents.remove × 2
DELETE FROM documents USING unnest($1::bigint[], $2::text[]) AS u(c0, c1) WHERE documents.collection_no = u.c0 AND documents.id = u.c1;
-- vectors.remove × 1
DELETE FROM vectors WHERE collection_no = $1 AND generation = $2 AND item = $3;
-- vectors.remove × 2
DELETE FROM vectors USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE vectors.collection_no = u.c0 AND vectors.generation = u.c1 AND vectors.item = u.c2;
-- vector_pages.remove × 1
DELETE FROM vector_pages WHERE collection_no = $1 AND generation = $2 AND first_item = $3;
-- vector_pages.remove × 2
DELETE FROM vector_pages USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) WHERE vector_pages.collection_no = u.c0 AND vector_pages.generation = u.c1 AND vector_pages.first_item = u.c2;
-- memory_scopes.remove × 1
DELETE FROM memory_scopes WHERE namespace = $1 AND agent = $2;
-- memory_scopes.remove × 2
DELETE FROM memory_scopes USING unnest($1::text[], $2::text[]) AS u(c0, c1) WHERE memory_scopes.namespace = u.c0 AND memory_scopes.agent = u.c1;
-- memories.remove × 1
DELETE FROM memories WHERE id = $1;
-- memories.remove × 2
DELETE FROM memories USING unnest($1::text[]) AS u(c0) WHERE memories.id = u.c0;
-- memory_changes.remove × 1
DELETE FROM memory_changes WHERE memory_id = $1 AND version = $2;
-- memory_changes.remove × 2
DELETE FROM memory_changes USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE memory_changes.memory_id = u.c0 AND memory_changes.version = u.c1;
-- session_tags.remove × 1
DELETE FROM session_tags WHERE tag = $1 AND session_no = $2;
-- session_tags.remove × 2
DELETE FROM session_tags USING unnest($1::text[], $2::bigint[]) AS u(c0, c1) WHERE session_tags.tag = u.c0 AND session_tags.session_no = u.c1;
-- aliases.remove × 1
DELETE FROM aliases WHERE name = $1;
-- aliases.remove × 2
DELETE FROM aliases USING unnest($1::text[]) AS u(c0) WHERE aliases.name = u.c0;
-- word_refs.remove × 1
DELETE FROM word_refs WHERE prefix = $1 AND event_no = $2;
-- word_refs.remove × 2
DELETE FROM word_refs USING unnest($1::bytea[], $2::bigint[]) AS u(c0, c1) WHERE word_refs.prefix = u.c0 AND word_refs.event_no = u.c1;
-- annotations.remove × 1
DELETE FROM annotations WHERE session_no = $1 AND seq = $2;
-- annotations.remove × 2
DELETE FROM annotations USING unnest($1::bigint[], $2::bigint[]) AS u(c0, c1) WHERE annotations.session_no = u.c0 AND annotations.seq = u.c1;
-- state.remove × 1
DELETE FROM state WHERE session_no = $1 AND branch = $2 AND key = $3 AND seq = $4;
-- state.remove × 2
DELETE FROM state USING unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS u(c0, c1, c2, c3) WHERE state.session_no = u.c0 AND state.branch = u.c1 AND state.key = u.c2 AND state.seq = u.c3;
-- boards.remove × 1
DELETE FROM boards WHERE id = $1;
-- boards.remove × 2
DELETE FROM boards USING unnest($1::text[]) AS u(c0) WHERE boards.id = u.c0;
-- tasks.remove × 1
DELETE FROM tasks WHERE board_id = $1 AND id = $2;
-- tasks.remove × 2
DELETE FROM tasks USING unnest($1::text[], $2::text[]) AS u(c0, c1) WHERE tasks.board_id = u.c0 AND tasks.id = u.c1;
-- captures.remove × 1
DELETE FROM captures WHERE id = $1;
-- captures.remove × 2
DELETE FROM captures USING unnest($1::text[]) AS u(c0) WHERE captures.id = u.c0;
-- agents.register × 1
INSERT INTO agents (id, name, created_at, updated_at, checksum, agent_type, version) VALUES ($1, $2, $3, $4, $5, 'agent', 1);
-- agents.register × 2
INSERT INTO agents (id, name, created_at, updated_at, checksum, agent_type, version) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, 'agent', 1 FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[]) AS u(c0, c1, c2, c3, c4);
-- blobs.store × 1
INSERT INTO blobs (sha256, size, media, utf8, form, stored, body, store, key, refs, expires_at, created_at, checksum, pinned, epoch) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, (SELECT n FROM counters WHERE name = 'gc')) ON CONFLICT (sha256) DO UPDATE SET refs = blobs.refs + excluded.refs, epoch = excluded.epoch, condemned = NULL, expires_at = CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END, checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END;
-- blobs.store × 2
INSERT INTO blobs (sha256, size, media, utf8, form, stored, body, store, key, refs, expires_at, created_at, checksum, pinned, epoch) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, 0, (SELECT n FROM counters WHERE name = 'gc') FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12) ON CONFLICT (sha256) DO UPDATE SET refs = blobs.refs + excluded.refs, epoch = excluded.epoch, condemned = NULL, expires_at = CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END, checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END;
-- blobs.use × 1
UPDATE blobs SET refs = blobs.refs + $1, epoch = (SELECT n FROM counters WHERE name = 'gc'), condemned = NULL WHERE sha256 = $2;
-- blobs.use × 2
UPDATE blobs SET refs = blobs.refs + u.c0, epoch = (SELECT n FROM counters WHERE name = 'gc'), condemned = NULL FROM unnest($1::bigint[], $2::bytea[]) AS u(c0, c1) WHERE blobs.sha256 = u.c1;
-- events.add × 1
INSERT INTO events (session_no, seq, branch, at, body, hash, type, run, sha256, salt, words) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
-- events.add × 2
INSERT INTO events (session_no, seq, branch, at, body, hash, type, run, sha256, salt, words) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10);
-- events.addInline × 1
INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words) VALUES ($1, $2, $3, $4, $5, $6, 'message/added', $7, $8, $9, $10, $11, $12, $13, $14);
-- events.addInline × 2
INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, 'message/added', u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13);
-- events.addLong × 1
INSERT INTO events (session_no, seq, branch, at, body, hash, type, run, sha256, salt, words, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT no FROM blobs WHERE sha256 = $12));
-- events.addLong × 2
INSERT INTO events (session_no, seq, branch, at, body, hash, type, run, sha256, salt, words, content) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, (SELECT no FROM blobs WHERE sha256 = u.c11) FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11);
-- events.addMessage × 1
INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words, content) VALUES ($1, $2, $3, $4, $5, $6, 'message/added', $7, $8, $9, $10, $11, $12, $13, $14, (SELECT no FROM blobs WHERE sha256 = $15));
-- events.addMessage × 2
INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words, content) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, 'message/added', u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, (SELECT no FROM blobs WHERE sha256 = u.c14) FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[], $15::bytea[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14);
-- heads.publish × 1
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) VALUES ($1, $2, $3, $4, (SELECT no FROM heads WHERE id = $5), $6, $7, $8, (SELECT no FROM blobs WHERE sha256 = $9), $10, $11, $12, $13, $14, $15, $16);
-- heads.publish × 2
INSERT INTO heads (id, session_no, branch, seq, basis_no, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) SELECT u.c0, u.c1, u.c2, u.c3, (SELECT no FROM heads WHERE id = u.c4), u.c5, u.c6, u.c7, (SELECT no FROM blobs WHERE sha256 = u.c8), u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bigint[], $13::text[], $14::bigint[], $15::text[], $16::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15);
-- sessions.advance × 1
UPDATE sessions SET seq = $1, chain = $2, updated_at = $3, messages = $4, state_seq = $5 WHERE no = $6;
-- sessions.advance × 2
UPDATE sessions SET seq = u.c0, chain = u.c1, updated_at = u.c2, messages = u.c3, state_seq = u.c4 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5) WHERE sessions.no = u.c5;
-- sessions.create × 1
INSERT INTO sessions (id, agent_no, created_at, updated_at, chain, checksum, status, version, branch, seq, messages, state_seq) VALUES ($1, (SELECT no FROM agents WHERE id = $2), $3, $4, $5, $6, 'open', 1, 1, 0, 0, 0);
-- sessions.create × 2
INSERT INTO sessions (id, agent_no, created_at, updated_at, chain, checksum, status, version, branch, seq, messages, state_seq) SELECT u.c0, (SELECT no FROM agents WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, 'open', 1, 1, 0, 0, 0 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[]) AS u(c0, c1, c2, c3, c4, c5);
-- sessions.restore × 1
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, checksum) VALUES ($1, (SELECT no FROM agents WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20);
-- sessions.restore × 2
INSERT INTO sessions (id, agent_no, title, status, tags, metadata, request, created_at, updated_at, deleted_at, version, branch, seq, chain, messages, state_seq, kind, origin, cache_id, checksum) SELECT u.c0, (SELECT no FROM agents WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19);
-- heads.restore × 1
INSERT INTO heads (id, session_no, branch, seq, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) VALUES ($1, (SELECT no FROM sessions WHERE id = $2), $3, $4, $5, $6, $7, (SELECT no FROM blobs WHERE sha256 = $8), $9, $10, $11, $12, $13, $14, $15);
-- heads.restore × 2
INSERT INTO heads (id, session_no, branch, seq, status, chain, root, final, salt, final_summary, snapshot_seq, fingerprint, turn_seq, cache_id, at) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM blobs WHERE sha256 = u.c7), u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bigint[], $12::text[], $13::bigint[], $14::text[], $15::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14);
-- branches.restore × 1
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, (SELECT no FROM sessions WHERE id = $4), $5, $6, $7);
-- branches.restore × 2
INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, (SELECT no FROM sessions WHERE id = u.c3), u.c4, u.c5, u.c6 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6);
-- events.restore × 1
INSERT INTO events (session_no, seq, branch, type, at, body, hash, agent_no, role, run, key, sha256, words, content, salt, chars, erased_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6, $7, (SELECT no FROM agents WHERE id = $8), $9, $10, $11, $12, $13, (SELECT no FROM blobs WHERE sha256 = $14), $15, $16, $17);
-- events.restore × 2
INSERT INTO events (session_no, seq, branch, type, at, body, hash, agent_no, role, run, key, sha256, words, content, salt, chars, erased_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM agents WHERE id = u.c7), u.c8, u.c9, u.c10, u.c11, u.c12, (SELECT no FROM blobs WHERE sha256 = u.c13), u.c14, u.c15, u.c16 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[], $7::bytea[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::bigint[], $17::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16);
-- turns.restore × 1
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, (SELECT no FROM agents WHERE id = $6), $7, $8);
-- turns.restore × 2
INSERT INTO turns (session_no, first_seq, seq, branch, status, agent_no, run, at) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, (SELECT no FROM agents WHERE id = u.c5), u.c6, u.c7 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- clears.restore × 1
INSERT INTO clears (session_no, seq, branch, agent_no, run) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, (SELECT no FROM agents WHERE id = $4), $5);
-- clears.restore × 2
INSERT INTO clears (session_no, seq, branch, agent_no, run) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, (SELECT no FROM agents WHERE id = u.c3), u.c4 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS u(c0, c1, c2, c3, c4);
-- evals.restore × 1
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6, $7, (SELECT no FROM blobs WHERE sha256 = $8), (SELECT no FROM blobs WHERE sha256 = $9), (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), $12, $13, $14);
-- evals.restore × 2
INSERT INTO evals (session_no, first_seq, seq, branch, turn_seq, message_seq, status, code, result, final, error, salts, at, erased_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM blobs WHERE sha256 = u.c7), (SELECT no FROM blobs WHERE sha256 = u.c8), (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), u.c11, u.c12, u.c13 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13);
-- calls.restore × 1
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6, $7, $8, $9, (SELECT no FROM blobs WHERE sha256 = $10), (SELECT no FROM blobs WHERE sha256 = $11), (SELECT no FROM blobs WHERE sha256 = $12), (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21);
-- calls.restore × 2
INSERT INTO calls (session_no, first_seq, seq, branch, turn_seq, type, status, model, provider, request, response, result, error, salts, tokens_in, tokens_out, tokens_cached, cost_usd, created_at, completed_at, erased_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, (SELECT no FROM blobs WHERE sha256 = u.c9), (SELECT no FROM blobs WHERE sha256 = u.c10), (SELECT no FROM blobs WHERE sha256 = u.c11), (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::float8[], $19::bigint[], $20::bigint[], $21::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20);
-- snapshots.restore × 1
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, (SELECT no FROM blobs WHERE sha256 = $5), $6, $7, $8);
-- snapshots.restore × 2
INSERT INTO snapshots (session_no, seq, branch, turn_seq, vars, salt, at, erased_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, (SELECT no FROM blobs WHERE sha256 = u.c4), u.c5, u.c6, u.c7 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- invocations.restore × 1
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6, (SELECT no FROM sessions WHERE id = $7), (SELECT no FROM heads WHERE id = $8), (SELECT no FROM heads WHERE id = $9), (SELECT no FROM heads WHERE id = $10), (SELECT no FROM heads WHERE id = $11), $12, $13, (SELECT no FROM sessions WHERE id = $14), (SELECT no FROM heads WHERE id = $15), $16, $17, $18, $19, $20);
-- invocations.restore × 2
INSERT INTO invocations (session_no, first_seq, seq, branch, type, status, callee_session_no, caller_head_before, caller_head_after, callee_head_before, callee_head_after, call_seq, label, source_session_no, source_head, source_snapshot_seq, source_fingerprint, created_at, completed_at, checksum) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5, (SELECT no FROM sessions WHERE id = u.c6), (SELECT no FROM heads WHERE id = u.c7), (SELECT no FROM heads WHERE id = u.c8), (SELECT no FROM heads WHERE id = u.c9), (SELECT no FROM heads WHERE id = u.c10), u.c11, u.c12, (SELECT no FROM sessions WHERE id = u.c13), (SELECT no FROM heads WHERE id = u.c14), u.c15, u.c16, u.c17, u.c18, u.c19 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bytea[], $14::text[], $15::text[], $16::bigint[], $17::text[], $18::bigint[], $19::bigint[], $20::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19);
-- derivations.restore × 1
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, (SELECT no FROM sessions WHERE id = $4), (SELECT no FROM heads WHERE id = $5), $6, $7, $8);
-- derivations.restore × 2
INSERT INTO derivations (session_no, seq, type, source_session_no, source_head, source_branch, source_seq, at) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, (SELECT no FROM sessions WHERE id = u.c3), (SELECT no FROM heads WHERE id = u.c4), u.c5, u.c6, u.c7 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7);
-- annotations.restore × 1
INSERT INTO annotations (session_no, seq, payload, salt) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, (SELECT no FROM blobs WHERE sha256 = $3), $4);
-- annotations.restore × 2
INSERT INTO annotations (session_no, seq, payload, salt) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, (SELECT no FROM blobs WHERE sha256 = u.c2), u.c3 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[]) AS u(c0, c1, c2, c3);
-- state.restore × 1
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6, (SELECT no FROM blobs WHERE sha256 = $7), $8, $9);
-- state.restore × 2
INSERT INTO state (session_no, branch, key, seq, ord, until_seq, value, salt, expires_at) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5, (SELECT no FROM blobs WHERE sha256 = u.c6), u.c7, u.c8 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8);
-- boards.restore × 1
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) VALUES ($1, (SELECT no FROM sessions WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10);
-- boards.restore × 2
INSERT INTO boards (id, session_no, agent, ord, label, parent, max_retries, created_at, version, checksum) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9 FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9);
-- tasks.restore × 1
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
-- tasks.restore × 2
INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at, checksum) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10);
-- session_tags.restore × 1
INSERT INTO session_tags (tag, session_no) VALUES ($1, (SELECT no FROM sessions WHERE id = $2));
-- session_tags.restore × 2
INSERT INTO session_tags (tag, session_no) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1) FROM unnest($1::text[], $2::text[]) AS u(c0, c1);
-- aliases.restore × 1
INSERT INTO aliases (name, session_no, created_at) VALUES ($1, (SELECT no FROM sessions WHERE id = $2), $3);
-- aliases.restore × 2
INSERT INTO aliases (name, session_no, created_at) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1), u.c2 FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(c0, c1, c2);
-- remains.restore × 1
INSERT INTO remains (session_no, branch, upto) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3) ON CONFLICT (session_no, branch) DO UPDATE SET upto = excluded.upto;
-- remains.restore × 2
INSERT INTO remains (session_no, branch, upto) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2 FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u(c0, c1, c2) ON CONFLICT (session_no, branch) DO UPDATE SET upto = excluded.upto;
-- runs.restore × 1
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) VALUES ($1, (SELECT no FROM sessions WHERE id = $2), $3, $4, $5, $6, $7, (SELECT no FROM agents WHERE id = $8), $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31);
-- runs.restore × 2
INSERT INTO runs (id, session_no, first_seq, seq, branch, parent, nested, agent_no, agent_version, toolset, status, version, epoch, beat, owner, iteration, checkpoint_seq, wake_at, waits, cancel, pause_at, stop, limits, priority, lease_ms, tokens, cost_usd, created_at, updated_at, ended_at, held) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, u.c6, (SELECT no FROM agents WHERE id = u.c7), u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20, u.c21, u.c22, u.c23, u.c24, u.c25, u.c26, u.c27, u.c28, u.c29, u.c30 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::bytea[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[], $23::bytea[], $24::bigint[], $25::bigint[], $26::bigint[], $27::float8[], $28::bigint[], $29::bigint[], $30::bigint[], $31::bigint[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24, c25, c26, c27, c28, c29, c30);
-- signals.restore × 1
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6);
-- signals.restore × 2
INSERT INTO signals (session_no, seq, branch, run, name, taken_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- decisions.restore × 1
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) VALUES ((SELECT no FROM sessions WHERE id = $1), $2, $3, $4, $5, $6);
-- decisions.restore × 2
INSERT INTO decisions (session_no, seq, branch, run, step_seq, answered_seq) SELECT (SELECT no FROM sessions WHERE id = u.c0), u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- checkpoints.restore × 1
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) VALUES ((SELECT no FROM sessions WHERE id = $1), (SELECT no FROM agents WHERE id = $2), $3, $4, $5, $6);
-- checkpoints.restore × 2
INSERT INTO checkpoints (session_no, agent_no, run, seq, branch, iteration) SELECT (SELECT no FROM sessions WHERE id = u.c0), (SELECT no FROM agents WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5 FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(c0, c1, c2, c3, c4, c5);
-- captures.restore × 1
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) VALUES ($1, (SELECT no FROM sessions WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, (SELECT no FROM blobs WHERE sha256 = $13), $14, $15, $16, $17, $18, $19, $20, $21);
-- captures.restore × 2
INSERT INTO captures (id, session_no, seq, request, agent, agent_session, generation, diverged, cwd, config_dir, project_key, agent_version, manifest, salt, files, size, stored, created_at, saved_at, expires_at, checksum) SELECT u.c0, (SELECT no FROM sessions WHERE id = u.c1), u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, (SELECT no FROM blobs WHERE sha256 = u.c12), u.c13, u.c14, u.c15, u.c16, u.c17, u.c18, u.c19, u.c20 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20);
-- heads.restore.basis_no × 1
UPDATE heads SET basis_no = (SELECT h.no FROM heads h WHERE h.id = $1) WHERE id = $2;
-- heads.restore.basis_no × 2
UPDATE heads SET basis_no = (SELECT h.no FROM heads h WHERE h.id = u.c0) FROM unnest($1::text[], $2::text[]) AS u(c0, c1) WHERE heads.id = u.c1;
-- sessions.restore.head_no × 1
UPDATE sessions SET head_no = (SELECT h.no FROM heads h WHERE h.id = $1) WHERE id = $2;
-- sessions.restore.head_no × 2
UPDATE sessions SET head_no = (SELECT h.no FROM heads h WHERE h.id = u.c0) FROM unnest($1::text[], $2::text[]) AS u(c0, c1) WHERE sessions.id = u.c1;
-- sessions.restore.alias_count × 1
UPDATE sessions SET alias_count = sessions.alias_count + $1 WHERE id = $2;
-- sessions.restore.alias_count × 2
UPDATE sessions SET alias_count = sessions.alias_count + u.c0 FROM unnest($1::bigint[], $2::text[]) AS u(c0, c1) WHERE sessions.id = u.c1;
-- append, inline × 1
WITH required AS MATERIALIZED (SELECT value FROM holdfast_meta WHERE name = 'schema' AND value = '20'), moved AS (UPDATE sessions SET seq = $1, chain = $2, updated_at = $3, messages = $4, state_seq = $5 WHERE sessions.no = $6 AND sessions.seq = $7 AND sessions.chain = $8 AND sessions.deleted_at IS NULL AND EXISTS (SELECT FROM required) RETURNING 1), w0 AS (INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words) VALUES ($9, $10, $11, $12, $13, $14, 'message/added', $15, $16, $17, $18, $19, $20, $21, $22)) SELECT 1 / count(*) AS held FROM moved;
-- append, inline × 2
WITH required AS MATERIALIZED (SELECT value FROM holdfast_meta WHERE name = 'schema' AND value = '20'), locked AS MATERIALIZED (SELECT no FROM sessions WHERE no = ANY($6::bigint[]) ORDER BY no FOR UPDATE), moved AS (UPDATE sessions SET seq = u.c0, chain = u.c1, updated_at = u.c2, messages = u.c3, state_seq = u.c4 FROM ROWS FROM (unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[]), generate_series(1, cardinality($1::bigint[]))) AS u(c0, c1, c2, c3, c4, c5, c6, c7, n) WHERE sessions.no = ANY($6::bigint[]) AND sessions.no = u.c5 AND sessions.seq = u.c6 AND sessions.chain = u.c7 AND sessions.deleted_at IS NULL AND EXISTS (SELECT FROM required) AND (SELECT count(*) FROM locked) >= 0 RETURNING 1), w0 AS (INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, 'message/added', u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13 FROM unnest($9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::bytea[], $15::bigint[], $16::text[], $17::text[], $18::text[], $19::bytea[], $20::bytea[], $21::bigint[], $22::bytea[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13)) SELECT 1 / (CASE WHEN count(*) = cardinality($6::bigint[]) THEN 1 ELSE 0 END) AS held FROM moved;
-- append × 1
WITH required AS MATERIALIZED (SELECT value FROM holdfast_meta WHERE name = 'schema' AND value = '20'), moved AS (UPDATE sessions SET seq = $1, chain = $2, updated_at = $3, messages = $4, state_seq = $5 WHERE sessions.no = $6 AND sessions.seq = $7 AND sessions.chain = $8 AND sessions.deleted_at IS NULL AND EXISTS (SELECT FROM required) RETURNING 1), stored AS (INSERT INTO blobs (sha256, size, media, utf8, form, stored, body, store, key, refs, expires_at, created_at, checksum, pinned, epoch) VALUES ($9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, 0, (SELECT n FROM counters WHERE name = 'gc')) ON CONFLICT (sha256) DO UPDATE SET refs = blobs.refs + excluded.refs, epoch = excluded.epoch, condemned = NULL, expires_at = CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END, checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END RETURNING no, sha256), w1 AS (INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words, content) VALUES ($22, $23, $24, $25, $26, $27, 'message/added', $28, $29, $30, $31, $32, $33, $34, $35, coalesce((SELECT no FROM stored WHERE sha256 = $36), (SELECT no FROM blobs WHERE sha256 = $36)))) SELECT 1 / count(*) AS held FROM moved;
-- append × 2
WITH required AS MATERIALIZED (SELECT value FROM holdfast_meta WHERE name = 'schema' AND value = '20'), locked AS MATERIALIZED (SELECT no FROM sessions WHERE no = ANY($6::bigint[]) ORDER BY no FOR UPDATE), moved AS (UPDATE sessions SET seq = u.c0, chain = u.c1, updated_at = u.c2, messages = u.c3, state_seq = u.c4 FROM ROWS FROM (unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[]), generate_series(1, cardinality($1::bigint[]))) AS u(c0, c1, c2, c3, c4, c5, c6, c7, n) WHERE sessions.no = ANY($6::bigint[]) AND sessions.no = u.c5 AND sessions.seq = u.c6 AND sessions.chain = u.c7 AND sessions.deleted_at IS NULL AND EXISTS (SELECT FROM required) AND (SELECT count(*) FROM locked) >= 0 RETURNING 1), stored AS (INSERT INTO blobs (sha256, size, media, utf8, form, stored, body, store, key, refs, expires_at, created_at, checksum, pinned, epoch) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, 0, (SELECT n FROM counters WHERE name = 'gc') FROM unnest($9::bytea[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[], $16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[]) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12) ON CONFLICT (sha256) DO UPDATE SET refs = blobs.refs + excluded.refs, epoch = excluded.epoch, condemned = NULL, expires_at = CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END, checksum = CASE WHEN blobs.checksum IS NULL OR blobs.checksum = left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.expires_at AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) THEN left(encode(sha256(convert_to(concat_ws(',', 'blobs', coalesce('x' || encode(sha256(blobs.sha256), 'hex'), 'n'), coalesce('t' || replace(blobs.media, ',', ',,'), 'n'), coalesce('i' || CAST(CAST(blobs.utf8 AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.stored AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.pinned AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END AS BIGINT) AS TEXT), 'n'), coalesce('i' || CAST(CAST(blobs.created_at AS BIGINT) AS TEXT), 'n')), 'UTF8')), 'hex'), 16) ELSE blobs.checksum END RETURNING no, sha256), w1 AS (INSERT INTO events (session_no, seq, branch, at, body, hash, type, agent_no, role, run, key, sha256, salt, chars, words, content) SELECT u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, 'message/added', u.c6, u.c7, u.c8, u.c9, u.c10, u.c11, u.c12, u.c13, coalesce(of_content.no, (SELECT no FROM blobs WHERE sha256 = u.c14)) FROM ROWS FROM (unnest($22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[], $26::bytea[], $27::bytea[], $28::bigint[], $29::text[], $30::text[], $31::text[], $32::bytea[], $33::bytea[], $34::bigint[], $35::bytea[], $36::bytea[]), generate_series(1, cardinality($22::bigint[]))) AS u(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, n) LEFT JOIN stored AS of_content ON of_content.sha256 = u.c14 ORDER BY u.n) SELECT 1 / (CASE WHEN count(*) = cardinality($6::bigint[]) THEN 1 ELSE 0 END) AS held FROM moved;
