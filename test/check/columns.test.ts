// Column by column on both engines: what the log says of a row, directly or because it follows from it, is compared.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CheckKind } from "../../src/contracts/check.ts";
import { ENGINES } from "../engines.ts";
import { type Damaged, filledStore } from "./ground.ts";

const of = (id: string) => `(SELECT no FROM sessions WHERE id = '${id}')`;
const CHAT = `session_no = ${of("chat")}`;
const FORK = `session_no = ${of("fork")}`;
const BOARD = `session_no = ${of("work")} AND agent = 'ada'`;
const TASK = `board_id = (SELECT b.id FROM boards b WHERE b.${BOARD}) AND ord = 0`;
const BEGUN = `${CHAT} AND seq = first_seq`;
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
  set("invocations", "caller_head_before", otherHead, BEGUN),
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
  set("tasks", "status", "'succeeded'", TASK),
  set("tasks", "ord", "99", TASK),
  set("tasks", "retry_count", "7", TASK),
  set("tasks", "version", "version + 1", TASK),
  set("tasks", "created_at", "created_at + 1", TASK),
  set("tasks", "updated_at", "updated_at + 1", TASK),
  ["tasks", "", `DELETE FROM tasks WHERE ${TASK}`, "event-without-row"],
  [
    "tasks",
    "",
    `INSERT INTO tasks SELECT board_id, 'another', title, status, 9, 0, note, 1, 1, 1 FROM tasks WHERE ${TASK}`,
    "row-without-event",
  ],
];

for (const engine of ENGINES) {
  describe(`columns on ${engine.name}`, () => {
    let store: Damaged;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    for (const [table, column, sql, kind = "row-mismatch"] of ROWS) {
      test(`SE10 ${table}.${column} is what the log says: ${sql}`, async () => {
        await store.run(sql);
        const { issues } = await store.hf.check();
        const wanted = column === "" ? { table } : { table, column };
        expect(issues).toContainEqual(expect.objectContaining({ kind, details: expect.objectContaining(wanted) }));
        for (const issue of issues) expect([issue.kind, issue.details.table]).toEqual([kind, table]);
      });
    }

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
