// Agents and their blocks in SQL. Loading an agent's blocks is one statement, because every request of an agent begins
// with it; the guards' texts read one row of one table, so that an engine with row locks can lock it.
import { keepChecksum } from "./checksum.ts";

const AGENT =
  "a.no, a.id, a.name, a.agent_type, a.model, a.system, a.tool_ids, a.tags, a.metadata, " +
  "a.created_at, a.updated_at, a.deleted_at, a.version";

const BLOCK = "b.label, b.char_limit, b.description, b.read_only, b.version, b.created_at, b.updated_at";

const PAYLOAD = "p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key";

/**
 * A block with the value of its current version. A block whose value is missing is still returned, so that the damage
 * is reported.
 */
const VALUE =
  "LEFT JOIN block_versions v ON v.block_id = b.id AND v.version = b.version LEFT JOIN blobs p ON p.no = v.value";

const LIVE = "a.deleted_at IS NULL";
const OF_TYPE = "(CAST(:agentType AS TEXT) IS NULL OR a.agent_type = :agentType)";

/** Whatever a blob names or is made of. */
const partsOf = (blob: string) => `SELECT 1 FROM blob_links n WHERE n.parent_no = ${blob}`;

export const queries = () => ({
  "agent.get": `SELECT ${AGENT} FROM agents a WHERE a.id = :id`,
  "agents.list": `SELECT ${AGENT} FROM agents a WHERE a.no < :last AND ${OF_TYPE} AND ${LIVE} ORDER BY a.no DESC LIMIT :limit`,
  "agents.oldest": `SELECT ${AGENT} FROM agents a WHERE a.no > :last AND ${OF_TYPE} AND ${LIVE} ORDER BY a.no LIMIT :limit`,
  "agents.byTag": `
    SELECT ${AGENT} FROM agent_tags t JOIN agents a ON a.no = t.agent_no
    WHERE t.tag = :tag AND t.agent_no < :last AND ${OF_TYPE} AND ${LIVE} ORDER BY t.agent_no DESC LIMIT :limit`,
  "agents.oldestByTag": `
    SELECT ${AGENT} FROM agent_tags t JOIN agents a ON a.no = t.agent_no
    WHERE t.tag = :tag AND t.agent_no > :last AND ${OF_TYPE} AND ${LIVE} ORDER BY t.agent_no LIMIT :limit`,
  "blocks.load": `
    SELECT x.block_id AS id, ${BLOCK}, x.ord, ${PAYLOAD}
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no LEFT JOIN blocks b ON b.id = x.block_id ${VALUE}
    WHERE a.id = :agent AND ${LIVE} ORDER BY x.ord`,
  "block.get": `SELECT b.id, ${BLOCK}, 0 AS ord, ${PAYLOAD} FROM blocks b ${VALUE} WHERE b.id = :id`,
  "block.byLabel": `
    SELECT b.id, ${BLOCK}, x.ord, ${PAYLOAD}
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no JOIN blocks b ON b.id = x.block_id ${VALUE}
    WHERE a.id = :agent AND ${LIVE} AND b.label = :label`,
  "block.users": `
    SELECT x.block_id AS block, a.id AS agent, a.version
    FROM agent_blocks x JOIN agents a ON a.no = x.agent_no
    WHERE x.block_id = :id ORDER BY a.no`,
  "blocks.users": `
    SELECT x.block_id AS block, u.id AS agent, u.version
    FROM agents a JOIN agent_blocks mine ON mine.agent_no = a.no
    JOIN agent_blocks x ON x.block_id = mine.block_id JOIN agents u ON u.no = x.agent_no
    WHERE a.id = :agent AND ${LIVE} ORDER BY mine.ord, u.no`,
  "blocks.discarded": `
    SELECT DISTINCT p.sha256, p.store, p.key
    FROM agents a JOIN agent_blocks x ON x.agent_no = a.no JOIN block_versions v ON v.block_id = x.block_id
    JOIN blobs p ON p.no = v.value
    WHERE a.id = :agent AND ${LIVE} AND (p.form >= 2 OR p.store <> '' OR EXISTS (${partsOf("p.no")}))`,
  "block.versions": `
    SELECT v.version, v.edit, v.at, ${PAYLOAD}
    FROM block_versions v LEFT JOIN blobs p ON p.no = v.value
    WHERE v.block_id = :id AND v.version < :last ORDER BY v.version DESC LIMIT :limit`,
  "block.versions.oldest": `
    SELECT v.version, v.edit, v.at, ${PAYLOAD}
    FROM block_versions v LEFT JOIN blobs p ON p.no = v.value
    WHERE v.block_id = :id AND v.version > :last ORDER BY v.version LIMIT :limit`,
});

export const statements = () => ({
  /** Parameters: the time, twice, and the agent. */
  "agent.touch":
    "UPDATE agents SET version = version + 1, updated_at = ?, " +
    `${keepChecksum("agents", { version: "agents.version + 1", updated_at: "?" })} WHERE id = ?`,
  "agent.untag": "DELETE FROM agent_tags WHERE agent_no = ?",
  "agent.detachBlocks": "DELETE FROM agent_blocks WHERE agent_no = ?",
  // Every version of a block counts as one reference of its value, also when versions share it.
  "block.release": `
    UPDATE blobs SET refs = blobs.refs - used.n
    FROM (SELECT value, count(*) AS n FROM block_versions WHERE block_id = ? GROUP BY value) AS used
    WHERE blobs.no = used.value`,
  // Of the values just released, those that no other row needs; blobs in parts are taken apart afterwards.
  "block.drop": `
    DELETE FROM blobs WHERE no IN (SELECT value FROM block_versions WHERE block_id = ?) AND form < 2 AND refs = 0
    AND pinned = 0 AND expires_at IS NOT NULL AND expires_at <= ?
    AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = blobs.no)
    AND NOT EXISTS (${partsOf("blobs.no")})`,
  "block.removeVersions": "DELETE FROM block_versions WHERE block_id = ?",
});

export const guards = () => ({
  // Includes deleted agents: their ids may be created again, but only once.
  "agent.version": "SELECT version AS value FROM agents WHERE id = ?",
  "block.version": "SELECT version AS value FROM blocks WHERE id = ?",
});
