// Finding sessions of OpenCode, with a fake of its program that has the real one's faults.
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { exported, type Machine, newMachine, removeMachines, toolPart } from "../../../test/opencode-machine.ts";
import { findOpenCodeSession, listOpenCodeSessions } from "./find.ts";
import { OpenCode } from "./runner.ts";
import { chunksForStatement, insertTodos, literal } from "./sql.ts";

afterAll(removeMachines);

async function put(machine: Machine, ...sessions: ReturnType<typeof exported>[]): Promise<void> {
  for (const session of sessions) {
    const file = path.join(machine.root, "put.json");
    writeFileSync(file, JSON.stringify(session));
    await machine.with({}).text(["import", file]);
  }
}

/** A root with a child, which has one too; another session beside them. */
async function family(machine: Machine): Promise<void> {
  const spilled = path.join(machine.dataDir, "tool-output", "tool_spilled1");
  const foreign = path.join(machine.dataDir, "tool-output", "tool_foreign1");
  const parts = [
    toolPart(`cut\n\nFull output saved to: ${spilled}\n`, { outputPath: spilled }),
    toolPart(`ls printed ${foreign}`),
    toolPart("gone", { outputPath: path.join(machine.dataDir, "tool-output", "tool_gone1") }),
    toolPart("task", { sessionId: "ses_child" }),
  ];
  const share = { share: { url: "https://example.invalid/s", secret: "share-secret" } };
  const child = exported("ses_child", 2, "ses_root");
  await put(machine, exported("ses_root", 5, undefined, parts), { ...child, info: { ...child.info, ...share } });
  await put(machine, exported("ses_grandchild", 1, "ses_child"), exported("ses_beside", 1));
  mkdirSync(path.join(machine.dataDir, "tool-output"), { recursive: true });
  writeFileSync(spilled, "all of it");
  writeFileSync(foreign, "of another session");
  for (const name of ["auth.json", "mcp-auth.json"]) {
    writeFileSync(path.join(machine.dataDir, name), '{"token":"auth-secret"}');
  }
  await machine.rows("insert into credential values ('c', 'auth-secret')");
  const plan = path.join(machine.cwd, ".opencode", "plans", "500-slug-of-ses-root.md");
  mkdirSync(path.dirname(plan), { recursive: true });
  writeFileSync(plan, "the plan");
  writeFileSync(path.join(path.dirname(plan), "500-of-another.md"), "of another session");
  const row = { session_id: "ses_root", content: "it's 'é\u0000\u{1f600}", status: "pending", priority: "high" };
  await machine.rows(insertTodos([{ ...row, position: 0, time_created: 1, time_updated: 2 }]));
}

const find = (machine: Machine, sessionId = "ses_root", runner: OpenCode = machine.runner) =>
  findOpenCodeSession({ sessionId, runner, dataDir: machine.dataDir, folder: path.join(machine.root, "folder") });

describe("a session that is found", () => {
  test.each([undefined, "1.2", "new"] as const)(
    "CA9 has its descendants, tasks, plan and spilled output, and nothing of others: %s",
    async (schema) => {
      const machine = newMachine(schema);
      await family(machine);
      const found = await find(machine);
      expect(found).toMatchObject({
        agent: "opencode",
        sessionId: "ses_root",
        cwd: machine.cwd,
        agentVersion: "1.0.0",
      });
      expect(found.files.map(({ role, path: name }) => `${role} ${name}`)).toEqual([
        "export export/ses_root.json",
        "export export/ses_child.json",
        "export export/ses_grandchild.json",
        "todos todos/ses_root.json",
        "output tool-output/tool_spilled1",
        "other plans/500-slug-of-ses-root.md",
      ]);
      for (const { file, size } of found.files) expect(statSync(file).size).toBe(size);
      const textOf = (name: string) => readFileSync(found.files.find((file) => file.path === name)?.file ?? "", "utf8");
      expect(JSON.parse(textOf("export/ses_root.json")).messages).toHaveLength(5);
      expect(JSON.parse(textOf("todos/ses_root.json"))[0].content).toBe("it's 'é\u0000\u{1f600}");
      expect(textOf("tool-output/tool_spilled1")).toBe("all of it");
      expect(textOf("plans/500-slug-of-ses-root.md")).toBe("the plan");
      expect(found.left).toEqual([
        ...(schema === "new" ? [{ path: "export/ses_child.json", why: "the secret of its share was removed" }] : []),
        { path: "tool-output/tool_gone1", why: "OpenCode has removed it" },
      ]);
      const everything = found.files.map(({ file }) => readFileSync(file, "utf8")).join("\n");
      expect(everything).not.toMatch(/share-secret|auth-secret|of another session/);
      expect(everything).toContain("https://example.invalid/s");
    },
  );

  test("CA9 takes no start of the program, and is what the program itself exports", async () => {
    const machine = newMachine();
    await family(machine);
    const { files } = await find(machine);
    await listOpenCodeSessions(machine.runner, machine.dataDir);
    expect(machine.commands()).toEqual([]);
    for (const { role, path: name, file } of files.filter((one) => one.role === "export")) {
      const theirs = JSON.parse(await machine.with({}).text([role, path.basename(name, ".json")]));
      const ours = JSON.parse(readFileSync(file, "utf8"));
      expect(ours.messages).toEqual(theirs.messages);
      expect(ours.info).toMatchObject(theirs.info);
    }
  });

  test("CA9 where the schema is not known, takes one query and an export each, and the log says why", async () => {
    const machine = newMachine("new");
    await family(machine);
    await find(machine);
    await find(machine);
    const each = ["db with", "export ses_child", "export ses_grandchild", "export ses_root"];
    expect(machine.commands().toSorted()).toEqual([...each, ...each].toSorted());
    const warning = { level: "warn", event: "opencode.program", why: "its table session also has mood" };
    expect(machine.logged()).toEqual([expect.objectContaining(warning), expect.objectContaining(warning)]);
  });

  test("is exported although the database was locked for a moment", async () => {
    const machine = newMachine("new");
    await put(machine, exported("ses_root", 2));
    const runner = machine.with({ FAKE_LOCKED_ONCE: path.join(machine.root, "locked") });
    const { files } = await find({ ...machine, runner });
    expect(files.map(({ role }) => role)).toEqual(["export"]);
  });

  test("is exported to files that only their owner can read, with nothing beside them", async () => {
    const machine = newMachine();
    await family(machine);
    const { files } = await find(machine);
    const written = files.filter(({ role }) => role === "export" || role === "todos");
    for (const { file } of written) expect(statSync(file).mode & 0o077).toBe(0);
    expect(readdirSync(path.join(machine.root, "folder", "export"))).toHaveLength(3);
  });

  test("has no spilled output that is a link", async () => {
    const machine = newMachine();
    const file = path.join(machine.dataDir, "tool-output", "tool_link1");
    await put(machine, exported("ses_root", 1, undefined, [toolPart("x", { outputPath: file })]));
    mkdirSync(path.dirname(file));
    symlinkSync("/etc/passwd", file);
    expect((await find(machine)).files.map(({ role }) => role)).toEqual(["export"]);
  });

  test("has a count of messages that agrees with the database", async () => {
    const machine = newMachine("new");
    await put(machine, exported("ses_root", 3));
    const result = find(machine, "ses_root", machine.with({ FAKE_EXPORT: "fewer" }));
    await expect(result).rejects.toMatchObject({ code: "AgentFailed", message: /exported 2 messages of 3/ });
  });

  test.each(["garbage", "cut", "other"])("is refused when its export is %s", async (how) => {
    const machine = newMachine("new");
    await put(machine, exported("ses_root", 3));
    const result = find(machine, "ses_root", machine.with({ FAKE_EXPORT: how }));
    await expect(result).rejects.toMatchObject({ code: "AgentFailed" });
  });

  test("is whole when it is large", async () => {
    const machine = newMachine();
    await put(machine, exported("ses_root", 2, undefined, [toolPart("x".repeat(3_000_000))]));
    expect((await find(machine)).files[0]?.size).toBeGreaterThan(3_000_000);
  });
});

test("a session that is not there is NotFound, and an id that is none is InvalidId", async () => {
  const machine = newMachine();
  await put(machine, exported("ses_root", 1));
  await expect(find(machine, "ses_none")).rejects.toMatchObject({ code: "NotFound" });
  for (const id of ["ses_x' or 1=1 --", "ses_", "../ses_x", "ses_a b", "ses_é"]) {
    await expect(find(machine, id)).rejects.toMatchObject({ code: "InvalidId" });
  }
});

test("all sessions are listed", async () => {
  const machine = newMachine();
  await put(machine, exported("ses_root", 1), exported("ses_child", 1, "ses_root"));
  const common = { directory: machine.cwd, createdAt: 500, updatedAt: 1000, version: "1.0.0" };
  expect(await listOpenCodeSessions(machine.runner, machine.dataDir)).toEqual([
    { sessionId: "ses_child", parentId: "ses_root", title: "title of ses_child", ...common },
    { sessionId: "ses_root", parentId: null, title: "title of ses_root", ...common },
  ]);
});

describe("the program", () => {
  test("that takes too long is ended", async () => {
    const machine = newMachine();
    const runner = machine.with({ FAKE_HANGS: "db" }, 300);
    await expect(runner.rows("select 1")).rejects.toMatchObject({ code: "AgentFailed", message: /longer than 300 ms/ });
  });

  test("that fails says what it wrote to stderr", async () => {
    const result = newMachine().runner.text(["export", "ses_none"]);
    const details = { stderr: "Error: Session not found: ses_none\n" };
    await expect(result).rejects.toMatchObject({ code: "AgentFailed", message: /ended with 1/, details });
  });

  test("that is not there is MissingDependency, and a directory MissingDirectory", async () => {
    const machine = newMachine();
    const missing = new OpenCode({ ...machine.runner.options, command: [path.join(machine.root, "none")] });
    await expect(missing.text(["--version"])).rejects.toMatchObject({ code: "MissingDependency" });
    const nowhere = machine.runner.inDirectory(path.join(machine.root, "none"));
    await expect(nowhere.text(["--version"])).rejects.toMatchObject({ code: "MissingDirectory" });
  });

  test("gets no variable of this process", async () => {
    const machine = newMachine();
    const command: [string, string, string] = [
      process.execPath,
      "-p",
      "JSON.stringify(Object.keys(process.env).sort())",
    ];
    const runner = new OpenCode({ ...machine.runner.options, command, env: { A: "1" } });
    expect(JSON.parse(await runner.text([]))).toEqual(["A", "PWD"]);
  });
});

describe("SQL", () => {
  test("holds any text as ASCII without NUL", async () => {
    const machine = newMachine();
    const texts = [
      "it's",
      "''; drop table session; --",
      "a\u0000b",
      "é日\u{1f600}\u2028",
      '\\u0041 \\ "',
      "\r\n\t",
      "?1 :a $b",
    ];
    const sql = `select value from json_each(${literal(texts)})`;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(sql).toMatch(/^[\u0001-\u007e]+$/);
    expect((await machine.runner.rows(sql)).map(({ value }) => value)).toEqual(texts);
    expect((await machine.runner.rows(`select ${literal("\ud800x")} ->> '$' as value`))[0]).toEqual({
      value: "\ufffdx",
    });
  });

  test("is cut to fit a command line", () => {
    const lists = chunksForStatement(Array.from({ length: 10_000 }, (_, i) => `msg_${i}`.padEnd(40, "é")));
    for (const list of lists) expect(literal(list).length).toBeLessThan(120_000);
    expect(lists.flat()).toHaveLength(10_000);
    expect(() => chunksForStatement(["x".repeat(200_000)])).toThrow(expect.objectContaining({ code: "LimitExceeded" }));
  });
});
