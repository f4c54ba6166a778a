// Runs on the command line: listed, drawn, answered, told what to do, gone on from; through main(), on a real store.
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enterOpen, json, leave, refused, runOnTerminal as run } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { realEnvironment } from "../../core/environment.ts";
import { type AgentDefinition, defineAgent, open } from "../../index.ts";

let cwd: string;
let hf: Holdfast;
beforeEach(async () => {
  ({ cwd, hf } = await enterOpen());
});
afterEach(leave);

async function* typed(text: string) {
  yield Buffer.from(text);
}

const counts = defineAgent({
  id: "counter",
  version: "1",
  initial: () => ({ n: 1 }),
  iterate: async (it, state) => {
    const { n } = state as { n: number };
    await it.message({ role: "assistant", content: `at ${n}` });
    if (n === 13) return it.fail(new Error("thirteen"));
    return n >= 3 ? it.done({ n }) : it.next({ n: n + 1 });
  },
});
const waits = defineAgent({ id: "patient", version: "1", iterate: async (it) => it.done(await it.waitFor("go")) });

/** An agent whose tool is cut off in the middle; `open` lets it through from then on. */
function payer(): { readonly agent: AgentDefinition; readonly paid: string[]; open(): void; reached: Promise<void> } {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const paid: string[] = [];
  const agent = defineAgent({
    id: "payer",
    version: "2",
    models: { small: { call: () => ({ output: "pay", inputTokens: 10, outputTokens: 2, costUsd: 0.25 }) } },
    tools: {
      look: { effect: "idempotent", retry: { attempts: 2, backoffMs: 1 }, execute: (_, { attempt }) => later(attempt) },
      pay: {
        execute: async (input, { idempotencyKey }) => {
          paid.push(idempotencyKey);
          reached.resolve();
          await gate.promise;
          return { paid: input };
        },
      },
    },
    iterate: async (it) => {
      await it.model("what next?");
      await it.tool("look");
      return it.done(await it.tool("pay", { eur: 5 }).catch((error: Error) => error.message));
    },
  });
  return { agent, paid, open: () => gate.resolve(), reached: reached.promise };
}

function later(attempt: number): string {
  if (attempt === 1) throw new Error("not yet");
  return "there";
}

/** Asks a person whether it was paid. */
async function inDoubt(session = "desk") {
  const given = payer();
  const { id } = await hf.runs.start(given.agent, { session });
  const worker = hf.runs.createWorker({ agents: [given.agent] });
  await worker.look();
  await given.reached;
  await worker.stop({ graceMs: 0 });
  await hf.runs.resume(given.agent, id);
  given.open();
  return { ...given, id };
}

/** At work in a process that shows no sign of life any more: its clock stands still. */
async function goneQuiet(session: string): Promise<{ readonly id: string; close(): Promise<void> }> {
  const given = payer();
  const asleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  const environment = { ...realEnvironment(), sleep: asleep };
  const quiet = await open(path.join(cwd, "holdfast.db"), { environment });
  const { agent } = given;
  const quick = { ...agent, tools: { ...agent.tools, look: { execute: () => 1 } } } as AgentDefinition;
  quiet.runs.execute(quick, { session, leaseMs: 200 }).catch(() => {});
  await given.reached;
  const [run] = (await hf.runs.list({ session })).items;
  return { id: run?.id ?? "", close: () => quiet.close() };
}

describe("runs", () => {
  test("lists them by status, session and agent, page by page", async () => {
    expect(await run("runs")).toBe("no runs\n");
    await hf.runs.execute(counts, { session: "a", id: "run_first" });
    await hf.runs.execute(counts, { session: "b", id: "run_second", limits: { iterations: 1 } });
    await hf.runs.execute(waits, { session: "c", id: "run_third" }, { wait: false });
    const all = await run("runs");
    expect(all.split("\n").map((line) => line.split(/\s+/)[0])).toEqual([
      "RUN",
      "run_third",
      "run_second",
      "run_first",
      "",
    ]);
    expect(all).toMatch(/run_third +waiting +c +1 +just now +signal go +patient/);
    expect(all).toMatch(/run_second +failed +b +1 +just now +limit:iterations +counter/);
    const ids = async (...argv: string[]) => (await json("runs", ...argv)).items.map(({ id }: { id: string }) => id);
    expect(await ids("--status", "waiting")).toEqual(["run_third"]);
    expect(await ids("--agent", "counter", "--limit", "1")).toEqual(["run_second"]);
    expect(await ids("list", "--session", "a")).toEqual(["run_first"]);
    expect((await cli(["runs", "--limit", "1"])).stderr).toMatch(/^more: add --cursor /);
    expect(await refused(2, "runs", "--status", "wating")).toContain('did you mean "waiting"?');
  });

  test("draws iterations and steps, tries, takeovers, waits and decisions", async () => {
    const { agent, id } = await inDoubt();
    const asked = await run("runs", "show", id);
    expect(asked).toMatch(/status +waiting: a person: desk#\d+/);
    expect(asked).toMatch(/ tool look +\d+ ms +failed: not yet\n/);
    expect(asked).toMatch(/ tool look +\d+ ms +attempt 2\n/);
    expect(asked).toMatch(/ tool pay +in doubt: it may have happened/);
    expect(asked).toContain("a person is asked: did tool pay happen?");
    await run("runs", "approve", id, "--result", '{"ok":true}', "--by", "eve", "--note", "saw it");
    await hf.runs.resume(agent, id);
    const shown = await run("runs", "show", id);
    expect(shown).toMatch(/eve decided on tool pay after [^:]+: it\s+happened,\s+"saw it"/);
    expect(shown).toMatch(/decision +on pay \(desk#\d+\): it happened, by eve, 20\d\d-/);
    expect(shown).toMatch(/ {2}tool pay {2,}\n/);
    expect(shown).toMatch(/result +\{"ok":true\}/);
    expect(shown).toMatch(/cost +\$0.25/);
    expect(shown).toMatch(/· +completed\n/);
    const told = await json("runs", "show", id);
    expect(told.run).toMatchObject({ id, status: "completed", tokens: 12 });
    expect(told.steps.map(({ name }: { name: string }) => name)).toEqual(["small", "look", "look", "pay"]);
    expect(told.value).toEqual({ ok: true });
    expect(told.timeline.at(-1)).toMatchObject({ kind: "run", text: "completed" });
    expect(told.decisions).toMatchObject([{ run: id, answer: { verdict: "result", by: "eve", note: "saw it" } }]);
  });

  test("shows the iteration a run is in or ended in, beside the completed ones", async () => {
    const ended = await hf.runs.execute(counts, { session: "a" });
    const stopped = await hf.runs.execute(counts, { session: "b", limits: { iterations: 2 } });
    const waiting = await hf.runs.execute(waits, { session: "c" }, { wait: false });
    const { id: never } = await hf.runs.start(counts, { session: "d" });
    await hf.runs.cancel(never);
    const asked = await inDoubt();
    await hf.runs.cancel(asked.id);
    const { items } = await json("runs");
    const told = new Map(items.map((one: { id: string }) => [one.id, one]));
    const cases = [
      [ended.run.id, 3, 2, "ended in iteration 3; the 2 before it are complete"],
      [stopped.run.id, 2, 2, "ended after iteration 2, which is complete"],
      [waiting.run.id, 1, 0, "in iteration 1, its first"],
      [never, 0, 0, "ended before its first"],
      [asked.id, 1, 0, "ended in iteration 1, its first"],
    ] as const;
    for (const [id, currentIteration, iteration, words] of cases) {
      expect(told.get(id)).toMatchObject({ currentIteration, iteration });
      expect((await json("runs", "show", id)).run).toMatchObject({ currentIteration, iteration });
      expect(await run("runs", "show", id)).toContain(`iteration  ${words}\n`);
    }
    const refusal = await refused(3, "runs", "fork", ended.run.id, "--iteration", "3");
    expect(refusal).toContain("The last it has completed is 2 (only a completed iteration leaves a checkpoint");
  });

  test("lists children when they are asked for, by the beginnings of their ids, and says why at 80 columns", async () => {
    const parent = defineAgent({
      ...waits,
      id: "parent",
      iterate: async (it) => it.done((await it.spawn(waits)).value),
    });
    const { run: made } = await hf.runs.execute(
      parent,
      { session: "a-session-with-quite-a-long-name" },
      { wait: false },
    );
    const [child = ""] = made.waitsFor.map((wait) => (wait.kind === "run" ? wait.run : ""));
    const ids = async (...argv: string[]) => (await json("runs", ...argv)).items.map(({ id }: { id: string }) => id);
    expect(await ids()).toEqual([made.id]);
    for (const asked of [["--children"], ["--status", "waiting"]])
      expect(await ids(...asked)).toEqual([child, made.id]);
    expect(await ids("--session", child)).toEqual([child]);
    const few = await cli(["runs"], { columns: 80, env: { NO_COLOR: "1" } });
    expect(few.stdout).toMatch(new RegExp(`${made.id.slice(0, 12)} +waiting .* run ${child.slice(0, 12)} +parent\n`));
    expect(few.stderr).toBe("1 spawned run left out; --children lists all\n");
    const all = await run("runs", "--children");
    expect(all).toMatch(new RegExp(`${child.slice(0, 12)} +waiting .* signal go +patient`));
    expect((await cli(["runs", "--children"])).stdout).toContain(child);
    expect((await json("runs", "show", child.slice(0, 12))).run.id).toBe(child);
    // A page is filled with those that are shown.
    await hf.runs.execute(counts, { session: "older" });
    await hf.runs.execute(parent, { session: "newer" }, { wait: false });
    expect((await ids("--limit", "2")).length).toBe(2);
    expect((await json("runs", "--limit", "3")).next).toBe(null);
  });

  test("breaks a long result between its parts, and draws a wait as one", async () => {
    const found = Array.from({ length: 12 }, (_, i) => `item-${i}`);
    const agent = defineAgent({
      ...waits,
      iterate: async (it) => it.done({ found, said: await it.waitFor("go", { timeoutMs: 3_600_000 }) }),
    });
    const { run: made } = await hf.runs.execute(agent, { session: "a" }, { wait: false });
    expect(await run("runs", "show", made.id)).toMatch(/ wait go +waiting for signal go until 20\d\d-/);
    await hf.runs.signal(made.id, "go", 1);
    await hf.runs.resume(agent, made.id);
    const shown = await run("runs", "show", made.id);
    expect(shown).not.toContain("waiting for signal");
    for (const item of found) expect(shown).toContain(`"${item}"`);
    expect((await cli(["runs", "show", made.id])).stdout).toContain(JSON.stringify({ found, said: 1 }));
  });

  test("shows the log of one run", async () => {
    for (const id of ["r1", "r2"]) await hf.runs.execute(counts, { session: "a", id });
    const { events } = await json("log", "a", "--run", "r2", "--after", "0");
    expect(events).toEqual((await hf.log.read("a")).filter((event) => event.run === "r2"));
    const some = await json("log", "a", "--run", "r2", "--type", "message/added", "--last", "2");
    expect(some.events).toEqual(events.filter(({ type }: { type: string }) => type === "message/added").slice(-2));
    expect((await json("log", "a", "--run", "r2", "--limit", "1")).events).toEqual(events.slice(0, 1));
    expect((await cli(["log", "a", "--run", "r2", "--last", "1"])).stderr).toContain("--after 0 shows all");
    await hf.runs.execute(counts, { session: "b", id: "r3" });
    expect(await refused(2, "log", "a", "--run", "r3")).toContain('belongs to session "b"');
    await refused(2, "log", "a", "--run", "r2", "--follow");
  });

  test("begins one of an agent that a module exports, for a worker or here", async () => {
    const file = path.join(cwd, "agents.mjs");
    writeFileSync(
      file,
      "export const echo = { id: 'echo', version: '1', iterate: (it) => it.input === 'bad' ? it.fail('no') : it.done(it.input) };\n" +
        "export const waits = { id: 'waits', version: '1', iterate: async (it) => it.done(await it.waitFor('go')) };\n",
    );
    const begin = ["runs", "start", "echo", "--module", "agents.mjs", "--session"];
    const made = await json(
      ...begin,
      "a",
      "--input",
      '{"n":1}',
      "--id",
      "job",
      "--priority",
      "3",
      "--limits",
      '{"tokens":9}',
      "--lease",
      "5",
    );
    expect(made).toMatchObject({
      id: "job",
      session: "a",
      agent: "echo",
      priority: 3,
      limits: { tokens: 9 },
      leaseMs: 5000,
      owner: null,
    });
    expect(await refused(2, ...begin, "z", "--lease", "0")).toContain("--lease");
    expect((await hf.runs.get("job"))?.status).toBe("running");
    expect(await refused(4, ...begin, "a")).toContain("job");
    expect(await run(...begin, "b")).toMatch(/^run run_\w+ in session b begins as soon as a worker claims it\n/);
    expect(await run(...begin, "c", "--input", '{"n":1}', "--now")).toMatch(/^run run_\w+ is completed\n\{"n":1\}\n$/);
    expect(await json(...begin, "d", "--input", "7", "--now")).toMatchObject({ status: "completed", value: 7 });
    const bad = await cli([...begin, "e", "--input", '"bad"', "--now"]);
    expect([bad.code, bad.stdout]).toEqual([
      1,
      expect.stringMatching(/ is failed: no\nholdfast runs retry run_\w+ continues it from the step it ended at\n$/),
    ]);
    const waiting = ["runs", "start", "waits", "--module", "agents.mjs", "--session", "f", "--now"];
    expect(await run(...waiting)).toContain("is waiting: signal go");
    const stdin = await cli([...begin, "g", "--input", "-", "--now", "--json"], { stdin: typed("[1]\n") });
    expect(JSON.parse(stdin.stdout).value).toEqual([1]);
    expect(await refused(3, "runs", "start", "ecko", "--module", "agents.mjs", "--session", "h")).toContain('"echo"');
    expect(await refused(2, "runs", "start", "echo", "--session", "h")).toContain("--module FILE");
    expect(await refused(2, "runs", "start", "echo", "--module", "agents.mjs")).toContain("--session ID");
    await refused(3, "runs", "start", "echo", "--module", "nowhere.mjs", "--session", "h");
    expect(await hf.sessions.get("h")).toBe(null);
  });

  test("shows the last iterations of a long run, or one of them", async () => {
    const long = defineAgent({
      ...counts,
      iterate: (it, state) =>
        (state as { n: number }).n >= 30 ? it.done() : it.next({ n: (state as { n: number }).n + 1 }),
    });
    const { run: made } = await hf.runs.execute(long, { session: "a" });
    const { stdout, stderr } = await cli(["runs", "show", made.id, "--last", "3"]);
    expect(stdout).toContain("iteration 29");
    expect(stdout).not.toContain("iteration 7");
    expect(stderr).toContain("--last 30 shows all");
    const { timeline } = await json("runs", "show", made.id, "--iteration", "7");
    expect(timeline.map(({ step }: { step: string }) => step)).toEqual(["iteration 7"]);
    await refused(2, "runs", "show", made.id, "--iteration", "7", "--last", "2");
  });

  test("names a run by the beginning of its id, if it is the only one", async () => {
    for (const id of ["run_abc", "run_abd", "run_x"]) await hf.runs.execute(counts, { session: id, id });
    expect((await json("runs", "show", "run_abc")).run.id).toBe("run_abc");
    expect((await json("runs", "show", "run_x")).run.id).toBe("run_x");
    expect((await json("runs", "show", "run_abd…")).run.id).toBe("run_abd");
    expect(await refused(2, "runs", "show", "run_a")).toContain("2 runs begin with");
    expect(await refused(3, "runs", "show", "run_b")).toContain("`holdfast runs` lists all runs");
    expect(await refused(2, "runs", "shwo", "run_b")).toContain('did you mean "show"?');
  });
});

describe("people", () => {
  test("are asked, with what they need to know and how to answer", async () => {
    expect(await run("runs", "pending")).toBe("nothing to decide\n");
    const { id, paid } = await inDoubt();
    const { decisions } = await json("runs", "pending");
    expect(decisions).toMatchObject([{ run: id, input: { eur: 5 }, step: { name: "pay", idempotencyKey: paid[0] } }]);
    const asked = await run("runs", "pending");
    expect(asked).toContain(`${decisions[0].id}  did pay happen?\n`);
    for (const part of ['{"eur":5}', paid[0], id, `holdfast runs deny '${decisions[0].id}'`])
      expect(asked).toContain(part);
    expect(await json("runs", "pending", id)).toEqual({ decisions, interrupted: [] });
    expect(await run("runs", "pending", "--answered")).toBe("no decisions\n");
  });

  test("can look up every decision, with its person and time", async () => {
    const first = await inDoubt();
    await run("runs", "approve", first.id, "--retry", "--by", "eve", "--note", "the bank has nothing");
    await hf.runs.resume(first.agent, first.id);
    const second = await inDoubt("other");
    await run("runs", "deny", second.id, "--by", "bob");
    const { decisions } = await json("runs", "pending", "--answered");
    const { items } = await hf.runs.decisions({ answered: true });
    expect(decisions).toEqual(items);
    const told = await run("runs", "pending", "--answered");
    expect(told).toMatch(/desk#\d+ +pay +20\d\d-\S+ \S+ +eve +execute it again/);
    expect(told).toMatch(/other#\d+ +pay +20\d\d-\S+ \S+ +bob +it did not/);
    const page = await json("runs", "pending", "--answered", "--limit", "1");
    expect(page.decisions).toEqual(items.slice(0, 1));
    const rest = await json("runs", "pending", "--answered", "--cursor", page.next);
    expect(rest.decisions).toEqual(items.slice(1));
    expect((await json("runs", "pending", second.id, "--answered")).decisions).toEqual(items.slice(0, 1));
    const oldest = await json("runs", "pending", "--answered", "--order", "oldest");
    expect(oldest.decisions).toEqual(items.toReversed());
  });

  test.each([
    ["approve", ["--retry"], 2, { paid: { eur: 5 } }, "execute it again"],
    ["approve", ["--result", '{"receipt":7}'], 1, { receipt: 7 }, "it happened"],
    ["deny", [], 1, "a person decided that it did not happen and must not happen", "it did not happen and must not"],
  ])("%s %j", async (verb, flags, times, value, said) => {
    const { agent, id, paid } = await inDoubt();
    const answer = await cli(["runs", verb, id, ...flags], { env: { USER: "eve" } });
    expect([answer.code, answer.stdout]).toEqual([0, expect.stringMatching(new RegExp(`#\\d+: ${said}, by eve\n`))]);
    expect((await hf.runs.resume(agent, id)).value).toEqual(value);
    expect([paid.length, new Set(paid).size]).toEqual([times, 1]);
    const [audit] = await hf.log.read("desk", { types: ["run/answered"] });
    expect(audit?.data.by).toBe("eve");
    expect(await refused(3, "runs", verb, id)).toContain("has no open question");
  });

  test("cannot answer twice, nor without a question, nor both ways", async () => {
    const { id } = await inDoubt();
    const { decisions } = await json("runs", "pending");
    await refused(2, "runs", "approve", id, "--retry", "--result", "1");
    expect(await refused(2, "runs", "approve", id, "--result", "{")).toBe("holdfast: --result is not JSON: {\n");
    expect(await refused(2, "runs", "approve", id, "--result", "it's ok")).toBe(
      `holdfast: --result is not JSON: it's ok; a text is written '"it'\\''s ok"'\n`,
    );
    expect(await refused(3, "runs", "approve", "desk#1")).toContain("`holdfast runs pending` lists");
    await run("runs", "deny", decisions[0].id);
    expect(await refused(4, "runs", "approve", decisions[0].id, "--retry")).toMatch(
      /was answered already\n.*`holdfast runs pending --answered` lists the answers and the people who gave them/,
    );
  });
});

describe("verbs", () => {
  test("signal wakes what waits for it, and is kept for what does not", async () => {
    const { run: made } = await hf.runs.execute(waits, { session: "c" }, { wait: false });
    expect(await run("runs", "signal", made.id, "other", "1")).toContain("keeps other: it waits for signal go\n");
    expect(await run("runs", "signal", made.id, "go", '{"yes":1}')).toContain(
      "continues when you run your program again",
    );
    expect((await hf.runs.resume(waits, made.id)).value).toEqual({ yes: 1 });
    expect(await refused(4, "runs", "signal", made.id, "go")).toContain("accepts no signals any more");
    const { id } = await hf.runs.start(counts, { session: "d" });
    const kept = (await run("runs", "signal", id, "go")).replaceAll("\n", " ");
    expect(kept).toContain("keeps go: it is running (needs a worker with counter 1)");
    expect(await run("runs", "show", id)).toMatch(/status +running: needs a worker with counter 1\n/);
    expect(await run("runs", "--session", "d")).toContain(" needs worker: counter 1 ");
  });

  test("pause, unpause, cancel and rm", async () => {
    const { id } = await hf.runs.start(counts, { session: "a" });
    expect(await run("runs", "pause", id, "--minutes", "5")).toMatch(/is paused until 20/);
    expect(await run("runs")).toMatch(/paused .* for 5 min more/);
    expect(await run("runs", "unpause", id)).toContain("continues when you run your program again");
    expect(await refused(4, "runs", "unpause", id)).toContain("is not paused");
    expect(await refused(4, "runs", "rm", id, "--yes")).toContain("Cancel it first");
    expect(await run("runs", "cancel", id)).toContain("is cancelled");
    expect(await refused(4, "runs", "cancel", id)).toContain(
      `\`holdfast runs retry ${id}\` continues it where it ended`,
    );
    expect(await refused(2, "runs", "rm", id)).toContain("Confirm with --yes");
    expect(await run("runs", "rm", id, "--yes")).toBe(`erased run ${id}\n`);
    await refused(3, "runs", "show", id);
  });

  test("retry prints where it continues, and that completed steps are not repeated", async () => {
    let isDown = true;
    const mails = defineAgent({
      id: "mailer",
      version: "1",
      tools: {
        look: { execute: () => 1 },
        odd: { execute: () => Promise.reject(new Error("lived with")) },
        mail: { execute: () => (isDown ? Promise.reject(new Error("down")) : 1) },
      },
      iterate: async (it) => {
        await it.tool("look");
        const [, mailed] = await it.parallel(
          (one) => one.tool("mail"),
          (one) => one.tool("odd").catch(() => 0),
        );
        return it.done(mailed);
      },
    });
    const { run: failed } = await hf.runs.execute(mails, { session: "a" });
    const said = (await run("runs", "retry", failed.id)).replaceAll("\n", " ");
    expect(said).toContain(`retries ${failed.id}: it continues in iteration 1, at tool mail;`);
    expect(said).toContain("finished steps are not repeated");
    isDown = false;
    const stopped = await hf.runs.execute(counts, { session: "b", limits: { iterations: 2 } });
    expect((await cli(["runs", "retry", stopped.run.id, "--limits", '{"iterations": 9}'])).stdout).toContain(
      "it continues in iteration 3; finished steps",
    );
  });

  test("what is refused because the session has a run says which, and what to do about it", async () => {
    const { run: waiting } = await hf.runs.execute(waits, { session: "a" }, { wait: false });
    const { run: failed } = await hf.runs.execute(counts, { session: "b", limits: { iterations: 1 } });
    await hf.runs.execute(waits, { session: "b" }, { wait: false });
    const busy = await refused(4, "runs", "retry", failed.id, "--limits", '{"iterations": 9}');
    expect(busy).toContain('Session "b" has an unfinished run');
    expect(busy).toContain("let it finish: run its program again, or `holdfast worker --agents FILE`");
    expect(busy).toContain("holdfast runs cancel run_");
    expect(busy).not.toContain("runs.resume");
    const taken = await refused(4, "runs", "fork", failed.id, "--session", "a");
    expect(taken).toContain("Choose another id, or leave it out");
    expect(await refused(4, "runs", "rm", waiting.id, "--yes")).not.toContain("show delete");
    await hf.runs.cancel(waiting.id);
    expect(await run("runs", "delete", waiting.id, "--yes")).toBe(`erased run ${waiting.id}\n`);
    expect(await run("runs", "delete", "--help")).toContain("(delete means rm)");
  });

  test("retry continues a failed run, with higher limits", async () => {
    const { run: stopped } = await hf.runs.execute(counts, { session: "a", limits: { iterations: 1 } });
    const taken = await json("runs", "retry", stopped.id, "--limits", '{"iterations": 9}');
    expect(taken).toMatchObject({ session: "a", iteration: 1, limits: { iterations: 9 } });
    expect((await hf.runs.resume(counts, taken.id)).value).toEqual({ n: 3 });
    expect(await refused(4, "runs", "retry", taken.id)).toContain(`\`holdfast runs fork ${taken.id}\``);
    const retried = await run("runs", "show", taken.id);
    expect(retried).toContain("begun by counter 1, a retry of");
  });

  test("retry of a run that was retried already names the last retry, and the command for it", async () => {
    const { run: first } = await hf.runs.execute(counts, { session: "a", limits: { iterations: 1 } });
    const again = async (id: string, iterations: number) => {
      const taken = await hf.runs.retry(id, { limits: { iterations } });
      return (await hf.runs.resume(counts, taken.id)).run;
    };
    const wide = ["--limits", '{"iterations": 9}'];
    const second = await again(first.id, 2);
    const failed = await refused(4, "runs", "retry", first.id, ...wide);
    expect(failed).toContain(`was continued by the run "${second.id}"\n`);
    expect(failed).toContain(`\`holdfast runs retry ${second.id}\``);
    const third = await again(second.id, 3);
    expect(third.status).toBe("completed");
    const over = await refused(4, "runs", "retry", first.id, ...wide);
    expect(over).toContain(`was continued by the run "${second.id}", and then by "${third.id}"\n`);
    expect(over).toContain(
      `"${third.id}" has completed it: there is nothing to retry; \`holdfast runs fork ${third.id}\``,
    );
    await hf.runs.delete(third.id);
    const gone = await refused(4, "runs", "retry", first.id, ...wide);
    expect(gone).toContain(`"${third.id}" was deleted; \`holdfast runs fork ${first.id}\``);
  });

  test("the error of a retry at a limit names the command that raises the limit", async () => {
    const { run: stopped } = await hf.runs.execute(counts, { session: "a", limits: { iterations: 1 } });
    expect(await refused(2, "runs", "retry", stopped.id)).toContain(
      `\`holdfast runs retry ${stopped.id} --limits '{"iterations": 2}'\``,
    );
    expect(await run("runs", "retry", stopped.id, "--limits", '{"iterations": 2}')).toContain("retries");
  });

  test("retry after deny does the step anew, at once and under a new key, as the help says", async () => {
    const paid: string[] = [];
    const reached = Promise.withResolvers<void>();
    const strict = defineAgent({
      id: "strict",
      version: "1",
      tools: {
        pay: {
          execute: (_, { idempotencyKey }) => {
            paid.push(idempotencyKey);
            reached.resolve();
            return paid.length === 1 ? new Promise(() => {}) : 1;
          },
        },
      },
      iterate: async (it) => it.done(await it.tool("pay")),
    });
    const { id } = await hf.runs.start(strict, { session: "a" });
    const worker = hf.runs.createWorker({ agents: [strict] });
    await worker.look();
    await reached.promise;
    await worker.stop({ graceMs: 0 });
    await hf.runs.resume(strict, id);
    await run("runs", "deny", id);
    expect((await hf.runs.resume(strict, id)).status).toBe("failed");
    const taken = await json("runs", "retry", id);
    expect((await hf.runs.resume(strict, taken.id)).status).toBe("completed");
    expect([paid.length, new Set(paid).size]).toEqual([2, 2]);
    const texts = {
      deny: "executes the denied step again under a new key",
      retry: "step is executed again at once under a new key",
    };
    for (const [verb, text] of Object.entries(texts)) {
      expect((await run("runs", verb, "--help")).replaceAll(/\s+/g, " ")).toContain(text);
    }
  });

  test("fork and rewind continue from an iteration, with another state", async () => {
    const { run: made } = await hf.runs.execute(counts, { session: "a" });
    const fork = await json("runs", "fork", made.id, "--iteration", "1", "--state", '{"n": 13}', "--session", "b");
    expect(fork).toMatchObject({ session: "b", iteration: 1 });
    expect((await hf.runs.resume(counts, fork.id)).error?.message).toBe("thirteen");
    expect(await run("runs", "show", fork.id)).toMatch(/status +failed: thirteen/);
    expect(await run("runs", "fork", made.id, "--iteration", "0")).toContain("from the beginning");
    expect(await refused(2, "runs", "rewind", made.id)).toContain("--iteration N");
    expect(await run("runs", "rewind", made.id, "--iteration", "2")).toContain("after iteration 2");
    expect((await hf.history.session("a")).length).toBe(2);
  });

  test("recover lists what an interrupted run had done; a run with a living worker is refused", async () => {
    expect(await run("runs", "recover", "--all")).toBe("no run whose worker is gone\n");
    await refused(2, "runs", "recover");
    const given = payer();
    const working = hf.runs.execute(given.agent, { session: "desk", leaseMs: 200 });
    await given.reached;
    const [alive] = (await hf.runs.list({ session: "desk" })).items;
    expect(await refused(4, "runs", "recover", alive?.id ?? "")).toContain("has a living worker");
    given.open();
    await working;
    const { id } = await inDoubt("other");
    const told = await run("runs", "recover", id);
    expect(told).toMatch(/continues with +iteration 1/);
    expect(told).toMatch(/known results +model small \(1\), tool look \(2\), tool look \(2\)/);
    expect(told).toMatch(/in doubt +tool pay \(3\)/);
    expect(told).toMatch(/a person +is asked when a worker claims the run/);
    expect(await json("runs", "recover", id)).toMatchObject({ resumeIteration: 1, needsPerson: true });
  });

  test("AR7 runs ls and show say that a run is held, and unpause ends the hold", async () => {
    const source = await open(":memory:");
    const { run: there } = await source.runs.execute(waits, { session: "far" }, { wait: false });
    await hf.sessions.import(source.sessions.export("far"));
    await source.close();
    expect(await run("runs")).toMatch(/held: +it was/);
    expect((await run("runs", "show", there.id)).replace(/\s+/g, " ")).toContain("held: it was imported; runs unpause");
    expect(await run("runs", "unpause", there.id)).toContain("continues when you run your program again");
    expect(await json("runs", "show", there.id)).toMatchObject({ run: { held: false, status: "running" } });
  });

  test("recover --all says that people will be asked, once a worker takes the run", async () => {
    const { id, close } = await goneQuiet("desk");
    const { stdout, stderr } = await cli(["runs", "recover", "--all"], { columns: 80, env: { NO_COLOR: "1" } });
    expect(stdout).toMatch(new RegExp(`${id.slice(0, 12)} +desk +iteration 1 +2 steps +pay +will be asked\n`));
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("will ask a person when it claims such a run");
    expect(await run("runs", "pending")).toContain(`run ${id} was interrupted, and no worker has it\n`);
    expect((await run("runs", "show", id)).replaceAll(/\s+/g, " ")).toContain(
      "recovered: its worker was gone; another worker can claim it",
    );
    expect((await cli(["trace", "desk"])).stdout).toContain("run recovered, its worker was gone");
    await close();
  });
});
