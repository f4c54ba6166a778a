// A handle stays open while a newer version migrates its store: from then on it neither writes nor reads.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import { TABLES } from "../src/contracts/storage/tables.ts";
import { open } from "../src/open.ts";
import { SCHEMA_VERSION } from "../src/storage/sql/migrations.ts";
import { SCHEMA_CHECK_MS } from "../src/storage/sql/store.ts";
import { adjustableEnvironment } from "../src/testing/environment.ts";
import { type FilledStore, fillStore } from "../src/testing/everything.ts";
import { fillRuns } from "../src/testing/everything-runs.ts";
import { range } from "../src/testing/expect.ts";
import { agent } from "../src/testing/suites/runs-agents.ts";
import { ENGINES, type EngineStore } from "./engines.ts";
import { countEvents, migrateToNewer, NEWER_VERSION } from "./newer-version.ts";

const REFUSAL = { code: "SchemaTooNew", details: { found: NEWER_VERSION, known: SCHEMA_VERSION } };
const ADA = { session: "chat", agent: "ada" };
const CLAUDE = "0b5c8a5e-8b0a-4ad0-9d2c-6f6f0a1f7c11";
const once = agent(async (it) => it.done(1));

interface Objects extends FilledStore {
  readonly board: string;
  readonly task: string;
  readonly blob: string;
  readonly openTurn: string;
  readonly openCall: string;
  readonly openEval: string;
  readonly openInvocation: string;
  readonly decision: string;
  readonly capture: string;
  readonly archive: readonly Uint8Array[];
}

async function fill(hf: Holdfast): Promise<Objects> {
  const filled = await fillStore({ ...hf, lineage: hf });
  await fillRuns(hf.runs);
  const board = await hf.tasks.create("errands", ["one"]);
  await hf.sessions.create({ id: "going" });
  const capture = await hf.captures.save(captureInput("first"));
  return {
    ...filled,
    archive: await exportSession(),
    board: board.id,
    task: board.tasks[0]?.id ?? "",
    capture: capture.id,
    blob: await hf.blobs.store("a blob that nothing refers to"),
    openTurn: (await hf.turns.begin("going")).id,
    openCall: (await hf.calls.start("going", { type: "leaf", request: { q: 1 } })).id,
    openEval: (await hf.evals.start("going", { code: "1" })).id,
    openInvocation: (await hf.invocations.start("going", { session: { id: "called" } })).id,
    decision: (await hf.runs.pending({ run: "run-asked" })).items[0]?.id ?? "",
  };
}

/** Of a session that is not in the store. */
async function exportSession(): Promise<readonly Uint8Array[]> {
  const other = await open(":memory:");
  await other.history.append({ session: "elsewhere", agent: "ada" }, { role: "user", content: "to take along" });
  const pieces: Uint8Array[] = [];
  for await (const piece of other.sessions.export("elsewhere")) pieces.push(piece);
  await other.close();
  return pieces;
}

function captureInput(text: string) {
  const content = Buffer.from(`{"text":"${text}"}\n`);
  return {
    ...({ request: "req", agent: "claude-code", sessionId: CLAUDE, cwd: "/w", onConflict: "keep" } as const),
    files: [{ role: "transcript", path: `project/${CLAUDE}.jsonl`, content } as const],
  };
}

/** Every verb that writes, with arguments that it would accept. */
function writes(hf: Holdfast, of: Objects): Readonly<Record<string, () => Promise<unknown>>> {
  const { agents, sessions, heads, turns, calls, evals, history, state, runs, tasks, captures, blobs } = hf;
  return {
    "agents.create": () => agents.create({ id: "new" }),
    "agents.update": () => agents.update("ada", { name: "Other" }),
    "agents.delete": () => agents.delete("ada"),
    "agents.saveBlocks": () => agents.saveBlocks("ada", [{ label: "facts", value: "new" }]),
    "agents.appendBlock": () => agents.appendBlock("ada", "facts", "more"),
    "agents.rethinkBlock": () => agents.rethinkBlock("ada", "facts", "other"),
    "agents.shareBlock": () => agents.shareBlock("ada", "facts", "bob"),
    "agents.restoreBlock": () => agents.restoreBlock("ada", "facts", 1),
    "sessions.create": () => sessions.create({ id: "new" }),
    "sessions.update": () => sessions.update("fork", { title: "new" }),
    "sessions.setAlias": () => sessions.setAlias("fork", "new-name"),
    "sessions.removeAlias": () => sessions.removeAlias("the-chat"),
    "sessions.delete": () => sessions.delete("fork"),
    "sessions.fork": () => sessions.fork("fork", { id: "new" }),
    "sessions.resume": () => sessions.resume(`chat@${of.heads[0]}`),
    "sessions.rewind": () => sessions.rewind(`chat@${of.heads[0]}`),
    "sessions.attach": () => sessions.attach("fork", { caller: "going", mode: "branch", session: { id: "new" } }),
    "heads.publish": () => heads.publish("chat"),
    "heads.compact": () => heads.compact("chat", { agent: "ada", summary: "short", keep: 1 }),
    "turns.begin": () => turns.begin("chat"),
    "turns.finish": () => turns.finish(of.openTurn),
    "turns.abort": () => turns.abort(of.openTurn),
    "calls.start": () => calls.start("chat", { type: "leaf", request: 1 }),
    "calls.add": () => calls.add("chat", { type: "leaf", request: 1, result: 2 }),
    "calls.finish": () => calls.finish(of.openCall, { result: 1 }),
    "evals.start": () => evals.start("chat", { code: "1" }),
    "evals.add": () => evals.add("chat", { code: "1", result: 1 }),
    "evals.finish": () => evals.finish(of.openEval, { result: 1 }),
    "snapshots.add": () => hf.snapshots.add("chat", { x: 9 }),
    "invocations.start": () => hf.invocations.start("chat", { session: { id: "new" } }),
    "invocations.finish": () => hf.invocations.finish(of.openInvocation),
    "history.append": () => history.append(ADA, { role: "user", content: "more" }),
    "history.appendMany": () => history.appendMany(ADA, [{ role: "user", content: "x".repeat(3000) }]),
    "history.clear": () => history.clear({ session: "fork", agent: "ada" }),
    "state.set": () => state.set("chat", { a: 1 }),
    "state.patch": () => state.patch("chat", { a: 1 }),
    "state.clear": () => state.clear("fork"),
    "log.annotate": () => hf.log.annotate("chat", { note: 1 }),
    "runs.execute": () => runs.execute(once, { session: "new", id: "run-new" }),
    "runs.start": () => runs.start(once, { session: "new", id: "run-new" }),
    "runs.signal": () => runs.signal("run-waits", "go", 1),
    "runs.cancel": () => runs.cancel("run-waits"),
    "runs.pause": () => runs.pause("run-waits"),
    "runs.unpause": () => runs.unpause("run-pauses"),
    "runs.fork": () => runs.fork("run-failed", { iteration: 1, session: "new", id: "run-new" }),
    "runs.rewind": () => runs.rewind("run-worked", { iteration: 1, id: "run-new" }),
    "runs.delete": () => runs.delete("run-worked"),
    "runs.answer": () => runs.answer(of.decision, { verdict: "retry" }),
    "runs.saveCheckpoint": () => runs.saveCheckpoint({ session: "worked", agent: "bob", iteration: 3, state: 1 }),
    "runs.deleteCheckpoint": () => runs.deleteCheckpoint("worked", "bob"),
    "tasks.create": () => tasks.create("new", ["one"]),
    "tasks.add": () => tasks.add(of.board, ["two"]),
    "tasks.move": () => tasks.move(of.board, of.task, "in_progress"),
    "tasks.rename": () => tasks.rename(of.board, of.task, "other"),
    "tasks.delete": () => tasks.delete(of.board, of.task),
    "captures.save": () => captures.save(captureInput("second")),
    "captures.expire": () => captures.expire(of.capture, null),
    "captures.delete": () => captures.delete(of.capture),
    "captures.deleteForRequest": () => captures.deleteForRequest("req"),
    "blobs.store": () => blobs.store("new"),
    "blobs.store, large": () => blobs.store("n".repeat(2_000_000)),
    "blobs.pin": () => blobs.pin(of.blob),
    "blobs.delete": () => blobs.delete(of.blob),
    "blobs.gc": () => blobs.gc(),
    import: async () => hf.sessions.import(of.archive),
  };
}

async function dump({ driver }: EngineStore): Promise<string> {
  const tables = [...Object.keys(TABLES), "holdfast_meta", "counters"];
  const rows = await Promise.all(tables.map((table) => driver.read(`SELECT * FROM ${table}`, [])));
  return JSON.stringify(rows.map((all) => all.map((row) => JSON.stringify(row)).sort()));
}

for (const engine of ENGINES) {
  describe(`a handle beside a newer schema on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    let objects: Objects;
    let before: string;
    const environment = adjustableEnvironment();
    beforeAll(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url, { environment });
      objects = await fill(hf);
      await migrateToNewer(await ground.another(), ["ALTER TABLE sessions RENAME COLUMN messages TO live_messages"]);
      before = await dump(ground);
    });
    afterAll(async () => {
      await hf.close();
      await ground.end();
    });

    test("ST4 every verb that writes is refused, and nothing is written", async () => {
      const answers = Object.entries(writes(hf, objects)).map(async ([verb, write]) => {
        const answer = await write().then(
          () => "written",
          (error: unknown) => error,
        );
        return [verb, answer] as const;
      });
      const refused = (await Promise.all(answers)).map(([verb, answer]) => [verb, answer]);
      expect(refused).toMatchObject(refused.map(([verb]) => [verb, REFUSAL]));
      expect(await dump(ground)).toBe(before);
    });

    test("ST4 reads are refused a second after the migration at the latest, those that the engine refuses at once", async () => {
      await expect(hf.sessions.list()).rejects.toMatchObject(REFUSAL);
      await environment.advance(SCHEMA_CHECK_MS);
      await expect(hf.history.get(ADA)).rejects.toMatchObject(REFUSAL);
      await expect(hf.sessions.list()).rejects.toMatchObject(REFUSAL);
      await expect(hf.query("[:find ?s :where [?s :session/id]]")).rejects.toMatchObject(REFUSAL);
      await expect(open(ground.url)).rejects.toMatchObject(REFUSAL);
    });
  });

  test(`ST4 of commits beside a migration each happens before it or is refused (${engine.name})`, async () => {
    const ground = await engine.fresh();
    const handles = await Promise.all(range(3).map(() => open(ground.url, { durability: "normal" })));
    try {
      let acknowledged = 0;
      const started = Promise.withResolvers<void>();
      const writers = handles.map(async (hf, n) => {
        const scope = { session: `s-${n}`, agent: "ada" };
        for (let i = 0; ; i++) {
          if (acknowledged > 20) started.resolve();
          const { seq } = await history(hf, scope, i);
          if (seq > 0) acknowledged++;
        }
      });
      const ends = Promise.allSettled(writers);
      await started.promise;
      // The writers go on meanwhile, as far as the engine lets them.
      await migrateToNewer(await ground.another(), engine.name === "postgres" ? ["SELECT pg_sleep(0.3)"] : []);
      for (const end of await ends) expect(end).toMatchObject({ status: "rejected", reason: REFUSAL });
      const [before, now] = await countEvents(ground.driver);
      expect(now).toBe(before);
      // Each session has one event more than messages.
      expect(now).toBe(acknowledged + handles.length);
    } finally {
      for (const hf of handles) await hf.close();
      await ground.end();
    }
  });
}

/** Now to a session whose position the handle remembers, now a commit that is planned in full. */
function history(hf: Holdfast, scope: { readonly session: string; readonly agent: string }, i: number) {
  const key = i % 3 === 2 ? { key: `k-${i}` } : {};
  return hf.history.append(scope, { role: "user", content: `n ${i}`, ...key });
}
