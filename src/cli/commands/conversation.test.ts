// init, sessions, messages, state, agents and tasks on a real store: what people see and what programs get.
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, json, leave, run } from "../../../test/shell.ts";
import { open } from "../../open.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const plain = { columns: 80, env: { NO_COLOR: "1" } };
async function* typed(text: string) {
  yield Buffer.from(text);
}
/** Somebody at a terminal who types that. */
const typing = (text: string) => Object.assign(typed(text), { isTTY: true });

const store = () => open(path.join(cwd, "holdfast.db"));

describe("init", () => {
  test("creates a store once, and leaves one that is there alone", async () => {
    const made = await cli(["init", "--store", "new.db"]);
    expect(made.stdout).toMatch(/^created a store at new\.db\n\n {2}engine +SQLite\n/);
    expect(made.stderr).toContain("next: ");
    const again = await json("init", "--store", "new.db");
    expect(again).toMatchObject({ created: false, store: "new.db", engine: "sqlite" });
    expect(made.stdout).toContain(again.storeId);
    expect(await run("init", "--store", "new.db")).toMatch(/^a store exists at new\.db already\n/);
  });
});

describe("sessions", () => {
  test("are created, listed, filtered and shown", async () => {
    expect(await run("sessions")).toBe("no sessions\n");
    const argv = [
      "sessions",
      "create",
      "chat-1",
      "--agent",
      "helper",
      "--title",
      "A \x1b[31mtitle",
      "--tag",
      "x",
      "--tag",
      "y",
    ];
    expect(await run(...argv, "--request", "r-1", "--metadata", '{"a":1}')).toBe("created session chat-1\n");
    const made = await json("sessions", "create");
    expect(made).toMatchObject({ status: "open", agent: null });

    const list = (await run("sessions")).split("\n");
    expect(list[0]).toMatch(/^SESSION +AGENT +STATUS +MESSAGES +EVENTS +CHANGED +REQUEST +TAGS +TITLE$/);
    expect(list[1]?.startsWith(made.id)).toBe(true);
    expect(list[2]).toMatch(/^chat-1 +helper +open +0 +1 +(just now|\d+ s ago) +r-1 +x y +A \\x1b\[31mtitle$/);
    const ids = async (...filter: string[]) =>
      (await json("sessions", ...filter)).items.map(({ id }: { id: string }) => id);
    expect(await ids("--tag", "y", "--agent", "helper", "--status", "open", "--request", "r-1")).toEqual(["chat-1"]);
    expect(await ids("--status", "closed")).toEqual([]);

    const shown = await run("sessions", "show", "chat-1");
    expect(shown).toMatch(/^session +chat-1\ntitle +A \\x1b\[31mtitle\nagent +helper\nstatus +open\nrequest +r-1\n/);
    expect(shown).toContain('{"a":1}');
    expect(await json("sessions", "show", "chat-1")).toMatchObject({ id: "chat-1", metadata: { a: 1 }, seq: 1 });
  });

  test("come in pages", async () => {
    for (const id of ["a", "b", "c"]) await run("sessions", "create", id);
    const first = await cli(["sessions", "--limit", "2"]);
    expect(
      first.stdout
        .split("\n")
        .slice(1, 3)
        .map((line) => line[0]),
    ).toEqual(["c", "b"]);
    const cursor = /--cursor '(.+)'/.exec(first.stderr)?.[1] ?? "";
    const second = await json("sessions", "--limit", "2", `--cursor=${cursor}`);
    expect(second).toMatchObject({ items: [{ id: "a" }], next: null });
  });

  test("are erased only with a yes", async () => {
    await run("messages", "add", "chat-1", "--agent", "helper", "secret");
    const asked = await cli(["sessions", "rm", "chat-1"]);
    expect(asked).toMatchObject({ code: 2, stdout: "" });
    expect(asked.stderr).toMatch(/erases session chat-1 \(1 message, 2 events\) for good\. Confirm with --yes\n$/);
    expect(await cli(["sessions", "rm", "chat-1"], { stdin: typing("no\n") })).toMatchObject({ code: 4, stdout: "" });
    expect((await json("sessions", "show", "chat-1")).messages).toBe(1);
    const erased = await cli(["sessions", "rm", "chat-1"], { stdin: typing("yes\n") });
    expect(erased.code).toBe(0);
    expect(erased.stdout).toMatch(/^erased session chat-1\n {2}removed +.*1 message,.*\n {2}kept +.*\n$/);
    expect(await cli(["sessions", "show", "chat-1"])).toMatchObject({ code: 3 });
    expect(await cli(["messages", "chat-1"])).toMatchObject({ code: 3 });
    // Refused either as taken or as deleted: the id is not used again.
    expect([3, 4]).toContain((await cli(["sessions", "create", "chat-1"])).code);
    await run("sessions", "create", "chat-2");
    expect(await json("sessions", "rm", "chat-2", "--yes")).toMatchObject({
      session: "chat-2",
      removed: { messages: 0 },
    });
  });

  test("mistakes have exit codes", async () => {
    await run("sessions", "create", "chat-1");
    const again = await cli(["sessions", "create", "chat-1", "--json"]);
    expect(again).toMatchObject({ code: 4, stdout: "" });
    expect(JSON.parse(again.stderr)).toMatchObject({ code: "AlreadyExists" });
    expect(await cli(["sessions", "show", "x".repeat(600)])).toMatchObject({ code: 2 });
    expect(await cli(["sessions", "--status", "shut"])).toMatchObject({ code: 2 });
    expect(await cli(["sessions", "create", "--metadata", "[1]"])).toMatchObject({ code: 2 });
    expect((await cli(["sessions", "show", "nope"])).stderr).toBe(
      'holdfast: no session "nope"\n  hint: `holdfast sessions` lists all sessions\n',
    );
  });
});

describe("messages", () => {
  test("are added and read", async () => {
    expect(await run("messages", "add", "chat-1", "--agent", "helper", "hello\nthere")).toBe(
      "added chat-1#2 (a new session)\n",
    );
    const piped = await cli(["messages", "add", "chat-1", "--role", "assistant", "-"], {
      stdin: typed("from \x1b[2Jstdin\n"),
    });
    expect(piped).toMatchObject({ code: 0, stdout: "added chat-1#3\n" });
    expect((await run("messages", "chat-1")).replaceAll(/(just now|\d+ s ago)/g, "AGE")).toBe(
      "chat-1#2 user (helper) AGE\n    hello\n    there\n\nchat-1#3 assistant (helper) AGE\n    from \\x1b[2Jstdin\n",
    );
    const { messages, total } = await json("messages", "chat-1");
    expect(total).toBe(2);
    expect(messages[1]).toMatchObject({ seq: 3, content: [{ type: "text", text: "from \x1b[2Jstdin" }] });
  });

  test("with the same key are added once", async () => {
    const add = () => json("messages", "add", "chat-1", "--agent", "a", "--key", "k", "--run", "r", "hi");
    const [first, second] = [await add(), await add()];
    expect(first).toMatchObject({ key: "k", run: "r", role: "user" });
    expect(second.id).toBe(first.id);
    expect(await run("messages", "chat-1")).toMatch(/^chat-1#2 user \(a, run r\)/);
  });

  test("are chosen by agent, from the end or from a place", async () => {
    for (let n = 1; n <= 6; n++) await run("messages", "add", "s", "--agent", n % 2 === 0 ? "even" : "odd", `n${n}`);
    const texts = async (...argv: string[]) =>
      (await json("messages", "s", ...argv)).messages.map(
        (one: { content: { text: string }[] }) => one.content[0]?.text,
      );
    expect(await texts("--last", "2")).toEqual(["n5", "n6"]);
    expect(await texts("--agent", "odd")).toEqual(["n1", "n3", "n5"]);
    expect(await texts("--after", "0", "--limit", "2")).toEqual(["n1", "n2"]);
    expect(await texts("--agent", "even", "--after", "4")).toEqual(["n4", "n6"]);
    const some = await cli(["messages", "s", "--last", "2"]);
    expect(some.stderr).toBe("the last 2 of 6; --after 0 shows all\n");
  });

  test("show every kind of content, safely, within the terminal", async () => {
    const hf = await store();
    await hf.history.append(
      { session: "all", agent: "a" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "word ".repeat(40) },
          { type: "thinking", thinking: "hm" },
          { type: "tool_use", id: "1", name: "read\x07", input: { file: "a.txt" } },
          { type: "tool_result", toolUseId: "1", content: "no such file", isError: true },
          { type: "image", source: { data: Buffer.from("png"), mediaType: "image/png" }, alt: "a cat" },
          { type: "document", source: { url: "https://example.com/a.pdf" }, title: "A" },
          { type: "opaque", value: { x: 1 } },
        ],
      },
    );
    await hf.close();
    const { stdout } = await cli(["messages", "all"], plain);
    const lines = stdout.split("\n");
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(lines.slice(1, 4)).toEqual(["15", "15", "10"].map((n) => `    ${"word ".repeat(Number(n)).trim()}`));
    expect(stdout).toContain('\n    (thinking) hm\n    → read\\x07 {"file":"a.txt"}\n    ← error: no such file\n');
    expect(stdout).toContain('\n    [image "a cat" image/png 3 bytes]\n    sha256:');
    expect(stdout).toContain('[document "A"] https://example.com/a.pdf\n    [{"x":1}]\n');
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  test("mistakes have exit codes", async () => {
    expect(await cli(["messages", "add", "s", "hi"])).toMatchObject({ code: 2 });
    expect(await cli(["messages", "add", "s", "--agent", "a", "--role", "boss", "hi"])).toMatchObject({ code: 2 });
    expect(await cli(["messages", "nope"])).toMatchObject({ code: 3 });
    expect(await cli(["messages", "s", "--last", "1", "--after", "1"])).toMatchObject({ code: 2 });
    const binary = (async function* () {
      yield Buffer.from([0xff, 0xfe]);
    })();
    expect(await cli(["messages", "add", "s", "--agent", "a", "-"], { stdin: binary })).toMatchObject({ code: 2 });
  });

  test("are followed until the signal", async () => {
    await run("messages", "add", "s", "--agent", "a", "one");
    const stop = new AbortController();
    const seen: string[] = [];
    const watch = async (text: string) => {
      seen.push(JSON.parse(text).content[0].text);
      if (seen.length === 1) await run("messages", "add", "s", "--agent", "a", "two");
      if (seen.length === 2) stop.abort();
    };
    const { code } = await cli(["messages", "s", "--follow", "--json"], { signal: stop.signal, onStdout: watch });
    expect([code, ...seen]).toEqual([0, "one", "two"]);
  });
});

describe("state", () => {
  test("is set, read and removed by key", async () => {
    await run("sessions", "create", "s");
    expect(await run("state", "s")).toBe("no state (version 0)\n");
    expect(await run("state", "set", "s", "step=3", 'cart={"items":[]}')).toMatch(
      /^KEY +VALUE\nstep +3\ncart +\{"items":\[\]\}\n\nversion \d+\n$/,
    );
    await run("state", "set", "s", "--text", "name=Ada=\x1b[2J", "--ttl", "1h");
    expect(await json("state", "s")).toMatchObject({
      session: "s",
      value: { step: 3, cart: { items: [] }, name: "Ada=\x1b[2J" },
    });
    expect(await run("state", "s", "cart")).toBe('{\n  "items": []\n}\n');
    expect(await json("state", "s", "step")).toBe(3);
    await run("state", "rm", "s", "step", "name");
    expect(Object.keys((await json("state", "s")).value)).toEqual(["cart"]);
    expect((await json("state", "rm", "s", "--all")).value).toEqual({});
  });

  test("mistakes have exit codes", async () => {
    await run("sessions", "create", "s");
    expect(await cli(["state", "nope"])).toMatchObject({ code: 3 });
    expect(await cli(["state", "s", "nope"])).toMatchObject({ code: 3 });
    expect(await cli(["state", "set", "s", "novalue"])).toMatchObject({ code: 2 });
    expect((await cli(["state", "set", "s", "name=Ada"])).stderr).toBe(
      `holdfast: the value of name is not JSON; for a text write 'name="Ada"' or --text\n`,
    );
    expect(await cli(["state", "set", "s", "a=1", "--ttl", "soon"])).toMatchObject({ code: 2 });
    expect(await cli(["state", "rm", "s"])).toMatchObject({ code: 2 });
  });
});

describe("agents", () => {
  test("are created, listed, shown with their blocks, and removed", async () => {
    expect(await run("agents")).toBe("no agents\n");
    const argv = [
      "agents",
      "create",
      "helper",
      "--name",
      "The helper",
      "--type",
      "chat",
      "--model",
      "m-1",
      "--tool",
      "t1",
    ];
    expect(await run(...argv, "--tool", "t2", "--tag", "prod", "--system", "Be kind.")).toBe("created agent helper\n");
    const hf = await store();
    await hf.memory.save("a fact", { agent: "helper", namespace: "n" });
    await hf.agents.saveBlocks("helper", [{ label: "persona", value: "Line one.\n\x1b[2JLine two.", limit: 100 }]);
    await hf.close();
    expect(await run("agents")).toMatch(
      /^AGENT +NAME +TYPE +MODEL +TOOLS +CHANGED +TAGS\nhelper +The helper +chat +m-1 +2 +.+ prod\n$/,
    );
    expect((await json("agents", "--tag", "prod", "--type", "chat")).items).toHaveLength(1);
    expect((await json("agents", "--tag", "other")).items).toEqual([]);
    expect(await run("agents", "show", "helper")).toMatch(
      /tools +t1 t2\n[\s\S]*system +Be kind\.\n[\s\S]*BLOCK +CHARS +VERSION\npersona +\d+\/100 +1\n/,
    );
    expect(await run("agents", "blocks", "helper")).toBe(
      "persona 23/100 characters, version 1\n    Line one.\n    \\x1b[2JLine two.\n",
    );
    expect(await json("agents", "blocks", "helper")).toMatchObject({ agent: "helper", blocks: [{ label: "persona" }] });
    expect(await json("agents", "show", "helper")).toMatchObject({ id: "helper", toolIds: ["t1", "t2"], blocks: [{}] });
    expect(await cli(["agents", "rm", "helper"])).toMatchObject({ code: 2 });
    expect(await run("agents", "rm", "helper", "--yes")).toBe(
      "removed agent helper\nkept 1 memory, which agents rm helper --memories erases\n",
    );
    expect(await json("agents", "rm", "helper", "--memories", "--yes")).toMatchObject({
      agent: "helper",
      removed: { memories: 1 },
      kept: {},
    });
    expect(await cli(["agents", "rm", "helper", "--memories", "--yes"])).toMatchObject({ code: 3 });
    expect(await cli(["agents", "show", "helper"])).toMatchObject({ code: 3 });
    expect(await cli(["agents", "blocks", "helper", "--json"])).toMatchObject({ code: 3 });
  });
});

describe("tasks", () => {
  test("are added, drawn, moved and retried", async () => {
    expect(await cli(["tasks", "trip"])).toMatchObject({ code: 3 });
    await run("sessions", "create", "trip");
    expect(await run("tasks", "trip")).toBe("no boards\n");
    expect(await run("tasks", "add", "trip", "find flights", "book \x1bhotel")).toMatch(
      /^added 2 tasks to the new board \S+\n$/,
    );
    expect(await run("tasks", "add", "trip", "pack")).toMatch(/^added 1 task to board /);
    await run("tasks", "add", "trip", "compare", "--agent", "scout", "--label", "The scout", "--max-retries", "1");
    expect(await run("tasks", "set", "trip", "1", "in-progress")).toBe("find flights: in_progress\n");
    await run("tasks", "set", "trip", "1", "succeeded", "--note", "212 euros");
    const { boards } = await json("tasks", "trip");
    expect(boards.map((board: { agentId: string }) => board.agentId).sort()).toEqual(["", "scout"]);
    const scout = boards.find((board: { agentId: string }) => board.agentId === "scout");
    const list = await run("tasks", "trip");
    expect(list).toContain(
      "PLANNED (2)\n  2. book \\x1bhotel\n  3. pack\nSUCCEEDED (1)\n  1. find flights\n     » 212 euros\n",
    );
    expect(list).toContain("1 of 3 tasks succeeded\n");
    expect(list).toContain(`The scout ${scout.id}`);
    const drawn = (await cli(["tasks", "trip"], plain)).stdout;
    expect(drawn).toMatch(
      /^PLANNED \(2\) +SUCCEEDED \(1\)\n2\. book \\x1bhotel +1\. find flights\n3\. pack +» 212 euros$/m,
    );

    const stuck = await cli(["tasks", "set", "trip", "1", "planned"]);
    expect(stuck).toMatchObject({ code: 4 });
    expect(await run("tasks", "force-retry", "trip", "1")).toBe("find flights: in_progress\n");
    const first = scout.tasks[0].id;
    await run("tasks", "set", scout.id, first, "in_progress");
    await run("tasks", "set", scout.id, first, "failed");
    expect(await run("tasks", "retry", scout.id, first)).toBe("compare: in_progress, retry 1 of 1\n");
    await run("tasks", "set", scout.id, first, "failed");
    expect(await cli(["tasks", "retry", scout.id, first])).toMatchObject({ code: 4 });
    expect(await json("tasks", "force-retry", scout.id, first)).toMatchObject({
      task: { retryCount: 0, status: "in_progress" },
    });
  });

  test("are claimed by one of several callers that pass --from", async () => {
    await run("tasks", "add", "trip", "one");
    const claim = ["tasks", "set", "trip", "1", "in_progress", "--from", "planned", "--note"];
    expect(await run(...claim, "worker 1")).toBe("one: in_progress\n");
    const second = await cli([...claim, "worker 2"]);
    expect(second).toMatchObject({ code: 4, stdout: "" });
    expect(second.stderr).toMatch(/^holdfast: the task \S+ is in_progress, not planned\n {2}hint: Another worker/);
    expect(await run("tasks", "trip")).toContain("» worker 1\n");
    expect(await cli(["tasks", "set", "trip", "1", "blocked", "--from", "planed"])).toMatchObject({ code: 2 });
  });

  test("mistakes have exit codes", async () => {
    await run("tasks", "add", "trip", "one");
    expect((await cli(["tasks", "set", "trip", "1", "suceeded"])).stderr).toBe(
      'holdfast: STATUS takes planned, in_progress, blocked, succeeded, failed or abandoned, not "suceeded"; did you mean "succeeded"?\n',
    );
    expect(await cli(["tasks", "set", "trip", "9", "planned"])).toMatchObject({ code: 3 });
    expect(await cli(["tasks", "set", "nope", "1", "planned"])).toMatchObject({ code: 3 });
    for (const name of ["retry", "force-retry"]) {
      expect(await cli(["tasks", name, "trip", "nope"])).toMatchObject({ code: 3 });
    }
    expect((await cli(["tasks", "forceretry", "trip", "1"])).stderr).toContain('did you mean "tasks force-retry"');
  });

  test("a blank title is refused before anything is written", async () => {
    for (const titles of [[""], [" \t"], ["pack", ""]]) {
      expect(await cli(["tasks", "add", "trip", ...titles])).toMatchObject({ code: 2 });
    }
    expect(await cli(["tasks", "trip"])).toMatchObject({ code: 3 });
  });
});
