// Command lines in which another program starts the agent.
import { describe, expect, test } from "vitest";
import { readAgentCommand } from "./command-line.ts";

const EXEC = 'exec "$0" "$@"';
const read = (...words: string[]) => readAgentCommand(words, " --request r");
const claude = (program: string, launcher: readonly string[], ...args: string[]) => ({
  agent: "claude-code",
  program,
  launcher,
  args,
});

describe("CA4 an agent that another program starts", () => {
  test("is known by its own name without any", () => {
    expect(read("claude", "-p", "x")).toEqual({ agent: "claude-code", program: "claude", args: ["-p", "x"] });
    expect(read("/opt/opencode", "run", "x")).toMatchObject({ agent: "opencode", args: ["run", "x"] });
  });

  test.each([
    [["npx", "claude", "-p", "x"], claude("npx", ["claude"], "-p", "x")],
    [["npx", "-y", "@anthropic-ai/claude-code", "-p"], claude("npx", ["-y", "@anthropic-ai/claude-code"], "-p")],
    [["npx", "@anthropic-ai/claude-code@2.1.3"], claude("npx", ["@anthropic-ai/claude-code@2.1.3"])],
    [
      ["npx", "--yes", "-p", "@anthropic-ai/claude-code", "claude", "-p", "x"],
      claude("npx", ["--yes", "-p", "@anthropic-ai/claude-code", "claude"], "-p", "x"),
    ],
    [["bunx", "claude", "-c"], claude("bunx", ["claude"], "-c")],
    [["pnpm", "dlx", "@anthropic-ai/claude-code"], claude("pnpm", ["dlx", "@anthropic-ai/claude-code"])],
    [["npm", "exec", "--", "claude", "-p"], claude("npm", ["exec", "--", "claude"], "-p")],
    [["bash", "-c", "claude -p 'fix it'"], claude("bash", ["-c", EXEC, "claude"], "-p", "fix it")],
    [["/bin/sh", "-ec", 'claude -p "say \\"hi\\""'], claude("/bin/sh", ["-ec", EXEC, "claude"], "-p", 'say "hi"')],
    [["bash", "-l", "-c", "claude"], claude("bash", ["-l", "-c", EXEC, "claude"])],
    [["bash", "-lc", " claude  -p a\\ b'c'\"d\" "], claude("bash", ["-lc", EXEC, "claude"], "-p", "a bcd")],
    [["bash", "-c", "claude -p ''"], claude("bash", ["-c", EXEC, "claude"], "-p", "")],
  ])("%j", (words, line) => expect(read(...words)).toEqual(line));

  test("OpenCode too", () => {
    expect(read("npx", "opencode-ai@1.18.33", "run", "hi")).toMatchObject({ agent: "opencode", args: ["run", "hi"] });
    expect(read("sh", "-c", "opencode run hi")).toMatchObject({ agent: "opencode", args: ["run", "hi"] });
  });

  test.each([
    [["bash", "-c", "cd app && claude -p hi"], "bash -c 'cd app && holdfast run --request r -- claude -p hi'"],
    [["bash", "-c", 'claude -p "$PROMPT"'], "bash -c 'holdfast run --request r -- claude -p \"$PROMPT\"'"],
    [["sh", "-c", "claude -p hi | tee log"], "sh -c 'holdfast run --request r -- claude -p hi | tee log'"],
    [["sh", "-c", "KEY=1 claude -p hi"], "sh -c 'KEY=1 holdfast run --request r -- claude -p hi'"],
    [["sh", "-c", 'claude "$@"', "_", "-p", "a b"], "sh -c 'holdfast run --request r -- claude \"$@\"' _ -p 'a b'"],
    [["timeout", "600", "claude", "-p", "a b"], "timeout 600 holdfast run --request r -- claude -p 'a b'"],
    [["env", "A=1", "claude"], "env A=1 holdfast run --request r -- claude"],
    [["npm", "exec", "claude", "-p", "hi"], "holdfast run --request r -- npm exec -- claude -p hi"],
  ])("%j is refused with the line that works", (words, works) => {
    expect(() => read(...words)).toThrow(`; this works: ${works}`);
  });

  test.each([["bash"], ["bash", "-c", "ls"], ["npx", "eslint"], ["python", "x.py"], [""]])(
    "%j is no agent",
    (...words) => expect(() => read(...words)).toThrow("is not a known agent"),
  );
});
