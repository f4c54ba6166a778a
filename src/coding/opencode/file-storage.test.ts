// Sessions in the files of OpenCode before 1.2, read without its program.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  exported,
  type Machine,
  newMachine,
  removeMachines,
  sourceOf,
  toolPart,
} from "../../../test/opencode-machine.ts";
import { findOpenCodeSession, listOpenCodeSessions } from "./find.ts";
import { restoreOpenCode } from "./restore.ts";

afterAll(removeMachines);

function write(machine: Machine, name: string, value: unknown): void {
  const file = path.join(machine.dataDir, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

/** As 1.1.65 lays it out. */
function putOld(machine: Machine, project: string, { info, messages }: ReturnType<typeof exported>): void {
  const time = { created: 1, updated: 22 };
  write(machine, `storage/session/${project}/${info.id}.json`, { ...info, directory: "/old/work", time });
  for (const message of messages) {
    write(machine, `storage/message/${info.id}/${message.info.id}.json`, message.info);
    for (const part of message.parts) write(machine, `storage/part/${message.info.id}/${part.id}.json`, part);
  }
}

function family(machine: Machine): void {
  const spilled = path.join(machine.dataDir, "tool-output", "tool_spilled1");
  putOld(machine, "global", exported("ses_root", 3, undefined, [toolPart("cut", { outputPath: spilled })]));
  putOld(machine, "global", exported("ses_child", 2, "ses_root"));
  putOld(machine, "0123abcd", exported("ses_beside", 1));
  write(machine, "tool-output/tool_spilled1", "all of it");
  write(machine, "storage/session_share/ses_root.json", { secret: "share-secret" });
  write(machine, "storage/todo/ses_root.json", [{ id: "1", content: "é", status: "pending", priority: "low" }]);
}

const find = (machine: Machine, folder = "folder") =>
  findOpenCodeSession({
    sessionId: "ses_root",
    runner: machine.runner,
    dataDir: machine.dataDir,
    folder: path.join(machine.root, folder),
  });

test("CA9 an old session is found with its children, and can be imported", async () => {
  const machine = newMachine();
  family(machine);
  const found = await find(machine);
  expect(found).toMatchObject({ sessionId: "ses_root", cwd: "/old/work", agentVersion: "1.0.0", left: [] });
  expect(found.files.map(({ path: name }) => name)).toEqual([
    "export/ses_root.json",
    "export/ses_child.json",
    "todos/ses_root.json",
    "tool-output/tool_spilled1",
  ]);
  const { messages } = exported("ses_root", 3, undefined, [
    toolPart("cut", { outputPath: path.join(machine.dataDir, "tool-output", "tool_spilled1") }),
  ]);
  expect(JSON.parse(readFileSync(found.files[0]?.file ?? "", "utf8")).messages).toEqual(messages);
  expect(machine.commands()).toEqual([]);

  const other = newMachine();
  expect(await restoreOpenCode(sourceOf(found), other)).toMatchObject({ messages: 3, files: 4 });
  expect(await other.rows("select content, time_updated from todo")).toEqual([{ content: "é", time_updated: 22 }]);
});

test("an old session is read anew into a folder that has an earlier one", async () => {
  const machine = newMachine();
  putOld(machine, "global", exported("ses_root", 1));
  const size = (await find(machine)).files[0]?.size ?? 0;
  putOld(machine, "global", exported("ses_root", 9));
  expect((await find(machine)).files[0]?.size).toBeGreaterThan(size);
});

test("the database goes before old files, which stay where they are when opencode takes them over", async () => {
  const machine = newMachine();
  family(machine);
  const file = path.join(machine.root, "new.json");
  writeFileSync(file, JSON.stringify(exported("ses_root", 5)));
  await machine.with({}).text(["import", file]);
  const found = await find(machine);
  expect(found).toMatchObject({ cwd: machine.cwd, agentVersion: "1.0.0" });
  const listed = await listOpenCodeSessions(machine.runner, machine.dataDir);
  expect(listed.map(({ sessionId, directory }) => [sessionId, directory])).toEqual([
    ["ses_root", machine.cwd],
    ["ses_beside", "/old/work"],
    ["ses_child", "/old/work"],
  ]);
});

test("an old session with a torn file is refused", async () => {
  const machine = newMachine();
  family(machine);
  write(machine, "storage/message/ses_child/msg_child001.json", '{"id":');
  await expect(find(machine)).rejects.toMatchObject({
    code: "AgentFailed",
    details: { why: "it is not complete JSON" },
  });
});
