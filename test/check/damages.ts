// One damage for each kind of issue: exactly that, planted with raw SQL into a filled store.
import type { CheckKind } from "../../src/contracts/check.ts";
import type { DamagedStore } from "./damaged-store.ts";

export type PlantDamage = (store: DamagedStore) => Promise<unknown>;

const NOWHERE = 99_999;
const of = (id: string) => `(SELECT no FROM sessions WHERE id = '${id}')`;
const CHAT = `session_no = ${of("chat")}`;
const FORK = `session_no = ${of("fork")}`;
const headOf = (id: string) => `(SELECT max(h.no) FROM heads h WHERE h.session_no = ${of(id)})`;
const CURRENT = `${CHAT} AND branch = (SELECT branch FROM sessions WHERE id = 'chat')`;
/** A message behind every head of its session. */
const LAST_MESSAGE = `(SELECT max(m.seq) FROM events m WHERE m.session_no = ${of("chat")} AND m.type = 'message/added')`;

const sql =
  (text: string): PlantDamage =>
  ({ run }) =>
    run(text);

/** Of the heads of the filled store, by its place in the order of creation. */
const head =
  (place: number, set: string): PlantDamage =>
  ({ run, filled }) =>
    run(`UPDATE heads SET ${set} WHERE id = ?`, filled.heads[place] ?? "");

const attached = (set: string) =>
  sql(`UPDATE invocations SET ${set} WHERE ${CHAT} AND type = 'attach' AND status = 'done'`);
const spawned = (set: string) =>
  sql(`UPDATE invocations SET ${set} WHERE ${CHAT} AND type = 'spawn' AND status = 'done'`);
const chat = (set: string) => sql(`UPDATE sessions SET ${set} WHERE id = 'chat'`);

/** Damage of the text index, which has nothing of so few messages unless it is made. */
const indexed =
  (text: string): PlantDamage =>
  async ({ hf, run }) => {
    await hf.reindex();
    await run(text);
  };

/** Damage of the engine's own, which no change of rows makes: see physical.test.ts. */
export type PhysicalKind = "index-damaged" | "page-damaged" | "schema-damaged";

export const DAMAGES: Readonly<Record<Exclude<CheckKind, PhysicalKind>, PlantDamage>> = {
  "run-ended-twice": async ({ storage, run: change }) => {
    const [run] = await storage.query("run.get", { id: "run-failed" });
    await storage.commit({
      sessions: [{ id: "failed", mode: "existing", at: 1 }],
      events: [
        {
          session: "failed",
          type: "run/failed",
          at: 1,
          run: "run-failed",
          rowPayload: null,
          data: { version: (run?.version ?? 0) + 1 },
        },
      ],
    });
    const end = "(SELECT seq FROM sessions WHERE id = 'failed')";
    await change(`UPDATE runs SET version = version + 1, updated_at = 1, seq = ${end} WHERE id = 'run-failed'`);
  },
  "current-head-missing": chat(`head_no = ${NOWHERE}`),
  "current-head-foreign": sql(`UPDATE sessions SET head_no = ${headOf("split")} WHERE id = 'fork'`),
  "current-head-aborted": chat("head_no = (SELECT no FROM heads WHERE status = 'aborted')"),
  "current-head-wrong": ({ run, filled }) =>
    run("UPDATE sessions SET head_no = (SELECT no FROM heads WHERE id = ?) WHERE id = 'chat'", filled.heads[2] ?? ""),
  "derived-moved-source": chat(`head_no = ${headOf("fork")}`),
  "cache-id-missing": sql("UPDATE sessions SET cache_id = NULL WHERE id = 'fork'"),
  "alias-target-missing": sql(`UPDATE aliases SET session_no = ${NOWHERE}`),
  "alias-missing": sql("DELETE FROM aliases WHERE name = 'the-chat'"),
  "head-session-missing": sql(`UPDATE heads SET session_no = ${NOWHERE} WHERE status = 'aborted'`),
  "head-basis-missing": head(2, `basis_no = ${NOWHERE}`),
  "head-basis-foreign": head(2, `basis_no = ${headOf("fork")}`),
  "head-final-missing": head(0, `final = ${NOWHERE}`),
  "head-snapshot-missing": head(0, "snapshot_seq = 1"),
  "head-chain-wrong": head(2, `chain = (SELECT chain FROM sessions WHERE id = 'chat')`),
  "head-root-wrong": async ({ run, read, filled }) => {
    const [row] = await read("SELECT root FROM heads WHERE id = ?", filled.heads[0] ?? "");
    const root = Buffer.from(row?.root as Uint8Array)
      .toString()
      .replace('"messages":2', '"messages":7');
    await run("UPDATE heads SET root = ? WHERE id = ?", Buffer.from(root), filled.heads[0] ?? "");
  },
  "head-id-wrong": head(2, `id = 'hd-${"0".repeat(64)}'`),
  "branch-missing": sql(`DELETE FROM branches WHERE ${CURRENT}`),
  "branch-parent-missing": sql(`UPDATE branches SET parent_branch = ${NOWHERE} WHERE ${CURRENT}`),
  "branch-cut-beyond": sql(`UPDATE branches SET cut_seq = ${NOWHERE} WHERE ${CURRENT}`),
  "branch-wrong": sql(`UPDATE events SET branch = ${NOWHERE} WHERE ${CHAT} AND seq = ${LAST_MESSAGE}`),
  "lineage-cycle": sql(
    "INSERT INTO branches (session_no, branch, seq, parent_session_no, parent_branch, cut_seq, at) " +
      `VALUES (${of("chat")}, 1, 1, ${of("fork")}, 1, 1, 1)`,
  ),
  "derivation-target-missing": sql(`UPDATE derivations SET session_no = ${NOWHERE} WHERE ${FORK}`),
  "derivation-source-missing": sql(`UPDATE derivations SET source_session_no = ${NOWHERE} WHERE ${FORK}`),
  "derivation-head-missing": sql(`UPDATE derivations SET source_head = ${NOWHERE} WHERE ${FORK}`),
  "derivation-mismatch": sql(`UPDATE derivations SET source_seq = source_seq - 1 WHERE ${FORK}`),
  "invocation-caller-missing": sql(`UPDATE invocations SET session_no = ${NOWHERE}`),
  "invocation-callee-missing": sql(
    `UPDATE invocations SET callee_session_no = ${NOWHERE} WHERE ${CHAT} AND status = 'running'`,
  ),
  "invocation-head-missing": spawned(`callee_head_after = ${NOWHERE}`),
  "invocation-head-foreign": spawned(`callee_head_after = ${headOf("fork")}`),
  "invocation-call-missing": spawned(`call_seq = ${NOWHERE}`),
  "invocation-type-invalid": spawned("type = 'call'"),
  // Its end is gone, and it waits for itself.
  "invocation-cycle": async ({ run }) => {
    await run(`DELETE FROM invocations WHERE ${CHAT} AND type = 'spawn' AND status = 'done'`);
    await run(`UPDATE invocations SET callee_session_no = ${of("chat")} WHERE ${CHAT} AND type = 'spawn'`);
  },
  "attach-source-missing": sql(
    `UPDATE invocations SET source_session_no = ${NOWHERE}, source_head = NULL WHERE ${CHAT} AND type = 'attach'`,
  ),
  "attach-source-head-missing": attached(`source_head = ${NOWHERE}`),
  "leaf-call-has-invocation": spawned(
    `call_seq = (SELECT max(c.first_seq) FROM calls c WHERE c.session_no = ${of("chat")} AND c.type = 'leaf')`,
  ),
  "remains-short": sql(`UPDATE remains SET upto = upto - 1 WHERE session_no = ${of("left")}`),
  "remains-left": sql(
    "INSERT INTO turns (session_no, first_seq, seq, branch, status, at) " +
      `SELECT session_no, ${NOWHERE}, ${NOWHERE}, branch, 'open', 1 FROM remains WHERE session_no = ${of("left")}`,
  ),
  "row-session-missing": sql(`UPDATE annotations SET session_no = ${NOWHERE}`),
  "turn-missing": sql(`UPDATE calls SET turn_seq = ${NOWHERE} WHERE ${CHAT} AND turn_seq IS NOT NULL`),
  "turn-open-twice": sql(`UPDATE turns SET status = 'open' WHERE ${CHAT} AND status = 'done'`),
  "message-missing": sql(`UPDATE evals SET message_seq = 1 WHERE ${CHAT} AND message_seq IS NOT NULL`),
  "version-wrong": sql(`UPDATE calls SET status = 'started' WHERE ${CHAT} AND seq <> first_seq`),
  "state-held-twice": sql(`UPDATE state SET until_seq = NULL WHERE ${CHAT} AND key = 'plan'`),
  "task-board-missing": sql("UPDATE tasks SET board_id = 'nowhere'"),
  "row-without-event": sql(
    `INSERT INTO snapshots (session_no, seq, branch, at) SELECT session_no, seq, branch, at FROM events WHERE ${CHAT} ` +
      `AND seq = ${LAST_MESSAGE}`,
  ),
  "event-without-row": sql(`DELETE FROM derivations WHERE ${FORK}`),
  "row-mismatch": sql(`UPDATE calls SET cost_usd = 99 WHERE ${CHAT} AND cost_usd IS NOT NULL`),
  "commitment-mismatch": ({ run }) => run(`UPDATE annotations SET salt = ? WHERE ${CHAT}`, new Uint8Array(16)),
  "chain-broken": sql(
    `UPDATE events SET hash = (SELECT e.hash FROM events e WHERE e.session_no = ${of("chat")} AND e.seq = 2) ` +
      `WHERE ${CHAT} AND seq = ${LAST_MESSAGE}`,
  ),
  "event-mismatch": sql(`UPDATE events SET role = 'system' WHERE ${CHAT} AND seq = ${LAST_MESSAGE}`),
  "seq-gap": sql(`DELETE FROM events WHERE ${CHAT} AND seq = ${LAST_MESSAGE}`),
  "log-truncated": sql(`DELETE FROM events WHERE ${FORK} AND seq = (SELECT seq FROM sessions WHERE id = 'fork')`),
  "log-beyond-end": sql(
    "INSERT INTO events (session_no, seq, branch, type, at, body, hash) SELECT session_no, seq + 1, branch, type, at, body, hash " +
      `FROM events WHERE ${FORK} AND seq = (SELECT seq FROM sessions WHERE id = 'fork')`,
  ),
  "message-count-wrong": chat("messages = messages + 1"),
  "state-seq-wrong": chat("state_seq = 1"),
  "blob-missing": sql(`UPDATE snapshots SET vars = ${NOWHERE} WHERE ${CHAT}`),
  "blob-part-missing": sql(`UPDATE blob_links SET child_no = ${NOWHERE} WHERE ord = 1`),
  "blob-hash-mismatch": ({ run }) =>
    run(
      `UPDATE blobs SET body = ?, size = 3, form = 0 WHERE no = (SELECT payload FROM annotations WHERE ${CHAT})`,
      new Uint8Array([1, 2, 3]),
    ),
  "blob-link-missing": sql("DELETE FROM blob_links WHERE ord < 0 AND parent_no NOT IN (SELECT manifest FROM captures)"),
  "column-unreadable": ({ run }) => run("UPDATE sessions SET metadata = ? WHERE id = 'chat'", Buffer.from('{"a":1')),
  "checksum-wrong": sql("UPDATE agents SET deleted_at = 5 WHERE id = 'ada'"),
  "counter-missing": sql("DELETE FROM counters WHERE name = 'gc'"),
  "agent-tags-wrong": sql("INSERT INTO agent_tags (tag, agent_no) SELECT 'stray', no FROM agents WHERE id = 'ada'"),
  "block-wrong": sql("UPDATE blocks SET version = version + 1"),
  "collection-wrong": sql("DELETE FROM vectors WHERE item = (SELECT item FROM documents WHERE id = 'tea')"),
  // A page that is no page, of a collection that has none.
  "vector-page-wrong": ({ run }) =>
    run(
      "INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) SELECT no, 1, 1, 1, ? FROM vector_collections",
      new Uint8Array(20),
    ),
  "metadata-index-wrong": sql(
    "DELETE FROM metadata_fields WHERE kind = 'documents' AND item = (SELECT item FROM documents WHERE id = 'tea')",
  ),
  "memory-wrong": sql("DELETE FROM metadata_fields WHERE kind = 'memories'"),
  "text-index-marks-wrong": indexed("UPDATE index_kinds SET epoch = 0"),
  "text-index-range-wrong": indexed("UPDATE index_segments SET low = low + 1 WHERE kind = 'messages'"),
  "text-index-stray": indexed(
    "INSERT INTO index_pages (kind, segment, page, first, body) SELECT kind, segment + 1, page, first, body FROM index_pages " +
      "WHERE kind = 'messages'",
  ),
  "text-index-item-wrong": indexed("DELETE FROM index_items WHERE item = (SELECT max(no) FROM memories)"),
  "text-index-segment-wrong": indexed("UPDATE index_segments SET bytes = bytes + 1 WHERE kind = 'messages'"),
  "text-index-page-wrong": indexed("UPDATE index_pages SET body = first WHERE kind = 'memories' AND page = 0"),
  "text-index-text-wrong": indexed("UPDATE index_segments SET language = 'german' WHERE kind = 'messages'"),
  "blob-refs-wrong": sql(`UPDATE blobs SET refs = refs + 1 WHERE no = (SELECT payload FROM annotations WHERE ${CHAT})`),
};
