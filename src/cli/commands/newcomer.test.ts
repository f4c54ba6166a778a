// Where newcomers stumbled: other words for a listing, hints that are commands, text that stays text, true advice.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commandHint } from "../hints.ts";
import { main, processIo } from "../main.ts";
import { Output } from "../output.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
beforeEach(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  await run("init");
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const cli = (...argv: string[]) => captureOutput(main, argv, { cwd });

/** A command that must succeed: what it prints. */
async function run(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(...argv);
  expect(`${argv.join(" ")}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${argv.join(" ")}: 0 `);
  return stdout;
}

const json = async (...argv: string[]) => JSON.parse(await run(...argv, "--json"));

/** Help as one line, however it was wrapped. */
const lesson = async (...argv: string[]) => (await run(...argv, "--help")).replaceAll(/\s+/g, " ");

describe("words for a listing", () => {
  test.each([
    ["sessions", ["ls", "list"], []],
    ["agents", ["ls", "list"], []],
    ["blobs", ["ls", "list"], []],
    ["messages", ["show", "list", "ls"], ["chat-1"]],
    ["log", ["show", "list", "ls"], ["chat-1"]],
    ["tasks", ["show", "list", "ls"], ["chat-1"]],
    ["state", ["get", "show", "list", "ls"], ["chat-1"]],
  ])("%s takes %j", async (group, verbs, operands) => {
    await run("messages", "add", "chat-1", "--agent", "helper", "hello");
    const answer = await json(group, ...operands);
    const [own = "", ...others] = verbs;
    for (const verb of verbs) expect(await json(group, verb, ...operands)).toEqual(answer);
    const help = await run(group, own, "--help");
    for (const verb of others) expect(await run(group, verb, "--help")).toBe(help);
    expect(help).toContain(`(${others.join(" and ")} mean`);
  });

  test("a session called like one of them is read by the full form", async () => {
    await run("messages", "add", "list", "--agent", "helper", "hello");
    expect(await json("messages", "show", "list")).toMatchObject({ session: "list", total: 1 });
  });
});

describe("hints are commands", () => {
  test("for a task that is final", async () => {
    await run("tasks", "add", "chat-1", "one");
    await run("tasks", "set", "chat-1", "1", "in_progress");
    await run("tasks", "set", "chat-1", "1", "succeeded");
    const { code, stderr } = await cli("tasks", "set", "chat-1", "1", "planned");
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining("hint: `holdfast tasks force-retry chat-1 1` restarts it"),
    ]);
    const { hint } = JSON.parse((await cli("tasks", "set", "chat-1", "1", "planned", "--json")).stderr);
    expect(hint).toContain("holdfast tasks force-retry chat-1 1");
  });

  test("for a task that an agent may not retry", async () => {
    await run("tasks", "add", "my trip", "one", "--max-retries", "0");
    const retry = ["tasks", "retry", "my trip", "1"] as const;
    expect((await cli(...retry)).stderr).toContain(
      "hint: a person may still retry it: `holdfast tasks force-retry 'my trip' 1`\n",
    );
    await run("tasks", "set", "my trip", "1", "abandoned");
    expect((await cli(...retry)).stderr).toContain("hint: `holdfast tasks force-retry 'my trip' 1` restarts it\n");
  });

  test("for a cursor of another list, or of other options", async () => {
    for (const id of ["one", "two"]) await run("messages", "add", id, "--agent", "helper", "hello");
    const [, cursor = ""] = /--cursor '(.+)'/.exec((await cli("sessions", "--limit", "1")).stderr) ?? [];
    expect((await cli("runs", "--cursor", cursor)).stderr).toBe(
      "holdfast: cursor belongs to sessions.list, not to runs.list\n" +
        "  hint: leave --cursor out to begin with the first page; a page that is not the last prints the next\n",
    );
    expect((await cli("sessions", "--agent", "helper", "--cursor", cursor)).stderr).toContain(
      "hint: repeat the options of the command that printed it; only --limit may differ\n",
    );
  });

  test("for a directory that is not there", async () => {
    writeFileSync(path.join(cwd, "a.txt"), "hello");
    const ref = (await run("blobs", "put", "a.txt")).trim();
    const { code, stderr } = await cli("blobs", "get", ref, "--out", "no dir/a.txt");
    expect([code, stderr]).toEqual([
      3,
      "holdfast: no directory no dir, where a.txt should be written\n  hint: create it first: `mkdir -p 'no dir'`\n",
    ]);
  });

  test("for an agent that is there already", async () => {
    await run("agents", "create", "helper");
    const { code, stderr } = await cli("agents", "create", "helper");
    expect([code, stderr]).toEqual([4, expect.stringContaining("`holdfast agents show ID`")]);
    expect(stderr).not.toContain("()");
  });

  test("for every other error of the library", () => {
    expect(commandHint("List what there is with sessions.list().")).toBe("`holdfast sessions` lists all sessions");
    expect(commandHint("Wait for it, or give open() a longer busyMs.")).toBe(
      "wait until the store is free, then try again",
    );
    expect(commandHint("An operator can change it with saveBlocks().")).toBeUndefined();
    expect(commandHint("mkdir -p /data/copy(1)")).toBe("mkdir -p /data/copy(1)");
  });
});

describe("state", () => {
  test("set creates a session that is not there, and says so", async () => {
    expect(await run("state", "set", "new", "a=1")).toMatch(/\nversion \d+ \(a new session\)\n$/);
    expect(await run("state", "set", "new", "a=2")).toMatch(/\nversion \d+\n$/);
    expect(await json("state", "set", "other", "a=1")).toMatchObject({ session: "other", created: true });
    expect(await json("state", "set", "other", "a=2")).toMatchObject({ created: false, value: { a: 2 } });
  });

  test("rm of a key that is not there writes nothing", async () => {
    await run("state", "set", "s", "a=1");
    const { seq } = await json("sessions", "show", "s");
    for (const keys of [["nope"], ["a", "nope"], ["toString"]]) {
      expect(await cli("state", "rm", "s", ...keys)).toMatchObject({ code: 3, stdout: "" });
    }
    expect((await json("sessions", "show", "s")).seq).toBe(seq);
    expect(await json("state", "s")).toMatchObject({ value: { a: 1 } });
  });
});

describe("blobs", () => {
  const put = async (name: string, bytes: Uint8Array | string, ...options: string[]) => {
    writeFileSync(path.join(cwd, name), bytes);
    const { ref } = await json("blobs", "put", name, ...options);
    return { put: bytes, got: await json("blobs", "get", ref) };
  };

  test.each([
    ["notes.md", []],
    ["data.json", []],
    ["noname", ["--media-type", "text/plain"]],
  ])("%s is text, to the last byte", async (name, options) => {
    const { put: text, got } = await put(name, '\ufeff{"é": 1}\r\n', ...options);
    expect(got).toMatchObject({ encoding: "utf-8", text });
  });

  test.each([
    ["noname", "plain words"],
    ["notes.txt", Uint8Array.from([0x68, 0xe9])],
  ])("%s is binary when its type or its bytes do not say text", async (name, bytes) => {
    const { got } = await put(name, bytes);
    expect(got).toMatchObject({ encoding: "binary", base64: Buffer.from(bytes).toString("base64") });
  });

  test("a large text is stored as a stream and printed as text", async () => {
    const { put: text, got } = await put("large.txt", "é words\n".repeat(200_000));
    expect(got.encoding).toBe("binary");
    expect(got.text === text).toBe(true);
  });

  test("are found again without their refs", async () => {
    expect(await run("blobs")).toBe("no blobs\n");
    for (const name of ["a.txt", "b.json"]) writeFileSync(path.join(cwd, name), `"${name}"`);
    const refs = [await run("blobs", "put", "a.txt"), await run("blobs", "put", "b.json", "--pin")];
    const [a = "", b = ""] = refs.map((ref) => ref.trim());
    const listed = await run("blobs", "ls");
    expect(listed).toMatch(new RegExp(`^REF .*\\n${b} .* application/json .* pinned\\n${a} .* expires in 7 d\\n$`));
    const { stdout } = await captureOutput(main, ["blobs"], { cwd, columns: 60, env: { NO_COLOR: "1" } });
    expect(stdout).toMatch(new RegExp(`^${b}\\n {4}8 bytes, application/json, .*, pinned\\n${a}\\n`));
    const { items, next } = await json("blobs", "ls", "--limit", "1");
    expect(items).toMatchObject([{ ref: b, size: 8, pinned: true }]);
    expect(await json("blobs", "ls", "--cursor", next)).toMatchObject({ items: [{ ref: a }], next: null });
    expect((await cli("blobs", a)).stderr).toContain(`did you mean "blobs stat ${a}"?`);
  });

  test("live for the given time", async () => {
    writeFileSync(path.join(cwd, "a.txt"), "words");
    expect((await cli("blobs", "put", "a.txt")).stderr).toContain("expires in 7 d unless");
  });
});

describe("log and messages", () => {
  test("--follow has no --limit", async () => {
    await run("messages", "add", "s", "--agent", "a", "hello");
    for (const command of ["messages", "log"]) {
      expect(await cli(command, "s", "--follow", "--limit", "1")).toMatchObject({ code: 2, stdout: "" });
    }
  });

  test("a type that no event has is noted, with those there are", async () => {
    await run("messages", "add", "s", "--agent", "a", "hello");
    const { code, stdout, stderr } = await cli("log", "s", "--type", "message/add");
    expect([code, stdout]).toEqual([0, "no events\n"]);
    expect(stderr).toBe("no message/add in this session; it has message/added, session/created\n");
    expect(await cli("log", "s", "--type", "message/added", "--after", "9")).toMatchObject({ stderr: "" });
  });
});

describe("help is correct", () => {
  test("about copies of a store", async () => {
    const help = await lesson("migrate");
    expect(help).not.toMatch(/\bcp /);
    expect(help).toContain('sqlite3 agents.db ".backup copy.db"');
    expect(help).toContain("copy agents.db together with agents.db-wal");
    expect(await lesson("init")).toContain("-wal and -shm beside it while it is open");
  });

  test("about gc and verify", async () => {
    expect(await lesson("gc")).toContain("The third gc after a blob expired frees it");
    const help = await lesson("verify");
    expect(help).toContain("every event, its columns, and the end of the log that the session row records");
    expect(help).toContain("It does not compare the rows of messages, state and tasks with the log");
  });

  test("in usage lines that fit", async () => {
    const lines = (await run("sessions", "ls", "--help")).split("\n");
    const at = lines.indexOf("Usage");
    expect(lines.slice(at + 1, at + 3)).toEqual([
      "  holdfast sessions [ls] [--agent A] [--tag T] [--status open|closed]",
      "      [--request R] [--limit N] [--cursor C]",
    ]);
  });
});

describe("nothing that is typed goes unheard", () => {
  test("a used key is distinguished from a new one", async () => {
    const add = ["messages", "add", "chat-1", "--agent", "helper", "--key", "k1", "hello"] as const;
    expect(await run(...add)).toBe("added chat-1#2 (a new session)\n");
    expect(await run(...add)).toBe("exists already: chat-1#2 has the key k1\n");
    expect(await json(...add)).toMatchObject({ id: "chat-1#2", added: false });
    expect(await json("messages", "add", "chat-1", "more")).toMatchObject({ id: "chat-1#3", added: true });
  });

  test("standard input that holds nothing is not a message", async () => {
    const add = ["messages", "add", "chat-1", "--agent", "helper"];
    for (const stdin of ["", "\n"]) {
      const input = (async function* () {
        yield Buffer.from(stdin);
      })();
      const { code, stderr } = await captureOutput(main, [...add, "-"], { cwd, stdin: input });
      expect([code, stderr]).toEqual([2, expect.stringContaining("standard input is empty")]);
    }
    expect(await cli("messages", "chat-1")).toMatchObject({ code: 3 });
    expect(await run(...add, "")).toBe("added chat-1#2 (a new session)\n");
  });

  test("a label, a parent and a limit are for a new board", async () => {
    const board = ["--label", "Scouts", "--parent", "boss", "--max-retries", "1"];
    await run("tasks", "add", "trip", "one", "--agent", "scout", ...board);
    await run("tasks", "add", "trip", "two", "--agent", "scout", ...board);
    for (const [option, value, has] of [
      ["--label", "Others", '"Scouts"'],
      ["--parent", "nobody", '"boss"'],
      ["--max-retries", "3", "1"],
    ] as const) {
      const { code, stderr } = await cli("tasks", "add", "trip", "three", "--agent", "scout", option, value);
      expect([code, stderr]).toEqual([4, expect.stringContaining(`${option} is for a new board`)]);
      expect(stderr).toContain(`has ${has}\n`);
    }
    const { boards } = await json("tasks", "trip");
    expect(boards[0]).toMatchObject({
      agentLabel: "Scouts",
      maxRetries: 1,
      tasks: [{ title: "one" }, { title: "two" }],
    });
  });
});

describe("what is missing is distinguished", () => {
  test("a blob directory from a damaged blob", async () => {
    const store = ["--store", "files.db", "--blob-dir", "bytes"];
    expect((await cli("init", ...store)).stderr).toContain('"hello" --store files.db --blob-dir bytes`\n');
    await run("messages", "add", "s", "--agent", "a", "long ".repeat(1000), ...store);
    await run("verify", "--blobs", ...store);
    const { code, stdout, stderr } = await cli("verify", "--blobs", "--store", "files.db", "--blob-dir", "nosuch");
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toMatch(/there is no directory \S+nosuch, where blobs are kept\n {2}hint: Name the directory/);
  });

  test("an erased session from one that never was", async () => {
    await run("messages", "add", "s", "--agent", "a", "hello");
    await run("sessions", "rm", "s", "--yes");
    for (const command of ["messages", "log"]) {
      expect((await cli(command, "s")).stderr).toContain('session "s" was erased\n');
      expect((await cli(command, "t")).stderr).toContain('no session "t"\n');
    }
  });
});

describe("words for what is shown", () => {
  test("a blob's type, and how it was given", async () => {
    writeFileSync(path.join(cwd, "tool.mjs"), "export {};\n");
    const ref = (await run("blobs", "put", "tool.mjs", "--pin")).trim();
    expect(await run("blobs", "stat", ref)).toMatch(/^type +text\/javascript\nstored as +text \(UTF-8\)$/m);
    const { code, stderr } = await cli("blobs", "rm", ref, "-y");
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining(`hint: unpin it first: \`holdfast blobs unpin ${ref}\``),
    ]);
    await run("blobs", "unpin", ref);
    await run("blobs", "rm", ref, "-y");
  });

  test("rows and blobs in stats", async () => {
    for (const value of ["a=1", "a=2"]) await run("state", "set", "s", value);
    await run("messages", "add", "s", "--agent", "a", "hello");
    const text = await run("stats");
    expect(text).toMatch(/^state versions +2$/m);
    expect(text).toMatch(/^payloads with a row of their own +2$/m);
    expect(text).toMatch(/^count +3, including short texts in messages' rows$/m);
  });

  test("$HOLDFAST_STORE is not the demo's", async () => {
    expect(await lesson("demo")).not.toContain("default $HOLDFAST_STORE");
  });

  test("commands of a package in a project's node_modules are started with npx", async () => {
    const link = path.join(cwd, "node_modules", ".bin", "holdfast");
    const { stderr } = await captureOutput(main, ["sessions", "show", "nope"], { cwd, script: link });
    expect(stderr).toContain("hint: `npx holdfast sessions` lists all sessions\n");
    const usage = await captureOutput(main, ["messages"], { cwd, script: link });
    expect(usage.stderr).toContain("see `npx holdfast messages --help`\n");
    const told = new Output({ ...processIo(), cwd, script: link }, false).withCommands(
      "run `npx holdfast gc`, or `holdfast check`",
    );
    expect(told).toBe("run `npx holdfast gc`, or `npx holdfast check`");
    const globally = await captureOutput(main, ["sessions", "show", "nope"], {
      cwd,
      script: "/usr/local/bin/holdfast",
    });
    expect(globally.stderr).toContain("hint: `holdfast sessions` lists all sessions\n");
    // Windows starts the file itself, of a project and of a global install: then the PATH tells them apart.
    const file = path.join(cwd, "node_modules", "holdfast", "bin", "holdfast.js");
    writeFileSync(path.join(cwd, "holdfast.cmd"), "");
    for (const [PATH, named] of [
      [cwd, "`holdfast sessions`"],
      [path.join(cwd, "node_modules", ".bin"), "`npx holdfast sessions`"],
    ] as const) {
      const shown = await captureOutput(main, ["sessions", "show", "nope"], { cwd, script: file, env: { PATH } });
      expect(shown.stderr).toContain(named);
    }
  });

  test("commands from a clone are those that work there", async () => {
    const env = { npm_package_name: "holdfast", npm_lifecycle_event: "holdfast" };
    const { stderr } = await captureOutput(main, ["sessions", "show", "nope"], { cwd, env });
    expect(stderr).toContain("hint: `npm run -s holdfast -- sessions` lists all sessions\n");
    const made = await captureOutput(main, ["init", "--store", "new.db"], { cwd, env });
    expect(made.stderr).toBe(
      'next: `npm run -s holdfast -- messages add chat-1 --agent helper "hello" --store new.db`\n',
    );
  });
});

test("tasks added at once by two are all there", async () => {
  const titles = ["one", "two", "three", "four"];
  await Promise.all(titles.map((title) => run("tasks", "add", "s", title)));
  const { boards } = await json("tasks", "s");
  expect(boards).toHaveLength(1);
  expect(boards[0].tasks.map(({ title }: { title: string }) => title).sort()).toEqual(titles.toSorted());
});

test("on 60 columns refs stay whole and lines end at words", async () => {
  const ref = `sha256:${"ab".repeat(32)}`;
  await run("messages", "add", "s", "--agent", "a", `see ${ref} there`);
  const narrow = { cwd, columns: 60, env: { NO_COLOR: "1" } };
  expect((await captureOutput(main, ["messages", "s"], narrow)).stdout).toContain(`\n    see\n    ${ref}\n    there\n`);
  const lines = async (...argv: string[]) => (await captureOutput(main, argv, narrow)).stdout.split("\n");
  for (const line of [...(await lines("--help")), ...(await lines("gc"))]) expect(line.length, line).toBeLessThan(61);
  const stop = new AbortController();
  const watched = await captureOutput(main, ["log", "s", "-f"], {
    ...narrow,
    signal: stop.signal,
    onStdout: () => stop.abort(),
  });
  expect(watched.stderr).toMatch(
    /^data is cut to the width of the terminal; --json has all of\nit\nevents do not repeat/,
  );
});

test.each([20, 40, 60])("ids come before other columns on a terminal of %i columns", async (columns) => {
  const { id } = await json("sessions", "create", "--agent", "researcher", "--title", "Trip to Lisbon");
  const { stdout } = await captureOutput(main, ["sessions"], { cwd, columns, env: { NO_COLOR: "1" } });
  // On 20 columns it is longer than the terminal is wide, and can be copied all the same.
  expect(stdout).toContain(columns === 20 ? `\n${id}\n` : `\n${id}  `);
  expect(stdout.includes("TITLE\n")).toBe(columns === 60);
  expect(stdout.replaceAll("\n", " ")).toMatch(/\(no room for .*EVENTS.*; --json has all\) $/);
  const others = stdout.split("\n").filter((line) => line !== id);
  for (const line of others) expect(line.length, line).toBeLessThanOrEqual(columns);
});
