// Files that the command line writes: whole, readable by their owner only, and never through a link that another user
// planted.
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileOut } from "./bytes.ts";
import type { Io } from "./io.ts";
import { processIo } from "./main.ts";

let folder: string;
let umask: number;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), "holdfast-bytes-"));
  umask = process.umask(0o022);
});
afterEach(() => {
  process.umask(umask);
  fs.rmSync(folder, { recursive: true, force: true });
});

const io = (env: Io["env"] = {}) => processIo({ cwd: folder, env });
const modeOf = (name: string) => (fs.lstatSync(path.join(folder, name)).mode & 0o777).toString(8);

async function write(name: string, env: Io["env"] = {}): Promise<void> {
  const out = await fileOut(name, io(env));
  await out.write(Buffer.from("ours"));
  await out.finish();
}

test.each([
  ["0", 0, undefined, "600"],
  ["022", 0o022, undefined, "600"],
  ["077, and a group", 0o077, "660", "660"],
  ["0, and a group that reads", 0, "0640", "640"],
])("ST16 a file has its mode whatever the umask: %s", async (_, mask, mode, expected) => {
  process.umask(mask);
  await write("a", mode === undefined ? {} : { HOLDFAST_FILE_MODE: mode });
  expect(modeOf("a")).toBe(expected);
  expect(fs.readdirSync(folder)).toEqual(["a"]);
});

test.each(["6", "rw", "777", "400", "1600"])(
  "ST16 a mode of %s is refused before anything is written",
  async (mode) => {
    await expect(write("a", { HOLDFAST_FILE_MODE: mode })).rejects.toThrow(/HOLDFAST_FILE_MODE is/);
    expect(fs.readdirSync(folder)).toEqual([]);
  },
);

test("ST16 links in place of the file, or where one would be written first, are not followed", async () => {
  fs.writeFileSync(path.join(folder, "theirs"), "theirs");
  for (const name of ["a", `a.${process.pid}.partial`]) fs.symlinkSync("theirs", path.join(folder, name));
  await write("a");
  expect(fs.readFileSync(path.join(folder, "theirs"), "utf8")).toBe("theirs");
  expect(fs.lstatSync(path.join(folder, "a")).isFile()).toBe(true);
  expect(fs.readFileSync(path.join(folder, "a"), "utf8")).toBe("ours");
});

test("ST16 a file goes into the directory that was there at the beginning", async () => {
  fs.mkdirSync(path.join(folder, "inside"));
  fs.mkdirSync(path.join(folder, "outside"));
  const out = await fileOut("inside/a", io());
  fs.renameSync(path.join(folder, "inside"), path.join(folder, "aside"));
  fs.symlinkSync("outside", path.join(folder, "inside"));
  await out.write(Buffer.from("ours"));
  await out.finish();
  expect(fs.readdirSync(path.join(folder, "outside"))).toEqual([]);
  expect(fs.readdirSync(path.join(folder, "aside"))).toEqual(["a"]);
});

test("ST16 a device is written to and stays what it is", async () => {
  await write("/dev/null");
  expect(fs.statSync("/dev/null").isCharacterDevice()).toBe(true);
});
