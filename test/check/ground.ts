// A filled store with a way to change its rows as a fault would, and to check it with any kinds left out.
import { runCheck } from "../../src/check/check.ts";
import { kindsOf } from "../../src/check/kinds.ts";
import type { CheckKind, CheckMode, CheckReport } from "../../src/contracts/check.ts";
import type { Holdfast, OpenOptions } from "../../src/contracts/holdfast.ts";
import { TABLES } from "../../src/contracts/rows.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { open } from "../../src/open.ts";
import { createBlobs } from "../../src/storage/blobs/store.ts";
import { SqlStorage } from "../../src/storage/sql/store.ts";
import { type Filled, fillStore } from "../../src/testing/everything.ts";
import type { Engine } from "../engines.ts";

type Value = string | number | Uint8Array | null;

export interface Damaged {
  readonly hf: Holdfast;
  readonly filled: Filled;
  readonly storage: SqlStorage;
  readonly run: (sql: string, ...params: readonly Value[]) => Promise<unknown>;
  readonly read: (sql: string, ...params: readonly Value[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly check: (mode: CheckMode, without?: CheckKind) => Promise<CheckReport>;
  /** As it was when it had been filled. */
  readonly mend: () => Promise<void>;
  readonly end: () => Promise<void>;
}

const KEPT = Object.keys(TABLES);

export async function filledStore(engine: Engine, options: OpenOptions = {}): Promise<Damaged> {
  const ground = await engine.fresh();
  const hf = await open(ground.url, { durability: "normal", ...options });
  const storage = new SqlStorage(ground.driver, realEnvironment());
  const blobs = createBlobs(storage, {
    ttlMs: null,
    ...(options.blobs === undefined ? {} : { backend: options.blobs }),
  });
  const filled = await fillStore({ ...hf, lineage: hf });
  await addInvocations(hf, storage, (sql) => ground.driver.read(sql, []));
  const all = (texts: readonly string[], params: readonly Value[] = []) =>
    ground.driver.transact(function* () {
      yield { steps: texts.map((sql) => ({ kind: "query" as const, sql, params: [...params] })), last: true };
    });
  await all(KEPT.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`));
  return {
    ...{ hf, filled, storage },
    run: (sql, ...params) => all([sql], params),
    mend: async () => {
      // Numbers the database gave are given again.
      const again = engine.name === "postgres" ? " OVERRIDING SYSTEM VALUE" : "";
      const texts = KEPT.map((table) => `INSERT INTO ${table}${again} SELECT * FROM kept_${table}`);
      await all([...KEPT.map((table) => `DELETE FROM ${table}`), ...texts]);
    },
    read: (sql, ...params) => ground.driver.read(sql, [...params]),
    check: (mode, without) => {
      const kinds = new Set(kindsOf(mode));
      if (without !== undefined) kinds.delete(without);
      return runCheck(storage, blobs, { mode }, kinds);
    },
    end: async () => {
      await hf.close();
      await ground.end();
    },
  };
}

/** A spawned child and one that was attached to a head of another session, both finished. */
async function addInvocations(
  hf: Holdfast,
  storage: SqlStorage,
  read: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>,
): Promise<void> {
  await hf.sessions.create({ id: "child" });
  await hf.heads.publish("child", { final: "of the child" });
  const number = async (sql: string) => Number((await read(sql))[0]?.no);
  const callee = await number("SELECT no FROM sessions WHERE id = 'child'");
  const source = await number("SELECT no FROM sessions WHERE id = 'fork'");
  const childHead = await number(`SELECT no FROM heads WHERE session_no = ${callee}`);
  const sourceHead = await number(`SELECT no FROM heads WHERE session_no = ${source}`);
  const call = await number(
    "SELECT c.first_seq AS no FROM calls c JOIN sessions s ON s.no = c.session_no WHERE c.type = 'root' AND s.id = 'chat'",
  );
  const headId = async (no: number) => (await read(`SELECT id FROM heads WHERE no = ${no}`))[0]?.id;
  for (const type of ["spawn", "attach"]) {
    const columns = {
      ...{ type, callee_session_no: callee, call_seq: call, created_at: 1 },
      ...(type === "spawn" ? {} : { source_session_no: source, source_head: sourceHead }),
    };
    const write = async (event: string, first: number | null, more: object, data: object) => {
      const done = await storage.commit({
        sessions: [{ id: "chat", mode: "existing", at: 1 }],
        events: [
          {
            ...{ session: "chat", type: event, at: 1, data: data as never },
            writes: [
              {
                ...{ op: "insert", table: "invocations" },
                row: { first_seq: first ?? { slot: "seq" }, ...columns, ...more } as never,
              },
            ],
          },
        ],
      });
      return done.ok ? (done.events[0]?.seq ?? 0) : 0;
    };
    const first = await write(
      "invocation/started",
      null,
      { status: "running" },
      {
        ...{ type, status: "running", callee: "child", call },
        ...(type === "spawn" ? {} : { source: { session: "fork", head: await headId(sourceHead) } }),
      },
    );
    const after = { status: "done", callee_head_after: childHead, completed_at: 2 };
    await write("invocation/finished", first, after, {
      ...{ invocation: first, status: "done", calleeHead: await headId(childHead) },
    });
  }
}
