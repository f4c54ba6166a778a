// Agents as the command line gets them: from modules that export them.
import { access } from "node:fs/promises";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../contracts/errors.ts";
import type { AgentDefinition } from "../contracts/runs.ts";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";

export const AGENTS_HELP =
  "FILE is a module (.js, .mjs or .ts) that exports agents made with defineAgent: as its default export, one or a list, " +
  "or under any names.";

export async function loadAgents(files: readonly string[], io: Io): Promise<readonly AgentDefinition[]> {
  const { defineAgent } = await import("../index.ts");
  const agents = new Map<string, AgentDefinition>();
  for (const file of files) {
    const found = agentsIn(await load(file, io));
    if (found.length === 0) {
      throw new HoldfastError("InvalidArgument", `${file} exports no agent`, {
        hint: "export what defineAgent({ id, version, iterate }) gives, as the default or under a name",
        details: { file },
      });
    }
    for (const agent of found) {
      const { id } = defineAgent(agent);
      const known = agents.get(id);
      if (known !== undefined && known !== agent) {
        throw new HoldfastError("InvalidArgument", `two agents are called "${id}"`, { details: { file, agent: id } });
      }
      agents.set(id, agent);
    }
  }
  return [...agents.values()];
}

/** The default export is meant for us, whatever is in it; of the others what looks like an agent. */
function agentsIn(module: Readonly<Record<string, unknown>>): readonly AgentDefinition[] {
  const { default: main, ...named } = module;
  const meant = main === undefined ? [] : Array.isArray(main) ? main : [main];
  const isAgent = (value: unknown) =>
    typeof value === "object" && value !== null && "iterate" in value && typeof value.iterate === "function";
  return [...meant, ...Object.values(named).filter(isAgent)] as readonly AgentDefinition[];
}

async function load(file: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const place = path.resolve(io.cwd, file);
  await access(place).catch((error: unknown) => {
    throw fileFailure(error, file);
  });
  try {
    return (await import(pathToFileURL(place).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const why = error instanceof Error ? error.message : String(error);
    const hint =
      code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts$/.test(file)
        ? { hint: `Node ${process.version} does not run TypeScript: compile it, or use Node 22.18 or newer` }
        : {};
    throw new HoldfastError("InvalidArgument", `${file} cannot be loaded: ${why}`, {
      ...hint,
      cause: error,
      details: { file },
    });
  }
}
