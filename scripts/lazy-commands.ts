// The command line knows the names and options of every command before it runs one of them. In a bundle they are data, which the build
// reads from the sources. The help is a separate module, and a command's module is loaded when the command runs.
import { readdirSync } from "node:fs";
import * as path from "node:path";
import type { Plugin } from "rolldown";
import { type AnyCommand, isGroup } from "../src/cli/command-line.ts";
import { SECTIONS } from "../src/cli/registry.ts";

const HELP = "./command-help.js";

/** Replaces src/cli/registry.ts. */
export function lazyCommands(folder: string): Plugin {
  const registry = path.join(folder, "registry.ts");
  const help = path.join(folder, HELP);
  return {
    name: "lazy-commands",
    resolveId: (id) => (id === HELP ? help : null),
    load: {
      filter: { id: [registry, help] },
      handler: async (id) => ({
        code: id === registry ? await registryCode(path.join(folder, "commands")) : helpCode(),
        moduleType: "js",
      }),
    },
  };
}

/** Runs in the bundle: a command that loads its module when it runs. */
const LAZY = `
const lazy = (command, load) =>
  "commands" in command
    ? { ...command, commands: command.commands.map((one, i) => lazy(one, async () => (await load()).commands[i])) }
    : { ...command, run: async (context) => (await load()).run(context) };
export const COMMANDS = DATA.map((one) => lazy(one, LOAD[one.name]));
export const loadHelp = () => import("${HELP}");
`;

const COMMANDS = SECTIONS.flatMap(({ commands }) => commands);

async function registryCode(folder: string): Promise<string> {
  const places = await placesOf(folder);
  const loaders = COMMANDS.map((command) => {
    const place = places.get(command);
    if (place === undefined) throw new Error(`no file in ${folder} exports the command ${command.name}`);
    const file = JSON.stringify(`./commands/${place.file}`);
    return `${JSON.stringify(command.name)}: async () => (await import(${file})).${place.name},`;
  });
  return [`const LOAD = {\n${loaders.join("\n")}\n};`, `const DATA = ${parsed(COMMANDS.map(syntaxOf))};`, LAZY].join(
    "\n",
  );
}

function helpCode(): string {
  const data = SECTIONS.map(({ title, commands }) => ({ title, commands: commands.map(dataOf) }));
  return `export * from "./help.ts";\nexport const SECTIONS = ${parsed(data)};`;
}

/** V8 parses JSON faster than code. */
function parsed(data: unknown): string {
  return `JSON.parse(${JSON.stringify(JSON.stringify(data))})`;
}

/** The data with which a command line is parsed: see CommandSyntax. */
function syntaxOf(command: AnyCommand): unknown {
  const { name, hidden } = command;
  if (isGroup(command)) return { name, hidden, fallback: command.fallback, commands: command.commands.map(syntaxOf) };
  const { aliases, operands, warnsOfExposedFiles, passesArguments } = command;
  const options = Object.entries(command.options).map(([option, { type, short, min, max, choices }]) => {
    return [option, { type, short, min, max, choices }] as const;
  });
  return {
    name,
    hidden,
    aliases,
    operands,
    warnsOfExposedFiles,
    passesArguments,
    options: Object.fromEntries(options),
  };
}

interface CommandExport {
  readonly file: string;
  /** The name under which the file exports the command. */
  readonly name: string;
}

async function placesOf(folder: string): Promise<ReadonlyMap<unknown, CommandExport>> {
  const places = new Map<unknown, CommandExport>();
  for (const file of readdirSync(folder).filter((one) => one.endsWith(".ts") && !one.endsWith(".test.ts"))) {
    const exported = (await import(path.join(folder, file))) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(exported)) places.set(value, { file, name });
  }
  return places;
}

/** The command without `run`. All other fields must be plain data, because the bundle has them as JSON. */
function dataOf(command: AnyCommand): unknown {
  return JSON.parse(
    JSON.stringify(command, (key, value: unknown) => {
      if (typeof value !== "function") return value;
      if (key === "run") return undefined;
      throw new Error(`the command ${command.name} has a function ${key}; only run may be one`);
    }),
  );
}
