// Where heads stand among messages, what a range at a head shows, what a fork does not have, what state became: on real
// stores, as people see it and as programs get it.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, fails, json, leave, run, within } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { displayWidth } from "../terminal.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const terminal = { columns: 80, env: { NO_COLOR: "1" } };

const say = (store: Holdfast, session: string, ...texts: string[]) =>
  store.history.appendMany(
    { session, agent: "helper" },
    texts.map((content) => ({ role: "user" as const, content })),
  );

/** A transcript without what is not its order: numbers of messages and the words of heads. */
async function order(...argv: string[]): Promise<string> {
  const shown = (await run("messages", ...argv)).matchAll(/^(?:(\S*#\d+) |[●○] hd-\w+(.*)$)/gm);
  return [...shown].map(([, message, head]) => message ?? `(${head?.trim()})`).join(" ");
}

/** Five messages; a final after #3, an aborted head on a line that was left, a head, a compaction. */
async function story(store: Holdfast): Promise<Record<"final" | "aborted" | "plain" | "compaction", string>> {
  await say(store, "chat", "one");
  const turn = await store.turns.begin("chat");
  await say(store, "chat", "two");
  const { id: final } = await store.turns.finish(turn.id, { final: 1, finalSummary: "begun" });
  const other = await store.turns.begin("chat");
  await say(store, "chat", "lost");
  const { id: aborted } = await store.turns.abort(other.id);
  await say(store, "chat", "three");
  const { id: plain } = await store.heads.publish("chat");
  const { id: compaction } = await store.heads.compact("chat", { agent: "helper", summary: "In short.", keep: 1 });
  await say(store, "chat", "four");
  return { final, aborted, plain, compaction };
}

describe("heads among messages", () => {
  test("stand where they were published, with a word for what they are", async () => {
    const { final, aborted, plain, compaction } = await within(story);
    const all =
      "chat#2 chat#4 (final: begun) chat#10 () chat#12 (current compaction: replaces all up to chat#4) chat#14";
    expect(await order("chat")).toBe(all);
    expect(await order(`chat@${aborted}`)).toBe("chat#2 chat#4 (final: begun) chat#7 (aborted)");
    expect((await json("messages", "chat")).heads).toMatchObject([
      { id: final, after: "chat#4", marks: ["final"], current: false },
      { id: plain, after: "chat#10", marks: [] },
      { id: compaction, after: "chat#12", marks: ["compaction"], current: true, compaction: { upTo: "chat#4" } },
    ]);
    const { stdout } = await cli(["messages", "chat"], terminal);
    expect(stdout).toContain(`\n\n● ${final.slice(0, 11)}… final: begun\n\n`);
    expect((await cli(["messages", `chat@${aborted}`], terminal)).stdout).toMatch(/\n○ hd-\w{8}… aborted\n$/);

    const { items } = await json("heads", "chat", "--order", "oldest");
    expect(items.map(({ marks }: { marks: string[] }) => marks)).toEqual([["final"], ["aborted"], [], ["compaction"]]);
    const table = (await cli(["heads", "chat"], terminal)).stdout.split("\n");
    expect(table.every((line) => displayWidth(line) <= 80)).toBe(true);
    expect(table[0]).toMatch(/^HEAD +MARK +BRANCH +SEQ +MESSAGES +SUMMARY +PUBLISHED$/);
    expect(table.slice(1, 5).map((line) => /final|aborted|current +compaction/.exec(line)?.[0])).toEqual([
      "current  compaction",
      undefined,
      "aborted",
      "final",
    ]);
  });

  test("are shown with the messages before them: a page has each once", async () => {
    await within(story);
    expect(await order("chat", "--last", "2")).toBe("chat#12 (current compaction: replaces all up to chat#4) chat#14");
    expect(await order("chat", "--limit", "2")).toBe("chat#2 chat#4");
    expect(await order("chat", "--after", "4", "--limit", "1")).toBe("(final: begun) chat#10");
    expect(await order("chat", "--after", "chat#10", "--limit", "9")).toMatch(/^\(\) chat#12 /);
    expect((await json("messages", "chat", "--last", "0")).heads).toEqual([]);
  });

  test("of those it inherits from stand before a fork's own, also of one that said nothing", async () => {
    await within(async (store) => {
      await say(store, "a", "1");
      await store.heads.publish("a");
      const [last] = await say(store, "a", "2");
      await store.sessions.fork("a", { id: "b", message: last?.id ?? "" });
      await store.heads.publish("b", { finalSummary: "of b" });
      await store.sessions.fork("b", { id: "c" });
      await say(store, "c", "3");
      await store.sessions.fork("c", { id: "d" });
      await store.heads.publish("d", { finalSummary: "of d" });
    });
    expect(await order("d")).toBe("a#2 (of a) a#4 (of b: of b) c#3 (current: of d)");
    expect(await order("d", "--last", "1")).toBe("c#3 (current: of d)");
    expect(await order("d", "--after", "a#2")).toBe("(of a) a#4 (of b: of b) c#3 (current: of d)");
  });

  test("that are damaged do not hide the messages, and it is said", async () => {
    await within(story);
    const db = new DatabaseSync(path.join(cwd, "holdfast.db"));
    db.exec("UPDATE heads SET status = 'odd'");
    db.close();
    const { code, stdout, stderr } = await cli(["messages", "chat", "--store", "holdfast.db"]);
    expect([code, stdout.match(/^chat#\d+ /gm)?.length]).toEqual([0, 5]);
    expect(stderr).toMatch(/^heads are not shown: .*; `holdfast check --store holdfast.db` prints more\n$/);
  });
});

describe("messages at a head", () => {
  test("are read from a seq or a message on, and up to the head only", async () => {
    const { plain } = await within(story);
    const at = `chat@${plain}`;
    expect(await order(at, "--after", "0")).toBe("chat#2 chat#4 (final: begun) chat#10 ()");
    expect(await order(at, "--after", "2")).toBe("chat#4 (final: begun) chat#10 ()");
    expect(await order(at, "--after", "chat#3", "--limit", "1")).toBe("chat#4");
    expect(await order(at, "--limit", "1", "--agent", "helper")).toBe("chat#2");
    expect(await run("messages", at, "--after", "10")).toBe("no messages\n");
    expect(await json("messages", at, "--after", "4")).toMatchObject({ total: 3, messages: [{ seq: 10 }] });
    expect(await fails("messages", at, "--after", "nobody#4")).toMatch(
      /^2 .*after must be the id of a message that the session shows/,
    );
    expect(await fails("messages", at, "--after", "x")).toMatch(/^2 .*--after takes a seq, or an id/);
  });

  test("of a fork are read from an inherited one on; a seq is the fork's own", async () => {
    const at = await within(async (store) => {
      await say(store, "a", "1", "2", "3");
      await store.sessions.fork("a", { id: "b" });
      await say(store, "b", "4", "5");
      return `b@${(await store.heads.publish("b")).id}`;
    });
    for (const name of [at, "b"]) {
      expect(await order(name, "--after", "a#3")).toBe("a#4 b#3 b#4 (current)");
      expect(await order(name, "--after", "3")).toBe("b#4 (current)");
      expect(await order(name, "--after", "1")).toBe("b#3 b#4 (current)");
    }
  });
});

test("messages of a fork are read up to a damaged one that it inherits, and past it as the hint says", async () => {
  await within(async (store) => {
    await say(store, "a", "1", "2", "3", "4");
    await store.sessions.fork("a", { id: "b" });
    await say(store, "b", "5");
  });
  const db = new DatabaseSync(path.join(cwd, "holdfast.db"));
  db.exec("UPDATE events SET words = x'ff' WHERE seq = 4 AND type = 'message/added'");
  db.close();
  const { code, stdout, stderr } = await cli(["messages", "b"]);
  expect([code, stdout.match(/^\S+(?= user)/gm)]).toEqual([5, ["a#2", "a#3"]]);
  const [, hinted = ""] = /`holdfast (messages b --after 'a#4')`/.exec(stderr) ?? [];
  expect(await order(...hinted.replaceAll("'", "").split(" ").slice(1))).toBe("a#5 b#3");
});

describe("what a fork does not have", () => {
  test("is counted by what is there, not by what was cleared", async () => {
    await within(async (store) => {
      await store.history.append({ session: "chat", agent: "gone" }, { role: "user", content: "old" });
      await say(store, "chat", "one");
      await store.heads.publish("chat");
      await store.history.clear({ session: "chat", agent: "gone" });
      await say(store, "chat", "two", "three");
    });
    const { stderr } = await cli(["fork", "chat", "twig"]);
    expect(stderr).toMatch(/^the fork leaves out 2 later messages; `holdfast fork 'chat#\d+'` includes them\n$/);
    const [, command = ""] = /`holdfast (.*)`/.exec(stderr) ?? [];
    await run(...command.replaceAll("'", "").split(" "), "whole");
    expect(await json("messages", "whole")).toMatchObject({ total: 3 });
  });

  test("is shown also if the session has left the line of its current head", async () => {
    await within(async (store) => {
      await say(store, "chat", "one");
      const first = await store.heads.publish("chat");
      await say(store, "chat", "two", "three");
      const left = await store.heads.publish("chat");
      await store.sessions.rewind(`chat@${first.id}`);
      await say(store, "chat", "anew");
      await store.heads.publish("chat");
      await store.sessions.resume(`chat@${left.id}`);
      await say(store, "chat", "four");
    });
    expect((await json("fork", "chat")).from.messagesAfter).toBe(3);
  });
});

describe("diff", () => {
  test("shows what state held and holds, cut to the width where it differs", async () => {
    const list = Array.from({ length: 60 }, (_, i) => i);
    await within(async (store) => {
      await store.state.set("a", { budget: 900, gone: "x", list: [...list, 1], ["k".repeat(90)]: 1, "\x1b[2J": 1 });
      await store.state.set("b", { budget: 688, list: [...list, 2], ["k".repeat(90)]: 2, "\x1b[2J": "\x1b[2J" });
      await store.state.patch("b", { long: "🦑".repeat(100) });
    });
    const { stdout } = await cli(["diff", "a", "b"], terminal);
    const lines = stdout.slice(stdout.indexOf("state, from")).trimEnd().split("\n");
    expect(lines.map((line) => line.replaceAll(/(🦑|k){3,}/gu, "~"))).toEqual([
      "state, from a to b",
      '  - gone: "x"',
      "  ~ budget: 900 → 688",
      expect.stringMatching(/^ {2}~ list: ….*,59,1\] → ….*,59,2\]$/),
      "  ~ ~…: 1 → 2",
      '  ~ \\x1b[2J: 1 → "\\u001b[2J"',
      '  + long: "~…',
    ]);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
    expect(await run("diff", "a", "b")).toContain(`[${[...list, 1]}] → [${[...list, 2]}]`);
    expect((await json("diff", "a", "b")).state).toMatchObject({
      added: ["long"],
      removed: ["gone"],
      changed: expect.arrayContaining(["budget"]),
      values: { budget: { a: 900, b: 688 }, gone: { a: "x" } },
    });
  });
});

describe("hints can be followed as they are", () => {
  test("they name the store that was named, and quote what needs it", async () => {
    const store = ["--store", "my store.db"];
    await run("init", ...store);
    const id = "it's `a` $HOME";
    await run("messages", "add", id, "--agent", "helper", "hello", ...store);
    const { stderr } = await cli(["publish", id, ...store]);
    expect(stderr).toMatch(
      /^next: `holdfast fork 'it'\\''s `a` \$HOME@hd-\w{8}' --store 'my store.db'` continues from it in a new session\n$/,
    );
    expect(await fails("sessions", "show", "nobody", ...store)).toContain("`holdfast sessions --store 'my store.db'`");
    expect(await fails("sessions", "show", "nobody")).toContain("`holdfast sessions` lists");
    const url = "postgres://me:secret@127.0.0.1:1/db";
    expect(await fails("sessions", "--store", url)).not.toContain("secret");
  });

  test("a command stays on one line of a terminal", async () => {
    await run("messages", "add", "a-session-with-a-name", "--agent", "helper", "hello");
    const { stderr } = await cli(["rewind", "a-session-with-a-name"], terminal);
    expect(stderr).toContain("`holdfast heads a-session-with-a-name`");
    for (const line of stderr.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  });
});

test("a fork counts what it inherits", async () => {
  const head = await within(async (store) => {
    await say(store, "chat", "one", "two");
    const { id } = await store.heads.publish("chat");
    await store.sessions.fork(`chat@${id}`, { id: "at-head" });
    await store.sessions.fork("chat", { id: "at-message", message: "chat#2" });
    return id;
  });
  expect(head).toMatch(/^hd-/);
  expect(await run("sessions", "show", "at-head")).toMatch(/^messages +2$/m);
  expect(await run("sessions", "show", "at-message")).toMatch(/^messages +1$/m);
  expect(await run("sessions", "show", "chat")).toMatch(/^messages +2$/m);
  expect(await run("sessions")).toMatch(/^at-message +helper +open +1 +2 .*^chat +helper +open +2 +/ms);
  expect(await run("sessions", "tree", "chat")).toContain("at-head  2 messages\n");
});

describe("messages --follow", () => {
  /** Follows, writes once the past was shown, and stops when so many lines match. */
  async function followed(argv: readonly string[], write: () => Promise<void>, lines: RegExp, most: number) {
    const stop = new AbortController();
    let text = "";
    const watch = (piece: string) => {
      if (text === "") write().catch((error) => stop.abort(error));
      text += piece;
      if ((text.match(lines) ?? []).length >= most) stop.abort();
    };
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
    const { code } = await cli(["messages", ...argv, "--follow"], { signal, onStdout: watch });
    expect(code).toBe(0);
    return text;
  }

  test("shows heads as they are published, and a program gets messages only", async () => {
    await within((store) => say(store, "chat", "one"));
    const write = () =>
      within(async (store) => {
        await store.heads.publish("chat", { final: 1, finalSummary: "done" });
        await say(store, "chat", "two");
      });
    const text = await followed(["chat"], write, /^chat#\d+ /gm, 2);
    expect(text).toMatch(/^chat#2 .*\n {4}one\n\n● hd-\w+ current final: done\n\nchat#4 .*\n {4}two\n\n$/);
    const records = await followed(["chat", "--json"], write, /\n/g, 3);
    expect(
      records
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).content[0].text),
    ).toEqual(["one", "two", "two"]);
  });

  test("of a fork continues with its own events, however long the source's log is", async () => {
    await within(async (store) => {
      await say(store, "chat", "1", "2", "3", "4", "5", "6");
      await store.sessions.fork("chat", { id: "twig" });
    });
    const write = () => within((store) => say(store, "twig", "mine")).then(() => undefined);
    expect(await followed(["twig", "--last", "1"], write, /^\S*#\d+ /gm, 2)).toMatch(
      /^chat#7 .*\ntwig#3 user .*\n {4}mine\n/s,
    );
  });
});

test("the error for a head of another session says so", async () => {
  const { final } = await within(story);
  await run("fork", `chat@${final}`, "my twig");
  expect(await run("messages", "my twig")).toContain(`● ${final} of chat final: begun\n`);
  expect(await fails("fork", `my twig@${final.slice(0, 9)}`)).toContain(
    `hint: it belongs to another session: chat@${final.slice(0, 11)}\n`,
  );
});
