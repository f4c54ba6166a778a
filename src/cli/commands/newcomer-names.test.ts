// What newcomers learn from a name that is wrong, and from a list that is cut.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const cli = (...argv: string[]) => captureOutput(main, argv, { cwd });

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  const hf = await open(path.join(cwd, "holdfast.db"));
  for (const content of ["one", "two", "three"]) {
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
  }
  await hf.heads.publish("s");
  await hf.close();
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("a head that is unknown is named, not its session", async () => {
  const { code, stderr } = await cli("messages", "s@nope");
  expect([code, stderr]).toEqual([EXIT.notFound, expect.stringContaining('no head begins with nope in session "s"')]);
  expect(stderr).toContain("holdfast heads s");
  expect((await cli("messages", "none@nope")).stderr).toContain('no session "none@nope"');
});

test("a command that a group does not have is named", async () => {
  const { code, stderr } = await cli("tasks", "strt", "x");
  expect([code, stderr]).toEqual([
    EXIT.usage,
    expect.stringMatching(/"tasks" has no command "strt": it has show, add/),
  ]);
});

test("an empty session is named as the help names it", async () => {
  const { stderr } = await cli("messages", "");
  expect(stderr).toContain("SESSION is empty");
  expect(stderr).not.toContain("locator");
});

test("messages says whether its limit left some out", async () => {
  const cut = await cli("messages", "s", "--limit", "2");
  expect(cut.stderr).toContain("there are more; --after 's#3' goes on");
  expect((await cli("messages", "s", "--after", "s#3", "--limit", "2")).stderr).toBe("");
  expect((await cli("messages", "s", "--limit", "3")).stderr).toBe("");
});

test("the help of retry does not send the user back to the old run", async () => {
  const { stdout } = await cli("runs", "retry", "--help");
  expect(stdout).toContain("runs.resume(agent, ID)");
  expect(stdout).not.toContain("run your program again");
});
