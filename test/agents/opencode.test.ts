// What the real OpenCode leaves on disk, and what its export and import carry to another machine. A new version of the
// agent that keeps something else makes a test red.
import * as fs from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readDatabase } from "../../src/coding/opencode/database.ts";
import { readTree } from "../../src/coding/opencode/rows.ts";
import { isLong } from "../../src/testing/scale.ts";
import { withAgents } from "./agents.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { dataOf } from "./opencode-state.ts";
import { call } from "./rich.ts";

/** In its folder of data. Of these files only the spilled output is captured; the rows of a session come as its export. */
const KINDS = [
  "log/opencode.log",
  "opencode.db",
  "opencode.db-shm",
  "opencode.db-wal",
  "snapshot/<project>/<hash>/<git>",
  "tool-output/tool_<id>",
];

/** Some hold credentials, which is one reason why the database is never captured as a file. */
const TABLES = [
  ..."account account_state control_account credential data_migration event event_sequence message migration".split(
    " ",
  ),
  ..."part permission project project_directory session session_context_epoch session_input".split(" "),
  ..."session_message session_share todo workspace".split(" "),
];

withAgents("OpenCode", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  test("a session with large output, todos and a child is kept in these files and tables; an export carries it over", async () => {
    const a = machines.add();
    await repository(a);
    const todos = [{ content: "Write the report", status: "pending", priority: "high" }];
    const child = "The child knows CHILD-1. [[say CODEWORD-9 by the child]]";
    const steps = [
      call("bash", { command: "seq 1 30000; echo CODEWORD-8", description: "much output" }),
      call("write", { filePath: path.join(a.cwd, "created.txt"), content: "new" }),
      call("todowrite", { todos }),
      call("task", { description: "child", prompt: child, subagent_type: "general" }),
      "[[say noted]]",
    ];
    const sessionId = sessionIn(await a.opencode(`It is CODEWORD-7. ${steps.join(" ")}`).done());
    expect(kindsOn(a)).toEqual(KINDS);
    expect(query(a, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).toEqual(TABLES);
    expect(query(a, "SELECT content FROM todo")).toEqual(["Write the report"]);
    expect(query(a, "SELECT parent_id FROM session WHERE parent_id IS NOT NULL")).toEqual([sessionId]);

    const file = path.join(machines.folder, "export.json");
    await a.opencodeCommand(["export", sessionId], { stdoutFile: file }).done();
    const exported = fs.readFileSync(file, "utf8");
    expect(JSON.parse(exported)).toMatchObject({ info: { id: sessionId } });
    // What a capture reads without the program is the same, byte for byte.
    const database = path.join(dataOf(a), "opencode.db");
    const tree = await readDatabase(database, (opened) => readTree(opened, sessionId));
    expect(`${JSON.stringify(tree?.sessions[0]?.data, null, 2)}\n`).toBe(exported);
    expect(tree?.sessions).toHaveLength(2);
    await a.die();

    // opencode-run.test.ts always imports such a session, by `holdfast run`, and asks the agent what it knows.
    if (!isLong) return;
    const b = machines.add();
    await b.opencodeCommand(["import", file]).done();
    const answer = await b.opencode("And? [[recall CODEWORD-\\d]]", { args: ["--session", sessionId] }).done();
    expect(answer).toContain('found=[\\"CODEWORD-7\\",\\"CODEWORD-8\\",\\"CODEWORD-9\\"]');
    const sent = JSON.stringify(machines.api.log.at(-1)?.body?.messages);
    expect(sent).toContain("noted");
  });
});

/** In a repository the project is named by its first commit, and snapshots are kept. */
async function repository(machine: Machine): Promise<void> {
  const name = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"];
  await machine.start("git", ["init", "--quiet"]).done();
  await machine.start("git", [...name, "commit", "--quiet", "--allow-empty", "--message", "first"]).done();
}

/** Every line that `--format json` prints names it. */
function sessionIn(output: string): string {
  const { sessionID } = JSON.parse(output.split("\n")[0] ?? "") as { sessionID: string };
  return sessionID;
}

/** The first column of what a query finds in its database. */
function query(machine: Machine, sql: string): unknown[] {
  const database = new DatabaseSync(path.join(dataOf(machine), "opencode.db"), { readOnly: true });
  try {
    const rows = database.prepare(sql).all();
    return rows.map((row) => Object.values(row)[0]);
  } finally {
    database.close();
  }
}

/** The paths of all files in OpenCode's folder of data, with everything that differs from run to run replaced. */
function kindsOn(machine: Machine): string[] {
  const folder = dataOf(machine);
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => fs.lstatSync(path.join(folder, name)).isFile());
  const kinds = files.map((name) =>
    name
      .replace(/^tool-output\/tool_\w+$/, "tool-output/tool_<id>")
      .replace(/^snapshot\/\w+\/\w+\/.+$/, "snapshot/<project>/<hash>/<git>"),
  );
  return [...new Set(kinds)].toSorted();
}
