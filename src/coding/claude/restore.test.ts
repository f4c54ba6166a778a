// What is put back is what was captured, under the new directory's key, all of it or nothing.
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import * as path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  newFolder,
  OTHER,
  SESSION,
  snapshot,
  sourceOf,
  sourceWith,
  transcript,
  write,
  writeRichSession,
} from "../../../test/coding/claude-tree.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { type ClaudeTarget, restoreClaude } from "./restore.ts";
import { findClaudeSession, projectKey } from "./session-files.ts";

let root: string;
let oldCwd: string;
let from: { configDir: string; key: string };
let to: { configDir: string; cwd: string };
let key: string;
beforeEach(() => {
  root = newFolder();
  oldCwd = path.join(root, "old/app");
  from = { configDir: path.join(root, "home-a/.claude"), key: projectKey(oldCwd) };
  to = { configDir: path.join(root, "new/home-b/.claude"), cwd: path.join(root, "new/work_é dir") };
  mkdirSync(to.cwd, { recursive: true });
  key = projectKey(to.cwd);
});

const TRANSCRIPT = `project/${SESSION}.jsonl`;
const there = (...names: string[]) => path.join(to.configDir, "projects", key, ...names);
const main = () => there(`${SESSION}.jsonl`);
const text = (file: string) => readFileSync(file, "utf8");
const restore = (source: CaptureSource, more: Partial<ClaudeTarget> = {}) => restoreClaude(source, { ...to, ...more });

async function rich(): Promise<CaptureSource> {
  writeRichSession(from, oldCwd);
  return sourceOf(await findClaudeSession({ sessionId: SESSION, configDir: from.configDir }));
}

function holding(files: Record<string, string>): CaptureSource {
  const origin = { agent: "claude-code" as const, sessionId: SESSION, cwd: oldCwd, agentVersion: null, ...from };
  return sourceWith(origin, new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])));
}

describe("CA3 restore", () => {
  test("CA1 puts back every file byte for byte under the new directory's key", async () => {
    const source = await rich();
    const restored = await restore(source);
    const found = await findClaudeSession({ sessionId: SESSION, configDir: to.configDir, cwd: to.cwd });
    expect(found.key).toBe(key);
    expect(sourceOf(found).files).toEqual(source.files);
    expect(restored).toMatchObject({
      agent: "claude-code",
      sessionId: SESSION,
      cwd: to.cwd,
      configDir: to.configDir,
      key,
      left: [],
      kept: [],
      outcome: "restored",
      files: source.files.length,
      written: source.files.length,
      rewritten: 0,
      messages: 6,
      lines: 7,
      lastUuid: "u5",
      bytes: source.files.reduce((sum, file) => sum + file.size, 0),
    });
  });

  test("readable by its owner only, with the time of now, and nothing beside it", async () => {
    writeRichSession(from, oldCwd);
    const old = path.join(from.configDir, "tasks", SESSION, "1.json");
    utimesSync(old, 1000, 1000);
    await restore(await rich());
    const modes = new Set([...snapshot(to.configDir).values()].map((what) => what.split(" ")[0]));
    expect(modes).toEqual(new Set(["700", "600"]));
    expect(lstatSync(path.join(to.configDir, "tasks", SESSION, "1.json")).mtimeMs).toBeGreaterThan(1_000_000_000_000);
    expect([...snapshot(to.configDir).keys()].filter((name) => name.includes(".holdfast"))).toEqual([]);
  });

  test("under the fixed key when one is given", async () => {
    await restore(await rich(), { key: "box_1" });
    expect(existsSync(path.join(to.configDir, "projects/box_1", `${SESSION}.jsonl`))).toBe(true);
    await expect(restore(await rich(), { key: "../x" })).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  test("the transcript comes last: who sees it sees all the rest", async () => {
    const tasks = Array.from({ length: 500 }, (_, i) => [`tasks/${SESSION}/${i}.json`, "{}"]);
    await restore(holding({ [TRANSCRIPT]: transcript(2, oldCwd), ...Object.fromEntries(tasks) }));
    const movedAt = (file: string) => lstatSync(file, { bigint: true }).ctimeNs;
    const others = tasks.map(([name]) => movedAt(path.join(to.configDir, String(name))));
    expect(others.filter((at) => at > movedAt(main()))).toEqual([]);
  });

  test("a session without lines, and one without anything else, is put back", async () => {
    expect(await restore(holding({ [TRANSCRIPT]: "" }))).toMatchObject({
      messages: 0,
      lines: 0,
      lastUuid: null,
      files: 1,
    });
    expect(text(main())).toBe("");
  });

  test("counts each message of the main conversation once", async () => {
    const double =
      transcript(4, oldCwd) + transcript(4, oldCwd) + transcript(3, oldCwd, { isSidechain: true, uuid: "s" });
    expect(await restore(holding({ [TRANSCRIPT]: `\uFEFF${double}{"uuid":"torn` }))).toMatchObject({
      messages: 4,
      lines: 15,
      lastUuid: "s",
    });
  });
});

describe("CA3 a session that is here already", () => {
  const long = () => transcript(6, oldCwd);
  const short = () => transcript(4, oldCwd);
  const task = `tasks/${SESSION}/1.json`;
  const taskHere = () => path.join(to.configDir, task);

  test("the same: nothing is written, what is missing is added, what differs stays", async () => {
    const source = holding({ [TRANSCRIPT]: long(), [task]: "captured", [`tasks/${SESSION}/2.json`]: "two" });
    await restore(source);
    const before = snapshot(root);
    expect(await restore(source)).toMatchObject({ outcome: "unchanged", written: 0, files: 3, left: [], messages: 6 });
    expect(snapshot(root)).toEqual(before);
    write(taskHere(), "here");
    rmSync(path.join(to.configDir, `tasks/${SESSION}/2.json`));
    const again = await restore(source);
    expect(again).toMatchObject({ outcome: "unchanged", written: 1, files: 2 });
    expect(again.left).toEqual([{ path: task, why: "the file on this machine differs, and is kept" }]);
    expect(text(taskHere())).toBe("here");
    expect(await restore(source, { overwrite: true })).toMatchObject({
      written: 1,
      left: [],
      kept: [expect.any(String)],
    });
    expect(text(taskHere())).toBe("captured");
  });

  test("the beginning of what was captured: replaced, with its files", async () => {
    write(main(), short());
    write(taskHere(), "old");
    expect(await restore(holding({ [TRANSCRIPT]: long(), [task]: "new" }))).toMatchObject({
      outcome: "restored",
      messages: 6,
    });
    expect([text(main()), text(taskHere())]).toEqual([long(), "new"]);
  });

  test("its beginning, with files that went on here: those stay, what went another way is kept beside", async () => {
    const agent = `project/${SESSION}/subagents/agent-a1.jsonl`;
    write(main(), short());
    write(taskHere(), "mine");
    write(there(SESSION, "subagents/agent-a1.jsonl"), "one\ntwo\nthree\n");
    const restored = await restore(holding({ [TRANSCRIPT]: long(), [task]: "captured", [agent]: "one\n" }));
    expect(restored.left).toEqual([{ path: agent, why: "the file on this machine continues it, and is newer" }]);
    expect(text(there(SESSION, "subagents/agent-a1.jsonl"))).toBe("one\ntwo\nthree\n");
    expect(text(taskHere())).toBe("captured");
    expect(restored.kept.map((file) => text(file))).toEqual(["mine"]);
  });

  test("goes on from what was captured: it stays, and that is said", async () => {
    write(main(), long());
    write(taskHere(), "newer");
    const before = snapshot(root);
    const restored = await restore(holding({ [TRANSCRIPT]: short(), [task]: "older" }));
    expect(restored).toMatchObject({ outcome: "newer", written: 0, files: 0, bytes: 0, messages: 6, lastUuid: "u5" });
    expect(restored.left.map((file) => file.path)).toEqual([TRANSCRIPT, task]);
    expect(snapshot(root)).toEqual(before);
  });

  test("went on apart: Conflict, and with overwrite it is kept where Claude Code does not see it", async () => {
    const apart = short() + transcript(1, "/elsewhere");
    write(main(), apart);
    write(taskHere(), "mine");
    const before = snapshot(root);
    const source = holding({ [TRANSCRIPT]: long(), [task]: "captured" });
    await expect(restore(source)).rejects.toMatchObject({ code: "Conflict" });
    expect(snapshot(root)).toEqual(before);
    const { kept, outcome } = await restore(source, { overwrite: true });
    expect([outcome, text(main()), text(taskHere())]).toEqual(["restored", long(), "captured"]);
    expect(kept.map((file) => text(file))).toEqual([apart, "mine"].sort((a) => (a === "mine" ? 1 : -1)));
    for (const file of kept) expect(file).toMatch(/\.holdfast-[0-9a-f]{12}$/);
    const found = await findClaudeSession({ sessionId: SESSION, configDir: to.configDir });
    expect(found.files.map((file) => file.path)).toEqual([TRANSCRIPT, task]);
  });

  test("in another directory, where it went further: Conflict, for they share the task list", async () => {
    const elsewhere = path.join(to.configDir, "projects/-other", `${SESSION}.jsonl`);
    write(elsewhere, long());
    await expect(restore(holding({ [TRANSCRIPT]: short() }))).rejects.toMatchObject({ code: "Conflict" });
    expect(existsSync(main())).toBe(false);
    expect(await restore(holding({ [TRANSCRIPT]: `${long()}\n` }))).toMatchObject({ outcome: "restored" });
  });

  test("files of it that were not captured stay, and are named", async () => {
    write(taskHere(), "mine");
    const fresh = await restore(holding({ [TRANSCRIPT]: long() }), { configDir: to.configDir });
    expect(fresh.left.map((file) => file.path)).toEqual([task]);
    write(main(), short());
    const { left } = await restore(holding({ [TRANSCRIPT]: long() }));
    expect(left).toEqual([{ path: task, why: "this machine had it, and it is not part of the capture" }]);
    expect(text(taskHere())).toBe("mine");
  });

  test("a sub-agent of another session in the old layout is not replaced, and none is smuggled in", async () => {
    const agent = "project/agent-0abc.jsonl";
    const theirs = transcript(1, oldCwd).replaceAll(SESSION, OTHER);
    write(there("agent-0abc.jsonl"), theirs);
    const { left } = await restore(holding({ [TRANSCRIPT]: long(), [agent]: transcript(2, oldCwd) }));
    expect(left.map((file) => file.path)).toEqual([agent]);
    expect(text(there("agent-0abc.jsonl"))).toBe(theirs);
    const before = snapshot(root);
    const smuggled = holding({ [TRANSCRIPT]: long(), "project/agent-1.jsonl": theirs });
    await expect(restore(smuggled)).rejects.toMatchObject({ code: "InvalidArgument" });
    expect(snapshot(root)).toEqual(before);
  });
});

describe("CA3 rewriting paths", () => {
  const lineOf = (said: string) =>
    `${JSON.stringify({ uuid: "u", type: "user", sessionId: SESSION, message: said })}\n`;
  const rewritten = async (said: string) => {
    const source = holding({ [TRANSCRIPT]: lineOf(said) });
    const restored = await restore(source, { rewritePaths: true, overwrite: true });
    return { said: JSON.parse(text(main())).message, rewritten: restored.rewritten };
  };

  test("the session's own files are named where they are now, nothing else is touched", async () => {
    const old = `${from.configDir}/projects/${from.key}`;
    const now = `${to.configDir}/projects/${key}`;
    expect(await rewritten(`see\n${old}/${SESSION}/tool-results/a.txt, "${old}"`)).toEqual({
      said: `see\n${now}/${SESSION}/tool-results/a.txt, "${now}"`,
      rewritten: 1,
    });
    expect((await rewritten(`${from.configDir}/tasks/${SESSION}/1.json`)).said).toBe(
      `${to.configDir}/tasks/${SESSION}/1.json`,
    );
    const others = [
      `/mnt${old}/x`,
      `${old}-2/x`,
      `x${old}`,
      `${old}.bak`,
      `${from.configDir}/settings.json`,
      `${old}é`,
    ];
    for (const said of [...others, `${from.configDir}/tasks/${OTHER}/1.json`, "\\n".concat(old.slice(1))]) {
      expect(await rewritten(said)).toEqual({ said, rewritten: 0 });
    }
  });

  test("off by default, and bytes that are no text stay as they are", async () => {
    const old = `${from.configDir}/projects/${from.key}/x`;
    await restore(holding({ [TRANSCRIPT]: lineOf(old) }));
    expect(text(main())).toBe(lineOf(old));
    const origin = holding({});
    const bytes = Buffer.concat([Buffer.from([255, 0, 10, 254]), Buffer.from(` ${old}\n\\ud800`), Buffer.from([128])]);
    const source = sourceWith(origin, new Map([[TRANSCRIPT, bytes]]), 3);
    await restore(source, { rewritePaths: true, overwrite: true });
    const now = `${to.configDir}/projects/${key}/x`;
    const expected = Buffer.concat([
      Buffer.from([255, 0, 10, 254]),
      Buffer.from(` ${now}\n\\ud800`),
      Buffer.from([128]),
    ]);
    expect(readFileSync(main()).equals(expected)).toBe(true);
  });
});

describe("CA3 nothing partial", () => {
  const refuses = async (source: CaptureSource, code: string, more: Partial<ClaudeTarget> = {}) => {
    const before = snapshot(root);
    await expect(restore(source, more)).rejects.toMatchObject({ code });
    expect(snapshot(root)).toEqual(before);
  };

  test.each([
    ["/etc/passwd"],
    ["../x"],
    [`project/${SESSION}/../../x`],
    [`project/${SESSION}/./x`],
    [`project/${SESSION}//x`],
    [`project/${SESSION}/`],
    [`project/${SESSION}`],
    [`project/${SESSION}/a\\b`],
    [`project/${SESSION}/C:x`],
    [`project/${SESSION}/nul.txt`],
    [`project/${SESSION}/a\0b`],
    [`project/${SESSION}/\ud800`],
    [`project/${SESSION}/${"a".repeat(256)}`],
    [`project/${SESSION}/${"a/".repeat(20)}b`],
    [`project/${OTHER}.jsonl`],
    [`project/${OTHER}/x`],
    [`tasks/${OTHER}/1.json`],
    [`tasks/${SESSION}/.lock`],
    [`tasks/${SESSION}`],
    [`TASKS/${SESSION}/1.json`],
    [`todos/${OTHER}-agent-1.json`],
    [`todos/${SESSION}-agent-1/x.json`],
    [`sessions/${SESSION}/1.json`],
    [`project/${SESSION}/.credentials.json`],
    ["project/settings.json"],
    ["settings.json"],
    [".claude.json"],
    ["projects/x"],
    ["export/ses.json"],
    [""],
  ])("a path that is not of this session is refused: %j", async (name) => {
    await refuses(holding({ [TRANSCRIPT]: "{}\n", [name]: "x" }), "InvalidArgument");
  });

  test("a file twice, a file that is also a directory, no transcript, another agent, a bad id, a bad size", async () => {
    const one = holding({ [TRANSCRIPT]: "{}\n" });
    await refuses({ ...one, files: [...one.files, ...one.files] }, "InvalidArgument");
    const both = { [`tasks/${SESSION}/a`]: "1", [`tasks/${SESSION}/a/b`]: "2" };
    await refuses(holding({ [TRANSCRIPT]: "{}\n", ...both }), "InvalidArgument");
    await refuses(holding({ [`tasks/${SESSION}/a`]: "1" }), "NotFound");
    await refuses({ ...one, agent: "opencode" }, "InvalidArgument");
    await refuses({ ...one, sessionId: "../x" }, "InvalidId");
    for (const size of [-1, 0.5, Number.NaN]) {
      await refuses({ ...one, files: one.files.map((file) => ({ ...file, size })) }, "InvalidArgument");
    }
    const huge = one.files.map((file) => ({ ...file, size: 2 ** 50 }));
    await refuses({ ...one, files: huge }, "LimitExceeded");
    const many = Array.from({ length: 50_001 }, (_, i) => ({
      role: "task" as const,
      path: `tasks/${SESSION}/${i}`,
      size: 0,
      ref: "",
      stored: 0,
    }));
    await refuses({ ...one, files: many }, "LimitExceeded");
    await refuses(one, "MissingDirectory", { cwd: path.join(root, "none") });
  });

  test("wrong hashes, short and long reads, a read that throws half-way: of any file", async () => {
    const source = await rich();
    const cases: ((pieces: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>)[] = [
      async function* wrong(pieces) {
        for await (const piece of pieces) yield piece.map((byte) => byte ^ 1);
      },
      async function* short(pieces) {
        for await (const piece of pieces) yield piece.subarray(1);
      },
      async function* long(pieces) {
        yield* pieces;
        yield new Uint8Array(1);
      },
    ];
    for (const file of source.files) {
      for (const bad of cases) {
        const read = (name: string) => (name === file.path ? bad(source.read(name)) : source.read(name));
        await refuses({ ...source, read }, "BlobCorrupted");
        await refuses({ ...source, read }, "BlobCorrupted", { rewritePaths: true });
      }
      const broken = { code: "Aborted" };
      async function* throws(name: string) {
        if (name !== file.path) return yield* source.read(name);
        yield new Uint8Array(1).fill(123);
        throw broken;
      }
      await refuses({ ...source, read: throws }, "Aborted");
    }
  });

  test("a read that does not end is not waited for", async () => {
    async function* endless() {
      for (;;) yield new Uint8Array(100_000);
    }
    await refuses({ ...holding({ [TRANSCRIPT]: "{}\n" }), read: endless }, "BlobCorrupted");
  });

  test("links on the way lead nowhere", async () => {
    const source = await rich();
    const outside = path.join(root, "outside");
    mkdirSync(outside);
    for (const name of [
      "projects",
      `projects/${key}`,
      "tasks",
      `file-history/${SESSION}`,
      `projects/${key}/${SESSION}/subagents`,
    ]) {
      const link = path.join(to.configDir, name);
      mkdirSync(path.dirname(link), { recursive: true });
      symlinkSync(outside, link);
      await refuses(source, "InvalidArgument");
      rmSync(to.configDir, { recursive: true });
    }
    // A link in the place of a file is replaced, not written through.
    write(path.join(outside, "precious"), "precious");
    const task = path.join(to.configDir, "tasks", SESSION, "1.json");
    mkdirSync(path.dirname(task), { recursive: true });
    symlinkSync(path.join(outside, "precious"), task);
    await restore(source);
    expect([text(path.join(outside, "precious")), text(task)]).toEqual(["precious", '{"id":"1"}']);
    rmSync(main());
    symlinkSync(path.join(outside, "precious"), main());
    await refuses(source, "Conflict");
    await restore(source, { overwrite: true });
    expect(text(path.join(outside, "precious"))).toBe("precious");
  });

  test("something in the way of a file, or of a directory", async () => {
    const source = await rich();
    mkdirSync(path.join(to.configDir, "tasks", SESSION, "1.json"), { recursive: true });
    await refuses(source, "InvalidArgument");
    rmSync(to.configDir, { recursive: true });
    write(path.join(to.configDir, "file-history"), "no directory");
    await refuses(source, "InvalidArgument");
    rmSync(to.configDir, { recursive: true });
    write(to.configDir, "no directory");
    await refuses(source, "InvalidArgument");
  });

  test("a directory that may not be written to, met when half of it is moved: all is as it was", async () => {
    const source = await rich();
    write(path.join(to.configDir, "file-history", SESSION, "0123456789abcdef@v1"), "mine");
    write(main(), "");
    const locked = path.join(to.configDir, "tasks");
    mkdirSync(locked, { recursive: true });
    await asNobody(root, async () => {
      chmodSync(locked, 0o555);
      await refuses(source, "PermissionDenied");
      chmodSync(locked, 0o755);
      chmodSync(to.configDir, 0o555);
      await refuses(source, "PermissionDenied");
      chmodSync(to.configDir, 0o755);
      expect(await restore(source)).toMatchObject({ outcome: "restored" });
    });
  });
});

/** Root may write anywhere, so it steps down for as long as this takes. */
async function asNobody(folder: string, work: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return work();
  for (const name of snapshot(folder).keys()) chownSync(path.join(folder, name), 65534, 65534);
  process.seteuid?.(65534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}
