// What a new user of the command line stumbled over: hints that lead nowhere, columns that are not there, rows that
// say nothing.
import { existsSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, fails, json, leave, run, within } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { toolLoop } from "../../loop/tool-loop.ts";
import { tool } from "../../runs/tools.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const terminal = { columns: 80, env: { NO_COLOR: "1" } };
const SESSION = "1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d";
const ours = `claude-code/${SESSION}`;
const say = (hf: Holdfast, session: string, ...texts: string[]) =>
  hf.history.appendMany(
    { session, agent: "ada" },
    texts.map((content) => ({ role: "user", content })),
  );
const widths = (text: string) => text.split("\n").map((line) => line.length);

describe("a point that is named in a wrong way", () => {
  test("fork names the message before an event that is none, and what it inherited under its own name", async () => {
    await within(async (hf) => {
      await say(hf, "chat", "one");
      await hf.heads.publish("chat");
      await say(hf, "chat", "two");
      await hf.sessions.fork("chat", { id: "twig", message: "chat#2" });
    });
    const near = await fails("fork", "chat#3");
    expect(near).toMatch(
      /^3 .*does not show a message chat#3\n.*`holdfast fork 'chat#2'` continues from the last message before it/s,
    );
    expect(near).toContain("`holdfast messages chat` prints all message numbers");
    const inherited = await fails("fork", "twig#2");
    expect(inherited).toContain("`holdfast fork twig --message 'chat#2'`");
    await run("fork", "twig", "--message", "chat#2");
    await run("fork", "chat#2");
  });

  test.each(["fork chat@2", "fork chat:2", "fork chat@#2", "resume chat@2"])(
    "%s: the form that works is named",
    async (line) => {
      await within((hf) => say(hf, "chat", "one"));
      const told = await fails(...line.split(" "));
      expect(told).toContain("'chat#2' is the name of a message: `holdfast fork 'chat#2'` continues from it");
      expect(told).toContain("chat@HEAD names a head, and `holdfast heads chat` lists its heads");
    },
  );

  test.each(["resume", "rewind", "messages", "log", "export"])("%s says that it takes no message", async (command) => {
    await within((hf) => say(hf, "chat", "one"));
    expect(await fails(command, "chat#2")).toContain(
      "'chat#2' names a message, but this command takes a session or a head",
    );
  });
});

describe("import", () => {
  test("does what export advises: it makes the store that is not there, and says so", async () => {
    await within((hf) => say(hf, "chat", "one"));
    expect((await cli(["export", "chat", "--out", "chat.hf"])).stderr).toContain(
      "`holdfast import chat.hf --store OTHER`",
    );
    const { code, stdout, stderr } = await cli(["import", "chat.hf", "--store", "other.db"]);
    expect([code, stderr]).toEqual([0, "created a store at other.db\n"]);
    expect(stdout).toContain("imported session chat");
    expect((await json("messages", "chat", "--store", "other.db")).messages).toHaveLength(1);
    expect((await cli(["import", "chat.hf", "--store", "other.db"])).stderr).toBe("");
  });

  test("leaves no store behind for a file that is not there, or is no archive", async () => {
    writeFileSync(path.join(cwd, "other.txt"), "no archive\n".repeat(100));
    expect(await fails("import", "none.hf", "--store", "other.db")).toMatch(/^3 /);
    expect(await fails("import", "other.txt", "--store", "other.db")).toMatch(/not an archive of Holdfast/);
    expect(existsSync(path.join(cwd, "other.db"))).toBe(false);
  });
});

describe("on a terminal of 80 columns", () => {
  const capture = async (hf: Holdfast, lines: number, basis?: string) =>
    hf.captures.save({
      request: "github-issue-1742",
      agent: "claude-code",
      sessionId: SESSION,
      cwd: "/srv/app",
      onConflict: "keep",
      basis: basis === undefined ? null : await hf.captures.get(basis),
      files: [
        {
          role: "transcript",
          path: `project/${SESSION}.jsonl`,
          content: new TextEncoder().encode("{}\n".repeat(lines)),
        },
      ],
    });

  test("captures --beside shows which are beside, and whole requests", async () => {
    await within(async (hf) => {
      await capture(hf, 2);
      await capture(hf, 3);
    });
    const { stdout } = await cli(["captures", "--beside"], terminal);
    expect(stdout).toMatch(/^CAPTURE +REQUEST +SAVED +EXPIRES .*BESIDE/m);
    expect(stdout.match(/^cap_\w+ +github-issue-1742 .* yes$/gm)).toHaveLength(1);
    expect(Math.max(...widths(stdout))).toBeLessThanOrEqual(80);
  });

  test("sessions has room for messages, request and title beside a long id", async () => {
    await within(async (hf) => {
      await hf.sessions.create({ id: ours, agent: "claude-code", request: "issue-7", title: "Mend the login" });
      await say(hf, ours, "one", "two");
    });
    const { stdout } = await cli(["sessions"], terminal);
    expect(stdout).toMatch(/^SESSION .* MESSAGES .*CHANGED +REQUEST +TITLE$/m);
    expect(stdout).toMatch(new RegExp(`^${ours}\n +.* 2 .* issue-7 +Mend the login$`, "m"));
    expect(Math.max(...widths(stdout))).toBeLessThanOrEqual(80);
  });

  test("trace names its session once and each event by its number; a file gets whole ids", async () => {
    await within(async (hf) => {
      await say(hf, ours, "one");
      await hf.heads.publish(ours);
      await hf.sessions.fork(ours, { id: "twig" });
    });
    const { stdout } = await cli(["trace", ours], terminal);
    expect(stdout).toMatch(/^#2 +\d\d:\d\d:\d\d +message\/added +user message of ada/m);
    expect(stdout).toMatch(/^#3 .* head\/created .* #2$/m);
    expect(stdout.replaceAll("\n", " ")).toContain(`its event #3 is ${ours}#3`);
    expect(await run("trace", ours)).toMatch(new RegExp(`^${ours}#3 .* ${ours}#2$`, "m"));
    expect((await cli(["trace", "twig"], terminal)).stdout).toMatch(new RegExp(`^#1 .*session/created|${ours}#3`, "m"));
  });

  test("cost has all its columns beside long ids", async () => {
    const usage = { inputTokens: 1_234_567, outputTokens: 23_456, cachedTokens: 1_100_000 };
    await within(async (hf) => {
      await hf.sessions.create({ id: ours });
      for (const model of ["claude-sonnet-5-5-20260101", "claude-opus-5"])
        await hf.calls.add(ours, { type: "leaf", request: "q", result: "r", provider: "anthropic", model, ...usage });
    });
    const { stdout } = await cli(["cost"], terminal);
    expect(stdout).toMatch(/^SESSION +MODEL +CALLS +IN +OUT +CACHED +COST +UNKNOWN$/m);
    expect(stdout).toMatch(/^ +anthropic\/ +1 +1,234,567 +23,456 +1,100,000 +\? +1\n +claude-opus-5 *$/m);
    expect(Math.max(...widths(stdout))).toBeLessThanOrEqual(80);
  });
});

test("SE11 cost shows what is not known as unknown, never as 0", async () => {
  await within(async (hf) => {
    const model = () => "Done.";
    await hf.runs.execute(toolLoop({ id: "f", version: "1", model, tools: {} }), {
      id: "r",
      session: "s",
      input: "Go",
    });
  });
  expect(await run("cost", "s")).toMatch(/^s +function\/model +1 +\? +\? +\? +1$/m);
});

test("cost says that calls of captures beside each other are counted in each", async () => {
  await within(async (hf) => {
    for (const id of [ours, `${ours}~2`]) {
      await hf.sessions.create({ id });
      await hf.calls.add(id, { type: "leaf", request: "q", result: "r", costUsd: 1 });
    }
  });
  const { stdout, stderr } = await cli(["cost"]);
  expect(stdout).toMatch(/^cost +\$2\.00$/m);
  expect(stderr).toBe(
    `${ours}~2 is kept beside another capture of the same session: calls that both hold are counted in each, ` +
      "so more than once in the sum\n",
  );
  expect((await json("cost")).beside).toEqual([`${ours}~2`]);
  expect((await cli(["cost", ours])).stderr).toBe("");
});

test("RU18 a refusal reads as one sentence, the timeline names messages, and the answer prints the next command", async () => {
  const pay = tool({ inputSchema: { type: "object" }, approve: true, execute: () => "paid" });
  const replies = [
    { content: [{ type: "tool_use", id: "1", name: "pay", input: {} }], finish: "tools" } as const,
    "Well.",
  ];
  const loop = toolLoop({ id: "till", version: "1", tools: { pay }, model: () => replies.shift() ?? "" });
  await within(async (hf) => {
    await hf.runs.start(loop, { id: "r", session: "s", input: "Pay." });
    await hf.runs.resume(loop, "r");
  });
  const denied = await run("runs", "deny", "r", "--by", "ada", "--note", "too much");
  expect(denied).toContain("run r continues when you run your program again, or as soon as a worker claims it");
  expect((await run("runs", "deny", "--help")).replaceAll(/\s+/g, " ")).toContain(
    "run your program again, or holdfast worker",
  );
  await within((hf) => hf.runs.resume(loop, "r"));
  expect(await run("messages", "s")).toContain("← error: Not done: a person refused it: too much\n");
  const shown = await run("runs", "show", "r");
  expect(shown).toMatch(/^ *\S+ s +message +user message #4$/m);
  expect(shown).toMatch(/ message +tool message #\d+$/m);
  expect(shown).not.toMatch(/ message *$/m);
});

test("log --follow says where the texts are", async () => {
  await within((hf) => say(hf, "chat", "one"));
  const stop = new AbortController();
  const { stderr } = await cli(["log", "chat", "-f"], {
    ...terminal,
    signal: stop.signal,
    onStdout: () => stop.abort(),
  });
  expect(stderr.replaceAll("\n", " ")).toContain("`holdfast messages chat --follow` prints the messages");
});
