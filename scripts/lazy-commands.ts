// The command line knows the name, options and help of every command before it runs one of them. In a bundle these come as
// data, read from the sources while building, and a command's module is loaded only when that command runs.

import { readdirSync } from "node:fs";
import * as path from "node:path";
import type { Plugin } from "rolldown";
import type { AnyCommand } from "../src/cli/command.ts";
import { SECTIONS } from "../src/cli/registry.ts";

/** Replaces src/cli/registry.ts. */
export function lazyCommands(folder: string): Plugin {
  const registry = path.join(folder, "registry.ts");
  return {
    name: "lazy-commands",
    load: {
      filter: { id: registry },
      handler: async () => ({ code: await registryCode(path.join(folder, "commands")), moduleType: "js" }),
    },
  };
}

/** Runs in the bundle: a command that loads its module when it runs. */
const LAZY = `
const lazy = (command, load) =>
  "commands" in command
    ? { ...command, commands: command.commands.map((one, i) => lazy(one, async () => (await load()).commands[i])) }
    : { ...command, run: async (context) => (await load()).run(context) };
export const SECTIONS = DATA.map(({ title, commands }) => ({
  title,
  commands: commands.map((one) => lazy(one, LOAD[one.name])),
}));
export const COMMANDS = SECTIONS.flatMap(({ commands }) => commands);
`;

async function registryCode(folder: string): Promise<string> {
  const places = await placesOf(folder);
  const loaders = SECTIONS.flatMap(({ commands }) => commands).map((command) => {
    const place = places.get(command);
    if (place === undefined) throw new Error(`no file in ${folder} exports the command ${command.name}`);
    const file = JSON.stringify(`./commands/${place.file}`);
    return `${JSON.stringify(command.name)}: async () => (await import(${file})).${place.name},`;
  });
  const data = SECTIONS.map(({ title, commands }) => ({ title, commands: commands.map(dataOf) }));
  return [
    `const LOAD = {\n${loaders.join("\n")}\n};`,
    `const DATA = JSON.parse(${JSON.stringify(JSON.stringify(data))});`,
    LAZY,
  ].join("\n");
}

interface CommandExport {
  readonly file: string;
  /** Under which the file exports the command. */
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

/** All of it but `run`. Anything else that is not plain data could not be told from here. */
function dataOf(command: AnyCommand): unknown {
  return JSON.parse(
    JSON.stringify(command, (key, value: unknown) => {
      if (typeof value !== "function") return value;
      if (key === "run") return undefined;
      throw new Error(`the command ${command.name} has a function ${key}; only run may be one`);
    }),
  );
}
