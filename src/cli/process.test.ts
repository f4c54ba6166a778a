// The real process: exit codes, output that nobody reads to the end, Ctrl-C, and no stack traces.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLI } from "../../test/command.ts";
import { open } from "../open.ts";

let cwd: string;
let store: string;

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  store = path.join(cwd, "holdfast.db");
  const hf = await open(store);
  const messages = Array.from({ length: 20_000 }, (_, i) => ({ role: "user" as const, content: `message ${i}` }));
  await hf.history.appendMany({ session: "long", agent: "a" }, messages);
  await hf.close();
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const start = (argv: readonly string[], env: Record<string, string> = {}) =>
  spawn(process.execPath, [CLI, ...argv], { cwd, env: { ...process.env, HOLDFAST_STORE: store, ...env } });

function run(...argv: string[]): { code: number | null; stdout: string; stderr: string } {
  const { HOLDFAST_STORE: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...argv], { cwd, env, encoding: "utf8" });
  return { code: status, stdout, stderr };
}

describe("the process", () => {
  test.each([
    [["sessions"], 0],
    [["--version"], 0],
    [["sesions"], 2],
    [["sessions", "show", "nope"], 3],
    [["sessions", "--store", "none.db"], 3],
    [["sessions", "create", "long"], 4],
    [["init", "--store", "no/where.db"], 6],
  ])("%j exits with %i", (argv, code) => {
    const ended = run(...argv);
    expect([ended.code, ended.stderr.includes("    at ")]).toEqual([code, false]);
    expect(ended.stderr).not.toContain("Warning");
  });

  test.each(["messages long --after 0", "log long --after 0 --json", "--help"])(
    "%s | head ends quietly",
    async (argv) => {
      const child = start(argv.split(" "));
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
      });
      // Reads a little and goes away, as head does.
      await once(child.stdout, "readable");
      child.stdout.destroy();
      const [code, signal]: unknown[] = await once(child, "close");
      expect([code, signal, stderr]).toEqual([0, null, ""]);
    },
  );

  const hasFull = existsSync("/dev/full");
  test.skipIf(!hasFull)(`output to a full disk is one plain line${hasFull ? "" : " (skipped: no /dev/full)"}`, () => {
    const disk = openSync("/dev/full", "w");
    for (const argv of [["sessions"], ["log", "long", "--json"], ["messages", "long", "--follow"], ["--help"]]) {
      const stdio = ["ignore", disk, "pipe"] as const;
      const { status, stderr } = spawnSync(process.execPath, [CLI, ...argv], {
        cwd,
        stdio: [...stdio],
        encoding: "utf8",
      });
      expect(status).toBe(1);
      const told = argv.includes("--json") ? JSON.parse(stderr).message : stderr;
      expect(told).toMatch(/^(holdfast: )?the output cannot be written: no space left on device\n?$/);
    }
    closeSync(disk);
  });

  test("--follow says that the session was erased, and ends", async () => {
    const hf = await open(store);
    await hf.sessions.create({ id: "short" });
    const child = start(["log", "short", "--follow"]);
    await once(child.stdout.setEncoding("utf8"), "data");
    const told = once(child.stderr.setEncoding("utf8"), "data");
    await hf.sessions.delete("short");
    await hf.close();
    expect(await told).toEqual(['holdfast: session "short" was erased\n']);
    const [code]: unknown[] = await once(child, "close");
    expect(code).toBe(3);
  });

  test("--follow ends with Ctrl-C and exit 0", async () => {
    const child = start(["log", "long", "--follow", "--last", "1"]);
    const [first]: unknown[] = await once(child.stdout.setEncoding("utf8"), "data");
    expect(String(first)).toContain("20001");
    child.kill("SIGINT");
    const [code, signal]: unknown[] = await once(child, "close");
    expect([code, signal]).toEqual([0, null]);
  });

  test("--follow shows what another process writes", async () => {
    const child = start(["messages", "long", "--follow", "--last", "1", "--json"]);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    const hf = await open(store);
    await hf.history.append({ session: "long", agent: "a" }, { role: "user", content: "are you there?" });
    await hf.close();
    const { value } = await lines.next();
    child.kill("SIGTERM");
    await once(child, "close");
    expect(JSON.parse(value ?? "")).toMatchObject({ content: [{ text: "are you there?" }] });
  });

  test("the demo cleans up when it is stopped, and leaves a store of yours alone", async () => {
    const before = statSync(store).mtimeMs;
    const child = start(["demo"], { TMPDIR: cwd, HOLDFAST_BLOB_DIR: path.join(cwd, "bytes") });
    await once(child.stdout.setEncoding("utf8"), "data");
    const made = readdirSync(cwd).filter((name) => name.startsWith("holdfast-demo-"));
    child.kill("SIGINT");
    const [code, signal]: unknown[] = await once(child, "close");
    expect([made.length, code, signal]).toEqual([1, 4, null]);
    const left = readdirSync(cwd).filter((name) => name.startsWith("holdfast-demo-") || name === "bytes");
    expect([left, statSync(store).mtimeMs]).toEqual([[], before]);
  });

  test("from a clone it works where the user stands, not where npm runs scripts", () => {
    const root = path.resolve(import.meta.dirname, "../..");
    const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    const [program, ...script] = manifest.scripts.holdfast.split(" ");
    expect(program).toBe("node");
    const { HOLDFAST_STORE: _, ...env } = process.env;
    const options = { cwd: root, env: { ...env, INIT_CWD: cwd }, encoding: "utf8" } as const;
    const { status, stdout } = spawnSync(process.execPath, [...script, "init", "--store", "cloned.db"], options);
    expect([status, stdout]).toEqual([0, expect.stringContaining("created a store at cloned.db")]);
    expect(readdirSync(cwd)).toContain("cloned.db");
  });

  test("HOLDFAST_DEBUG=1 shows the stack", async () => {
    const child = start(["sessions", "show", "nope"], { HOLDFAST_DEBUG: "1" });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code]: unknown[] = await once(child, "close");
    expect(code).toBe(3);
    expect(stderr).toContain("    at ");
  });
});
