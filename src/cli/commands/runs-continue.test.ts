// Interrupted runs, runs that continue others, and effects that are done again, on the command line.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cli, enterOpen, leave, run as runPlain } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Step } from "../../contracts/steps.ts";
import { realEnvironment } from "../../core/environment.ts";
import { defineAgent, open } from "../../index.ts";

let cwd: string;
let hf: Holdfast;
beforeEach(async () => {
  ({ cwd, hf } = await enterOpen());
});
afterEach(leave);

/** What a command prints, with one space between columns. */
async function run(...argv: string[]): Promise<string> {
  return (await runPlain(...argv)).replaceAll(/ +/g, " ");
}

/** Pays in its first iteration, looks and mails in the second, and fails in the third unless told otherwise. */
function clerk(state: { isMended: boolean }) {
  return defineAgent({
    id: "clerk",
    version: "1",
    tools: {
      pay: { execute: () => "paid" },
      mail: { execute: () => "sent" },
      look: { effect: "idempotent", execute: () => "seen" },
    },
    initial: () => ({ n: 1 }),
    iterate: async (it, { n }: { n: number }) => {
      if (n === 1) await it.tool("pay");
      if (n === 2) await it.tool("look");
      if (n === 2) await it.tool("mail");
      if (n === 3) return state.isMended ? it.done("all") : it.fail(new Error("broken"));
      return it.next({ n: n + 1 });
    },
  });
}

test.runIf(process.platform === "linux")(
  "RU6 runs pending names a run that a crash interrupted, and what continues it (skipped: only Linux reports processes)",
  async () => {
    const reached = Promise.withResolvers<void>();
    const stuck = defineAgent({
      id: "payer",
      version: "1",
      tools: {
        look: { effect: "idempotent", execute: () => 1 },
        pay: {
          execute: () => {
            reached.resolve();
            return new Promise(() => {});
          },
        },
      },
      iterate: async (it) => {
        await it.tool("look");
        return it.done(await it.tool("pay"));
      },
    });
    expect(await run("runs", "pending")).toBe("nothing to decide\n");
    // The worker's process is one that has ended.
    const real = realEnvironment();
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const dead = (real.processes?.self() ?? "").replace(`/${process.pid}/`, `/${pid}/`);
    const processes = {
      self: () => dead,
      liveness: (name: string) => real.processes?.liveness(name) ?? "unknown",
    } as const;
    const crashed = await open(path.join(cwd, "holdfast.db"), { environment: { ...real, processes } });
    try {
      crashed.runs.execute(stuck, { session: "desk", id: "pay-7" }).catch(() => {});
      await reached.promise;
      const told = await run("runs", "pending");
      expect(told).toContain("run pay-7 was interrupted, and no worker has it\n");
      expect(told).toContain("in doubt tool pay (1/2)\n");
      expect(told).toContain("next run its program again, or holdfast worker --agents FILE");
      expect(told).not.toContain("nothing to decide");
      const { interrupted, decisions } = JSON.parse(await run("runs", "pending", "pay-7", "--json"));
      expect(decisions).toEqual([]);
      expect(interrupted).toMatchObject([{ run: { id: "pay-7" }, steps: [{ name: "pay", idempotent: false }] }]);
    } finally {
      await crashed.close();
    }
    await hf.runs.resume(stuck, "pay-7");
    expect(await run("runs", "pending")).toMatch(/did pay happen\?/);
    expect(JSON.parse(await run("runs", "pending", "--json")).interrupted).toEqual([]);
  },
);

test("RU8 fork and rewind list what they do again, and ask first", async () => {
  const state = { isMended: false };
  const { run: failed } = await hf.runs.execute(clerk(state), { session: "a" });
  for (const verb of ["fork", "rewind"]) {
    const answer = await cli(["runs", verb, failed.id, "--iteration", "0"]);
    expect([answer.code, answer.stdout]).toEqual([2, ""]);
    expect(answer.stderr).toContain("repeats: tool pay (1/1), tool mail (2/2). Confirm with --yes");
  }
  expect((await hf.runs.list()).items).toHaveLength(1);
  const after = await cli(["runs", "fork", failed.id, "--iteration", "1", "--yes", "--session", "b"]);
  expect(after.stderr).toBe("Continuing from there repeats: tool mail (2/2).\n");
  const none = await cli(["runs", "fork", failed.id, "--iteration", "2"]);
  expect([none.code, none.stderr]).toEqual([0, ""]);
  const { repeats } = JSON.parse(await run("runs", "rewind", failed.id, "--iteration", "1", "--yes", "--json"));
  expect(repeats).toMatchObject([{ name: "mail", iteration: 2, idempotent: false }]);
});

test("RU8 a tool that did its work and lost its result counts among what is done again", async () => {
  const loses = defineAgent({
    id: "clerk",
    version: "1",
    tools: { pay: { execute: () => new Date(0) as never } },
    iterate: async (it) => it.done(await it.tool("pay")),
  });
  await hf.runs.execute(loses, { id: "r1", session: "s1" });
  const { code, stderr } = await cli(["runs", "rewind", "r1", "--iteration", "0"]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("pay");
  expect((await hf.runs.list()).items).toHaveLength(1);
});

test("RU8 what a retried run had done counts as done again, too", async () => {
  const state = { isMended: false };
  const agent = clerk(state);
  const { run: failed } = await hf.runs.execute(agent, { session: "a" });
  const again = await hf.runs.retry(failed.id);
  state.isMended = true;
  await hf.runs.resume(agent, again.id);
  const answer = await cli(["runs", "fork", again.id, "--iteration", "0"]);
  expect(answer.stderr).toContain("repeats: tool pay (1/1), tool mail (2/2).");
});

test("RU8 what the runs that continue a run did counts as done again, too", async () => {
  let isMended = false;
  const payer = defineAgent({
    id: "payer",
    version: "1",
    tools: { pay: { execute: () => "paid" } },
    initial: () => ({ n: 1 }),
    iterate: async (it, { n }: { n: number }) => {
      if (n === 2 && !isMended) return it.fail(new Error("broken"));
      await it.tool("pay", { n });
      return n === 3 ? it.done("all") : it.next({ n: n + 1 });
    },
  });
  await hf.runs.execute(payer, { session: "a", id: "ch1" });
  await hf.runs.retry("ch1", { id: "ch2" });
  isMended = true;
  await hf.runs.execute(payer, { session: "a", id: "ch1" });
  for (const verb of ["fork", "rewind"]) {
    const later = await cli(["runs", verb, "ch1", "--iteration", "1"]);
    expect([later.code, later.stdout]).toEqual([2, ""]);
    expect(later.stderr).toContain("repeats: tool pay (2/1), tool pay (3/1). Confirm with --yes");
    const all = await cli(["runs", verb, "ch1", "--iteration", "0"]);
    expect(all.stderr).toContain("repeats: tool pay (1/1), tool pay (2/1), tool pay (3/1). Confirm with --yes");
  }
  await hf.runs.rewind("ch2", { iteration: 2, id: "ch3" });
  await hf.runs.resume(payer, "ch3");
  // Each place once, however often it was done; of what only the rewound run knows, too.
  const { repeats } = JSON.parse(await run("runs", "fork", "ch1", "--iteration", "1", "--yes", "--json"));
  expect(repeats.map(({ iteration, run: by }: Step) => [iteration, by])).toEqual([
    [2, "ch2"],
    [3, "ch3"],
  ]);
});

test("RU8 retry, fork and rewind say what continues the run", async () => {
  const { run: failed } = await hf.runs.execute(clerk({ isMended: false }), { session: "a" });
  for (const [verb, ...more] of [["retry"], ["fork"], ["rewind", "--iteration", "2"]]) {
    const { id } = JSON.parse(await run("runs", String(verb), failed.id, ...more, "--json"));
    await hf.runs.cancel(id);
    const { stdout } = await cli(["runs", String(verb), verb === "retry" ? id : failed.id, ...more]);
    const [said, how] = stdout.split("\n");
    const made = /^run (\S+) in session/.exec(said ?? "")?.[1];
    expect(how).toBe(
      `continue it in a program with runs.resume(agent, "${made}"), or with \`holdfast worker --agents FILE\``,
    );
    await hf.runs.cancel(made ?? "");
  }
});

test("RU11 runs show names the run that a run continues, and those that continue it", async () => {
  const state = { isMended: false };
  const agent = clerk(state);
  const { run: first } = await hf.runs.execute(agent, { session: "a", id: "first" });
  await hf.runs.fork(first.id, { iteration: 1, session: "b", id: "forked" });
  await hf.runs.retry(first.id, { id: "retried" });
  await hf.runs.execute(agent, { session: "a", id: "retried" });
  await hf.runs.rewind("retried", { iteration: 0, id: "rewound" });
  const shown = await run("runs", "show", "first");
  expect(shown).toContain("continued by forked after iteration 1 (fork, session b), running\n");
  expect(shown).toContain("continued by retried (retry), failed\n");
  expect(shown).not.toContain("continues");
  expect(await run("runs", "show", "retried")).toContain("continues first (retry)\n");
  expect(await run("runs", "show", "retried")).toContain("continued by rewound from its beginning (rewind), running\n");
  expect(await run("runs", "show", "rewound")).toContain("continues retried from its beginning (rewind)\n");
  expect(await run("runs", "show", "forked")).toContain("continues first after iteration 1 (fork, session a)\n");
  const { continues, continuedBy } = JSON.parse(await run("runs", "show", "retried", "--json"));
  expect(continues).toEqual({ run: "first", session: "a", how: "retry", iteration: 2 });
  expect(continuedBy).toEqual([{ run: "rewound", session: "a", how: "rewind", iteration: 0, status: "running" }]);
});

test("RU13 a module that does not finish loading is named", async () => {
  writeFileSync(
    path.join(cwd, "busy.mjs"),
    "await new Promise((done) => setTimeout(done, 1300));\nexport default { id: 'x', version: '1', iterate: (it) => it.done(1) };",
  );
  writeFileSync(path.join(cwd, "quick.mjs"), "export default { id: 'x', version: '1', iterate: (it) => it.done(1) };");
  const start = (file: string) => cli(["runs", "start", "x", "--module", file, "--session", file]);
  const slow = await start("busy.mjs");
  expect([slow.code, slow.stderr]).toEqual([
    0,
    expect.stringMatching(
      /^holdfast: busy\.mjs has not finished loading: does it call execute\(\) at its top level\?.*Ctrl-C/,
    ),
  ]);
  expect((await start("quick.mjs")).stderr).toBe("");
});

test("RU14 --erased placeholder continues a run without its erased content", async () => {
  const AGENT = `export default { id: 'reader', version: '1', iterate: async (it) => {
    const { messages } = await it.context();
    await it.message({ role: 'assistant', content: 'read' });
    await it.waitFor('go');
    return it.done(messages.map(({ content }) => content[0].text));
  } };`;
  writeFileSync(path.join(cwd, "agents.mjs"), AGENT);
  const source = { session: "source", agent: "ada" };
  await hf.history.append(source, { role: "user", content: "secret" });
  await hf.sessions.fork("source", { id: "copy" });
  const start = (...more: string[]) =>
    cli(["runs", "start", "reader", "--module", "agents.mjs", "--session", "copy", "--id", "r", ...more]);
  expect((await start("--now")).stdout).toContain("waiting");
  await hf.history.clear(source);
  await hf.runs.signal("r", "go", 1);
  const refused = await start("--now");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("`holdfast worker --agents FILE --erased placeholder`");
  expect((await start("--now", "--erased", "gone")).stderr).toContain('--erased takes fail or placeholder, not "gone"');
  expect((await start("--erased", "placeholder")).stderr).toContain("--erased needs --wait or --now");
  const over = new AbortController();
  const seen = (text: string) => {
    if (text.includes(" completed")) over.abort();
  };
  const argv = ["worker", "--agents", "agents.mjs", "--erased", "placeholder", "--poll", "10"];
  expect((await cli(argv, { signal: over.signal, onStdout: seen })).code).toBe(0);
  expect((await hf.runs.result("r"))?.value).toEqual(["[erased]"]);
});
