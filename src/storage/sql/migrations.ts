// The schema, as numbered steps that never change once released. {int} {real} {text} {bytes} {serial} are the dialect's types.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { newId } from "../../core/new-id.ts";
import { checksumSql, type PartType } from "./checksum.ts";
import type { Dialect, Driver, Execute } from "./driver.ts";
import { MEMORY } from "./memory-tables.ts";
import { foldForNewStore } from "./new-store.ts";

export interface Migration {
  readonly version: number;
  readonly up: readonly string[];
}

const FOUNDATION: readonly string[] = [
  `CREATE TABLE counters (name {text} PRIMARY KEY, n {int} NOT NULL){table_end}`,
  `INSERT INTO counters (name, n) VALUES ('gc', 1), ('word_refs', 0)`,
  `CREATE TABLE agents (no {serial}, id {text} NOT NULL UNIQUE, name {bytes} NOT NULL, agent_type {text} NOT NULL,
     model {text}, system {bytes}, tool_ids {bytes}, tags {bytes}, metadata {bytes}, created_at {int} NOT NULL,
     updated_at {int} NOT NULL, deleted_at {int}, version {int} NOT NULL){table_end}`,
  `CREATE TABLE agent_tags (tag {text} NOT NULL, agent_no {int} NOT NULL, PRIMARY KEY (tag, agent_no)){table_end}`,
  `CREATE INDEX agent_tags_agent ON agent_tags (agent_no)`,
  `CREATE TABLE blocks (id {text} NOT NULL PRIMARY KEY, label {text} NOT NULL, char_limit {int} NOT NULL,
     description {bytes} NOT NULL, read_only {int} NOT NULL, version {int} NOT NULL, created_at {int} NOT NULL,
     updated_at {int} NOT NULL){table_end}`,
  `CREATE TABLE block_versions (block_id {text} NOT NULL, version {int} NOT NULL, value {int} NOT NULL,
     edit {text} NOT NULL, at {int} NOT NULL, PRIMARY KEY (block_id, version)){table_end}`,
  `CREATE TABLE agent_blocks (agent_no {int} NOT NULL, ord {int} NOT NULL, block_id {text} NOT NULL,
     PRIMARY KEY (agent_no, ord)){table_end}`,
  `CREATE INDEX agent_blocks_block ON agent_blocks (block_id)`,
  `CREATE TABLE sessions (no {serial}, id {text} NOT NULL UNIQUE, agent_no {int}, title {bytes}, status {text} NOT NULL,
     tags {bytes}, metadata {bytes}, request {text}, created_at {int} NOT NULL, updated_at {int} NOT NULL,
     deleted_at {int}, version {int} NOT NULL, branch {int} NOT NULL, seq {int} NOT NULL, chain {bytes} NOT NULL,
     messages {int} NOT NULL, state_seq {int} NOT NULL){table_end}`,
  `CREATE INDEX sessions_agent ON sessions (agent_no, no) WHERE deleted_at IS NULL`,
  `CREATE INDEX sessions_request ON sessions (request, no) WHERE request IS NOT NULL`,
  `CREATE TABLE session_tags (tag {text} NOT NULL, session_no {int} NOT NULL, PRIMARY KEY (tag, session_no)){table_end}`,
  `CREATE INDEX session_tags_session ON session_tags (session_no)`,
  `CREATE TABLE aliases (name {text} NOT NULL PRIMARY KEY, session_no {int} NOT NULL, created_at {int} NOT NULL){table_end}`,
  `CREATE INDEX aliases_session ON aliases (session_no)`,
  `CREATE TABLE events (no {serial}, session_no {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL,
     type {text} NOT NULL, at {int} NOT NULL, body {bytes} NOT NULL, hash {bytes} NOT NULL, agent_no {int}, role {text},
     run {text}, key {text}, sha256 {bytes}, words {bytes}, content {int}, salt {bytes}, chars {int}, erased_seq {int},
     CHECK (role IS NULL OR agent_no IS NOT NULL),
     CHECK (role IS NULL OR words IS NOT NULL OR content IS NOT NULL OR erased_seq IS NOT NULL)){table_end}`,
  `CREATE INDEX events_log ON events (session_no, seq, agent_no, branch, erased_seq)`,
  `CREATE INDEX events_agent ON events (agent_no, no) WHERE agent_no IS NOT NULL AND erased_seq IS NULL`,
  `CREATE UNIQUE INDEX events_key ON events (session_no, key) WHERE key IS NOT NULL`,
  `CREATE INDEX events_run ON events (session_no, run, seq) WHERE run IS NOT NULL AND erased_seq IS NULL`,
  `CREATE TABLE word_refs (prefix {bytes} NOT NULL, event_no {int} NOT NULL, PRIMARY KEY (prefix, event_no)){table_end}`,
  `CREATE TABLE annotations (session_no {int} NOT NULL, seq {int} NOT NULL, payload {int}, salt {bytes},
     PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE TABLE state (session_no {int} NOT NULL, branch {int} NOT NULL, key {text} NOT NULL, seq {int} NOT NULL,
     ord {int} NOT NULL, until_seq {int}, value {int}, salt {bytes}, expires_at {int},
     PRIMARY KEY (session_no, branch, key, seq)){table_end}`,
  `CREATE INDEX state_current ON state (session_no, branch, key) WHERE until_seq IS NULL`,
  `CREATE TABLE boards (id {text} NOT NULL PRIMARY KEY, session_no {int} NOT NULL, agent {text} NOT NULL,
     ord {int} NOT NULL, label {bytes} NOT NULL, parent {text}, max_retries {int} NOT NULL, created_at {int} NOT NULL,
     version {int} NOT NULL, UNIQUE (session_no, agent)){table_end}`,
  `CREATE TABLE tasks (board_id {text} NOT NULL, id {text} NOT NULL, title {bytes} NOT NULL, status {text} NOT NULL,
     ord {int} NOT NULL, retry_count {int} NOT NULL, note {bytes} NOT NULL, version {int} NOT NULL,
     created_at {int} NOT NULL, updated_at {int} NOT NULL, PRIMARY KEY (board_id, id)){table_end}`,
  `CREATE TABLE blobs (no {serial}, sha256 {bytes} NOT NULL UNIQUE, size {int} NOT NULL, media {text} NOT NULL,
     utf8 {int} NOT NULL, form {int} NOT NULL, stored {int} NOT NULL, store {text} NOT NULL, key {text},
     refs {int} NOT NULL, pinned {int} NOT NULL, expires_at {int}, epoch {int} NOT NULL, condemned {int},
     created_at {int} NOT NULL, body {bytes}){table_end}`,
  `CREATE INDEX blobs_unreferenced ON blobs (no) WHERE refs = 0`,
  `CREATE INDEX blobs_external ON blobs (key) WHERE key IS NOT NULL`,
  `CREATE TABLE blob_links (parent_no {int} NOT NULL, ord {int} NOT NULL, child_no {int} NOT NULL,
     PRIMARY KEY (parent_no, ord)){table_end}`,
  `CREATE INDEX blob_links_child ON blob_links (child_no)`,
  `CREATE TABLE segments (id {text} NOT NULL PRIMARY KEY, size {int} NOT NULL, sealed {int} NOT NULL, sha256 {bytes},
     created_at {int} NOT NULL, touched_at {int} NOT NULL){table_end}`,
  `CREATE INDEX segments_open ON segments (touched_at) WHERE sealed = 0`,
  `CREATE TABLE segment_frames (segment_id {text} NOT NULL, start {int} NOT NULL, size {int} NOT NULL,
     stored {int} NOT NULL, store {text} NOT NULL, key {text}, body {bytes}, PRIMARY KEY (segment_id, start)){table_end}`,
  `CREATE INDEX segment_frames_external ON segment_frames (key) WHERE key IS NOT NULL`,
  `CREATE TABLE blob_segments (blob_no {int} NOT NULL, ord {int} NOT NULL, segment_id {text} NOT NULL,
     length {int} NOT NULL, PRIMARY KEY (blob_no, ord)){table_end}`,
  `CREATE INDEX blob_segments_segment ON blob_segments (segment_id)`,
];

/** Sessions as a graph. Rows are versions: each carries the seq of its event, and `first_seq` says of what. */
const GRAPH: readonly string[] = [
  `ALTER TABLE sessions ADD COLUMN kind {text} NOT NULL DEFAULT 'entry'`,
  `ALTER TABLE sessions ADD COLUMN origin {text}`,
  `ALTER TABLE sessions ADD COLUMN cache_id {text}`,
  `ALTER TABLE sessions ADD COLUMN head_no {int}`,
  `CREATE TABLE branches (session_no {int} NOT NULL, branch {int} NOT NULL, seq {int} NOT NULL, parent_session_no {int} NOT NULL,
     parent_branch {int} NOT NULL, cut_seq {int} NOT NULL, at {int} NOT NULL, PRIMARY KEY (session_no, branch)){table_end}`,
  `CREATE INDEX branches_parent ON branches (parent_session_no, parent_branch)`,
  `CREATE TABLE turns (session_no {int} NOT NULL, first_seq {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL,
     status {text} NOT NULL, agent_no {int}, run {text}, at {int} NOT NULL,
     PRIMARY KEY (session_no, first_seq, seq)){table_end}`,
  `CREATE TABLE clears (session_no {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL, agent_no {int} NOT NULL,
     run {text}, PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE TABLE remains (session_no {int} NOT NULL, branch {int} NOT NULL, upto {int} NOT NULL,
     PRIMARY KEY (session_no, branch)){table_end}`,
  `DROP INDEX state_current`,
  `CREATE INDEX state_held ON state (session_no, branch, until_seq, key)`,
  `DROP INDEX events_key`,
  `CREATE UNIQUE INDEX events_key ON events (session_no, key, branch) WHERE key IS NOT NULL`,
  `CREATE TABLE evals (session_no {int} NOT NULL, first_seq {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL,
     turn_seq {int}, message_seq {int}, status {text} NOT NULL, code {int}, result {int}, final {int}, error {int},
     salts {bytes}, at {int} NOT NULL, erased_seq {int}, PRIMARY KEY (session_no, first_seq, seq)){table_end}`,
  `CREATE TABLE calls (session_no {int} NOT NULL, first_seq {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL,
     turn_seq {int}, type {text} NOT NULL, status {text} NOT NULL, model {text}, provider {text}, request {int},
     response {int}, result {int}, error {int}, salts {bytes}, tokens_in {int}, tokens_out {int}, tokens_cached {int},
     cost_usd {real}, created_at {int} NOT NULL, completed_at {int}, erased_seq {int},
     PRIMARY KEY (session_no, first_seq, seq)){table_end}`,
  `CREATE TABLE snapshots (session_no {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL, turn_seq {int}, vars {int},
     salt {bytes}, at {int} NOT NULL, erased_seq {int}, PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE TABLE heads (no {serial}, id {text} NOT NULL UNIQUE, session_no {int} NOT NULL, branch {int} NOT NULL, seq {int} NOT NULL,
     basis_no {int}, status {text} NOT NULL, chain {bytes} NOT NULL, root {bytes} NOT NULL, final {int}, salt {bytes},
     final_summary {bytes}, snapshot_seq {int}, fingerprint {text}, turn_seq {int}, cache_id {text}, at {int} NOT NULL){table_end}`,
  `CREATE INDEX heads_session ON heads (session_no, seq)`,
  `CREATE INDEX heads_basis ON heads (basis_no) WHERE basis_no IS NOT NULL`,
  `CREATE TABLE invocations (session_no {int} NOT NULL, first_seq {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL,
     type {text} NOT NULL, status {text} NOT NULL, callee_session_no {int}, caller_head_before {int}, caller_head_after {int},
     callee_head_before {int}, callee_head_after {int}, call_seq {int}, label {bytes}, source_session_no {int},
     source_head {int}, source_snapshot_seq {int}, source_fingerprint {text}, created_at {int} NOT NULL, completed_at {int},
     PRIMARY KEY (session_no, first_seq, seq)){table_end}`,
  `CREATE INDEX invocations_callee ON invocations (callee_session_no) WHERE callee_session_no IS NOT NULL`,
  `CREATE TABLE derivations (session_no {int} NOT NULL, seq {int} NOT NULL, type {text} NOT NULL, source_session_no {int} NOT NULL,
     source_head {int}, source_branch {int} NOT NULL, source_seq {int} NOT NULL, at {int} NOT NULL,
     PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE INDEX derivations_source ON derivations (source_session_no)`,
];

/** Invocations that wait for a session to be imported are few, and every import asks for them. */
const LATE_LINKS = [
  `CREATE INDEX invocations_unlinked ON invocations (session_no, seq)
     WHERE callee_session_no IS NULL OR source_session_no IS NULL AND type = 'attach'`,
  `CREATE INDEX invocations_source ON invocations (source_session_no) WHERE source_session_no IS NOT NULL`,
];

/** Durable runs. Their steps are events of their session's log, found by the run; here is what has to be found otherwise. */
const RUNS: readonly string[] = [
  `CREATE TABLE runs (no {serial}, id {text} NOT NULL UNIQUE, session_no {int} NOT NULL, first_seq {int} NOT NULL,
     seq {int} NOT NULL, branch {int} NOT NULL, parent {text}, nested {int} NOT NULL, agent_no {int} NOT NULL,
     agent_version {text} NOT NULL, toolset {bytes} NOT NULL, status {text} NOT NULL, version {int} NOT NULL,
     epoch {int} NOT NULL, beat {int} NOT NULL, owner {text}, iteration {int} NOT NULL, checkpoint_seq {int},
     wake_at {int}, waits {text}, cancel {int} NOT NULL, pause_at {int}, stop {text}, limits {bytes} NOT NULL,
     priority {int} NOT NULL, lease_ms {int} NOT NULL, tokens {int} NOT NULL, cost_usd {real},
     created_at {int} NOT NULL, updated_at {int} NOT NULL, ended_at {int}){table_end}`,
  `CREATE INDEX runs_session ON runs (session_no, no)`,
  `CREATE UNIQUE INDEX runs_active ON runs (session_no) WHERE ended_at IS NULL AND nested = 0`,
  `CREATE INDEX runs_agent ON runs (agent_no, no)`,
  `CREATE INDEX runs_status ON runs (status, no)`,
  `CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL`,
  `CREATE INDEX runs_due ON runs (wake_at, no) WHERE ended_at IS NULL`,
  `CREATE TABLE signals (session_no {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL, run {text} NOT NULL,
     name {text} NOT NULL, taken_seq {int}, PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE INDEX signals_waiting ON signals (run, name, seq) WHERE taken_seq IS NULL`,
  `CREATE TABLE decisions (session_no {int} NOT NULL, seq {int} NOT NULL, branch {int} NOT NULL, run {text} NOT NULL,
     step_seq {int} NOT NULL, answered_seq {int}, PRIMARY KEY (session_no, seq)){table_end}`,
  `CREATE INDEX decisions_run ON decisions (run, seq)`,
  `CREATE INDEX decisions_open ON decisions (session_no, seq) WHERE answered_seq IS NULL`,
  `CREATE TABLE checkpoints (session_no {int} NOT NULL, agent_no {int} NOT NULL, run {text} NOT NULL, seq {int} NOT NULL,
     branch {int} NOT NULL, iteration {int} NOT NULL, PRIMARY KEY (session_no, agent_no, run, seq)){table_end}`,
];

/** One row for the newest capture of an agent's session under a request, and one for each diverged capture. */
const CAPTURES = [
  `CREATE TABLE captures (no {serial}, id {text} NOT NULL UNIQUE, session_no {int} NOT NULL, seq {int} NOT NULL,
     request {text} NOT NULL, agent {text} NOT NULL, agent_session {text} NOT NULL, generation {int} NOT NULL,
     diverged {int} NOT NULL, cwd {bytes} NOT NULL, config_dir {bytes}, project_key {bytes}, agent_version {bytes},
     manifest {int} NOT NULL, salt {bytes} NOT NULL, files {int} NOT NULL, size {int} NOT NULL, stored {int} NOT NULL,
     created_at {int} NOT NULL, saved_at {int} NOT NULL, expires_at {int})`,
  "CREATE UNIQUE INDEX captures_newest ON captures (request, agent, agent_session, session_no) WHERE diverged = 0",
  "CREATE INDEX captures_request ON captures (request, no)",
  "CREATE INDEX captures_agent_session ON captures (agent_session, no)",
  "CREATE INDEX captures_session ON captures (session_no)",
  "CREATE INDEX captures_expiry ON captures (expires_at, no) WHERE expires_at IS NOT NULL",
];

/**
 * A checksum in every row with columns that nothing else proves. Blobs and frames of segments may be as large as the store:
 * theirs comes with the next write of the row, and until then it is NULL. A session counts its names.
 */
const CHECKSUMS = [
  "agents",
  "blocks",
  "block_versions",
  "agent_blocks",
  "sessions",
  "invocations",
  "boards",
  "tasks",
  "blobs",
  "captures",
  "segments",
  "segment_frames",
].map((table) => `ALTER TABLE ${table} ADD COLUMN checksum {text}`);

/**
 * Computes the checksums of a table's rows. `columns` are the columns that the checksum covered at this migration, with
 * their types: `:t` is text, `:x` bytes, `:b` the number of a blob (the checksum has its SHA-256); no type is an
 * integer.
 */
function fill(table: string, columns: string): string {
  const types: Readonly<Record<string, PartType>> = { t: "text", x: "bytes" };
  const parts = columns.split(" ").map((one): readonly [PartType, string] => {
    const [column = "", type = ""] = one.split(":");
    const isBlob = type === "b";
    const value = isBlob ? `(SELECT x.sha256 FROM blobs x WHERE x.no = ${table}.${column})` : column;
    return [isBlob ? "bytes" : (types[type] ?? "int"), value];
  });
  return `UPDATE ${table} SET checksum = ${checksumSql(table, parts)}`;
}

const FILLED = [
  fill(
    "agents",
    "id:t name:x agent_type:t model:t system:x tool_ids:x tags:x metadata:x created_at updated_at deleted_at version",
  ),
  fill("blocks", "id:t label:t char_limit description:x read_only version created_at updated_at"),
  fill("block_versions", "block_id:t version value:b edit:t at"),
  fill("agent_blocks", "agent_no ord block_id:t"),
  "ALTER TABLE sessions ADD COLUMN alias_count {int} NOT NULL DEFAULT 0",
  "UPDATE sessions SET alias_count = (SELECT count(*) FROM aliases l WHERE l.session_no = sessions.no)",
  fill("sessions", "id:t title:x status:t metadata:x created_at deleted_at version"),
  fill("invocations", "first_seq seq label:x"),
  fill("boards", "id:t label:x"),
  fill("tasks", "board_id:t id:t title:x note:x"),
  fill("captures", "id:t cwd:x config_dir:x project_key:x agent_version:x"),
  fill("segments", "id:t sealed sha256:x created_at touched_at"),
  "ALTER TABLE counters ADD COLUMN checksum {text}",
  fill("counters", "name:t n"),
  `INSERT INTO holdfast_meta (name, value) SELECT 'checksum', ${checksumSql("holdfast_meta", [
    ["text", "(SELECT value FROM holdfast_meta WHERE name = 'store_id')"],
    ["text", "(SELECT value FROM holdfast_meta WHERE name = 'created_at')"],
  ])}`,
  "ALTER TABLE runs ADD COLUMN held {int} NOT NULL DEFAULT 0",
  "UPDATE runs SET held = 1 WHERE beat < 0",
];

/** The text index: segments in pages. It is derived from the texts; see storage/sql/text-index.ts. */
const TEXT_INDEX = [
  `CREATE TABLE index_kinds (kind {text} NOT NULL PRIMARY KEY, epoch {int} NOT NULL, indexed {int} NOT NULL,
     settled {int} NOT NULL, language {text}){table_end}`,
  `INSERT INTO index_kinds (kind, epoch, indexed, settled)
     VALUES ('messages', 0, 0, 0), ('memories', 0, 0, 0), ('documents', 0, 0, 0)`,
  `CREATE TABLE index_segments (kind {text} NOT NULL, segment {int} NOT NULL, low {int} NOT NULL, high {int} NOT NULL,
     version {int} NOT NULL, dropped {int} NOT NULL, marked {int} NOT NULL, units {int} NOT NULL, items {int} NOT NULL,
     removed {int} NOT NULL, bytes {int} NOT NULL, language {text} NOT NULL, tokeniser {int} NOT NULL,
     PRIMARY KEY (kind, segment)){table_end}`,
  "CREATE INDEX index_segments_low ON index_segments (kind, low)",
  `CREATE TABLE index_pages (kind {text} NOT NULL, segment {int} NOT NULL, page {int} NOT NULL, first {bytes} NOT NULL,
     body {bytes} NOT NULL, PRIMARY KEY (kind, segment, page)){table_end}`,
  `CREATE TABLE index_items (kind {text} NOT NULL, group_no {int} NOT NULL, item {int} NOT NULL, segment {int},
     PRIMARY KEY (kind, group_no, item)){table_end}`,
  "CREATE INDEX index_items_segment ON index_items (kind, segment, group_no, item)",
];

/** Segments have a sum over their directory. They are derived, so those of before are made again. */
const DIRECTORIES = [
  "DELETE FROM index_pages",
  "DELETE FROM index_segments",
  "UPDATE index_items SET segment = NULL WHERE segment IS NOT NULL",
  "UPDATE index_kinds SET epoch = epoch + 1, indexed = 0 WHERE epoch > 0",
  "ALTER TABLE index_segments ADD COLUMN directory {int} NOT NULL DEFAULT 0",
];

/** The index of metadata: see storage/sql/metadata.ts. */
const VECTORS = [
  `CREATE TABLE metadata_fields (kind {text} NOT NULL, scope {int} NOT NULL, path {bytes} NOT NULL, value {bytes} NOT NULL,
     item {int} NOT NULL, PRIMARY KEY (kind, scope, path, value, item)){table_end}`,
  "CREATE INDEX metadata_fields_item ON metadata_fields (kind, scope, item)",
];

/** Collections of vectors, their documents, and pages of codes: see storage/sql/vectors.ts. */
const COLLECTIONS = [
  `CREATE TABLE vector_collections (no {int} NOT NULL PRIMARY KEY, name {text} NOT NULL UNIQUE, generation {int} NOT NULL,
     change {int} NOT NULL, last_item {int} NOT NULL, documents {int} NOT NULL, created_at {int} NOT NULL,
     checksum {text} NOT NULL){table_end}`,
  `CREATE TABLE vector_generations (collection_no {int} NOT NULL, generation {int} NOT NULL, model {text} NOT NULL,
     dimension {int} NOT NULL, metric {text} NOT NULL, precision {text} NOT NULL, seed {int} NOT NULL,
     packed {int} NOT NULL, removals {int} NOT NULL, vectors {int} NOT NULL, created_at {int} NOT NULL,
     checksum {text} NOT NULL, PRIMARY KEY (collection_no, generation)){table_end}`,
  `CREATE TABLE documents (collection_no {int} NOT NULL, id {text} NOT NULL, item {int} NOT NULL, pending {int},
     words {bytes}, content {int}, checksum {text} NOT NULL, PRIMARY KEY (collection_no, id)){table_end}`,
  "CREATE UNIQUE INDEX documents_item ON documents (collection_no, item)",
  "CREATE INDEX documents_pending ON documents (collection_no, item) WHERE pending IS NOT NULL",
  "CREATE INDEX documents_content ON documents (content) WHERE content IS NOT NULL",
  `CREATE TABLE vectors (collection_no {int} NOT NULL, generation {int} NOT NULL, item {int} NOT NULL,
     embedding {bytes} NOT NULL, checksum {text} NOT NULL, PRIMARY KEY (collection_no, generation, item)){table_end}`,
  `CREATE TABLE vector_pages (collection_no {int} NOT NULL, generation {int} NOT NULL, first_item {int} NOT NULL,
     change {int} NOT NULL, codes {bytes} NOT NULL, PRIMARY KEY (collection_no, generation, first_item)){table_end}`,
  "CREATE INDEX vector_pages_change ON vector_pages (collection_no, generation, change, first_item)",
];

/** Texts that could not be embedded; and collections by the model of their embeddings: see storage/sql/embeddings.ts. */
const EMBEDDINGS = [
  `CREATE TABLE embedding_failures (kind {text} NOT NULL, scope {int} NOT NULL, item {int} NOT NULL, attempts {int} NOT NULL,
     due_at {int}, reason {text} NOT NULL, at {int} NOT NULL, PRIMARY KEY (kind, scope, item)){table_end}`,
  "CREATE INDEX vector_generations_model ON vector_generations (model, collection_no, generation)",
];

/** Passages of messages and memories that have embeddings, and how far these are cut: see storage/sql/passages.ts. */
const PASSAGES = [
  `CREATE TABLE passages (collection_no {int} NOT NULL, item {int} NOT NULL, pending {int}, group_no {int} NOT NULL,
     number {int} NOT NULL, part {int} NOT NULL, PRIMARY KEY (collection_no, item)){table_end}`,
  "CREATE UNIQUE INDEX passages_source ON passages (collection_no, group_no, number, part)",
  "CREATE INDEX passages_pending ON passages (pending, collection_no, item) WHERE pending IS NOT NULL",
  "ALTER TABLE index_kinds ADD COLUMN cut {int} NOT NULL DEFAULT 0",
  "ALTER TABLE index_items ADD COLUMN cut {int}",
  "CREATE INDEX index_items_uncut ON index_items (group_no, item) WHERE cut IS NULL AND kind = 'memories'",
];

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, up: FOUNDATION },
  { version: 2, up: GRAPH },
  { version: 3, up: LATE_LINKS },
  // A session that is named has a row: the rows that name it are found by that.
  { version: 4, up: ["DROP INDEX invocations_unlinked"] },
  { version: 5, up: RUNS },
  // Events of runs stand behind one another in their session's log, and there are many: only messages are found by theirs.
  {
    version: 6,
    up: [
      "DROP INDEX events_run",
      `CREATE INDEX events_run ON events (session_no, run, seq)
         WHERE run IS NOT NULL AND agent_no IS NOT NULL AND erased_seq IS NULL`,
    ],
  },
  // The unfinished runs of a session, children of a run included.
  { version: 7, up: ["CREATE INDEX runs_live ON runs (session_no, nested, no) WHERE ended_at IS NULL"] },
  { version: 8, up: CAPTURES },
  // Runs have steps of new kinds (reads, compactions, approvals), which an older version would take for damage.
  { version: 9, up: [] },
  { version: 10, up: [...CHECKSUMS, ...FILLED] },
  { version: 12, up: VECTORS },
  { version: 13, up: COLLECTIONS },
  { version: 14, up: MEMORY },
  { version: 15, up: EMBEDDINGS },
  { version: 16, up: TEXT_INDEX },
  { version: 17, up: DIRECTORIES },
  // Documents are in the text index: those that are there already wait to be put into segments.
  {
    version: 18,
    up: [
      `INSERT INTO index_items (kind, group_no, item, segment)
         SELECT 'documents', d.collection_no, d.item, NULL FROM documents d`,
    ],
  },
  { version: 19, up: PASSAGES },
  // The namespaces of an agent, and the memories that promotions put into a block.
  {
    version: 20,
    up: [
      "CREATE INDEX memory_scopes_agent ON memory_scopes (agent, no)",
      "CREATE INDEX memory_changes_block ON memory_changes (by_id) WHERE change = 'promoted'",
    ],
  },
];

export const SCHEMA_VERSION = newestOf(MIGRATIONS);

function newestOf(migrations: readonly Migration[]): number {
  return migrations.reduce((highest, one) => Math.max(highest, one.version), 0);
}

export interface StoreMeta {
  readonly schemaVersion: number;
  readonly storeId: string;
  readonly createdAt: number;
}

export interface MigrateOptions {
  readonly create: boolean;
  readonly migrate: boolean;
  readonly environment: Environment;
  /** The name of the store in errors. */
  readonly target: string;
}

const META = "holdfast_meta";
const MOST_ATTEMPTS = 5;

/** The store's present schema version; every commit reads it, see schema-fence.ts. */
export const SCHEMA_QUERY = `SELECT value FROM ${META} WHERE name = 'schema'`;

export function renderDdl(dialect: Dialect, ddl: string): string {
  return dialect
    .render(ddl)
    .replace(/\{(serial|int|real|text|bytes|table_end)\}/g, (_, name: keyof Dialect["types"]) => dialect.types[name]);
}

/**
 * Migrates the store to the newest schema under the engine's lock. A newer schema is refused. Tests pass migrations of
 * future versions.
 */
export async function migrate(
  driver: Driver,
  options: MigrateOptions,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<StoreMeta> {
  const newest = newestOf(migrations);
  // Usually there is nothing to do; then no lock is taken.
  const current = await readMeta(driver.dialect, (sql) => driver.read(sql, []), options);
  if (current?.schemaVersion === newest) return current;
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrateOnce(driver, options, migrations, newest);
    } catch (error) {
      // Readers hold tables that the migration wants, and want others that it has: the engine ends one of them.
      if (!(error instanceof HoldfastError) || error.code !== "StoreBusy" || attempt === MOST_ATTEMPTS) throw error;
    }
    await options.environment.sleep(attempt * 20);
  }
}

async function migrateOnce(
  driver: Driver,
  options: MigrateOptions,
  migrations: readonly Migration[],
  newest: number,
): Promise<StoreMeta> {
  let meta: StoreMeta | undefined;
  await driver.migrate(options.create, async (execute) => {
    const found = await readMeta(driver.dialect, execute, options);
    if (found !== null && found.schemaVersion > newest) throw tooNew(found, options.target);
    meta = found ?? (await createMeta(driver.dialect, execute, options));
    const pending = migrations.filter((one) => one.version > (meta?.schemaVersion ?? 0));
    if (found !== null && pending.length > 0) {
      if (!options.migrate) throw tooOld(found, newest, options.target);
      // Commits of other handles end before, or come after and find a schema that they do not know.
      await execute(...driver.dialect.excludeCommits);
    }
    const steps = pending.flatMap(({ up }) => up);
    const ddl = (found === null ? foldForNewStore(steps, [META]) : steps).map((one) => renderDdl(driver.dialect, one));
    await execute(...ddl, `UPDATE ${META} SET value = '${newest}' WHERE name = 'schema'`);
    meta = { ...meta, schemaVersion: newest };
  });
  if (meta === undefined) throw new HoldfastError("Internal", "migration ended without a schema version");
  return meta;
}

async function readMeta(dialect: Dialect, execute: Execute, options: MigrateOptions): Promise<StoreMeta | null> {
  const tables = (await execute(dialect.tableNames)).map((row) => row.name);
  if (!tables.includes(META)) {
    if (tables.length === 0) return null;
    throw new HoldfastError("NotAStore", `${options.target} holds other tables (${tables.slice(0, 3).join(", ")})`, {
      hint: "Holdfast does not mix its tables with others: give a new file, or another ?schema=.",
    });
  }
  const rows = await execute(`SELECT name, value FROM ${META}`);
  const value = (name: string) => String(rows.find((row) => row.name === name)?.value ?? "");
  const schemaVersion = Number(value("schema"));
  if (!Number.isSafeInteger(schemaVersion) || value("schema") === "") {
    throw new HoldfastError("StoreCorrupted", `${options.target} does not say which schema it has`);
  }
  return { schemaVersion, storeId: value("store_id"), createdAt: Number(value("created_at")) };
}

async function createMeta(dialect: Dialect, execute: Execute, options: MigrateOptions): Promise<StoreMeta> {
  if (!options.create) throw notThere(options.target);
  const { environment } = options;
  const meta = { schemaVersion: 0, storeId: newId(environment, "store"), createdAt: environment.now() };
  const text = dialect.types.text;
  await execute(`CREATE TABLE ${META} (name ${text} PRIMARY KEY, value ${text} NOT NULL)${dialect.types.table_end}`);
  await execute(
    `INSERT INTO ${META} (name, value) VALUES ('schema', '0'), ('store_id', '${meta.storeId}'), ` +
      `('created_at', '${meta.createdAt}')`,
  );
  return meta;
}

export function notThere(target: string): HoldfastError {
  return new HoldfastError("NotFound", `there is no store at ${target}`, {
    details: { kind: "store", target },
    hint: "Run `npx holdfast init`, or open it with create: true.",
  });
}

function tooOld(found: StoreMeta, newest: number, target: string): HoldfastError {
  return new HoldfastError("Conflict", `${target} has schema ${found.schemaVersion}, this is ${newest}`, {
    details: { found: found.schemaVersion, known: newest },
    hint: "Run `npx holdfast migrate`, or open it with migrate: true.",
  });
}

function tooNew(found: StoreMeta, target: string): HoldfastError {
  return new HoldfastError(
    "SchemaTooNew",
    `${target} has schema ${found.schemaVersion}; this version knows ${SCHEMA_VERSION}`,
    {
      details: { found: found.schemaVersion, known: SCHEMA_VERSION },
      hint: "Update holdfast on this machine.",
    },
  );
}
