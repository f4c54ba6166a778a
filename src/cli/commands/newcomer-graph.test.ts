// What a new user of the session graph stumbled over: what a command says must be true, and what it advises must
// work.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, fails, json, leave, run, within } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { formatCost } from "../spending.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const terminal = { columns: 80, env: { NO_COLOR: "1" } };
const scope = { session: "chat", agent: "ada" };
const say = (store: Holdfast, ...texts: string[]) =>
  store.history.appendMany(
    scope,
    texts.map((content) => ({ role: "user", content })),
  );

describe("sessions rm", () => {
  test("counts what went, says what is kept and for whom", async () => {
    await within(async (store) => {
      await say(store, "one", "two");
      await store.sessions.fork("chat", { id: "fork" });
      await say(store, "three", "four", "five");
    });
    const { removed, kept } = await json("sessions", "rm", "chat", "--yes");
    expect([removed.events, kept.events, kept.inherited]).toEqual([3, 3, 2]);
    expect(await fails("sessions", "show", "chat")).toMatch(
      /^3 .*"chat" was erased, except 2 messages that these sessions inherit: fork\n.*holdfast messages fork/s,
    );
  });

  test("says of what is kept what it is", async () => {
    await within(async (store) => {
      await say(store, "one", "two");
      await store.sessions.fork("chat", { id: "fork" });
    });
    expect(await run("sessions", "rm", "chat", "--yes")).toMatch(/kept .*2 messages that forks inherit, 3 events/);
  });
});

describe("sessions show", () => {
  test("at a head prints a chain that is an anchor, and nothing of today", async () => {
    const head = await within(async (store) => {
      await say(store, "one");
      const { id } = await store.heads.publish("chat");
      await say(store, "two");
      await store.heads.publish("chat");
      return id;
    });
    const at = await json("sessions", "show", `chat@${head}`);
    const [event] = (await json("log", "chat", "--after", String(at.seq - 1), "--limit", "1")).events;
    expect([at.seq, at.chain, at.messages]).toEqual([3, event.hash, 1]);
    expect(Object.keys(at)).not.toEqual(expect.arrayContaining(["head"]));
    const text = await run("sessions", "show", `chat@${head}`);
    expect(text).toContain(`chain head  ${event.hash}`);
    expect(text).not.toMatch(/^(head|changed|version) /m);
    expect(await run("sessions", "show", "chat")).toMatch(/^head +hd-.*^changed .*^version /ms);
  });

  test("shows the caller, and attached sessions apart from forks", async () => {
    await within(async (store) => {
      await say(store, "one");
      await store.heads.publish("chat");
      await store.invocations.spawn("chat", { session: { id: "child" } }, async () => null);
      await store.sessions.fork("chat", { id: "twig" });
      await store.sessions.create({ id: "caller" });
      const work = { mode: "branch" as const, session: { id: "side" } };
      await store.invocations.attach("caller", "chat", work, async () => null);
    });
    expect(await run("sessions", "show", "child")).toMatch(/^invoked by +chat#\d+ \(spawn\)$/m);
    const chat = await run("sessions", "show", "chat");
    expect(chat).toMatch(/^forks +twig$/m);
    expect(chat).toMatch(/^attached +side$/m);
  });
});

test("sessions tree marks a callee that is not here", async () => {
  await within(async (store) => {
    await say(store, "one");
    await store.invocations.spawn("chat", { session: { id: "kid" } }, async () => null);
  });
  await run("export", "chat", "-o", "chat.hf");
  await run("init", "--store", "other.db");
  await run("import", "chat.hf", "--store", "other.db");
  expect(await run("sessions", "tree", "chat", "--store", "other.db")).toContain("spawn → kid (not here)");
  expect(await run("sessions", "tree", "chat")).not.toContain("not here");
});

test("state of a key at a head says at which, and so does the hint", async () => {
  const head = await within(async (store) => {
    await store.state.set("chat", { a: 1 });
    return (await store.heads.publish("chat")).id;
  });
  const at = `chat@${head}`;
  const { stdout, stderr } = await cli(["state", at, "a"]);
  expect([stdout, stderr]).toEqual(["1\n", `at head ${head.slice(0, 11)}…\n`]);
  expect(await fails("state", at, "b")).toMatch(
    new RegExp(
      `^3 .*had at head ${head.slice(0, 11)}… no state "b"\\n.*holdfast state chat@${head.slice(0, 11)}\``,
      "s",
    ),
  );
});

test("a partly unknown cost is never shown higher than its known part", () => {
  const spent = { calls: 2, unknownCosts: 1, inputTokens: 0, outputTokens: 0, cachedTokens: 0, unknownTokens: 0 };
  expect(formatCost({ ...spent, costUsd: 0.012_39 })).toBe("at least $0.0123 (1 of 2 calls unknown)");
  expect(formatCost({ ...spent, costUsd: 1.999 })).toBe("at least $1.99 (1 of 2 calls unknown)");
  expect(formatCost({ ...spent, unknownCosts: 0, costUsd: 0.012_39 })).toBe("$0.0124");
});

test("a summary that says nothing is refused", async () => {
  await within((store) => say(store, "one"));
  for (const summary of ["", "  "]) {
    expect(await fails("compact", "chat", "--agent", "ada", "--summary", summary)).toMatch(/^2 .*--summary TEXT/);
  }
  await within(async (store) => {
    for (const summary of ["", " \n"]) {
      await expect(store.heads.compact("chat", { agent: "ada", summary })).rejects.toMatchObject({
        code: "InvalidArgument",
      });
    }
  });
});

test("a head given to a command for sessions: the proposal fits the command, and names the head's session", async () => {
  const head = await within(async (store) => {
    await say(store, "one");
    return (await store.heads.publish("chat")).id;
  });
  const at = `chat@${head}`;
  expect(await fails("check", at)).toContain(`\`holdfast verify ${at} --blobs\``);
  expect(await fails("tasks", at)).toContain("boards belong to the session as a whole");
  expect(await fails("sessions", "rm", at, "--yes")).toContain(`\`holdfast rewind ${at}\``);
  for (const command of ["check", "publish"]) {
    const told = await fails(command, head.slice(0, 9));
    expect(told).toMatch(/^2 .*names a head of session chat/);
    expect(told).toContain(`chat@${head.slice(0, 11)}`);
  }
});

describe("context", () => {
  test("shows what a model call would be given: repaired, and what was left out counted", async () => {
    const head = await within(async (store) => {
      await say(store, "long ago ".repeat(100), "hello");
      const input = { item: "printer" };
      await store.history.append(scope, {
        role: "assistant",
        content: [{ type: "tool_use", id: "c1", name: "inventory", input }],
      });
      return (await store.heads.publish("chat")).id;
    });
    const all = await run("context", "chat");
    expect(all).toMatch(/^chat#2 user \(ada\)\n {4}long ago/);
    expect(all).toMatch(/^\(added\) tool repaired\n {4}← error: interrupted, no result$/m);
    expect(all).toMatch(/^4 messages, 1 repaired, about \d+ tokens$/m);
    const cut = await json("context", `chat@${head}`, "--budget", "60");
    expect(cut).toMatchObject({ session: "chat", head, leftOut: { messages: 1 } });
    expect(cut.messages.map(({ repaired }: { repaired: boolean }) => repaired)).toEqual([false, false, true]);
    await run("compact", "chat", "--agent", "ada", "--summary", "They talked about printers at length.");
    const over = await run("context", "chat", "--budget", "5");
    expect(over).toMatch(/^chat#\d+ user \(ada\) summary\n/);
    expect(over).toMatch(/over the budget of 5$/m);
    expect(await run("export", "chat", "--markdown")).toMatch(
      /> They talked about printers at length\.\n\n\*Compaction `hd-\w+`: this summary stands for everything up to message 3\.\*/,
    );
  });

  test("a command that people look for at the top level: the error names its group", async () => {
    for (const [name, told] of [
      ["tree", "holdfast sessions tree"],
      ["calls", "holdfast cost SESSION"],
      ["turns", "--type turn/begun"],
      ["attach", "invocations.attach()"],
    ]) {
      expect(await fails(name ?? "", "chat")).toContain(told);
    }
  });
});

describe("on a terminal of 80 columns", () => {
  test("trace leaves its room to what happened, causes in order", async () => {
    await within(async (store) => {
      await say(store, "one", "two", "three");
      await store.heads.publish("chat", { finalSummary: "a summary of quite some length", vars: { a: 1 } });
    });
    const { stdout } = await cli(["trace", "chat"], terminal);
    expect(stdout).toMatch(/^#2 +\d\d:\d\d:\d\d +message\/added /m);
    for (const line of stdout.split("\n")) {
      const causes = [...(/(?: #\d+)+$/.exec(line)?.[0] ?? "").matchAll(/\d+/g)].map(([seq]) => Number(seq));
      expect(causes).toEqual(causes.toSorted((a, b) => a - b));
    }
  });

  test("heads show summaries before what a narrow terminal leaves out", async () => {
    await within(async (store) => {
      await say(store, "one");
      await store.calls.add("chat", { type: "leaf", request: "q", result: "r" });
      await store.heads.publish("chat", { final: 1, finalSummary: "They agreed on a week in Lisbon." });
    });
    const { stdout } = await cli(["heads", "chat"], terminal);
    expect(stdout).toContain("They agreed on");
  });

  test("check folds many issues of a kind, and breaks no word of the details", async () => {
    await within((store) => say(store, ...Array.from({ length: 25 }, (_, i) => `message ${i}`)));
    const db = new DatabaseSync(path.join(cwd, "holdfast.db"));
    db.exec("UPDATE sessions SET messages = 77, status = 'closed'");
    db.exec("INSERT INTO aliases (name, session_no, created_at) SELECT 'stray-' || seq, 999, 1 FROM events");
    db.close();
    const { code, stdout } = await cli(["check"], terminal);
    expect([code, stdout.match(/^alias-target-missing/gm)?.length]).toEqual([5, 11]);
    expect(stdout).toContain("… and 16 more alias-target-missing; --json lists all");
    expect(stdout).toMatch(/"column": "status"/);
  });

  test("verify --blobs fits", async () => {
    await within(async (store) => {
      await say(store, "x".repeat(3000));
      await store.state.set("chat", { a: 1 });
      await store.calls.add("chat", { type: "leaf", request: "q", result: "r" });
      await store.heads.publish("chat", { final: 1, vars: { a: 1 } });
    });
    const { stdout } = await cli(["verify", "--blobs"], terminal);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/all good: 1 session, .*1 call.* verified/);
  });
});
