// What the real Claude Code leaves on disk, and what a resume brings back when its files are moved by hand. Everything
// that captures rely on is pinned here: a new version of the agent that keeps something else makes a test red.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claudeSession } from "../../bench/claude-session.ts";
import { testLong } from "../long-test.ts";
import { withAgents } from "./agents.ts";
import { type Fidelity, fidelityOf, WHOLE } from "./fidelity.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { RICH_MARKERS, type RichSession, richSession } from "./rich.ts";
import { loadSdk } from "./sdk.ts";

/** What belongs to the session: all of it is there after a rich one, and nothing else. */
const SESSION_KINDS = [
  ".claude/file-history/<session>/<hash>@v<n>",
  ".claude/projects/<key>/<session>.jsonl",
  ".claude/projects/<key>/<session>/subagents/agent-<id>.jsonl",
  ".claude/projects/<key>/<session>/subagents/agent-<id>.meta.json",
  ".claude/projects/<key>/<session>/tool-results/<id>.txt",
  ".claude/session-env/<session>/",
  ".claude/tasks/<session>/.lock",
  ".claude/tasks/<session>/<n>.json",
  "tmp/claude-<uid>/<key>/<session>/tasks/<id>.output",
];

/** What belongs to the machine and is never captured; not all of it is always there. */
const MACHINE_KINDS = [
  ".claude.json",
  ".claude/.last-cleanup",
  ".claude/backups/<file>",
  ".claude/plugins/<file>",
  ".claude/sessions/",
  ".claude/sessions/<file>",
  ".claude/shell-snapshots/",
  ".claude/shell-snapshots/<file>",
  "tmp/cc-socks/",
];

const LINE_TYPES = [
  ..."api-request api-request-blob api-request-shape assistant attachment atis-latch cost-state file-history-delta".split(
    " ",
  ),
  ..."file-history-snapshot last-prompt mode queue-operation system tools-used user".split(" "),
];

withAgents("Claude Code", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  test("a rich session leaves files of these kinds, and lines of these types", async () => {
    const machine = machines.add();
    const session = await richSession(await loadSdk(machines), machines, machine);
    expect(fs.readFileSync(session.edited, "utf8")).toBe("after\n");
    expect(session.subagent).not.toBe("");

    const kinds = kindsOn(machine, session);
    const ofSession = kinds.filter((kind) => kind.includes("<session>"));
    expect(ofSession).toEqual(SESSION_KINDS);
    expect(kinds.filter((kind) => ![...SESSION_KINDS, ...MACHINE_KINDS].includes(kind))).toEqual([]);

    const types = transcriptsOn(machine).flatMap((file) => linesOf(file).map((line) => line.type));
    expect([...new Set(types)].filter((type) => !LINE_TYPES.includes(type))).toEqual([]);
    const text = fs.readFileSync(transcriptOf(machine, session.sessionId), "utf8");
    for (const marker of RICH_MARKERS) expect(text).toContain(marker);
  });

  /** A rich session on a machine that is no more; `moves` says which of its files are in the next one's home. */
  async function resumedElsewhere(moves: (name: string) => boolean): Promise<Fidelity> {
    const sdk = await loadSdk(machines);
    const a = machines.add();
    const session = await richSession(sdk, machines, a);
    const b = machines.add({ cwd: a.cwd });
    for (const name of fs.readdirSync(path.join(a.home, ".claude"), { recursive: true, encoding: "utf8" })) {
      const [from, to] = [a, b].map(({ home }) => path.join(home, ".claude", name));
      if (from === undefined || to === undefined || fs.statSync(from).isDirectory()) continue;
      if (!name.includes(session.sessionId) || !moves(name)) continue;
      fs.mkdirSync(path.dirname(to), { recursive: true });
      fs.copyFileSync(from, to);
    }
    await a.die({ keepsCwd: true });
    return await fidelityOf(sdk, machines, b, { ...session, spilled: session.spilled.replace(a.home, b.home) });
  }

  test("with all files that name the session a resume in another home has everything", async () => {
    expect(await resumedElsewhere(() => true)).toEqual(WHOLE);
  });

  testLong("with its transcript alone it has the conversation, and nothing else", {}, async () => {
    const nothing = { tasks: false, subagent: false, toolResults: false, rewind: false };
    expect(await resumedElsewhere((name) => /^projects\/[^/]+\/[^/]+\.jsonl$/.test(name))).toEqual({
      ...WHOLE,
      ...nothing,
    });
  });

  test("a transcript that was moved to another home and another directory is resumed in full", async () => {
    const [a, b] = [machines.add(), machines.add()];
    await a.claude('It is CODEWORD-7. [[tool Bash {"command":"echo CODEWORD-8"}]] [[say noted]]').done();
    const [transcript = ""] = transcriptsOn(a);
    const sessionId = path.basename(transcript, ".jsonl");
    const before = fs.readFileSync(transcript);
    put(b, sessionId, before);
    await a.die();

    const answer = await b.claude("And? [[recall CODEWORD-\\d+]]", { args: ["--resume", sessionId] }).done();
    expect(answer).toContain('found=["CODEWORD-7","CODEWORD-8"]');
    const sent = JSON.stringify(machines.api.log.at(-1)?.body?.messages);
    expect(sent).toContain("noted");
    // It goes on in the same file under the same id, and what was there stays as it was.
    expect(transcriptsOn(b)).toEqual([transcriptOf(b, sessionId)]);
    expect(fs.readFileSync(transcriptOf(b, sessionId)).subarray(0, before.length).equals(before)).toBe(true);
  });

  test("kill -9 in the middle of a tool call: all up to that call is on disk, and the resume says it was interrupted", async () => {
    const [a, b] = [machines.add(), machines.add()];
    const marker = path.join(a.cwd, "begun");
    const slow = `touch '${marker}'; sleep 100`;
    await a.claude("It is CODEWORD-1. [[say CODEWORD-2]]").done();
    const [transcript = ""] = transcriptsOn(a);
    const sessionId = path.basename(transcript, ".jsonl");
    const turn = `[[tool Bash {"command":"echo CODEWORD-3"}]] [[tool Bash ${JSON.stringify({ command: slow })}]]`;
    const running = a.claude(turn, { args: ["--resume", sessionId] });
    // The agent writes a call down a moment after it has begun, not before; it need not have ended.
    const calls = () => fs.readFileSync(transcript, "utf8").match(/^.*"type":"tool_use".*$/gm) ?? [];
    await running.until(() => fs.existsSync(marker) && calls().some((line) => line.includes(marker)));
    expect((await running.kill()).signal).toBe("SIGKILL");

    const lastCall = linesOf(transcript).findLast((line) => line.type === "assistant");
    expect(lastCall).toMatchObject({ message: { content: [{ type: "tool_use", input: { command: slow } }] } });
    // What only a kill leaves: the registry of live processes, which holds a secret.
    expect(fs.readdirSync(path.join(a.home, ".claude", "sessions"))).not.toEqual([]);
    put(b, sessionId, fs.readFileSync(transcript));
    await a.die();

    const answer = await b.claude("And? [[recall CODEWORD-\\d|interrupted]]", { args: ["--resume", sessionId] }).done();
    for (const word of ["CODEWORD-1", "CODEWORD-2", "CODEWORD-3", "interrupted"]) expect(answer).toContain(word);
  });

  test("a generated session of a megabyte is resumed with every turn", async () => {
    const machine = machines.add();
    const session = claudeSession({ bytes: 1_000_000, cwd: machine.cwd });
    put(machine, session.sessionId, session.bytes);
    const args = ["--resume", session.sessionId];
    const answer = await machine.claude("And? [[recall MARK-\\d+]]", { args }).done();
    const marks = Array.from({ length: session.turns }, (_, i) => `MARK-${i + 1}`);
    expect(answer).toContain(`found=${JSON.stringify(marks)}`);
  });
});

interface Line {
  readonly type: string;
  readonly [field: string]: unknown;
}

function linesOf(file: string): Line[] {
  const lines = fs.readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

function transcriptsOn(machine: Machine): string[] {
  const projects = path.join(machine.home, ".claude", "projects");
  const names = fs.readdirSync(projects, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".jsonl")).map((name) => path.join(projects, name));
}

/** The directories of these tests have short plain names. */
function transcriptOf({ home, cwd }: Machine, sessionId: string): string {
  return path.join(home, ".claude", "projects", cwd.replace(/[^a-zA-Z0-9]/g, "-"), `${sessionId}.jsonl`);
}

function put(machine: Machine, sessionId: string, bytes: Uint8Array): void {
  const file = transcriptOf(machine, sessionId);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, bytes, { mode: 0o600 });
}

/** The paths of all files and empty folders in the home, with everything that differs from run to run replaced. */
function kindsOn(machine: Machine, { sessionId }: RichSession): string[] {
  const key = machine.cwd.replace(/[^a-zA-Z0-9]/g, "-");
  const kinds = fs.readdirSync(machine.home, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const place = path.join(machine.home, name);
    const isFolder = fs.lstatSync(place).isDirectory();
    if (isFolder && fs.readdirSync(place).length > 0) return [];
    const kind = `${name}${isFolder ? "/" : ""}`.replace(sessionId, "<session>").replace(key, "<key>");
    return kind
      .replace(/^(\.claude\/(?:backups|plugins|sessions|shell-snapshots)\/).+$/, "$1<file>")
      .replace(/\/claude-\d+\//, "/claude-<uid>/")
      .replace(/\/[0-9a-f]{16}@v\d+$/, "/<hash>@v<n>")
      .replace(/\/agent-[0-9a-f]{17}\./, "/agent-<id>.")
      .replace(/\/\w+\.txt$/, "/<id>.txt")
      .replace(/\/\w+\.output$/, "/<id>.output")
      .replace(/\/\d+\.json$/, "/<n>.json");
  });
  return [...new Set(kinds)].toSorted();
}
