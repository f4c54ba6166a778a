// Pending events: the next commit writes them in order, they are pending again if the commit fails, and no event that
// may depend on them is written before them.
import { expect, test } from "vitest";
import type { Commit, EventDraft, Outcome } from "../contracts/storage/commit.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { Writer } from "./writer.ts";

const row = { id: "r", session: "s", epoch: 1, version: 1, seq: 1, ended_at: null } as RunRow;
const draft = (type: string): EventDraft => ({ session: "s", type, at: 1, run: "r", rowPayload: null });

/** A store whose commits are answered one by one. */
function answering() {
  const commits: { readonly types: readonly string[]; readonly answer: PromiseWithResolvers<Outcome> }[] = [];
  const commit = ({ events = [] }: Commit) => {
    const answer = Promise.withResolvers<Outcome>();
    commits.push({ types: events.map(({ type }) => type), answer });
    return answer.promise;
  };
  const storage = { environment: realEnvironment(), commit } as Partial<Storage> as Storage;
  const done = (i: number) => {
    const written = (commits[i]?.types ?? []).map((_, n) => ({ session: "s", seq: 10 + n, hash: new Uint8Array() }));
    commits[i]?.answer.resolve({ ok: true, events: written });
  };
  return { writer: new Writer(storage, row), commits, done };
}

const nextMacrotask = () => new Promise<void>((next) => setImmediate(next));

test("RU14 pending events are written before the next events, whose results have their own seqs", async () => {
  const { writer, commits, done } = answering();
  writer.addLater(draft("one"));
  writer.addLater(draft("two"));
  const adding = writer.add([draft("step")]);
  expect(commits.map(({ types }) => types)).toEqual([["one", "two", "step"]]);
  done(0);
  expect((await adding).map(({ seq }) => seq)).toEqual([12]);
  void writer.add([draft("next")]);
  expect(commits[1]?.types).toEqual(["next"]);
});

test("RU14 a commit that may depend on pending events waits for their commit, and writes them if that one fails", async () => {
  const { writer, commits, done } = answering();
  writer.addLater(draft("read"));
  const first = writer.add([draft("first")]);
  const second = writer.add([draft("second")]);
  writer.addLater(draft("later read"));
  await nextMacrotask();
  expect(commits.map(({ types }) => types)).toEqual([["read", "first"]]);
  commits[0]?.answer.reject(new Error("no"));
  await expect(first).rejects.toThrow("no");
  await nextMacrotask();
  expect(commits[1]?.types).toEqual(["read", "later read", "second"]);
  done(1);
  expect((await second).map(({ seq }) => seq)).toEqual([12]);
});

test("RU14 an event that is added while a commit is under way does not change the answer of that commit", async () => {
  const { writer, commits, done } = answering();
  const adding = writer.add([draft("step")]);
  writer.addLater(draft("read of another branch"));
  done(0);
  expect((await adding).map(({ seq }) => seq)).toEqual([10]);
  void writer.add([draft("next")]);
  expect(commits[1]?.types).toEqual(["read of another branch", "next"]);
});

test("RU2 a row that went back to an older version, as in a store that was restored, is another lease", async () => {
  const rows: RunRow[] = [
    { ...row, version: 2 },
    { ...row, version: 1 },
  ];
  const query = async () => rows.splice(0, 1);
  const storage = { environment: realEnvironment(), query } as unknown as Storage;
  const writer = new Writer(storage, row);
  expect((await writer.reload()).version).toBe(2);
  await expect(writer.reload()).rejects.toMatchObject({ code: "LeaseLost" });
  expect(writer.row.version).toBe(2);
});

test("RU3 nothing follows the end of a run, however its last changes are asked for", async () => {
  const { writer, commits, done } = answering();
  const move = (extra: Partial<RunRow>) => writer.move(() => ({ type: "run/moved", at: 1, changes: extra }));
  const ending = move({ status: "completed", ended_at: 1 });
  await nextMacrotask();
  done(0);
  await ending;
  await expect(move({ status: "running" })).rejects.toMatchObject({ code: "LeaseLost" });
  expect(commits).toHaveLength(1);
});

test("RU2 a change of the row that was decided on an older version of it is decided again", async () => {
  const { writer, commits, done } = answering();
  const versions: number[] = [];
  const move = () =>
    writer.move(({ version }) => {
      versions.push(version);
      return { type: "run/moved", at: 1, changes: {} };
    });
  // What may follow from an event that is not written yet waits for it, and so does the second change.
  writer.addLater(draft("read"));
  const moves = [move(), move()];
  await nextMacrotask();
  done(0);
  await nextMacrotask();
  done(1);
  await Promise.all(moves);
  expect([versions, commits.length]).toEqual([[1, 1, 2], 2]);
});
