// A filled store with a way to change its rows as a fault would, and to check it with any kinds left out.
import { runCheck } from "../../src/check/check.ts";
import { kindsOf } from "../../src/check/kinds.ts";
import type { CheckKind, CheckReport } from "../../src/contracts/check.ts";
import type { Holdfast, OpenOptions } from "../../src/contracts/holdfast.ts";
import { TABLES } from "../../src/contracts/storage/tables.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { open } from "../../src/open.ts";
import { createBlobs } from "../../src/storage/blobs/store.ts";
import { SqlStorage } from "../../src/storage/sql/store.ts";
import { type FilledStore, fillStore } from "../../src/testing/everything.ts";
import { fillRuns } from "../../src/testing/everything-runs.ts";
import type { Engine } from "../engines.ts";

type Value = string | number | Uint8Array | null;

export interface DamagedStore {
  readonly hf: Holdfast;
  readonly filled: FilledStore;
  readonly storage: SqlStorage;
  readonly run: (sql: string, ...params: readonly Value[]) => Promise<unknown>;
  readonly read: (sql: string, ...params: readonly Value[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly check: (mode: CheckReport["mode"], without?: CheckKind) => Promise<CheckReport>;
  /** As it was when it had been filled. */
  readonly mend: () => Promise<void>;
  readonly end: () => Promise<void>;
}

const KEPT = [...Object.keys(TABLES), "counters", "holdfast_meta"];

export async function filledStore(engine: Engine, options: OpenOptions = {}): Promise<DamagedStore> {
  const ground = await engine.fresh();
  const hf = await open(ground.url, { durability: "normal", ...options });
  const storage = new SqlStorage(ground.driver, realEnvironment());
  const blobs = createBlobs(storage, {
    ttlMs: null,
    ...(options.blobs === undefined ? {} : { backend: options.blobs }),
  });
  const filled = await fillStore({ ...hf, lineage: hf });
  await addInvocations(hf, filled.rootCall);
  await addWork(hf);
  await fillRuns(hf.runs);
  await leaveBehind(hf);
  await saveCapture(hf);
  await addDocuments(hf);
  const all = (texts: readonly string[], params: readonly Value[] = []) =>
    ground.driver.transact(function* () {
      yield { statements: texts.map((sql) => ({ kind: "query" as const, sql, params: [...params] })), last: true };
    });
  await all(KEPT.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`));
  return {
    hf,
    filled,
    storage,
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
async function addInvocations(hf: Holdfast, call: string): Promise<void> {
  const work = ({ session }: { readonly session: string }) => hf.heads.publish(session, { final: "of the child" });
  await hf.invocations.spawn("chat", { session: { id: "child" }, call, label: "a child" }, work);
  await hf.invocations.attach("chat", "fork", { mode: "branch", session: { id: "attached" }, call }, work);
}

/** Boards of a session made for a request, messages cleared twice, and state that ends by itself or is taken away. */
async function addWork(hf: Holdfast): Promise<void> {
  await hf.sessions.create({ id: "work", request: "request-1" });
  const { id, tasks } = await hf.tasks.create("work", ["one", "two"], { agent: "ada", parent: "" });
  await hf.tasks.create("work", ["three"], { agent: "bob" });
  await hf.tasks.retry(id, tasks[0]?.id ?? "");
  await hf.tasks.add(id, ["four"]);
  for (const content of ["first", "second"]) {
    await hf.history.append({ session: "work", agent: "ada" }, { role: "user", content });
    await hf.history.clear({ session: "work", agent: "ada" });
  }
  await hf.history.clear({ session: "fork", agent: "ada" });
  await hf.state.patch("fork", {}, { remove: ["plan"] });
  await hf.state.patch("fork", { brief: 1 }, { ttlMs: 1e12 });
}

/** A collection with inline and long documents, and one without an embedding. */
async function addDocuments({ vectors }: Holdfast): Promise<void> {
  await vectors.createCollection("notes", { dimension: 4, model: "m-1" });
  const documents = [
    { id: "tea", content: "about tea", embedding: [1, 0, 0.5, 0], metadata: { topic: "tea", tags: ["hot", "leaf"] } },
    { id: "long", content: "at length ".repeat(4000), embedding: [0, 1, 0.5, 0], metadata: { topic: "long" } },
    { id: "waits", content: "without an embedding" },
  ];
  await vectors.add(documents, { collection: "notes", model: "m-1" });
}

/** A coding agent's session: its transcript. */
async function saveCapture(hf: Holdfast): Promise<void> {
  const sessionId = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
  const content = Buffer.from('{"type":"user"}\n');
  await hf.captures.save({
    request: "request-3",
    agent: "claude-code",
    cwd: "/work",
    sessionId,
    files: [{ role: "transcript", path: `project/${sessionId}.jsonl`, content }],
  });
}

/** A session that was deleted, of which a fork inherits a little of everything. */
async function leaveBehind(hf: Holdfast): Promise<void> {
  const session = "left";
  await hf.sessions.create({ id: session, agent: "ada", title: "gone", request: "request-2", tags: ["z"] });
  const turn = await hf.turns.begin(session, { agent: "ada", run: "r-2" });
  await hf.history.append({ session, agent: "ada" }, { role: "user", content: "inherited" });
  await hf.history.append({ session, agent: "ada" }, { role: "assistant", content: "at length ".repeat(200) });
  const call = await hf.calls.start(session, { type: "leaf", request: { q: 3 }, model: "m-2", turn: turn.id });
  await hf.calls.finish(call.id, { response: 4, costUsd: 0.25 });
  await hf.evals.add(session, { code: "2 + 2", result: 4, turn: turn.id });
  await hf.state.set(session, { kept: 1 });
  await hf.state.patch(session, { kept: 2 });
  await hf.invocations.spawn(session, { session: { id: "of-left" } }, async () => 1);
  await hf.log.annotate(session, { note: "goes" });
  const head = await hf.turns.finish(turn.id, { final: "kept", vars: { v: 1 } });
  await hf.history.append({ session, agent: "ada" }, { role: "user", content: "not inherited" });
  await hf.heads.publish(session);
  await hf.sessions.fork(`${session}@${head.id}`, { id: "heir" });
  await hf.heads.publish("heir");
  await hf.sessions.delete(session);
}
