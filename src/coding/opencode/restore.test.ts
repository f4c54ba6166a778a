// Putting sessions of OpenCode back: all of it or nothing, whatever its program does in between.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { testLong } from "../../../test/long-test.ts";
import {
  type ExportedSession,
  exported,
  type Machine,
  newMachine,
  removeMachines,
  sourceFiles,
  toolPart,
} from "../../../test/opencode-machine.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { isLong } from "../../testing/scale.ts";
import { restoreOpenCode } from "./restore.ts";

afterAll(removeMachines);

const OLD_PATH = "/old/home/.local/share/opencode/tool-output/tool_spilled1";
const TASK = {
  content: "it's 'é\u0000",
  status: "pending",
  priority: "high",
  position: 0,
  time_created: 1,
  time_updated: 2,
};

const REASONING = [{ type: "reasoning", text: "hm" }];

type Files = Parameters<typeof sourceFiles>[0];

const bytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
const exportFile = (session: ExportedSession): Files[number] => [
  { role: "export", path: `export/${session.info.id}.json` },
  bytes(session),
];
const todoFile = (id: string, rows: unknown): Files[number] => [
  { role: "todos", path: `todos/${id}.json` },
  bytes(rows),
];
const outputFile = (text: string): Files[number] => [
  { role: "output", path: "tool-output/tool_spilled1" },
  bytes(text),
];

function source(...files: Files): CaptureSource {
  const origin = { cwd: "/old/work", configDir: null, key: null, agentVersion: "1.0.0" };
  return { agent: "opencode", sessionId: "ses_root", ...origin, ...sourceFiles(files) };
}

/** `childParts`: kinds of parts that the root does not have are imported by the program, and not written as rows. */
function family(count = 4, childParts: Record<string, unknown>[] = []): Files {
  const spilled = toolPart(`cut\n\nFull output saved to: ${OLD_PATH}\n\nend`, { outputPath: OLD_PATH });
  return [
    // Before the root, so that their order is not that of the files.
    exportFile(exported("ses_grandchild", 1, "ses_child", childParts)),
    exportFile(exported("ses_child", 2, "ses_root", childParts)),
    exportFile(exported("ses_root", count, undefined, [spilled])),
    todoFile("ses_root", [TASK]),
    outputFile("all of it"),
  ];
}

/** All that there is on a machine: rows, files, and what is in the temporary folder of the program. */
async function everything(machine: Machine): Promise<unknown> {
  const tables = ["session", "message", "part", "todo"];
  const rows = await Promise.all(tables.map((table) => machine.rows(`select * from ${table} order by 1, 2`)));
  const files = readdirSync(machine.root, { recursive: true }).map(String);
  return {
    rows,
    files: files.filter((name) => !/commands$|opencode\.db|opencode$|\.local|share$/.test(name)).toSorted(),
  };
}

const restore = (machine: Machine, from: CaptureSource, env: Record<string, string> = {}) =>
  restoreOpenCode(from, { runner: machine.with(env), cwd: machine.cwd, dataDir: machine.dataDir });

const countOf = async (machine: Machine) =>
  (await machine.rows("select (select count(*) from session) as s, (select count(*) from message) as m"))[0];

const SCHEMAS: Readonly<Record<string, "1.2" | "new" | undefined>> = {
  "whose schema is known": undefined,
  "of a version before 1.15": "1.2",
  "whose schema is not known": "new",
};

describe.each(Object.keys(SCHEMAS))("a database %s:", (name) => {
  const schema = SCHEMAS[name];
  /** What the schema matters little to is tried with the known one; with the others in `npm run test:long`. */
  const testKnown = schema === undefined ? test : testLong;

  describe("a capture that is put back", () => {
    test("CA10 has its sessions in the target directory, tasks, and spilled output", async () => {
      const machine = newMachine(schema);
      const restored = await restore(machine, source(...family()));
      expect(restored).toMatchObject({ sessionId: "ses_root", cwd: machine.cwd, files: 5, messages: 4, left: [] });
      expect(await machine.rows("select id, parent_id, directory from session order by rowid")).toEqual([
        { id: "ses_root", parent_id: null, directory: machine.cwd },
        { id: "ses_child", parent_id: "ses_root", directory: machine.cwd },
        { id: "ses_grandchild", parent_id: "ses_child", directory: machine.cwd },
      ]);
      expect(await machine.rows("select * from todo")).toEqual([{ session_id: "ses_root", ...TASK }]);
      const spilled = path.join(machine.dataDir, "tool-output", "tool_spilled1");
      expect(readFileSync(spilled, "utf8")).toBe("all of it");
      expect(statSync(spilled).mode & 0o777).toBe(0o600);
      const parts = await machine.rows("select data from part where data like '%tool-output%'");
      expect(String(parts[0]?.data).split(OLD_PATH)).toHaveLength(3);
      expect(readdirSync(machine.dataDir).filter((name) => name.startsWith(".holdfast"))).toEqual([]);
    });

    test("CA10 is the same whether those below it were imported or written as rows", async () => {
      const [rows, program] = [newMachine(schema), newMachine(schema)];
      await restoreOpenCode(source(...family()), rows);
      await restoreOpenCode(source(...family(4, REASONING)), program);
      const imports = ["import", ...(schema === "new" ? ["import", "import"] : [])];
      expect(rows.commands().filter((line) => line.startsWith("import"))).toHaveLength(imports.length);
      expect(program.commands().filter((line) => line.startsWith("import"))).toHaveLength(3);
      const below = async (machine: Machine) => {
        const cut = (row: Record<string, unknown>) => ({ ...row, directory: null, path: null, time_updated: null });
        return (await machine.rows("select * from session order by id")).map(cut);
      };
      expect(await below(rows)).toEqual(await below(program));
      const parts = "select id, message_id, session_id, data from part where data not like '%reasoning%' order by id";
      expect(await rows.rows(parts)).toEqual(await program.rows(parts));
    });

    testKnown("CA10 puts a plan where OpenCode looks for it: in the repository, or in its own folder", {}, async () => {
      const plan: Files[number] = [{ role: "other", path: "plans/500-slug-of-ses-root.md" }, bytes("the plan")];
      const [inside, outside] = [newMachine(schema), newMachine(schema)];
      mkdirSync(path.join(inside.cwd, ".git"));
      mkdirSync(path.join(inside.cwd, "below"));
      for (const [machine, cwd, folder] of [
        [inside, path.join(inside.cwd, "below"), path.join(inside.cwd, ".opencode", "plans")],
        [outside, outside.cwd, path.join(outside.dataDir, "plans")],
      ] as const) {
        const restored = await restoreOpenCode(source(...family(), plan), { ...machine, cwd });
        expect(restored).toMatchObject({ files: 6, left: [] });
        expect(readFileSync(path.join(folder, "500-slug-of-ses-root.md"), "utf8")).toBe("the plan");
      }
    });

    testKnown("names spilled output by where it is now, when asked to", {}, async () => {
      const machine = newMachine(schema);
      const { runner, cwd, dataDir } = machine;
      await restoreOpenCode(source(...family()), { runner, cwd, dataDir, rewritePaths: true });
      const [part] = await machine.rows("select data from part where data like '%tool-output%'");
      const now = path.join(dataDir, "tool-output", "tool_spilled1");
      const { state } = JSON.parse(String(part?.data));
      expect(state.metadata.outputPath).toBe(now);
      expect(state.output).toBe(`cut\n\nFull output saved to: ${now}\n\nend`);
    });

    test("a second time changes nothing, and says so", async () => {
      const machine = newMachine(schema);
      await restore(machine, source(...family()));
      const before = await everything(machine);
      const again = await restore(machine, source(...family()));
      expect(again).toMatchObject({ files: 0, bytes: 0, messages: 4 });
      expect(again.left).toHaveLength(5);
      expect(await everything(machine)).toEqual(before);
    });

    testKnown("leaves a session that went on here as it is, but for its directory", {}, async () => {
      const machine = newMachine(schema);
      await restore(machine, source(...family(6)));
      const before = await everything(machine);
      expect(await restore(machine, source(...family(4)))).toMatchObject({ messages: 6, files: 0 });
      expect(await everything(machine)).toEqual(before);
      const elsewhere = path.join(machine.root, "elsewhere");
      mkdirSync(elsewhere);
      await restoreOpenCode(source(...family(4)), { ...machine, cwd: elsewhere });
      expect(await machine.rows("select distinct directory from session")).toEqual([{ directory: elsewhere }]);
      expect(await countOf(machine)).toEqual({ s: 3, m: 9 });
    });

    test("adds what is missing here, and completes the last message", async () => {
      const machine = newMachine(schema);
      const half = exported("ses_root", 2);
      Object.assign(half.messages[1]?.parts[0] ?? {}, { type: "tool", state: { status: "running" }, text: undefined });
      await restore(machine, source(exportFile(half), todoFile("ses_root", [TASK, { ...TASK, position: 1 }])));
      const restored = await restore(machine, source(...family(4)));
      expect(restored).toMatchObject({ messages: 4, left: [] });
      expect(await machine.rows("select * from part where data like '%running%'")).toEqual([]);
      expect(await machine.rows("select * from todo")).toHaveLength(1);
    });

    test("CA10 completes an answer of which only some parts are here", async () => {
      const [whole, cut] = [
        exported("ses_root", 3, undefined, [toolPart("a"), toolPart("b")]),
        exported("ses_root", 3),
      ];
      for (const { messages } of [whole, cut]) messages[0]?.parts.push({ ...messages[0].parts[0], id: "prt_more" });
      cut.messages[0]?.parts.pop();
      const machine = newMachine(schema);
      await restore(machine, source(exportFile(cut)));
      const before = await everything(machine);
      const failing = restore(machine, source(exportFile(whole)), { FAKE_IMPORT_DROPS: "prt_root0022" });
      await expect(failing).rejects.toMatchObject({ code: "AgentFailed", message: /1 parts are missing/ });
      expect(await everything(machine)).toEqual(before);
      expect(await restore(machine, source(exportFile(whole)))).toMatchObject({ messages: 3, files: 1, left: [] });
      expect(await machine.rows("select count(*) as n from part")).toEqual([{ n: 6 }]);
      expect(await restore(machine, source(exportFile(whole)))).toMatchObject({ messages: 3, files: 0 });
      // With less in the capture than here, what is here stays.
      expect(await restore(machine, source(exportFile(cut)))).toMatchObject({ files: 0 });
      expect(await machine.rows("select count(*) as n from part")).toEqual([{ n: 6 }]);
    });

    testKnown("is a Conflict when an answer has other parts here than in the capture", {}, async () => {
      const [captured, here] = [exported("ses_root", 2, undefined, [toolPart("a")]), exported("ses_root", 2)];
      here.messages[1]?.parts.push({ ...here.messages[1].parts[0], id: "prt_mine" });
      const machine = newMachine(schema);
      await restore(machine, source(exportFile(here)));
      const before = await everything(machine);
      const details = { onlyHere: 0, onlyCaptured: 0, missingParts: 1 };
      await expect(restore(machine, source(exportFile(captured)))).rejects.toMatchObject({ code: "Conflict", details });
      expect(await everything(machine)).toEqual(before);
    });

    testKnown("is a Conflict when here, too, it went on", {}, async () => {
      const machine = newMachine(schema);
      const other = exported("ses_root", 3);
      Object.assign(other.messages[2]?.info ?? {}, { id: "msg_zzz" });
      for (const part of other.messages[2]?.parts ?? []) Object.assign(part, { id: "prt_zzz", messageID: "msg_zzz" });
      await restore(machine, source(exportFile(other)));
      const before = await everything(machine);
      const details = { sessionId: "ses_root", onlyHere: 1, onlyCaptured: 2 };
      await expect(restore(machine, source(...family(4)))).rejects.toMatchObject({ code: "Conflict", details });
      expect(await everything(machine)).toEqual(before);
    });
  });

  describe("CA10 nothing is left of one that fails", () => {
    const failing = schema === undefined || isLong ? ["ses_root", "ses_child", "ses_grandchild"] : ["ses_child"];
    test.each(failing)("in the middle of importing %s", async (id) => {
      const machine = newMachine(schema);
      await restore(
        machine,
        source(exportFile({ ...exported("ses_beside", 2) }), exportFile(exported("ses_root", 0))),
        {},
      ).catch(() => {});
      const before = await everything(machine);
      const result = restore(machine, source(...family(4, REASONING)), { FAKE_IMPORT_FAILS: id });
      await expect(result).rejects.toMatchObject({ code: "AgentFailed", message: /import/ });
      expect(await everything(machine)).toEqual(before);
      expect(await restore(machine, source(...family(4, REASONING)))).toMatchObject({ files: 5, messages: 4 });
    });

    testKnown("when a message is missing afterwards, though it ended with 0", {}, async () => {
      const machine = newMachine(schema);
      const before = await everything(machine);
      const result = restore(machine, source(...family(4, REASONING)), { FAKE_IMPORT_DROPS: "msg_child001" });
      await expect(result).rejects.toMatchObject({ code: "AgentFailed" });
      expect(await everything(machine)).toEqual(before);
    });

    test("and a session that was here is as it was", async () => {
      const machine = newMachine(schema);
      const half = exported("ses_root", 2);
      Object.assign(half.messages[1]?.parts[0] ?? {}, { type: "tool", state: { status: "running" } });
      await restore(machine, source(exportFile(half), todoFile("ses_root", [TASK, { ...TASK, position: 1 }])));
      await machine.rows(
        `update session set directory = '/else/where', ${schema === "1.2" ? "" : "path = null, "}time_updated = 7`,
      );
      const before = await everything(machine);
      // In the middle, and when all but the verification was done.
      for (const fault of [{ FAKE_IMPORT_FAILS: "ses_grandchild" }, { FAKE_IMPORT_DROPS: "msg_grandchild000" }]) {
        await expect(restore(machine, source(...family(4, REASONING)), fault)).rejects.toMatchObject({
          code: "AgentFailed",
        });
        expect(await everything(machine)).toEqual(before);
      }
    });

    testKnown("when spilled output cannot be put where it belongs", {}, async () => {
      const machine = newMachine(schema);
      mkdirSync(machine.dataDir, { recursive: true });
      mkdirSync(path.join(machine.root, "outside"));
      symlinkSync(path.join(machine.root, "outside"), path.join(machine.dataDir, "tool-output"));
      const before = await everything(machine);
      await expect(restore(machine, source(...family()))).rejects.toMatchObject({ code: "InvalidArgument" });
      expect(await everything(machine)).toEqual(before);
    });

    testKnown("when a part of a session below it is another session's here", {}, async () => {
      const machine = newMachine(schema);
      const beside = exported("ses_beside", 1);
      for (const part of beside.messages[0]?.parts ?? []) Object.assign(part, { id: "prt_child0000" });
      await restore(machine, { ...source(exportFile(beside)), sessionId: "ses_beside" });
      const before = await everything(machine);
      await expect(restore(machine, source(...family()))).rejects.toMatchObject({ code: "AgentFailed" });
      expect(await everything(machine)).toEqual(before);
    });

    testKnown("a message of another session is not taken over", {}, async () => {
      const machine = newMachine(schema);
      const mine = exported("ses_mine", 2);
      await restore(machine, { ...source(exportFile(mine)), sessionId: "ses_mine" });
      const before = await everything(machine);
      const thief = exported("ses_root", 1);
      Object.assign(thief.messages[0]?.info ?? {}, { id: mine.messages[1]?.info.id });
      for (const part of thief.messages[0]?.parts ?? []) Object.assign(part, { messageID: mine.messages[1]?.info.id });
      await expect(restore(machine, source(exportFile(thief)))).rejects.toMatchObject({ code: "InvalidArgument" });
      expect(await everything(machine)).toEqual(before);
    });
  });
});

describe("hostile captures are refused before anything is imported:", () => {
  const root = exported("ses_root", 2);
  const changed = (change: (session: ExportedSession) => void) => {
    const session = structuredClone(root);
    change(session);
    return source([{ role: "export", path: "export/ses_root.json" }, bytes(session)]);
  };
  const withFile = (role: "export" | "todos" | "output" | "other", name: string, content: unknown = "x") =>
    source(exportFile(root), [{ role, path: name }, bytes(content)]);
  const withSize = (size: number) => {
    const { files, ...rest } = source(exportFile(root));
    return { ...rest, files: files.map((file) => ({ ...file, size })) };
  };
  const hostile: Record<string, () => CaptureSource> = {
    "a path that goes up": () => withFile("output", "tool-output/../../x"),
    "an absolute path": () => withFile("output", "/tmp/x"),
    "a path with a backslash": () => withFile("output", "tool-output\\tool_x"),
    "another folder": () => withFile("other", "auth.json"),
    "a file in a folder below": () => withFile("output", "tool-output/tool_x/y"),
    "a name that is no id": () => withFile("output", "tool-output/x"),
    "an export that is no session": () => withFile("export", "export/opencode.db"),
    "a role that is not the path's": () => withFile("todos", "tool-output/tool_x"),
    "a name in other letters": () => withFile("export", "export/ses_ROOT.json", exported("ses_ROOT", 1, "ses_root")),
    "a path twice": () => withFile("export", "export/ses_root.json", root),
    "a plan of no session": () => withFile("other", "plans/500-slug-of-another.md"),
    "a plan with another name": () => withFile("other", "plans/.bashrc"),
    "tasks of no session": () => withFile("todos", "todos/ses_none.json", []),
    "tasks that are none": () => withFile("todos", "todos/ses_root.json", [{ content: 1 }]),
    "tasks of a broken file": () => withFile("todos", "todos/ses_root.json", "[{"),
    "no root": () => ({ ...source(exportFile(root)), sessionId: "ses_none" }),
    "an id with SQL in it": () => ({ ...source(exportFile(root)), sessionId: "ses_x' or '1'='1" }),
    "another agent's": () => ({ ...source(exportFile(root)), agent: "claude-code" }),
    "broken JSON": () => source([{ role: "export", path: "export/ses_root.json" }, bytes('{"info":')]),
    "another id in the export": () => changed((session) => Object.assign(session.info, { id: "ses_mine" })),
    "a message of another session": () =>
      changed((s) => Object.assign(s.messages[0]?.info ?? {}, { sessionID: "ses_mine" })),
    "a message id with SQL in it": () =>
      changed((s) => {
        Object.assign(s.messages[0]?.info ?? {}, { id: "msg_'||1" });
        for (const part of s.messages[0]?.parts ?? []) Object.assign(part, { messageID: "msg_'||1" });
      }),
    "a part of another message": () =>
      changed((s) => Object.assign(s.messages[0]?.parts[0] ?? {}, { messageID: "msg_x" })),
    "a part that is twice there": () => changed((s) => s.messages[0]?.parts.push(s.messages[0].parts[0] ?? {})),
    "sessions below each other": () =>
      source(exportFile(exported("ses_root", 1, "ses_a")), exportFile(exported("ses_a", 1, "ses_root")), [
        { role: "export", path: "export/ses_b.json" },
        bytes(exported("ses_b", 1, "ses_b")),
      ]),
    "a message in two sessions": () => {
      const text = JSON.stringify({ ...root, info: { ...root.info, id: "ses_child", parentID: "ses_root" } });
      return withFile(
        "export",
        "export/ses_child.json",
        text.replaceAll('"sessionID":"ses_root"', '"sessionID":"ses_child"'),
      );
    },
    "a session beside": () => withFile("export", "export/ses_beside.json", exported("ses_beside", 1)),
    "wrong bytes": () => ({
      ...source(exportFile(root)),
      async *read() {
        yield bytes({ ...root, more: 1 });
      },
    }),
    "a huge size": () => withSize(2 ** 40),
    "no size": () => withSize(Number.NaN),
    "a huge count": () => {
      const from = source(exportFile(root));
      return {
        ...from,
        files: Array.from({ length: 1_000_000 }, () => from.files[0]).filter((file) => file !== undefined),
      };
    },
  };

  test.each(Object.keys(hostile))("%s", async (name) => {
    const machine = newMachine();
    const from = hostile[name]?.();
    if (from === undefined) throw new Error("no such case");
    const others: Record<string, string> = {
      "an id with SQL in it": "InvalidId",
      "wrong bytes": "BlobCorrupted",
      "a huge size": "LimitExceeded",
      "no size": "LimitExceeded",
      "a huge count": "LimitExceeded",
    };
    await expect(restoreOpenCode(from, machine)).rejects.toMatchObject({ code: others[name] ?? "InvalidArgument" });
    expect(existsSync(path.join(machine.root, "commands"))).toBe(false);
    expect(readdirSync(machine.root).toSorted()).toEqual(["home", "work dir.é"]);
    expect(readdirSync(path.join(machine.root, "home"))).toEqual([]);
  });

  test("spilled output with wrong bytes", async () => {
    const machine = newMachine();
    const from = source(...family());
    const lying = {
      ...from,
      read: (name: string) => from.read(name.startsWith("tool-output") ? "todos/ses_root.json" : name),
    };
    const before = await everything(machine);
    await expect(restore(machine, lying)).rejects.toMatchObject({ code: "BlobCorrupted" });
    expect(await everything(machine)).toEqual(before);
    writeFileSync(path.join(machine.root, "done"), "");
  });
});
