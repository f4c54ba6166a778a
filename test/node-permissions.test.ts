// A program under `node --permission` that may start no thread and no process: what works without them goes on working, and what needs
// them says which option allows it.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";

const scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-permissions-"));
const entry = pathToFileURL(path.resolve(import.meta.dirname, "../src/index.ts")).href;

afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** What each call gives, by its name: "done", or the error as a program sees it. */
function outcomes(...flags: readonly string[]): Readonly<Record<string, unknown>> {
  const program = `
    import { HoldfastError, open } from ${JSON.stringify(entry)};
    const hf = await open("store.db");
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hi" });
    const large = crypto.getRandomValues(new Uint8Array(65_536));
    const grow = async () => {
      for (let n = 0; n < 50; n++) await hf.blobs.store(large.map((byte) => byte ^ n));
      return hf.check();
    };
    const calls = {
      quick: () => hf.check({ mode: "quick" }),
      check: () => hf.check(),
      large: grow,
      query: () => hf.query("[:find ?id :where [?s :session/id ?id]]"),
    };
    const told = {};
    for (const [name, call] of Object.entries(calls)) {
      told[name] = await call().then(() => "done", (error) =>
        error instanceof HoldfastError ? { code: error.code, text: error.message + " " + error.hint } : String(error));
    }
    await hf.close();
    console.log(JSON.stringify(told));`;
  const allowed = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*", "--disable-warning=SecurityWarning"];
  const argv = [...allowed, ...flags, "--input-type=module", "--eval", program];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: scratch, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

test("calls that need a thread or a process name the option that allows it", () => {
  expect(outcomes()).toEqual({
    quick: "done",
    check: "done",
    large: { code: "PermissionDenied", text: expect.stringMatching(/store\.db to start a thread .*--allow-worker/) },
    query: {
      code: "PermissionDenied",
      text: expect.stringMatching(/store\.db to start a process .*--allow-child-process/),
    },
  });
});

test("with these options they work", () => {
  expect(outcomes("--allow-worker", "--allow-child-process")).toEqual({
    ...{ quick: "done", check: "done", large: "done", query: "done" },
  });
});
