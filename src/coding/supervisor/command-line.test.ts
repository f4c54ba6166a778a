// Command lines of coding agents, as people and scripts write them.
import { describe, expect, test } from "vitest";
import {
  type AgentCommand,
  agentOf,
  newSessionCommand,
  readPurpose,
  readsJson,
  resumeCommand,
  withInstructions,
  withPromptPrefix,
} from "./command-line.ts";

const claude = (...args: string[]): AgentCommand => ({ agent: "claude-code", program: "claude", args });
const opencode = (...args: string[]): AgentCommand => ({ agent: "opencode", program: "opencode", args });

describe("CA4 the agent's command line", () => {
  test("an agent is known by its program's name, wherever it is", () => {
    expect(agentOf("claude")).toBe("claude-code");
    expect(agentOf("/usr/local/bin/opencode")).toBe("opencode");
    expect(agentOf("claude.cmd")).toBe("claude-code");
    for (const other of ["bash", "claude-code", "myclaude", ""]) expect(agentOf(other)).toBeUndefined();
  });

  const NEW = { converses: true, choosesSession: false, sessionId: null, forks: false };
  test.each([
    [claude("-p", "fix it"), { ...NEW, prompt: 1 }],
    [claude("fix it", "-p"), { ...NEW, prompt: 0 }],
    [claude("-p", "--model", "opus", "fix it"), { ...NEW, prompt: 3 }],
    [claude("-p", "--model=opus", "fix it"), { ...NEW, prompt: 2 }],
    [claude("-p", "fix it", "--allowedTools", "Bash", "Edit"), { ...NEW, prompt: 1 }],
    [claude("--allowedTools", "Bash", "Edit", "-p", "fix it"), { ...NEW, prompt: 4 }],
    [claude("-p"), { ...NEW, prompt: null }],
    [claude(), { ...NEW, prompt: null }],
    [claude("-p", "--", "--fix it"), { ...NEW, prompt: 2 }],
    [claude("-p", "--output-format", "json"), { ...NEW, prompt: null }],
    [
      claude("--resume", "abc", "-p", "go on"),
      { converses: true, choosesSession: true, sessionId: "abc", forks: false, prompt: 3 },
    ],
    [claude("-r", "-p", "go on"), { converses: true, choosesSession: true, sessionId: null, forks: false, prompt: 2 }],
    [
      claude("--resume=abc", "--fork-session"),
      { converses: true, choosesSession: true, sessionId: "abc", forks: true, prompt: null },
    ],
    [claude("-c", "-p", "go on"), { converses: true, choosesSession: true, sessionId: null, forks: false, prompt: 2 }],
    [
      claude("--session-id", "abc", "-p", "x"),
      { converses: true, choosesSession: true, sessionId: "abc", forks: false, prompt: 3 },
    ],
    [claude("-w", "tree", "-p", "fix it"), { ...NEW, prompt: 3 }],
    [claude("-d", "-p", "fix it"), { ...NEW, prompt: 2 }],
    [claude("--version"), { ...NEW, converses: false, prompt: null }],
    [claude("mcp", "list"), { ...NEW, converses: false, prompt: 0 }],
    [claude("-p", "mcp"), { ...NEW, prompt: 1 }],
    [claude("-cp", "go on"), { converses: true, choosesSession: true, sessionId: null, forks: false, prompt: 1 }],
    [claude("-pr", "abc", "x"), { converses: true, choosesSession: true, sessionId: "abc", forks: false, prompt: 2 }],
    [opencode("session", "list"), { ...NEW, converses: false, prompt: null }],
    [opencode("run", "--help"), { ...NEW, converses: false, prompt: null }],
    [opencode("run", "fix it"), { ...NEW, prompt: 1 }],
    [opencode("run", "-m", "a/b", "fix it"), { ...NEW, prompt: 3 }],
    [opencode("run", "--format", "json"), { ...NEW, prompt: null }],
    [
      opencode("run", "-s", "ses_1", "x"),
      { converses: true, choosesSession: true, sessionId: "ses_1", forks: false, prompt: 3 },
    ],
    [
      opencode("run", "--continue", "x"),
      { converses: true, choosesSession: true, sessionId: null, forks: false, prompt: 2 },
    ],
    [opencode("some/dir"), { ...NEW, prompt: null }],
  ])("%j is understood", (line, understood) => {
    expect(readPurpose(line)).toEqual(understood);
  });

  test("a session is resumed by the agent's own flag", () => {
    expect(resumeCommand(claude("-p", "x"), "abc").args).toEqual(["--resume", "abc", "-p", "x"]);
    expect(resumeCommand(opencode("run", "x"), "ses_1").args).toEqual(["run", "--session", "ses_1", "x"]);
    expect(resumeCommand(opencode("dir"), "ses_1").args).toEqual(["--session", "ses_1", "dir"]);
    expect(newSessionCommand(claude("-p", "x"), "abc").args).toEqual(["--session-id", "abc", "-p", "x"]);
    expect(newSessionCommand(opencode("run", "x"), "abc").args).toEqual(["run", "x"]);
  });

  test("words stand before the prompt and nowhere else", () => {
    expect(withPromptPrefix(claude("-p", "x", "--model", "m"), "W")?.args).toEqual(["-p", "W\n\nx", "--model", "m"]);
    expect(withPromptPrefix(opencode("run", "x"), "W")?.args).toEqual(["run", "W\n\nx"]);
    expect(withPromptPrefix(claude("-p"), "W")).toBeNull();
    expect(withInstructions(claude("-p"), "W")?.args).toEqual(["--append-system-prompt", "W", "-p"]);
    expect(withInstructions(opencode("run"), "W")).toBeNull();
    expect(withInstructions(opencode("dir"), "W")?.args).toEqual(["--prompt", "W", "dir"]);
    expect(readsJson(claude("-p", "--input-format", "stream-json"))).toBe(true);
    expect(readsJson(claude("-p", "--input-format=stream-json"))).toBe(true);
    expect(readsJson(claude("-p", "--output-format", "stream-json"))).toBe(false);
  });
});
