// The command line: what the parser accepts, and what it says about the rest.
import { describe, expect, test } from "vitest";
import { checkArguments, isGroup, readCommandLine } from "./command-line.ts";
import { UsageError } from "./failure.ts";
import { GLOBAL_OPTIONS, type OptionSpec } from "./option.ts";
import { COMMANDS } from "./registry.ts";

function parse(...argv: string[]) {
  const line = readCommandLine(argv, COMMANDS);
  if (line.command === undefined) throw new Error("no command");
  return { path: line.path, name: line.command.name, args: checkArguments(line, line.command) };
}

function complaint(...argv: string[]): string {
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return "none";
}

describe("choices", () => {
  test("are those that the verb declares, and the nearest is offered", () => {
    expect(parse("sessions", "--status", "open").args.choice("status", ["open", "closed"])).toBe("open");
    expect(complaint("sessions", "--status", "opn")).toBe(
      '--status takes open or closed, not "opn"; did you mean "open"?',
    );
    expect(complaint("runs", "--status", "waitng")).toBe(
      "--status takes running, paused, waiting, recovering, completed, failed or cancelled, " +
        'not "waitng"; did you mean "waiting"?',
    );
    expect(complaint("heads", "chat-1", "--order", "up")).toBe('--order takes newest or oldest, not "up"');
    expect(complaint("blobs", "--sort", "name")).toBe('--sort takes age or size, not "name"');
    expect(complaint("messages", "add", "chat-1", "hi", "--role", "assistent")).toMatch(/did you mean "assistant"\?$/);
    expect(complaint("worker", "--agents", "a.ts", "--erased", "no")).toBe(
      '--erased takes fail or placeholder, not "no"',
    );
  });
});

describe("arguments", () => {
  test("options stand before or after the command, in either form", () => {
    for (const argv of [
      ["--store", "a.db", "sessions", "ls", "--limit", "3"],
      ["sessions", "--limit=3", "--store=a.db"],
    ]) {
      const { name, args } = parse(...argv);
      expect([name, args.text("store"), args.number("limit")]).toEqual(["ls", "a.db", 3]);
    }
  });

  test("a group's fallback is meant when no command of it is named", () => {
    expect(parse("messages", "chat-1")).toMatchObject({ name: "show", path: "messages" });
    expect(parse("messages", "show", "add").args.operands).toEqual(["add"]);
    expect(parse("log", "chat", "--type", "a", "--type", "b").args.list("type")).toEqual(["a", "b"]);
  });

  test("what follows -- is never an option", () => {
    expect(parse("messages", "add", "chat", "--agent", "a", "--", "--json").args.operands).toEqual(["chat", "--json"]);
  });

  test.each([
    [["sesions"], 'no command "sesions"; did you mean "sessions"?'],
    [["run", "show", "r1"], 'holdfast run has no "show"; did you mean "holdfast runs show r1"?'],
    [["run", "list"], 'holdfast run has no "list"; did you mean "holdfast runs ls"?'],
    [["capture", "keep", "c1"], 'holdfast capture has no "keep"; did you mean "holdfast captures keep c1"?'],
    [["session", "show", "chat-1"], 'no command "session"; did you mean "holdfast sessions show chat-1"?'],
    [["blob", "stat", "x"], 'no command "blob"; did you mean "holdfast blobs stat x"?'],
    [["task"], 'no command "task"; did you mean "tasks"?'],
    [["agent", "helper"], 'no command "agent"; did you mean "agents"?'],
    [["frobnicate"], 'no command "frobnicate"; `holdfast --help` lists them'],
    [["sessions", "shw", "x"], '"sessions" has no "shw"; did you mean "show"?'],
    [["sessions", "chat-1"], '"sessions" has no "chat-1"; did you mean "sessions show chat-1"?'],
    [["sessions", "ls", "s"], 'unexpected "s"; did you mean "sessions show s"?'],
    [["sessions", "ls", "chat-1"], 'unexpected "chat-1"; did you mean "sessions show chat-1"?'],
    [["stats", "foo"], 'unexpected "foo"; see `holdfast stats --help`'],
    [["state", "get", "chat-1", "key", "more"], 'unexpected "more"; see `holdfast state get --help`'],
    [["sessions", "--agnt", "x"], 'no option "--agnt"; did you mean "--agent"?'],
    [["--jsno"], 'no option "--jsno"; did you mean "--json"?'],
    [["stats", "--agent", "x"], 'no option "--agent"; see `holdfast stats --help`'],
    [["runs", "rewind", "o1", "--to", "1"], 'no option "--to"; see `holdfast runs rewind --help`'],
    [["runs", "deny", "a2", "--reason", "no"], 'no option "--reason"; see `holdfast runs deny --help`'],
    [["runs", "list", "--limt", "5"], 'no option "--limt"; did you mean "--limit"?'],
    [["stats", "-q"], 'no option "-q"; see `holdfast stats --help`'],
    [["messages"], "holdfast messages needs SESSION; see `holdfast messages --help`"],
    [["messages", "ad", "chat"], 'unexpected "chat"; did you mean "messages add"?'],
    [["messages", "add", "chat", "two", "words"], 'unexpected "words"; put quotes around a text with spaces'],
    [["sessions", "--limit"], "--limit needs a value"],
    [["sessions", "--limit", "--json"], '--limit needs a value; if you mean "--json", write --limit=--json'],
    [["sessions", "--limit", "x"], '--limit takes a whole number from 1 to 1000, not "x"'],
    [["messages", "s", "--limit", "0"], '--limit takes a whole number from 1 to 200000, not "0"'],
    [["sessions", "--limit", "0"], '--limit takes a whole number from 1 to 1000, not "0"'],
    [["log", "chat", "--follow=yes"], "--follow takes no value"],
  ])("%j: %s", (argv, message) => {
    expect(complaint(...argv)).toBe(message);
  });
});

describe("commands", () => {
  const leaves = COMMANDS.flatMap((command) => (isGroup(command) ? command.commands : [command]));

  test("agree on which options take a value, and on short forms", () => {
    const seen = new Map<string, string>();
    const shorts = new Map<string, string>();
    for (const options of [GLOBAL_OPTIONS, ...leaves.map((command) => command.options)]) {
      for (const [name, spec] of Object.entries<OptionSpec>(options)) {
        const shape = `${spec.type === "flag"} ${spec.short ?? "-"}`;
        expect(`${name} ${seen.get(name) ?? shape}`).toBe(`${name} ${shape}`);
        seen.set(name, shape);
        if (spec.short !== undefined) {
          expect(shorts.get(spec.short) ?? name).toBe(name);
          shorts.set(spec.short, name);
        }
      }
    }
  });

  test("hide no option of every command, and teach by example", () => {
    for (const command of leaves) {
      const shadowed = Object.keys(command.options).filter((name) => name in GLOBAL_OPTIONS);
      expect([command.name, shadowed]).toEqual([command.name, []]);
      expect(command.examples.length, command.name).toBeGreaterThan(0);
    }
  });

  test("have examples that their own parser understands", () => {
    const examples = COMMANDS.flatMap((command) => [command, ...(isGroup(command) ? command.commands : [])]).flatMap(
      (command) => command.examples,
    );
    for (const { command } of examples) {
      const call = /holdfast (.*?)(?: [|>&] .*| \|.*| > .*)?$/.exec(command)?.[1] ?? "";
      const argv = [...call.matchAll(/'((?:[^'])*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "");
      expect(`${command}: ${complaint(...argv)}`).toBe(`${command}: none`);
    }
  });
});
