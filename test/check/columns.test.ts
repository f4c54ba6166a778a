// Column by column on both engines: what the log says of a row, directly or because it follows from it, is compared.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CheckKind } from "../../src/contracts/check.ts";
import { isLong } from "../../src/testing/scale.ts";
import { casesFor, ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";

const of = (id: string) => `(SELECT no FROM sessions WHERE id = '${id}')`;
const CHAT = `session_no = ${of("chat")}`;
const FORK = `session_no = ${of("fork")}`;
const BOARD = `session_no = ${of("work")} AND agent = 'ada'`;
const TASK = `board_id = (SELECT b.id FROM boards b WHERE b.${BOARD}) AND ord = 0`;
const ENDED = `${CHAT} AND seq <> first_seq`;
const OTHER_HEAD = `(SELECT min(h.no) FROM heads h WHERE h.session_no = ${of("chat")} AND h.no <> s.head_no)`;
const otherHead = `(SELECT ${OTHER_HEAD} FROM sessions s WHERE s.id = 'chat')`;
const set = (table: string, column: string, value: string, where: string, as = column): Row => [
  table,
  as,
  `UPDATE ${table} SET ${column} = ${value} WHERE ${where}`,
];

type Row = readonly [table: string, column: string, sql: string, kind?: CheckKind];

const ROWS: readonly Row[] = [
  set("sessions", "agent_no", "NULL", "id = 'chat'", "agent"),
  set("sessions", "request", "'another'", "id = 'chat'"),
  set("sessions", "request", "NULL", "id = 'work'"),
  set("sessions", "created_at", "created_at + 1", "id = 'chat'"),
  set("sessions", "updated_at", "updated_at + 1", "id = 'chat'"),
  set("sessions", "version", "version + 1", "id = 'chat'"),
  ["session_tags", "tag", `INSERT INTO session_tags (tag, session_no) VALUES ('z', ${of("chat")})`],
  ["session_tags", "tag", `DELETE FROM session_tags WHERE ${CHAT}`],
  set("aliases", "created_at", "created_at + 1", "name = 'the-chat'"),
  ["aliases", "", "UPDATE aliases SET name = 'another' WHERE name = 'the-chat'", "row-without-event"],
  set("events", "chars", "chars + 1", `${CHAT} AND words IS NOT NULL AND role IS NOT NULL AND erased_seq IS NULL`),
  set("turns", "agent_no", "NULL", ENDED),
  set("turns", "run", "'another'", ENDED),
  set("turns", "branch", "branch + 1", `${ENDED} AND status = 'done'`),
  set("evals", "turn_seq", "NULL", ENDED),
  set("evals", "message_seq", "NULL", ENDED),
  set("evals", "at", "at + 1", ENDED),
  set("evals", "erased_seq", "1", ENDED),
  set("evals", "branch", "branch + 1", ENDED),
  set("calls", "turn_seq", "NULL", ENDED),
  set("calls", "model", "'another'", ENDED),
  set("calls", "provider", "NULL", ENDED),
  set("calls", "created_at", "created_at + 1", ENDED),
  set("calls", "erased_seq", "1", ENDED),
  set("snapshots", "erased_seq", "1", CHAT),
  set("invocations", "branch", "branch + 1", ENDED),
  set("invocations", "callee_session_no", "NULL, callee_head_after = NULL", ENDED),
  set("invocations", "caller_head_before", otherHead, CHAT),
  set("invocations", "caller_head_after", "NULL", ENDED),
  set("invocations", "source_head", "NULL", `${ENDED} AND type = 'attach'`),
  set("invocations", "source_snapshot_seq", "1", CHAT),
  set("invocations", "source_fingerprint", "'another'", CHAT),
  set("invocations", "label", "NULL", ENDED),
  set("invocations", "created_at", "created_at + 1", CHAT),
  set("invocations", "completed_at", "completed_at + 1", ENDED),
  set("state", "until_seq", "NULL", `${CHAT} AND key = 'mood'`),
  set("state", "until_seq", "until_seq + 1", `${CHAT} AND key = 'plan' AND until_seq IS NOT NULL`),
  set("state", "expires_at", "1", `${FORK} AND key = 'own'`),
  set("state", "expires_at", "NULL", `${FORK} AND key = 'brief'`),
  ["state", "", `DELETE FROM state WHERE ${FORK} AND ord = -1`, "event-without-row"],
  ["clears", "", `DELETE FROM clears WHERE ${FORK}`, "event-without-row"],
  set("boards", "agent", "'another'", BOARD),
  set("boards", "ord", "ord + 1", BOARD),
  set("boards", "parent", "'another'", BOARD),
  set("boards", "max_retries", "99", BOARD),
  set("boards", "created_at", "created_at + 1", BOARD),
  set("boards", "version", "version + 1", BOARD),
  ...[
    "first_seq + 1",
    "seq + 1",
    "branch + 1",
    "nested + 1",
    "version + 1",
    "epoch + 1",
    "iteration + 1",
    "checkpoint_seq + 1",
    "cancel + 1",
    "priority + 1",
    "lease_ms + 1",
    "tokens + 1",
    "cost_usd + 1",
    "created_at + 1",
    "updated_at + 1",
    "ended_at + 1",
  ].map((change) => set("runs", change.split(" ")[0] ?? "", change, "id = 'run-worked'")),
  set("runs", "parent", "'another'", "id = 'run-worked'"),
  set("runs", "agent_no", "agent_no + 1", "id = 'run-worked'", "agent"),
  set("runs", "agent_version", "'2'", "id = 'run-worked'"),
  set("runs", "toolset", "(SELECT chain FROM sessions WHERE id = 'chat')", "id = 'run-worked'"),
  set("runs", "limits", "(SELECT r.limits FROM runs r WHERE r.id = 'run-waits')", "id = 'run-worked'"),
  set("runs", "status", "'cancelled'", "id = 'run-worked'"),
  set("runs", "owner", "'worker_x'", "id = 'run-worked'"),
  set("runs", "wake_at", "wake_at + 1", "id = 'run-waits'"),
  set("runs", "waits", "NULL", "id = 'run-waits'"),
  set("runs", "pause_at", "1", "id = 'run-waits'"),
  set("runs", "stop", "'failed'", "id = 'run-worked'"),
  ["runs", "", "DELETE FROM runs WHERE id = 'run-worked'", "event-without-row"],
  set("signals", "run", "'another'", "name = 'other'"),
  set("signals", "name", "'another'", "name = 'other'"),
  set("signals", "branch", "branch + 1", "name = 'other'"),
  set("signals", "taken_seq", "NULL", "name = 'go'"),
  set("signals", "taken_seq", "1", "name = 'other'"),
  ["signals", "", "DELETE FROM signals WHERE name = 'other'", "event-without-row"],
  set("decisions", "run", "'another'", "run = 'run-asked' AND answered_seq IS NULL"),
  set("decisions", "step_seq", "step_seq + 1", "run = 'run-asked' AND answered_seq IS NULL"),
  set("decisions", "answered_seq", "NULL", "answered_seq IS NOT NULL"),
  set("decisions", "answered_seq", "1", "answered_seq IS NULL"),
  set("decisions", "branch", "branch + 1", "answered_seq IS NULL"),
  ["decisions", "", "DELETE FROM decisions WHERE answered_seq IS NULL", "event-without-row"],
  set("checkpoints", "iteration", "iteration + 1", "run = 'run-worked' AND iteration = 1"),
  set("checkpoints", "branch", "branch + 1", "run = 'run-worked' AND iteration = 1"),
  set("checkpoints", "run", "'another'", "run = 'run-worked' AND iteration = 1"),
  set("checkpoints", "agent_no", "agent_no + 100", "run = 'run-worked' AND iteration = 1", "agent"),
  ["checkpoints", "", "DELETE FROM checkpoints WHERE run = 'run-worked' AND iteration = 1", "event-without-row"],
  set("tasks", "status", "'succeeded'", TASK),
  set("tasks", "ord", "99", TASK),
  set("tasks", "retry_count", "7", TASK),
  set("tasks", "version", "version + 1", TASK),
  set("tasks", "created_at", "created_at + 1", TASK),
  set("tasks", "updated_at", "updated_at + 1", TASK),
  ["tasks", "", `DELETE FROM tasks WHERE ${TASK}`, "event-without-row"],
  [
    "derivations",
    "",
    "INSERT INTO derivations (session_no, seq, type, source_session_no, source_branch, source_seq, at) " +
      `SELECT session_no, 9999, type, source_session_no, source_branch, source_seq, at FROM derivations WHERE ${FORK}`,
    "row-without-event",
  ],
  [
    "clears",
    "",
    `INSERT INTO clears (session_no, seq, branch, agent_no) SELECT session_no, 9999, branch, agent_no FROM clears WHERE ${FORK}`,
    "row-without-event",
  ],
  ["remains", "", `INSERT INTO remains (session_no, branch, upto) VALUES (${of("work")}, 1, 1)`, "remains-left"],
  [
    "tasks",
    "",
    "INSERT INTO tasks (board_id, id, title, status, ord, retry_count, note, version, created_at, updated_at) " +
      `SELECT board_id, 'another', title, status, 9, 0, note, 1, 1, 1 FROM tasks WHERE ${TASK}`,
    "row-without-event",
  ],
];

const PINNED = "pinned = 1";
const KEPT_BLOB = "form < 2 AND refs > 0";
const proven = (table: string, column: string, value: string, where: string): Row => [
  table,
  "",
  `UPDATE ${table} SET ${column} = ${value} WHERE ${where}`,
  "checksum-wrong",
];
const later = (column: string) => `${column} + 1`;

/** What only the row's checksum proves. */
const PROVEN: readonly Row[] = [
  ...["media = 'text/html'", "utf8 = 1 - utf8", "stored = stored + 1", "created_at = created_at + 1"].map(
    (change): Row => ["blobs", "", `UPDATE blobs SET ${change} WHERE ${KEPT_BLOB}`, "checksum-wrong"],
  ),
  proven("blobs", "pinned", "0", PINNED),
  proven("blobs", "expires_at", "7", PINNED),
  proven("sessions", "title", "NULL", "id = 'chat'"),
  proven("sessions", "metadata", "NULL", "id = 'chat'"),
  ...["version", "deleted_at"].map((column) => proven("sessions", column, later(column), "id = 'left'")),
  proven("sessions", "status", "'closed'", "id = 'left'"),
  proven("agents", "deleted_at", "7", "id = 'ada'"),
  ...["created_at", "updated_at", "version"].map((column) => proven("agents", column, later(column), "id = 'ada'")),
  ...["name", "system"].map((column) => proven("agents", column, "(SELECT b.description FROM blocks b)", "id = 'ada'")),
  proven("agents", "tool_ids", "(SELECT s.tags FROM sessions s WHERE s.id = 'chat')", "id = 'ada'"),
  proven("agents", "metadata", "(SELECT s.metadata FROM sessions s WHERE s.id = 'chat')", "id = 'ada'"),
  ...["agent_type", "model"].map((column) => proven("agents", column, "'another'", "id = 'ada'")),
  proven("agent_blocks", "agent_no", "(SELECT min(no) FROM agents WHERE id <> 'ada')", "ord = 0"),
  proven("agent_blocks", "ord", "7", "ord = 0"),
  proven("blocks", "label", "'another'", "version > 1"),
  proven("blocks", "char_limit", later("char_limit"), "version > 1"),
  proven("blocks", "description", "(SELECT a.name FROM agents a WHERE a.id = 'ada')", "version > 1"),
  proven("blocks", "read_only", "1 - read_only", "version > 1"),
  proven("block_versions", "edit", "'created'", "version = 2"),
  proven("invocations", "label", "(SELECT a.name FROM agents a WHERE a.id = 'ada')", `${CHAT} AND type = 'spawn'`),
  proven("boards", "label", "(SELECT a.name FROM agents a WHERE a.id = 'ada')", BOARD),
  proven("tasks", "title", "(SELECT a.name FROM agents a WHERE a.id = 'ada')", TASK),
  proven("tasks", "note", "(SELECT a.name FROM agents a WHERE a.id = 'ada')", TASK),
  ...["touched_at", "created_at"].map((column) => proven("segments", column, later(column), "size > 0")),
  proven("segments", "sealed", "1 - sealed", "size > 0"),
  proven("segment_frames", "stored", later("stored"), "start = 0"),
  ...["cwd", "config_dir", "project_key", "agent_version"].map((column) =>
    proven("captures", column, "(SELECT a.name FROM agents a WHERE a.id = 'ada')", "diverged = 0"),
  ),
  ...["name || 'x'", "change + 1", "last_item + 1", "created_at + 1"].map((value) =>
    proven("vector_collections", value.split(" ")[0] ?? "", value, "name = 'notes'"),
  ),
  ...["model || 'x'", "dimension + 1", "seed + 1", "removals + 1", "created_at + 1"].map((value) =>
    proven("vector_generations", value.split(" ")[0] ?? "", value, "generation = 1"),
  ),
  proven("vector_generations", "metric", "'dot'", "generation = 1"),
  proven("vector_generations", "precision", "'f16'", "generation = 1"),
  proven("documents", "id", "'coffee'", "id = 'tea'"),
  proven("vectors", "embedding", "(SELECT max(v.embedding) FROM vectors v)", "item = 2"),
  proven("counters", "n", later("n"), "name = 'gc'"),
  proven("counters", "n", later("n"), "name = 'word_refs'"),
  proven("holdfast_meta", "value", "'store_another'", "name = 'store_id'"),
  ["events", "chars", `UPDATE events SET chars = chars + 1 WHERE ${CHAT} AND content IS NOT NULL AND role IS NOT NULL`],
  ["blobs", "epoch", `UPDATE blobs SET epoch = 99 WHERE ${KEPT_BLOB}`],
  ["blobs", "epoch", `UPDATE blobs SET condemned = 0 WHERE ${KEPT_BLOB}`],
  ["runs", "held", "UPDATE runs SET beat = -1 - beat WHERE id = 'run-waits'"],
];

const LEFT = `session_no = ${of("left")}`;
const MESSAGE = `${LEFT} AND seq = (SELECT min(e.seq) FROM events e WHERE e.${LEFT} AND e.role IS NOT NULL)`;

/** Of a deleted session, what a fork reads through it. */
const KEPT: readonly (readonly [what: string, sql: string, kind: CheckKind])[] = [
  ["a message's role", `UPDATE events SET role = 'system' WHERE ${MESSAGE}`, "event-mismatch"],
  ["a message that goes", `DELETE FROM events WHERE ${MESSAGE}`, "seq-gap"],
  [
    "the last event that is kept",
    `DELETE FROM events WHERE ${LEFT} AND seq = (SELECT upto FROM remains WHERE ${LEFT})`,
    "seq-gap",
  ],
  [
    "an event's envelope",
    `UPDATE events SET body = (SELECT e.body FROM events e WHERE e.${LEFT} AND e.seq = 1) WHERE ${MESSAGE}`,
    "chain-broken",
  ],
  ["a longer stretch", `UPDATE remains SET upto = upto + 1 WHERE ${LEFT}`, "seq-gap"],
  ["no stretch", `DELETE FROM remains WHERE ${LEFT}`, "remains-short"],
  ["a call's cost", `UPDATE calls SET cost_usd = 9 WHERE ${LEFT}`, "row-mismatch"],
  ["a call that goes", `DELETE FROM calls WHERE ${LEFT} AND seq <> first_seq`, "event-without-row"],
  ["an eval's code", `UPDATE evals SET code = NULL WHERE ${LEFT}`, "commitment-mismatch"],
  [
    "a message cleared by no event",
    `UPDATE events SET erased_seq = 2, words = NULL, sha256 = NULL, salt = NULL WHERE ${MESSAGE}`,
    "event-mismatch",
  ],
  ["a value that ended", `UPDATE state SET until_seq = seq + 1 WHERE ${LEFT} AND until_seq IS NULL`, "row-mismatch"],
  ["a value that goes", `DELETE FROM state WHERE ${LEFT} AND until_seq IS NULL`, "event-without-row"],
  [
    "a caller's head",
    `UPDATE invocations SET caller_head_after = 1 WHERE ${LEFT} AND seq <> first_seq`,
    "row-mismatch",
  ],
  ["a head's turn", `UPDATE heads SET turn_seq = NULL WHERE ${LEFT}`, "row-mismatch"],
  ["a head's counts", `UPDATE heads SET fingerprint = 'x' WHERE ${LEFT}`, "head-root-wrong"],
  [
    "the source of the fork",
    `UPDATE derivations SET source_head = NULL WHERE session_no = ${of("heir")}`,
    "row-mismatch",
  ],
  [
    "what a tombstone no longer says",
    "UPDATE sessions SET title = metadata, tags = NULL, request = 'r' WHERE id = 'left'",
    "row-mismatch",
  ],
  ["when it was created", "UPDATE sessions SET created_at = 1 WHERE id = 'left'", "row-mismatch"],
  ["a session that was never deleted", "UPDATE sessions SET deleted_at = 1 WHERE id = 'work'", "remains-left"],
];

/** What a fork reads through its source, where only the fork is checked. */
const INHERITED: readonly (readonly [heir: string, what: string, sql: string, kind: CheckKind])[] = [
  ["fork", "a call's cost", `UPDATE calls SET cost_usd = 9 WHERE ${ENDED}`, "row-mismatch"],
  ["fork", "a call that goes", `DELETE FROM calls WHERE ${ENDED}`, "event-without-row"],
  ["fork", "an eval's code", `UPDATE evals SET code = NULL WHERE ${ENDED}`, "commitment-mismatch"],
  ["fork", "a turn's run", `UPDATE turns SET run = 'another' WHERE ${CHAT} AND run IS NOT NULL`, "row-mismatch"],
  [
    "fork",
    "variables that go",
    `DELETE FROM snapshots WHERE ${CHAT} AND seq = (SELECT min(x.seq) FROM snapshots x WHERE x.${CHAT})`,
    "event-without-row",
  ],
  ["fork", "a value", `UPDATE state SET salt = NULL WHERE ${CHAT} AND key = 'mood'`, "commitment-mismatch"],
  ["fork", "a head", `UPDATE heads SET fingerprint = 'x' WHERE ${CHAT} AND fingerprint = 'f-1'`, "head-root-wrong"],
  [
    "fork",
    "a head's final value",
    `UPDATE heads SET final = 99999 WHERE ${CHAT} AND fingerprint = 'f-1'`,
    "head-final-missing",
  ],
  ["heir", "a call of what is left", `UPDATE calls SET cost_usd = 9 WHERE ${LEFT}`, "row-mismatch"],
  ["heir", "a value of what is left", `DELETE FROM state WHERE ${LEFT} AND until_seq IS NULL`, "event-without-row"],
];

/** Of the same source, what came after the fork or lies on another line. */
const NOT_INHERITED = [
  `UPDATE invocations SET completed_at = 1 WHERE ${CHAT}`,
  `UPDATE invocations SET call_seq = 9999 WHERE ${CHAT}`,
  `UPDATE heads SET fingerprint = 'x' WHERE ${CHAT} AND status = 'aborted'`,
  `UPDATE snapshots SET at = 1 WHERE ${CHAT} AND seq = (SELECT max(x.seq) FROM snapshots x WHERE x.${CHAT})`,
  "UPDATE sessions SET messages = 99, status = 'open', cache_id = 'x' WHERE id = 'chat'",
];

/** Changes of other tables read these: they are changed last, in this order. */
const READ_BY_OTHERS = ["boards", "agents", "sessions"];

/**
 * One change of each table at a time: one check finds all of them, each in its own table. `npm run test:long` tries each
 * change alone.
 */
function groupByTables(rows: readonly Row[]): readonly (readonly Row[])[] {
  const groups: Row[][] = [];
  for (const row of rows) {
    const group = groups.find((one) => one.every(([table]) => table !== row[0]));
    if (group === undefined) groups.push([row]);
    else group.push(row);
  }
  const placeOf = ([table]: Row) => READ_BY_OTHERS.indexOf(table);
  return groups.map((group) => group.toSorted((a, b) => placeOf(a) - placeOf(b)));
}

for (const engine of ENGINES) {
  describe(`columns on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    const rows = casesFor(engine, [...ROWS, ...PROVEN], ([table, , , kind = ""]) => `${table} ${kind}`);
    for (const group of isLong ? rows.map((row) => [row]) : groupByTables(rows)) {
      const columns = group.map(([table, column]) => `${table}.${column}`).join(", ");
      const [[, , statement] = []] = group;
      const change = group.length === 1 ? statement : `${group.length} changes at once`;
      test(`SE10 ${columns}: what the log says (${change})`, async () => {
        for (const [, , sql] of group) await store.run(sql);
        const { issues } = await store.hf.check();
        for (const [table, column, , kind = "row-mismatch"] of group) {
          const wanted = column === "" ? { table } : { table, column };
          expect(issues).toContainEqual(expect.objectContaining({ kind, details: expect.objectContaining(wanted) }));
        }
        for (const issue of issues) {
          const [, , , kind = "row-mismatch"] = group.find(([table]) => table === issue.details.table) ?? [];
          expect([kind, "checksum-wrong"]).toContain(issue.kind);
          expect(group.map(([table]) => table)).toContain(issue.details.table);
        }
      });
    }

    for (const [what, sql, kind] of casesFor(engine, KEPT, (one) => one[2])) {
      test(`SE10 what is left of a deleted session is looked at: ${what}`, async () => {
        await store.run(sql);
        expect((await store.hf.check()).issues.map((issue) => issue.kind)).toContain(kind);
      });
    }

    const AGAIN = `session_no = ${of("halted")} AND seq = branch`;
    const halted: readonly (readonly [sql: string, kind: CheckKind, column: string | undefined])[] = [
      [`DELETE FROM turns WHERE ${AGAIN}`, "event-without-row", undefined],
      [`UPDATE turns SET status = 'done' WHERE ${AGAIN}`, "row-mismatch", "status"],
      [`UPDATE turns SET at = at + 1 WHERE ${AGAIN}`, "row-mismatch", "at"],
      [`UPDATE turns SET run = 'another' WHERE ${AGAIN}`, "row-mismatch", "run"],
      [`UPDATE turns SET branch = branch + 1 WHERE ${AGAIN}`, "row-mismatch", "branch"],
      [`UPDATE turns SET first_seq = 3 WHERE ${AGAIN}`, "turn-open-twice", undefined],
      [
        `DELETE FROM turns WHERE session_no = ${of("halted")} AND status = 'aborted' AND seq <> branch`,
        "turn-missing",
        undefined,
      ],
    ];
    test.each(casesFor(engine, halted, (one) => one[1]))(
      "SE10 a turn aborted behind a head of its own ends on the line that goes on: %s",
      async (sql, kind, column) => {
        const { hf } = store;
        await hf.sessions.create({ id: "halted" });
        const turn = await hf.turns.begin("halted", { agent: "ada", run: "r" });
        await hf.heads.publish("halted");
        await hf.turns.abort(turn.id);
        expect((await hf.check()).issues).toEqual([]);
        await store.run(sql);
        const { issues } = await hf.check();
        expect(issues.map((issue) => issue.kind)).toContain(kind);
        if (column !== undefined) expect(issues.map(({ details }) => details.column)).toContain(column);
      },
    );

    test.each(["fork", "heir"])("SE10 one session is checked with the rows it inherits: %s is sound", async (heir) => {
      expect((await store.hf.check({ session: heir })).issues).toEqual([]);
    });

    for (const [heir, what, sql, kind] of casesFor(engine, INHERITED, (one) => `${one[0]} ${one[3]}`)) {
      test(`SE10 one session is checked with the rows it inherits: ${what}`, async () => {
        await store.run(sql);
        const { issues } = await store.hf.check({ session: heir });
        const details = expect.objectContaining({ inheritedBy: heir });
        expect(issues).toContainEqual(expect.objectContaining({ kind, details }));
      });
    }

    test.each(casesFor(engine, NOT_INHERITED, (sql) => sql.split(" ")[1] ?? ""))(
      "SE10 one session is checked without what it does not inherit: %s",
      async (sql) => {
        await store.run(sql);
        expect((await store.hf.check({ session: "fork" })).issues).toEqual([]);
        expect((await store.hf.check()).issues).not.toEqual([]);
      },
    );

    test("SE10 a change of another column of a damaged row does not hide the damage", async () => {
      const { hf, run } = store;
      const wrong = async () => (await hf.check()).issues.map(({ kind, details }) => [kind, details.table]);
      const ref = await hf.blobs.store("kept by a pin", { ttlMs: null });
      await hf.agents.saveBlocks("carl", [{ label: "own", value: "of carl" }]);
      expect(await wrong()).toEqual([]);
      await run(
        "UPDATE blobs SET media = 'text/html' WHERE sha256 = ?",
        Buffer.from(ref.slice("sha256:".length), "hex"),
      );
      await run("UPDATE agents SET model = 'another' WHERE id = 'ada'");
      await hf.blobs.pin(ref);
      await hf.blobs.store("kept by a pin", { ttlMs: null });
      await hf.agents.shareBlock("carl", "own", "ada");
      expect(await wrong()).toEqual([
        ["checksum-wrong", "agents"],
        ["checksum-wrong", "blobs"],
      ]);
    });

    test("SE10 a clear took as many messages as its event says", async () => {
      const clear = (which: string) =>
        `(SELECT ${which}(e.seq) FROM events e WHERE e.session_no = ${of("work")} AND e.type = 'messages/cleared')`;
      await store.run(
        `UPDATE events SET erased_seq = ${clear("max")} WHERE session_no = ${of("work")} AND erased_seq = ${clear("min")}`,
      );
      const { issues } = await store.hf.check();
      const found = issues.map(({ kind, details }) => [kind, details.column, details.found]);
      expect(found).toEqual([
        ["row-mismatch", "erased_seq", 2],
        ["row-mismatch", "erased_seq", 0],
      ]);
    });
  });
}
