// What a commit has looked at stays as it is until the commit is done, because its rows are locked. Shown with two
// handles: one is held between its look and its writing until the other has either done its work or waits for the lock.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../../test/engines.ts";
import { HEAD } from "../../../../test/first-head.ts";
import type { BlobWrite, Commit, EventDraft, Outcome } from "../../../contracts/storage/commit.ts";
import { encodeText, sha256 } from "../../../core/bytes.ts";
import { realEnvironment } from "../../../core/environment.ts";
import { headOf } from "../../../core/head.ts";
import { STORE_LOCK } from "../../../core/session-guards.ts";
import { commitPlan } from "../commit.ts";
import type { Plan } from "../driver.ts";
import type { BatchResult } from "../positions.ts";
import { SqlStorage } from "../store.ts";
import { postgres } from "./dialect.ts";

const at = 1;
const WAITING_FOR_US =
  "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))";

function append(session: string, extra: Partial<Commit> = {}): Commit {
  const events = [{ session, type: "annotation", at }];
  return { sessions: [{ id: session, mode: "ensure", at }], events, ...extra };
}

/** An invocation by which the caller waits for the callee. */
function wait(caller: string, callee: string): Commit {
  const kind = { type: "attach", status: "running", created_at: at };
  const row = { ...kind, first_seq: { slot: "seq" }, callee_session_no: { session: callee } } as const;
  return {
    sessions: [caller, callee].map((id) => ({ id, mode: "existing", at })),
    guards: [STORE_LOCK, { check: "invocation.waits", key: [caller, callee], expect: 0 }],
    events: [
      { session: caller, type: "invocation/started", at, writes: [{ op: "insert", table: "invocations", row }] },
    ],
  };
}

for (const engine of ENGINES.filter(({ name }) => name === "postgres")) {
  describe("while a commit is between its look and its writing", () => {
    let ground: EngineStore;
    let storage: SqlStorage;
    let other: SqlStorage;
    beforeEach(async () => {
      ground = await engine.fresh();
      storage = new SqlStorage(ground.driver, realEnvironment());
      other = new SqlStorage(await ground.another(), realEnvironment());
    });
    afterEach(() => ground.end());

    /** What happens to the commit, and to a call of the other handle in the middle of it. */
    async function amid(commit: Commit, theirs: Commit): Promise<{ ours: Outcome | null; theirs: Outcome }> {
      let asked: Promise<Outcome> | undefined;
      let isOver = false;
      function* held(): Plan<BatchResult> {
        const plan = commitPlan([commit], postgres);
        let next = plan.next();
        while (!next.done) {
          const rows = yield next.value;
          // Only the first time: a plan that lost a race is made again.
          const first = asked === undefined;
          asked ??= other.commit(theirs).finally(() => {
            isOver = true;
          });
          for (let waits = !first; !waits && !isOver; ) {
            const [blocked] = yield { statements: [{ kind: "query", sql: WAITING_FOR_US, params: [] }], last: false };
            waits = Number(blocked?.[0]?.n) > 0;
          }
          next = plan.next(rows);
        }
        return next.value;
      }
      const { outcomes } = await ground.driver.transact(held);
      if (asked === undefined) throw new Error("the commit never looked at anything");
      return { ours: outcomes[0] ?? null, theirs: await asked };
    }

    test("LG6 another handle that deletes the session takes this commit's events along", async () => {
      await storage.commit(append("s"));
      const [row] = await storage.query("session.get", { id: "s" });
      const no = row?.no ?? 0;
      await amid(append("s"), {
        solo: true,
        sessions: [{ id: "s", mode: "existing", at }],
        writes: [
          { op: "run", statement: "allMessages.erase", params: [no] },
          { op: "run", statement: "session.tombstone", params: [at, at, no] },
        ],
      });
      const [after] = await storage.query("session.get", { id: "s" });
      expect(after?.deleted_at).toBe(at);
      expect(await storage.query("events.read", { session: "s", after: 0, limit: 10 })).toEqual([]);
    });

    test("SE1 another handle's head stands behind this commit and counts it", async () => {
      await storage.commit(append("s"));
      const row = { first_seq: { slot: "seq" }, status: "open", at } as const;
      const turn: EventDraft = {
        session: "s",
        type: "turn/begun",
        at,
        writes: [{ op: "insert", table: "turns", row }],
      };
      const { ours, theirs } = await amid(append("s", { events: [turn] }), {
        sessions: [{ id: "s", mode: "existing", at }],
        events: [{ session: "s", type: "head/created", at, head: HEAD }],
      });
      expect(ours).toMatchObject({ ok: true, events: [{ seq: 3 }] });
      expect(theirs).toMatchObject({ ok: true, events: [{ seq: 4, head: { seq: 4 } }] });
      const [head] = await storage.query("heads.oldest", { session: "s", after: 0, limit: 10 });
      expect(head === undefined ? undefined : headOf(head).counts.turns).toBe(1);
    });

    test("ST2 another handle's guard on the session's state sees this commit", async () => {
      await storage.commit(append("s"));
      const guards = [{ check: "state.version", key: ["s"], expect: 0 }] as const;
      const [row] = await storage.query("session.get", { id: "s" });
      const ourEvents = [{ session: "s", type: "state/set", at, state: true }];
      const { ours, theirs } = await amid(append("s", { events: ourEvents }), {
        solo: true,
        sessions: [{ id: "s", mode: "existing", at }],
        guards,
        writes: [{ op: "run", statement: "session.tombstone", params: [at, at, row?.no ?? 0] }],
      });
      expect(ours).toMatchObject({ ok: true, events: [{ seq: 3 }] });
      expect(theirs).toMatchObject({ ok: false, refused: { reason: "guard", actual: 3 } });
    });

    test("BL2 another handle cannot remove the blob that this commit refers to", async () => {
      const bytes = encodeText("a value");
      const digest = sha256(bytes);
      const size = bytes.length;
      const blob: BlobWrite = {
        sha256: digest,
        size,
        media: "text/plain",
        utf8: true,
        form: 0,
        body: bytes,
        stored: size,
        store: "",
        key: null,
        refs: 0,
        expiresAt: null,
        at,
      };
      await storage.commit(append("s", { blobs: [blob] }));
      const uses = append("s", {
        uses: [[digest, 1]],
        events: [
          {
            session: "s",
            type: "state/set",
            at,
            writes: [{ op: "insert", table: "state", row: { key: "k", ord: 0, value: digest } }],
          },
        ],
      });
      const drop: Commit = { solo: true, writes: [{ op: "run", statement: "blob.drop", params: [digest] }] };
      expect((await amid(uses, drop)).ours).toMatchObject({ ok: true });
      expect((await storage.query("blob.head", { sha256: digest }))[0]).toMatchObject({ refs: 1 });
      const [row] = await storage.query("session.get", { id: "s" });
      expect(await storage.query("state.key", { session: row?.no ?? 0, branch: 1, key: "k" })).toMatchObject([
        { key: "k", body: bytes },
      ]);
    });

    test.each([
      ["alias", "session"],
      ["session", "alias"],
    ])("ST5 a name for the %s here is wanted for the %s there", async (mine) => {
      await storage.commit(append("home"));
      const naming: Commit = {
        sessions: [{ id: "home", mode: "existing", at }],
        guards: [
          { check: "alias.session", key: ["name"], expect: null },
          { check: "session.id", key: ["name"], expect: null },
        ],
        events: [
          {
            session: "home",
            type: "alias/set",
            at,
            data: { name: "name" },
            writes: [{ op: "insert", table: "aliases", row: { name: "name", created_at: at } }],
          },
        ],
      };
      const both = [naming, append("name")] as const;
      const { ours, theirs } = mine === "alias" ? await amid(both[0], both[1]) : await amid(both[1], both[0]);
      expect([ours?.ok, theirs.ok].filter((ok) => ok)).toHaveLength(1);
      const taken = [
        await storage.query("session.get", { id: "name" }),
        await storage.query("session.byAlias", { name: "name" }),
      ];
      expect(taken.flat()).toHaveLength(1);
    });

    test("SE3 another handle that would close a circle looks after this commit, though they share no session", async () => {
      for (const id of ["a", "b", "c", "d"]) await storage.commit(append(id));
      await storage.commit(wait("a", "b"));
      await storage.commit(wait("c", "d"));
      const { ours, theirs } = await amid(wait("b", "c"), wait("d", "a"));
      expect(ours).toMatchObject({ ok: true });
      expect(theirs).toMatchObject({ ok: false, refused: { guard: { check: "invocation.waits" }, actual: 1 } });
    });

    test("ST2 of two commits that rely on the same version one is refused", async () => {
      const agents = [{ id: "a", at }];
      await storage.commit({ agents });
      const touch: Commit = {
        agents,
        guards: [{ check: "agent.version", key: ["a"], expect: 1 }],
        writes: [{ op: "run", statement: "agent.touch", params: [at, at, "a"] }],
      };
      const { ours, theirs } = await amid(touch, touch);
      expect(ours).toMatchObject({ ok: true });
      expect(theirs).toMatchObject({ ok: false, refused: { reason: "guard", actual: 2 } });
    });
  });
}
