// What somebody needs who tries the store from a shell: what happened is said, and what to do next, at 80 columns too.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, fails, json, leave, run, within } from "../../../test/shell.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
  for (const text of ["one", "two", "three"]) await run("messages", "add", "chat", "--agent", "helper", text);
});
afterEach(leave);

describe("a head from the shell", () => {
  test("is published, and what a fork does not have is said", async () => {
    expect(await run("fork", "chat", "early")).toBe(
      "created session early, a fork of chat at its latest state (it has no head)\n",
    );
    expect(await json("messages", "early")).toMatchObject({ total: 3 });
    const none = await cli(["heads", "chat"]);
    expect([none.stdout, none.stderr]).toEqual([
      "no heads\n",
      expect.stringContaining("`holdfast publish chat` publishes one"),
    ]);
    expect(await run("publish", "chat", "--final", "done", "--summary", "short")).toMatch(
      /^published head hd-[0-9a-f]{64} of chat \(3 messages\)\n$/,
    );
    const [head] = (await json("heads", "chat")).items;
    expect(head).toMatchObject({ finalSummary: "short", counts: { messages: 3 } });
    expect((await cli(["fork", "chat", "whole"])).stderr).toBe("");
    const { id: last } = await json("messages", "add", "chat", "four");
    const told = await cli(["fork", "chat", "older"]);
    expect(told.stdout).toBe(`created session older, a fork of chat at its current head ${head.id.slice(0, 11)}…\n`);
    expect(told.stderr).toBe(`the fork leaves out 1 later message; \`holdfast fork '${last}'\` includes it\n`);
    expect((await cli(["fork", `chat@${head.id}`, "named"])).stderr).toBe("");
    expect((await json("fork", "chat")).from).toEqual({ session: "chat", head: head.id, messagesAfter: 1 });
    expect(await json("messages", "older")).toMatchObject({ total: 3 });
    const next = await json("publish", "chat");
    expect(next).toMatchObject({ session: "chat", counts: { messages: 4 } });
    expect((await json("fork", "chat")).from).toEqual({ session: "chat", head: next.id });
  });

  test("compacts", async () => {
    await run("sessions", "create", "bare");
    expect(await fails("compact", "chat")).toMatch(/^2 .*--summary TEXT/);
    expect(await fails("compact", "bare", "--summary", "In short.")).toMatch(/^2 .*--agent ID/);
    const head = await json("compact", "chat", "--agent", "helper", "--summary", "In short.", "--keep-last", "1");
    expect(head.compaction).toMatchObject({ upTo: "chat#3" });
    const context = await within((store) => store.sessions.context("chat", { agent: "helper" }));
    expect(context.messages).toHaveLength(2);
    const named = await json("compact", "chat", "--agent", "helper", "--summary", "Less.", "--up-to", "chat#2");
    expect(named.compaction).toMatchObject({ upTo: "chat#2" });
    const both = ["--up-to", "chat#2", "--keep-last", "1"];
    expect(await fails("compact", "chat", "--agent", "helper", "--summary", "x", ...both)).toMatch(/^2 .*not both/);
    const elsewhere = ["--agent", "helper", "--summary", "x", "--up-to", "chat#99"];
    expect(await fails("compact", "chat", ...elsewhere)).toMatch(/does not show a message chat#99/);
    expect(await run("compact", "chat", "--agent", "helper", "--summary", "Again.")).toMatch(
      /^compacted into head hd-/,
    );
  });

  test("causes is where trace is", async () => {
    expect(await fails("causes", "chat#3")).toBe(
      '2 holdfast: no command "causes"; `holdfast trace --causes SESSION#SEQ` prints what caused an event\n',
    );
  });
});

describe("a session that is here only in part", () => {
  const other = ["--store", "other.db"];
  beforeEach(async () => {
    await run("fork", "chat#3", "twig");
    await run("export", "twig", "-o", "twig.hf");
    await run("export", "chat", "-o", "chat.hf");
    await run("init", ...other);
    await run("import", "twig.hf", ...other);
  });

  test("was not deleted: the error of a write says how to complete it", async () => {
    for (const argv of [
      ["messages", "add", "chat", "--agent", "helper", "more"],
      ["sessions", "create", "chat"],
      ["state", "set", "chat", "a=1"],
      ["tasks", "add", "chat", "a task"],
      ["sessions", "show", "chat"],
    ]) {
      const said = await fails(...argv, ...other);
      expect(said).toMatch(
        /"chat" is in this store only in part, .*inherit.*\n.*mport(?:ing)? its own archive (?:to complete|completes) it/,
      );
      expect(said).not.toContain("deleted");
    }
    await run("import", "chat.hf", ...other);
    await run("messages", "add", "chat", "--agent", "helper", "more", ...other);
    await run("sessions", "rm", "chat", "--yes", ...other);
    for (const argv of [
      ["state", "set", "chat", "a=1"],
      ["sessions", "show", "chat"],
    ]) {
      expect(await fails(...argv, ...other)).not.toContain("completes it");
    }
    expect(await fails("state", "set", "chat", "a=1", ...other)).toContain(
      "was deleted, and its id cannot be used again",
    );
  });

  test("is counted as such", async () => {
    expect(await run("check", ...other)).toMatch(/1 partial session/);
    expect((await json("check", ...other)).counts).toMatchObject({ sessions: 1, partialSessions: 1 });
    expect((await json("stats", ...other)).nouns.sessions).toEqual({ rows: 1, deleted: 0, partial: 1 });
    const stats = await run("stats", ...other);
    expect(stats).toMatch(/sessions in part +1\n/);
    expect(stats).not.toContain("sessions deleted");
    await run("import", "chat.hf", ...other);
    await run("sessions", "rm", "chat", "--yes", ...other);
    expect((await json("stats", ...other)).nouns.sessions).toEqual({ rows: 1, deleted: 1 });
    expect((await json("check", ...other)).counts).toMatchObject({ sessions: 1, deletedSessions: 1 });
  });
});

describe("trace at 80 columns", () => {
  test("shows types and causes whole, and its own events by their numbers", async () => {
    const id = "ses_0123456789abcdefghjk";
    await run("fork", "chat#4", id);
    await run("messages", "add", id, "--agent", "helper", "more");
    const { id: head } = await json("publish", id);
    const seq = (await json("trace", id)).events.at(-1).seq;
    for (const argv of [
      ["trace", id],
      ["trace", "--causes", `${id}#${seq}`],
    ]) {
      const { stdout } = await cli(argv, { columns: 80, env: { NO_COLOR: "1" } });
      const lines = stdout.trimEnd().split("\n");
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(stdout).toMatch(new RegExp(`^#${seq} .* head/created .* chat#4`, "m"));
      expect(stdout).toContain(head.slice(0, 11));
      expect(stdout).toMatch(new RegExp(` #${seq - 1}$`, "m"));
      expect(await run(...argv)).toMatch(new RegExp(`^${id}#${seq} .* chat#4 ${id}#${seq - 1}$`, "m"));
    }
  });
});

test("the error for a head with too few digits says so", async () => {
  for (const text of ["hd-6", "hd-", "chat@hd-123"]) {
    expect(await fails("messages", text)).toMatch(
      /^2 .*too short: a head's name needs at least 4 digits.*\n.*holdfast heads/s,
    );
  }
});

test("Markdown names a head over what belongs to it, and not over what came after", async () => {
  const { id } = await json("publish", "chat");
  expect(await run("export", "chat", "--markdown")).toContain(`- Head: \`${id}\`\n`);
  await run("messages", "add", "chat", "four");
  const beyond = await run("export", "chat", "--markdown");
  expect(beyond).not.toContain("- Head:");
  expect(beyond).toContain(`- Stands: elsewhere than at its current head \`${id}\`\n`);
  expect(await run("export", `chat@${id}`, "--markdown")).toContain(`- Head: \`${id}\`\n`);
});

describe("on a terminal of 80 columns", () => {
  const terminal = { columns: 80, env: { NO_COLOR: "1" } };
  const tooLong = (text: string) => text.split("\n").filter((line) => line.length > 80);

  test("errors, hints and notes are wrapped, and in a pipe they are not", async () => {
    const argv = ["query", "[:find ?x :where [?s :sesion/id ?x]]"];
    const { stderr } = await cli(argv, terminal);
    expect(tooLong(stderr)).toEqual([]);
    const piped = (await cli(argv)).stderr;
    expect(piped.split("\n")).toHaveLength(3);
    expect(stderr.replaceAll(/\s+/g, " ")).toBe(piped.replaceAll(/\s+/g, " "));
    await run("publish", "chat");
    await run("messages", "add", "chat", "four");
    const { stderr: note } = await cli(["fork", "chat"], terminal);
    expect(tooLong(note)).toEqual([]);
  });

  test("sessions show fits, with whole ids", async () => {
    const { id } = await json("publish", "chat");
    for (let i = 0; i < 8; i++) await run("fork", "chat", `a-fork-with-a-name-${i}`);
    const { stdout } = await cli(["sessions", "show", "chat"], terminal);
    expect(tooLong(stdout)).toEqual([]);
    expect(stdout).toContain(id);
    for (let i = 0; i < 8; i++) expect(stdout).toContain(`a-fork-with-a-name-${i}`);
  });

  test("check shows details whole, and a hint once", async () => {
    const long = "long-".repeat(20);
    await run("messages", "add", long, "--agent", "helper", "hello");
    const db = new DatabaseSync(path.join(cwd, "holdfast.db"));
    db.exec(
      "UPDATE sessions SET messages = 77, status = 'closed', state_seq = 9; " +
        "UPDATE events SET hash = zeroblob(32) WHERE session_no = 2; UPDATE events SET role = 'tool' WHERE seq = 3",
    );
    db.close();
    const { issues } = JSON.parse((await cli(["check", "--json"])).stdout);
    const { code, stdout } = await cli(["check"], terminal);
    // An id that is longer than a line stands on one of its own, whole.
    expect([code, tooLong(stdout).filter((line) => line.trim().includes(" "))]).toEqual([5, []]);
    expect(stdout).not.toContain("…");
    const packed = stdout.replaceAll(/\s+/g, "");
    for (const { details } of issues) expect(packed).toContain(JSON.stringify(details).replaceAll(" ", ""));
    expect(new Set(issues.map((issue: { kind: string }) => issue.kind)).size).toBeGreaterThan(1);
    const words = stdout.replaceAll(/\s+/g, " ");
    for (const hint of new Set<string>(issues.map((issue: { hint: string }) => issue.hint))) {
      expect(words.split(hint)).toHaveLength(2);
    }
  });

  test("export clears its progress before it prints the result, and names the sessions in the archive", async () => {
    await within(async (store) => {
      await store.invocations.spawn("chat", { session: { id: "child" } }, async () => null);
    });
    const { stderr } = await cli(["export", "chat", "-o", "alone.hf"], terminal);
    const cleared = stderr.lastIndexOf("\r\x1b[K");
    expect(cleared).toBeLessThan(stderr.indexOf("left out"));
    expect(stderr.slice(0, cleared)).toMatch(/ written$/);
    expect(await run("export", "chat", "--children", "-o", "all.hf")).toMatch(
      /^wrote session chat and 1 session it invoked to all\.hf/,
    );
    expect(await json("export", "chat", "--children", "-o", "json.hf")).toMatchObject({ children: 1, leftOut: 0 });
  });
});

test("cost --children adds up invoked sessions, and lists each", async () => {
  await within(async (store) => {
    const pay = async (session: string, costUsd: number) => {
      await store.calls.add(session, { type: "root", model: "m", costUsd });
    };
    await pay("chat", 1);
    await store.invocations.spawn("chat", { session: { id: "child" } }, async () => {
      await pay("child", 2);
      await store.invocations.spawn("child", { session: { id: "grandchild" } }, async () => pay("grandchild", 4));
    });
    await store.sessions.create({ id: "stranger" });
    await pay("stranger", 8);
  });
  expect((await json("cost", "chat")).total.costUsd).toBe(1);
  const { total, sessions } = await json("cost", "chat", "--children");
  expect([total.costUsd, total.calls]).toEqual([7, 3]);
  expect(sessions.map(({ session }: { session: string }) => session)).toEqual(["chat", "child", "grandchild"]);
  expect(await run("cost", "chat", "--children")).toMatch(/^grandchild .*\$4\.00$[\s\S]*^cost +\$7\.00$/m);
  expect(await fails("cost", "--children")).toMatch(/^2 .*--children needs a SESSION/);
});

test("messages at a head: of one agent", async () => {
  await run("messages", "add", "chat", "--agent", "other", "mine");
  const at = `chat@${(await json("publish", "chat")).id}`;
  await run("messages", "add", "chat", "--agent", "other", "later");
  expect(await json("messages", at, "--agent", "other")).toMatchObject({ total: 1, messages: [{ agent: "other" }] });
  expect((await json("messages", at, "--agent", "helper", "--last", "2")).messages).toHaveLength(2);
});
