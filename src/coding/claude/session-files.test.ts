// All files of a session are found, by whatever it is named, and nothing else.
import { mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import * as path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  newFolder,
  OTHER,
  SESSION,
  transcript,
  write,
  writeRichSession,
  writeStrangers,
} from "../../../test/coding/claude-tree.ts";
import { findClaudeSession, listClaudeSessions, projectKey } from "./session-files.ts";

let root: string;
let cwd: string;
let configDir: string;
let key: string;
beforeEach(() => {
  root = newFolder();
  cwd = path.join(root, "work.dir");
  mkdirSync(cwd);
  configDir = path.join(root, "home/.claude");
  key = projectKey(cwd);
});

const project = (...names: string[]) => path.join(configDir, "projects", ...names);

describe("CA1 a session on disk", () => {
  test("has all its files, of both layouts, and nothing else", async () => {
    writeRichSession({ configDir, key }, cwd);
    writeStrangers({ configDir, key }, cwd);
    const found = await findClaudeSession({ sessionId: SESSION, configDir, cwd });
    expect(found).toMatchObject({
      agent: "claude-code",
      sessionId: SESSION,
      cwd,
      configDir,
      key,
      agentVersion: "2.1.325",
    });
    expect(found.files.map((file) => [file.path, file.role, file.grows])).toEqual([
      [`project/${SESSION}.jsonl`, "transcript", true],
      [`project/${SESSION}/subagents/agent-a1b2.jsonl`, "subagent", true],
      [`project/${SESSION}/subagents/agent-a1b2.meta.json`, "subagent", false],
      [`project/${SESSION}/tool-results/toolu_1.txt`, "tool-result", false],
      [`project/${SESSION}/workflows/deep/wf_1.json`, "other", false],
      ["project/agent-0abc123.jsonl", "subagent", true],
      [`file-history/${SESSION}/0123456789abcdef@v1`, "file-history", false],
      [`session-env/${SESSION}/hook-0.sh`, "other", false],
      [`tasks/${SESSION}/.highwatermark`, "task", false],
      [`tasks/${SESSION}/1.json`, "task", false],
      [`todos/${SESSION}-agent-${SESSION}.json`, "task", false],
    ]);
    expect(found.left).toEqual([]);
    expect(found.files.find((file) => file.role === "tool-result")).toMatchObject({
      size: 5000,
      file: project(key, SESSION, "tool-results/toolu_1.txt"),
    });
  });

  test("onlyMessages: the transcript and sub-agents", async () => {
    writeRichSession({ configDir, key }, cwd);
    const found = await findClaudeSession({ sessionId: SESSION, configDir, onlyMessages: true });
    expect(new Set(found.files.map((file) => file.role))).toEqual(new Set(["transcript", "subagent"]));
  });

  test("links, special names and the like are not followed; they are named", async () => {
    write(project(key, `${SESSION}.jsonl`), transcript(1, cwd));
    write(path.join(root, "secret"), "secret");
    write(project(key, SESSION, "tool-results/a:b.txt"), "a");
    symlinkSync(path.join(root, "secret"), project(key, SESSION, "link"));
    symlinkSync(root, project(key, SESSION, "folder"));
    mkdirSync(path.join(configDir, "tasks"));
    symlinkSync(root, path.join(configDir, "tasks", SESSION));
    symlinkSync(path.join(root, "secret"), project(key, "agent-1.jsonl"));
    const found = await findClaudeSession({ sessionId: SESSION, configDir });
    expect(found.files.map((file) => file.path)).toEqual([`project/${SESSION}.jsonl`]);
    expect(found.left.map((file) => file.path)).toEqual([
      `project/${SESSION}/folder`,
      `project/${SESSION}/link`,
      `project/${SESSION}/tool-results/a:b.txt`,
      `tasks/${SESSION}`,
    ]);
  });

  test("a transcript that is a link is no session", async () => {
    write(path.join(root, "secret"), "secret");
    mkdirSync(project(key), { recursive: true });
    symlinkSync(path.join(root, "secret"), project(key, `${SESSION}.jsonl`));
    await expect(findClaudeSession({ sessionId: SESSION, configDir })).rejects.toMatchObject({ code: "NotFound" });
    const transcriptPath = project(key, `${SESSION}.jsonl`);
    await expect(findClaudeSession({ transcriptPath, configDir })).rejects.toMatchObject({ code: "NotFound" });
  });

  test("of several copies the directory's own is meant, else the longest, else the newest", async () => {
    write(project(key, `${SESSION}.jsonl`), transcript(1, cwd));
    write(project("-long", `${SESSION}.jsonl`), transcript(9, "/long"));
    write(project("-old", `${SESSION}.jsonl`), transcript(9, "/olda"));
    utimesSync(project("-old", `${SESSION}.jsonl`), 1000, 1000);
    const find = async (options: object) => findClaudeSession({ sessionId: SESSION, configDir, ...options });
    expect(await find({ cwd })).toMatchObject({ key, cwd });
    expect(await find({ key: "-old" })).toMatchObject({ key: "-old" });
    const found = await find({ cwd: "/nowhere" });
    expect(found.key).toBe("-long");
    expect(found.copies).toEqual([project("-old", `${SESSION}.jsonl`), project(key, `${SESSION}.jsonl`)]);
    utimesSync(project("-long", `${SESSION}.jsonl`), 10, 10);
    expect(await find({})).toMatchObject({ key: "-old" });
    rmSync(cwd, { recursive: true });
    expect(await find({ cwd })).toMatchObject({ key });
  });

  test("by the path of its transcript, below this config directory only", async () => {
    write(project(key, `${SESSION}.jsonl`), transcript(1, cwd));
    const transcriptPath = project(key, `${SESSION}.jsonl`);
    expect(await findClaudeSession({ transcriptPath, configDir })).toMatchObject({ sessionId: SESSION, key });
    const elsewhere = { transcriptPath, configDir: path.join(root, "other") };
    await expect(findClaudeSession(elsewhere)).rejects.toMatchObject({ code: "InvalidArgument" });
    const outside = project(key, "..", "..", `${SESSION}.jsonl`);
    write(outside, "{}");
    const bad = { transcriptPath: outside, configDir };
    await expect(findClaudeSession(bad)).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  test.each(["", "..", "../x", "a", `${SESSION}/..`, `${SESSION}\n`, `${SESSION}*`, "*", undefined])(
    "an id that is no UUID is refused: %j",
    async (sessionId) => {
      const options = { configDir, ...(sessionId === undefined ? {} : { sessionId }) };
      await expect(findClaudeSession(options)).rejects.toMatchObject({ code: "InvalidId" });
    },
  );

  test("one that is not there is NotFound", async () => {
    await expect(findClaudeSession({ sessionId: SESSION, configDir })).rejects.toMatchObject({ code: "NotFound" });
  });
});

describe("CA1 where a session was", () => {
  const origin = async (text: string | Uint8Array) => {
    write(project(key, `${SESSION}.jsonl`), text);
    const { cwd: at, agentVersion } = await findClaudeSession({ sessionId: SESSION, configDir });
    return [at, agentVersion];
  };
  const line = (fields: object) => `${JSON.stringify(fields)}\n`;

  test("is said by its last lines, a torn one left out", async () => {
    const first = transcript(2, cwd).replaceAll("2.1.325", "2.0.1");
    expect(await origin(`${first}${transcript(1, cwd)}{"cwd":"/torn","version":"9`)).toEqual([cwd, "2.1.325"]);
  });

  test("is the directory of its key, though the agent changed its directory", async () => {
    const text = transcript(1, cwd) + line({ cwd: path.join(cwd, "sub"), version: "3" });
    expect(await origin(text)).toEqual([cwd, "3"]);
    const far = text + line({ type: "api-request", body: "x".repeat(5_000_000) });
    expect(await origin(far)).toEqual([cwd, "2.1.325"]);
    expect(await origin(line({ cwd: "/a" }) + line({ cwd: "/b" }))).toEqual(["/b", null]);
  });

  test.each(["\ud800", "x".repeat(5000)])("is not what no capture can say of itself", async (odd) => {
    const plain = line({ cwd: "/a", version: "2.1.1" });
    expect(await origin(plain + line({ cwd: `/${odd}`, version: odd }))).toEqual(["/a", "2.1.1"]);
    expect(await origin(line({ cwd: `/${odd}`, version: odd }))).toEqual(["", null]);
    const found = await findClaudeSession({ sessionId: SESSION, configDir, cwd });
    expect([found.cwd, found.agentVersion]).toEqual([cwd, null]);
  });

  test("is unknown for what has no lines, or none that can be read", async () => {
    expect(await origin("")).toEqual(["", null]);
    expect(await origin(new Uint8Array([0, 255, 10, 254, 10]))).toEqual(["", null]);
    expect(await origin('[1]\nnull\n"a"\n{"cwd":1,"version":{}}')).toEqual(["", null]);
  });
});

describe("CA1 all sessions of a user", () => {
  test("are listed by their transcripts", async () => {
    writeRichSession({ configDir, key }, cwd);
    writeStrangers({ configDir, key }, cwd);
    write(project("-b", `${SESSION}.jsonl`), "{}");
    write(project("-b", "no-session.jsonl"), "{}");
    mkdirSync(project("-b", `${OTHER}.jsonl`));
    const listed = [];
    for await (const { sessionId, key: at, size } of listClaudeSessions(configDir)) listed.push([sessionId, at, size]);
    expect(listed).toContainEqual([SESSION, key, transcript(6, cwd).length]);
    expect(listed).toContainEqual([OTHER, key, transcript(2, cwd).length]);
    expect(listed).toContainEqual([SESSION, "-b", 2]);
    expect(listed).toHaveLength(3);
  });

  test("none, where there is no config directory", async () => {
    for await (const _ of listClaudeSessions(path.join(root, "none"))) expect.unreachable();
  });
});
