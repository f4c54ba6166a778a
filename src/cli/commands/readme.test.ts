// Every command that README.md lists works as it is printed there, with the names filled in.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SESSION, transcript, write } from "../../../test/coding/claude-tree.ts";
import { cli, enter, json, leave, run, within } from "../../../test/shell.ts";

let home: string;
beforeEach(async () => {
  home = await enter();
});
afterEach(leave);

const page = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

/** "holdfast heads S | fork S@HEAD    what it is for" are two; what is in brackets is taken. */
function listed(): string[] {
  const lines = [...page.matchAll(/^holdfast (.+)$/gm)].map(([, line = ""]) => line.split(/ {4,}/)[0] ?? "");
  return lines.flatMap((line) => line.split(" | ").map((command) => command.trim()));
}

test("the commands of README run as printed", async () => {
  const [session, other] = ["chat-1", "other"];
  await run("messages", "add", session, "--agent", "helper", "hello");
  const { id } = await json("publish", session);
  await run("fork", session, other);
  await within((store) =>
    store.runs.execute({ id: "a", version: "1", iterate: (it) => it.done() }, { session: "ran", id: "run-1" }),
  );
  write(path.join(home, ".claude/projects/-w", `${SESSION}.jsonl`), transcript(2, "/w"));
  const names: Readonly<Record<string, string>> = {
    S: session,
    A: session,
    B: other,
    FILE: "chat.holdfast",
    TEXT: "short",
    R: "run-1",
    ID: SESSION,
  };
  // These take their time, or a program or a server that is not here, and have tests of their own.
  const commands = listed().filter((command) => !/^(demo$|worker |run |embeddings run)/.test(command));
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) {
    const argv = command.startsWith("query ")
      ? ["query", "[:find ?id :where [?s :session/id ?id]]"]
      : command
          .replaceAll(/[[\]…]/g, " ")
          .trim()
          .split(/ +/)
          .map((word) => names[word] ?? word.replace("S@HEAD", `${session}@${id}`));
    const signal = AbortSignal.timeout(argv.includes("--follow") ? 200 : 60_000);
    const { code, stderr } = await cli(argv, { signal, env: { HOME: home } });
    expect(`${command}: ${code} ${code === 0 ? "" : stderr}`).toBe(`${command}: 0 `);
  }
});
