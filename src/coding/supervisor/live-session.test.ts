// Which session a running Claude Code says it is in: never what another process says, whatever its number is.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, expect, test } from "vitest";
import { currentSessionOf, sessionsOfOthers } from "./session-ownership.ts";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-live-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(path.join(folder, "sessions"));

const SESSION = "11111111-2222-4333-8444-555555555555";
/** No process has this number. */
const PID = 4_194_399;
const live = { pid: PID, since: 1_000_000, cwd: "/srv/app" };

function says(entry: Readonly<Record<string, unknown>>, pid = PID): void {
  const file = path.join(folder, "sessions", `${pid}.json`);
  writeFileSync(file, JSON.stringify({ pid, sessionId: SESSION, startedAt: live.since, cwd: live.cwd, ...entry }));
}

test.each([
  ["what it says itself", {}, SESSION],
  ["from a worktree of its own", { cwd: "/srv/app/.claude/worktrees/x" }, SESSION],
  ["a version that does not say where", { cwd: undefined }, SESSION],
  ["a process of the same number in another container", { cwd: "/srv/other" }, null],
  ["one whose directory only begins alike", { cwd: "/srv/app-2" }, null],
  ["one from before", { startedAt: live.since - 60_000 }, null],
  ["another number inside", { pid: 1 }, null],
  ["no id", { sessionId: "../../etc" }, null],
])("CA8 %s", async (_, entry, session) => {
  says(entry);
  expect(await currentSessionOf(folder, live)).toBe(session);
});

test("CA8 what others say is theirs", async () => {
  says({});
  says({ sessionId: SESSION.replaceAll("1", "9"), cwd: "/elsewhere" }, PID - 1);
  expect(await sessionsOfOthers(folder, live)).toEqual([SESSION.replaceAll("1", "9")]);
});
