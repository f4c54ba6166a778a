// The rights of a store's files: real modes, under a umask that forbids nothing and under the usual one.
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { realEnvironment } from "../../../core/environment.ts";
import { open } from "../../../open.ts";
import { fileBlobs } from "../../blobs/file.ts";

let folder: string;
let umask: number;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), "holdfast-modes-"));
  umask = process.umask();
});
afterEach(() => {
  process.umask(umask);
  fs.rmSync(folder, { recursive: true, force: true });
});

/** Of every file and directory below it. */
function modes(): Record<string, string> {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(
    names.toSorted().map((name) => [name, (fs.lstatSync(path.join(folder, name)).mode & 0o777).toString(8)]),
  );
}

async function append(hf: Awaited<ReturnType<typeof open>>, content = "hello"): Promise<void> {
  await hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
}

describe.each([
  ["0", 0],
  ["022", 0o022],
  ["077", 0o077],
])("under umask %s", (_, mask) => {
  test.each([
    ["600", undefined],
    ["660", 0o660],
    ["640", 0o640],
  ])("ST16 a store and what SQLite keeps beside it have mode %s", async (mode, fileMode) => {
    process.umask(mask);
    const options = fileMode === undefined ? {} : { fileMode };
    const hf = await open(path.join(folder, "store.db"), options);
    await append(hf);
    expect(modes()).toEqual({ "store.db": mode, "store.db-shm": mode, "store.db-wal": mode });
    await hf.blobs.gc({ vacuum: true });
    await hf.close();
    const again = await open(path.join(folder, "store.db"));
    await append(again);
    expect(modes()).toEqual({ "store.db": mode, "store.db-shm": mode, "store.db-wal": mode });
    await again.close();
  });

  test.each([
    ["600", "700", undefined],
    ["660", "770", 0o660],
  ])("ST16 blobs in files have mode %s, and their directories %s", async (mode, directoryMode, fileMode) => {
    process.umask(mask);
    const backend = fileBlobs(path.join(folder, "blobs"), fileMode === undefined ? {} : { fileMode });
    await backend.put("ab/cd/key", Buffer.from("bytes"));
    for await (const _entry of backend.list()) break;
    const found = Object.entries(modes());
    const isFile = (name: string) => fs.lstatSync(path.join(folder, name)).isFile();
    expect(new Set(found.filter(([name]) => isFile(name)).map(([, is]) => is))).toEqual(new Set([mode]));
    expect(new Set(found.filter(([name]) => !isFile(name)).map(([, is]) => is))).toEqual(new Set([directoryMode]));
  });
});

test("ST16 a link to where nothing is yet leads to a file of the same mode", async () => {
  process.umask(0);
  fs.symlinkSync("real.db", path.join(folder, "link.db"));
  const hf = await open(path.join(folder, "link.db"));
  await append(hf);
  expect(modes()["real.db"]).toBe("600");
  await hf.close();
});

test.each([0o777, 0o400, 0o1600, 0o601, -1, 1.5, "600"])("ST16 a fileMode of %s is refused", async (fileMode) => {
  const options = { fileMode: fileMode as number };
  await expect(open(path.join(folder, "store.db"), options)).rejects.toMatchObject({ code: "InvalidArgument" });
  expect(() => fileBlobs(folder, options)).toThrow(/fileMode must be/);
  expect(fs.readdirSync(folder)).toEqual([]);
});

describe("a store that is there", () => {
  let told: unknown[];
  const openTold = (options = {}) => {
    told = [];
    const log = (level: string, event: string, fields?: object) => told.push([level, event, fields]);
    return open(path.join(folder, "store.db"), { environment: { ...realEnvironment(), log }, ...options });
  };

  test.each([
    ["644", 0o644, {}, 1],
    ["666", 0o666, {}, 1],
    ["604", 0o604, {}, 1],
    ["660, for a group", 0o660, {}, 0],
    ["600", 0o600, {}, 0],
    ["644 on purpose", 0o644, { fileMode: 0o644 }, 0],
  ])("ST16 of mode %s keeps it; whether others can read it is told", async (_, mode, options, times) => {
    const file = path.join(folder, "store.db");
    await (await open(file)).close();
    fs.chmodSync(file, mode);
    const hf = await openTold(options);
    await append(hf);
    const shown = mode.toString(8);
    expect(modes()).toEqual({ "store.db": shown, "store.db-shm": shown, "store.db-wal": shown });
    const warning = ["warn", "store.exposed", expect.objectContaining({ path: file, mode: shown })];
    expect(told.filter((one) => String(one).includes("store.exposed"))).toEqual(times === 0 ? [] : [warning]);
    await hf.close();
  });
});
