// The modes of what commands write, and the warning of a store that every user of the machine can read.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { open } from "../index.ts";
import { main } from "./main.ts";
import { captureOutput } from "./output-capture.ts";

let cwd: string;
let umask: number;
beforeEach(() => {
  cwd = fs.mkdtempSync(path.join(tmpdir(), "holdfast-exposure-"));
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
  fs.rmSync(cwd, { recursive: true, force: true });
});

const run = (...argv: string[]) => captureOutput(main, argv, { cwd });
const modeOf = (name: string) => (fs.statSync(path.join(cwd, name)).mode & 0o777).toString(8);

describe("ST16 files of the command line", () => {
  test.each([
    ["600", {}],
    ["660", { HOLDFAST_FILE_MODE: "660" }],
  ])("have mode %s: the store, exports, Markdown and blobs", async (mode, env) => {
    const go = (...argv: string[]) => captureOutput(main, argv, { cwd, env });
    await go("init");
    await go("messages", "add", "chat-1", "--agent", "helper", "hello");
    expect((await go("export", "chat-1", "--out", "chat.holdfast")).code).toBe(0);
    expect((await go("export", "chat-1", "--markdown", "--out", "chat.md")).code).toBe(0);
    fs.writeFileSync(path.join(cwd, "data.bin"), "bytes");
    const ref = (await go("blobs", "put", "data.bin")).stdout.trim();
    expect((await go("blobs", "get", ref, "--out", "copy.bin")).code).toBe(0);
    for (const name of ["holdfast.db", "chat.holdfast", "chat.md", "copy.bin"]) expect(modeOf(name), name).toBe(mode);
  });

  test("a store that every user can read is named by check, stats and init, with the command that mends it", async () => {
    await run("init");
    fs.chmodSync(path.join(cwd, "holdfast.db"), 0o644);
    for (const command of ["check", "stats", "init"]) {
      const { stderr } = await run(command);
      expect(stderr, command).toContain(
        `every user of this machine can read the store; \`chmod o-rwx ${cwd}/holdfast.db`,
      );
      expect((await run(command, "--json")).stderr, command).toBe("");
    }
    expect((await run("sessions")).stderr).not.toContain("chmod");
    fs.chmodSync(path.join(cwd, "holdfast.db"), 0o600);
    expect((await run("check")).stderr).not.toContain("chmod");
  });

  test("the command that it prints works when the store is closed, and while another process has it open", async () => {
    await run("init");
    const file = path.join(cwd, "holdfast.db");
    const mend = async () => {
      const command = /`(chmod [^`]+)`/.exec((await run("check")).stderr.replaceAll("\n", " "))?.[1] ?? "";
      const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
      expect([command, status, stderr]).toEqual([expect.stringContaining("holdfast.db"), 0, ""]);
      return command;
    };
    fs.chmodSync(file, 0o644);
    expect(await mend()).toBe(`chmod o-rwx ${file}`);
    fs.chmodSync(file, 0o644);
    const other = await open(file);
    expect(await mend()).toBe(`chmod o-rwx ${file} ${file}-wal ${file}-shm`);
    for (const name of ["", "-wal", "-shm"]) expect(modeOf(`holdfast.db${name}`), name).toBe("640");
    await other.close();
  });
});
