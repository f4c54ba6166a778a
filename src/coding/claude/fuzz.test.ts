// Generated sessions come back byte for byte in another home and directory; generated attacks leave no trace.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import * as path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  newFolder,
  originIn,
  SESSION,
  snapshot,
  sourceOf,
  sourceWith,
  write,
} from "../../../test/coding/claude-tree.ts";
import type { CapturedFile } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import { checkPath } from "../../core/agent-sessions.ts";
import { scaled } from "../../testing/scale.ts";
import { restoreClaude } from "./restore.ts";
import { findClaudeSession, isNeverCaptured, projectKey } from "./session-files.ts";

const RUNS = scaled({ short: 12, long: 60 });

function isName(name: string): boolean {
  try {
    return checkPath(name).length === 1 && !isNeverCaptured(name);
  } catch {
    return false;
  }
}

const name = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      "a.txt",
      ".hidden",
      "with space",
      "日本",
      "e\u0301",
      "a@v1",
      "-rf",
      "~",
      "%2e%2e",
      "x.jsonl",
      "A",
      "a",
    ),
  )
  .filter(isName);
const line = fc.oneof(
  fc.json(),
  fc.constantFrom(
    '{"text":"\\u0000\\ud800"}',
    '{"uuid":"u1","type":"user"}',
    "",
    "{torn",
    "\uFEFF{}",
    '{"cwd":"/x","version":"1"}\r',
  ),
);
const content = fc.oneof(
  fc.constant(new Uint8Array()),
  fc.uint8Array({ maxLength: 300 }),
  fc.array(line, { maxLength: 8 }).map((lines) => Buffer.from(lines.join("\n"))),
  fc.constant(Buffer.from("\0".repeat(3000))),
);
const below = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const agentId = fc.string({ unit: fc.constantFrom(..."abcdef0123456789"), minLength: 1, maxLength: 17 });
const named = `{"sessionId":"${SESSION}","isSidechain":true}\n`;

/** Of both layouts. */
const entry = fc.oneof(
  fc.tuple(
    below.map((at) => `project/${SESSION}/${at}`),
    content,
  ),
  fc.tuple(
    agentId.map((id) => `project/${SESSION}/subagents/agent-${id}.jsonl`),
    content,
  ),
  fc.tuple(
    fc
      .tuple(fc.constantFrom("tasks", "file-history", "session-env"), below)
      .map(([top, at]) => `${top}/${SESSION}/${at}`),
    content,
  ),
  fc.tuple(
    agentId.map((id) => `project/agent-${id}.jsonl`),
    content.map((bytes) => Buffer.concat([Buffer.from(named), bytes])),
  ),
  fc.tuple(
    agentId.map((id) => `todos/${SESSION}-agent-${id}.json`),
    content,
  ),
);
const tree = fc.tuple(content, fc.array(entry, { maxLength: 12 })).map(([transcript, entries]) => {
  const files = new Map<string, Uint8Array>([[`project/${SESSION}.jsonl`, transcript]]);
  for (const [at, bytes] of entries) if (!collides(at, files)) files.set(at, bytes);
  return files;
});

function collides(at: string, files: ReadonlyMap<string, unknown>): boolean {
  return [...files.keys()].some((other) => other === at || other.startsWith(`${at}/`) || at.startsWith(`${other}/`));
}

function writeTree(configDir: string, key: string, files: ReadonlyMap<string, Uint8Array>): void {
  for (const [at, bytes] of files) write(path.join(configDir, at.replace(/^project\//, `projects/${key}/`)), bytes);
}

/** Everything below it is one attempt's; `target` is where it may write. */
function world() {
  const root = newFolder();
  const cwd = path.join(root, "wörk.dir_2");
  mkdirSync(cwd);
  return { root, cwd, configDir: path.join(root, "home/.claude"), oldConfigDir: path.join(root, "old/.claude") };
}

describe("CA1, CA3 generated sessions", () => {
  test("are collected and put back byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.integer({ min: 1, max: 5000 }), async (files, piece) => {
        const { root, cwd, configDir, oldConfigDir } = world();
        writeTree(oldConfigDir, "-old-place", files);
        const found = await findClaudeSession({ sessionId: SESSION, configDir: oldConfigDir });
        expect(found.files.map((file) => file.path).sort()).toEqual([...files.keys()].sort());
        const restored = await restoreClaude(sourceOf(found, piece), { cwd, configDir });
        expect(restored).toMatchObject({ files: files.size, left: [], outcome: "restored" });
        const again = await findClaudeSession({ sessionId: SESSION, configDir, cwd });
        expect(again.key).toBe(projectKey(cwd));
        const bytes = new Map(again.files.map((file) => [file.path, readFileSync(file.file)]));
        expect(bytes.size).toBe(files.size);
        for (const [at, wanted] of files) expect(bytes.get(at)?.equals(wanted), at).toBe(true);
        expect(await restoreClaude(sourceOf(again), { cwd, configDir })).toMatchObject({
          outcome: "unchanged",
          written: 0,
        });
        rmSync(root, { recursive: true });
      }),
      { numRuns: RUNS },
    );
  });
});

const hostilePath = fc.oneof(
  fc
    .array(
      fc.oneof(name, fc.constantFrom("..", ".", "", SESSION, "project", "tasks", "con", "a\\b", "a\0", "\ud800", "C:")),
      {
        minLength: 1,
        maxLength: 6,
      },
    )
    .map((parts) => parts.join("/")),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("/etc/x", "../x", "projects/../../x", ".credentials.json", "settings.json", `tasks/${SESSION}/.lock`),
);
const harm = fc.oneof(
  fc.record({ kind: fc.constant("path" as const), path: hostilePath }),
  fc.record({ kind: fc.constantFrom("hash", "short", "long", "throw", "twice", "size") }),
);

/** How a source may lie about a capture when it is read. */
function harmed(
  source: CaptureSource,
  victim: CapturedFile,
  { kind, ...rest }: { kind: string; path?: string },
): CaptureSource {
  const as = (change: Partial<CapturedFile>) =>
    source.files.map((file) => (file === victim ? { ...file, ...change } : file));
  async function* read(at: string): AsyncGenerator<Uint8Array> {
    if (kind === "path" || at !== victim.path) return yield* source.read(at === rest.path ? victim.path : at);
    if (kind === "long") yield new Uint8Array(7);
    if (kind === "short") {
      for await (const piece of source.read(at)) yield piece.subarray(0, -1);
      return;
    }
    yield* source.read(at);
    if (kind === "throw") throw new Error("the line is cut");
  }
  if (kind === "path") return { ...source, files: as({ path: rest.path ?? "" }), read };
  if (kind === "hash") return { ...source, files: as({ ref: `sha256:${"0".repeat(64)}` }) };
  if (kind === "size") return { ...source, files: as({ size: victim.size + 1 }) };
  if (kind === "twice") return { ...source, files: [...source.files, victim] };
  return { ...source, read };
}

describe("CA3 generated attacks", () => {
  test("write nothing outside the target, and nothing partial inside it", async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(tree, tree, harm, fc.nat(), fc.boolean(), async (files, before, how, at, overwrite) => {
        const { root, cwd, configDir } = world();
        write(path.join(root, "home/precious"), "precious");
        writeTree(configDir, projectKey(cwd), new Map([...before].slice(1)));
        const source = sourceWith(originIn(cwd), files);
        const victim = source.files[at % source.files.length];
        if (victim === undefined) return;
        if (how.kind === "short" && victim.size === 0) return;
        const then = snapshot(root);
        const failure = await restoreClaude(harmed(source, victim, how), { cwd, configDir, overwrite }).then(
          () => null,
          (error: unknown) => error,
        );
        const now = snapshot(root);
        if (failure === null) {
          // The generated path was a fair one; still nothing but this session's may have changed.
          expect(how.kind).toBe("path");
          for (const [file, was] of then)
            if (!file.includes(SESSION) && !/agent-/.test(file)) expect(now.get(file)).toBe(was);
        } else {
          refused++;
          if (how.kind !== "throw") expect(isHoldfastError(failure), String(failure)).toBe(true);
          expect(now).toEqual(then);
        }
        rmSync(root, { recursive: true });
      }),
      { numRuns: RUNS * 2 },
    );
    expect(refused).toBeGreaterThan(RUNS);
  });
});

describe("CA1, CA3 large sessions", () => {
  const COUNT = scaled({ short: 2_500, long: 10_000 });
  test(`${COUNT} files are found and put back`, async () => {
    const { cwd, configDir, oldConfigDir } = world();
    const files = new Map<string, Uint8Array>([[`project/${SESSION}.jsonl`, Buffer.from("{}\n")]]);
    for (let i = 0; i < COUNT; i++)
      files.set(`project/${SESSION}/tool-results/${i % 97}/toolu_${i}.txt`, Buffer.from(`${i}`));
    writeTree(oldConfigDir, "-old", files);
    const found = await findClaudeSession({ sessionId: SESSION, configDir: oldConfigDir });
    expect(found.files).toHaveLength(COUNT + 1);
    const restored = await restoreClaude(sourceOf(found), { cwd, configDir });
    expect(restored).toMatchObject({ files: COUNT + 1, written: COUNT + 1 });
    const again = await findClaudeSession({ sessionId: SESSION, configDir, cwd });
    expect(sourceOf(again).files).toEqual(sourceOf(found).files);
  });
});
