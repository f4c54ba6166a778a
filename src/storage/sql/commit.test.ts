// The write verb itself, below the nouns: batches, guards, isolation of one member's trouble from the others.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import { HEAD } from "../../../test/first-head.ts";
import type { Commit, EventDraft, Outcome } from "../../contracts/storage/commit.ts";
import { encodeText, sha256 } from "../../core/bytes.ts";
import { realEnvironment } from "../../core/environment.ts";
import { genesis, nextHash } from "../../core/hashing.ts";
import { headOf } from "../../core/head.ts";
import { open } from "../../open.ts";
import { SqlStorage } from "./store.ts";

const at = 1;

function note(session: string, text: string, extra: Partial<EventDraft> = {}): EventDraft {
  return { session, type: "annotation", at, data: { text }, ...extra };
}

function append(session: string, text: string, extra: Partial<Commit> = {}): Commit {
  return { sessions: [{ id: session, mode: "ensure", at }], events: [note(session, text)], ...extra };
}

function seqs(outcomes: readonly Outcome[]): readonly (number | string)[] {
  return outcomes.map((outcome) => (outcome.ok ? (outcome.events[0]?.seq ?? 0) : outcome.refused.reason));
}

for (const engine of ENGINES) {
  describe(`commit on ${engine.name}`, () => {
    let ground: EngineStore;
    let storage: SqlStorage;
    beforeEach(async () => {
      ground = await engine.fresh();
      storage = new SqlStorage(ground.driver, realEnvironment());
    });
    afterEach(() => ground.end());

    test("LG1 commits that go together get contiguous seqs, each session its own", async () => {
      const commits = Array.from({ length: 60 }, (_, i) => append(`s${i % 3}`, `n${i}`));
      const outcomes = await Promise.all(commits.map((commit) => storage.commit(commit)));
      // Event 1 is session/created, which the first commit of each brings along.
      expect(seqs(outcomes)).toEqual(commits.map((_, i) => 2 + Math.floor(i / 3)));
      for (const id of ["s0", "s1", "s2"]) {
        const events = await storage.query("events.read", { session: id, after: 0, limit: 100 });
        expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
      }
    });

    test("ST2 a refused guard drops only its own commit", async () => {
      await storage.commit(append("s", "first"));
      const wrong = append("s", "no", { guards: [{ check: "session.version", key: ["s"], expect: 99 }] });
      const outcomes = await Promise.all([append("s", "a"), wrong, append("t", "b")].map((one) => storage.commit(one)));
      expect(seqs(outcomes)).toEqual([3, "guard", 2]);
    });

    test("ST2 a commit that relies on a session's state or branch does not share a batch with one that moves it", async () => {
      await storage.commit(append("s", "first"));
      const moving = append("s", "", { events: [note("s", "moves", { state: true })] });
      const relying = append("s", "relied", { guards: [{ check: "state.version", key: ["s"], expect: 0 }] });
      const outcomes = await Promise.all([moving, relying].map((one) => storage.commit(one)));
      expect(seqs(outcomes)).toEqual([3, "guard"]);
      const begins: Commit = {
        ...append("s", ""),
        events: [
          note("s", "begins", {
            branches: true,
            writes: [{ op: "run", statement: "session.branchTo", params: [{ slot: "seq" }, { slot: "session" }] }],
          }),
        ],
      };
      const branchGuard = append("s", "relied", { guards: [{ check: "session.branch", key: ["s"], expect: 1 }] });
      expect(seqs(await Promise.all([begins, branchGuard].map((one) => storage.commit(one))))).toEqual([4, "guard"]);
    });

    test("ST2 a commit that relies on a session's current head does not share a batch with one that publishes a head", async () => {
      await storage.commit(append("s", "first"));
      const publish = append("s", "", { events: [{ session: "s", type: "head/created", at, head: HEAD }] });
      const relies = append("s", "stale", { guards: [{ check: "session.head", key: ["s"], expect: null }] });
      const outcomes = await Promise.all([publish, relies].map((one) => storage.commit(one)));
      expect(seqs(outcomes)).toEqual([3, "guard"]);
    });

    test("SE1 a head counts what its batch wrote before it, and not what came after", async () => {
      await storage.commit(append("s", "first"));
      const row = { first_seq: { slot: "seq" }, status: "open", at } as const;
      const turn = append("s", "", {
        events: [note("s", "begun", { writes: [{ op: "insert", table: "turns", row }] })],
      });
      const head = append("s", "", { events: [{ session: "s", type: "head/created", at, head: HEAD }] });
      const outcomes = await Promise.all([turn, head, turn, head, turn].map((one) => storage.commit(one)));
      const published = outcomes.flatMap((one) => (one.ok ? (one.events[0]?.head ?? []) : []));
      // What must wait for the next batch lets those pass that need not.
      expect(seqs(outcomes)).toEqual([3, 6, 4, 7, 5]);
      expect(published.map(({ seq }) => seq)).toEqual([6, 7]);
      expect(published.map((one) => headOf(one).counts.turns)).toEqual([3, 3]);
      expect(published[1]?.basis).toBe(published[0]?.id);
      const stored = await storage.query("heads.oldest", { session: "s", after: 0, limit: 10 });
      expect(stored.map(headOf)).toEqual(published.map(headOf));
    });

    test("SE1 a head counts what its batch wrote before it, also where the positions of its session are cached", async () => {
      const row = { first_seq: { slot: "seq" }, status: "open", at } as const;
      const turn = append("s", "", {
        events: [note("s", "begun", { writes: [{ op: "insert", table: "turns", row }] })],
      });
      const head = append("s", "", { events: [{ session: "s", type: "head/created", at, head: HEAD }] });
      await storage.commit(turn);
      await storage.commit(head);
      const outcomes = await Promise.all([turn, head].map((one) => storage.commit(one)));
      const published = outcomes.flatMap((one) => (one.ok ? (one.events[0]?.head ?? []) : []));
      expect(published.map((one) => headOf(one).counts.turns)).toEqual([2]);
    });

    test("ST2 two commits of one batch that rely on the same row cannot both happen", async () => {
      await storage.commit(append("s", "first"));
      const [row] = await storage.query("session.get", { id: "s" });
      const change = (text: string): Commit => ({
        sessions: [{ id: "s", mode: "existing", at }],
        guards: [{ check: "session.version", key: ["s"], expect: row?.version ?? 0 }],
        events: [
          note("s", text, {
            writes: [
              {
                op: "run",
                statement: "session.describe",
                params: [
                  null,
                  encodeText(text),
                  "open",
                  null,
                  null,
                  null,
                  (row?.version ?? 0) + 1,
                  encodeText(text),
                  "open",
                  null,
                  (row?.version ?? 0) + 1,
                  { slot: "session" },
                ],
              },
            ],
          }),
        ],
      });
      const outcomes = await Promise.all(["a", "b", "c"].map((text) => storage.commit(change(text))));
      expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
      const [after] = await storage.query("session.get", { id: "s" });
      expect(after?.version).toBe((row?.version ?? 0) + 1);
    });

    test("ST2 one of several creators of the same id wins, in one handle and across two", async () => {
      const other = new SqlStorage(await ground.another(), realEnvironment());
      const create: Commit = { sessions: [{ id: "mine", mode: "create", at }], events: [note("mine", "x")] };
      const outcomes = await Promise.all([storage, other, storage, other].map((one) => one.commit(create)));
      expect(seqs(outcomes).filter((seq) => typeof seq === "number")).toHaveLength(1);
      expect(seqs(outcomes).filter((seq) => seq === "session-exists")).toHaveLength(3);
    });

    test("ST2 a commit may use a session that an earlier one of its batch creates", async () => {
      const uses: Commit = { sessions: [{ id: "new", mode: "existing", at }], events: [note("new", "b")] };
      const creates: Commit = { sessions: [{ id: "new", mode: "create", at }], events: [note("new", "c")] };
      const outcomes = await Promise.all([append("new", "a"), uses, creates].map((one) => storage.commit(one)));
      expect(seqs(outcomes)).toEqual([2, 3, "session-exists"]);
    });

    test("ST5 of two commits of one batch that give one name to an alias and to a session, the first one gets it", async () => {
      await storage.commit(append("home", "first"));
      const naming = (name: string): Commit => ({
        sessions: [{ id: "home", mode: "existing", at }],
        guards: [{ check: "session.id", key: [name], expect: null }],
        events: [note("home", name, { writes: [{ op: "insert", table: "aliases", row: { name, created_at: at } }] })],
      });
      const both = (...commits: readonly Commit[]) => Promise.all(commits.map((one) => storage.commit(one)));
      expect(seqs(await both(append("a", "creates"), naming("a")))).toEqual([2, "guard"]);
      expect(seqs(await both(naming("b"), append("b", "creates")))).toEqual([3, "session-alias"]);
    });

    test("ST7 a commit the engine refuses fails alone and leaves nothing", async () => {
      await storage.commit(append("s", "first"));
      const dangling: Commit = {
        sessions: [{ id: "s", mode: "existing", at }],
        agents: [{ id: "a", at }],
        events: [
          note("s", "bad", {
            agent: "a",
            type: "message/added",
            // No such blob: the number is NULL and the table's own check refuses the row.
            message: {
              role: "user",
              sha256: sha256(encodeText("nobody")),
              salt: encodeText("s"),
              inline: null,
              chars: 0,
            },
          }),
        ],
      };
      const results = await Promise.allSettled(
        [append("s", "a"), dangling, append("s", "b")].map((one) => storage.commit(one)),
      );
      expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      const events = await storage.query("events.read", { session: "s", after: 0, limit: 100 });
      expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4]);
    });

    test("BL2 a ref that is not there refuses the commit that would use it", async () => {
      const missing = sha256(encodeText("missing"));
      const outcome = await storage.commit(append("s", "x", { uses: [[missing, 0]] }));
      expect(seqs([outcome])).toEqual(["blob-missing"]);
      expect(await storage.query("session.get", { id: "s" })).toEqual([]);
    });

    test("ST2 a guard that fails is told before a ref that is missing: the decision may no longer need it", async () => {
      const missing = sha256(encodeText("missing"));
      const guards = [{ check: "session.version", key: ["s"], expect: 1 }] as const;
      const outcome = await storage.commit(append("s", "x", { guards, uses: [[missing, 1]] }));
      expect(seqs([outcome])).toEqual(["guard"]);
    });

    test("LG1 a handle that remembers a session is not fooled by another handle's writes to it", async () => {
      const other = new SqlStorage(await ground.another(), realEnvironment());
      for (let i = 0; i < 10; i++) {
        await (i % 2 === 0 ? storage : other).commit(append("s", `n${i}`));
      }
      const events = await storage.query("events.read", { session: "s", after: 0, limit: 100 });
      expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 11 }, (_, i) => i + 1));
    });

    test("LG2 a handle that remembers a session sees that the same seq was reached another way", async () => {
      for (const text of ["a", "b"]) await storage.commit(append("s", text));
      // Like a server that lost its last commits and continued with others.
      const [before] = await storage.query("events.at", { session: "s", seq: 2 });
      await ground.driver.transact(function* () {
        yield {
          statements: [
            { kind: "query", sql: "DELETE FROM events WHERE seq = 3", params: [] },
            { kind: "query", sql: "UPDATE sessions SET seq = 2, chain = ?", params: [before?.hash ?? null] },
          ],
          last: true,
        };
      });
      const other = new SqlStorage(await ground.another(), realEnvironment());
      await other.commit(append("s", "another b"));
      await storage.commit(append("s", "c"));
      const events = await storage.query("events.read", { session: "s", after: 0, limit: 100 });
      let chain: Uint8Array = genesis("s");
      for (const event of events) {
        chain = nextHash(chain, event.body);
        expect(Buffer.from(event.hash)).toEqual(Buffer.from(chain));
      }
      expect(events).toHaveLength(4);
    });

    test("LG1 a handle that remembers a session trusts no agent's number once the session has moved", async () => {
      const scope = { session: "s", agent: "a" };
      const hf = await open(ground.url);
      const other = await open(ground.url);
      try {
        await hf.history.append(scope, { role: "user", content: "1" });
        await other.history.append({ ...scope, agent: "b" }, { role: "user", content: "2" });
        // What a server does that was put back to a time before both agents, and met the other one first.
        const rename = (from: string, to: string) => `UPDATE agents SET id = '${to}' WHERE id = '${from}'`;
        const swapped = "UPDATE events SET agent_no = 3 - agent_no WHERE agent_no IS NOT NULL";
        const texts = [rename("a", "first"), rename("b", "a"), rename("first", "b"), swapped];
        await ground.driver.transact(function* () {
          yield { statements: texts.map((sql) => ({ kind: "query", sql, params: [] })), last: true };
        });
        for (const content of ["3", "4"]) await hf.history.append(scope, { role: "user", content });
        expect(await hf.history.count(scope)).toBe(3);
      } finally {
        await hf.close();
        await other.close();
      }
    });

    test("LG6 a handle that remembers a session cannot write to it after another handle deleted it", async () => {
      const other = new SqlStorage(await ground.another(), realEnvironment());
      await storage.commit(append("s", "a"));
      await storage.commit(append("s", "b"));
      await storage.commit(append("t", "a"));
      const [row] = await other.query("session.get", { id: "s" });
      await other.commit({
        solo: true,
        sessions: [{ id: "s", mode: "existing", at }],
        writes: [
          { op: "run", statement: "allMessages.erase", params: [row?.no ?? 0] },
          { op: "run", statement: "session.tombstone", params: [at, at, row?.no ?? 0] },
        ],
      });
      // Neither where it adds to its log nor where it only adds to that of another session.
      const uses = ["t", "s"].map((id) => ({ id, mode: "existing", at }) as const);
      const beside: Commit = { sessions: uses, events: [note("t", "beside")] };
      expect(seqs([await storage.commit(beside)])).toEqual(["session-deleted"]);
      expect(seqs([await storage.commit(append("s", "c"))])).toEqual(["session-deleted"]);
      expect(await storage.query("events.read", { session: "s", after: 0, limit: 100 })).toEqual([]);
    });
  });
}
