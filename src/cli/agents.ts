// Loads agents from the modules that export them.
import { access } from "node:fs/promises";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import { WORKER_OPTIONS } from "../contracts/verbs/runs.ts";
import type { Arguments, Context } from "./command-line.ts";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";
import { choiceOption } from "./option.ts";
import { safe } from "./terminal.ts";

export const AGENTS_HELP =
  "FILE is a module (.js, .mjs or .ts) that exports agents made with defineAgent: one agent or a list as its default export, " +
  "or agents under any names.";

const ERASED = WORKER_OPTIONS.fields.erased;

/** What a worker does with a run that has read content which is erased now. */
export const ERASED_OPTION = {
  ...choiceOption(ERASED),
  value: "RULE",
  summary:
    'for a run that has read content which is erased now: "fail" (default), or "placeholder" to continue without it',
} as const;

export function readErased(args: Arguments): { readonly erased?: NonNullable<ResumeOptions["erased"]> } {
  const erased = args.choice("erased", ERASED.of);
  return erased === undefined ? {} : { erased };
}

/** A module that only exports agents loads faster than that. */
const SLOW_LOAD_MS = 1000;

type LoadContext = Pick<Context, "io" | "output">;

export async function loadAgents(files: readonly string[], context: LoadContext): Promise<readonly AgentDefinition[]> {
  const { defineAgent } = await import("../runs/agents.ts");
  const agents = new Map<string, AgentDefinition>();
  for (const file of files) {
    const found = exportedAgents(await reportSlowLoad(file, context, () => importModule(file, context.io)));
    if (found.length === 0) {
      throw new HoldfastError("InvalidArgument", `${file} exports no agent`, {
        hint: "export the result of defineAgent({ id, version, iterate }), as the default or under a name",
        details: { file },
      });
    }
    for (const agent of found) {
      const { id } = defineAgent(agent);
      const known = agents.get(id);
      if (known !== undefined && known !== agent) {
        throw new HoldfastError("InvalidArgument", `two agents have the id "${id}"`, { details: { file, agent: id } });
      }
      agents.set(id, agent);
    }
  }
  return [...agents.values()];
}

/** The default export of any type, and the named exports that look like an agent. */
function exportedAgents(module: Readonly<Record<string, unknown>>): readonly AgentDefinition[] {
  const { default: main, ...named } = module;
  const defaults = main === undefined ? [] : Array.isArray(main) ? main : [main];
  const isAgent = (value: unknown) =>
    typeof value === "object" && value !== null && "iterate" in value && typeof value.iterate === "function";
  return [...defaults, ...Object.values(named).filter(isAgent)] as readonly AgentDefinition[];
}

/** Warns about a slow module: one that executes a run at its top level finishes loading only when that run has ended. */
async function reportSlowLoad<T>(file: string, { output }: LoadContext, work: () => Promise<T>): Promise<T> {
  const slow = setTimeout(() => {
    void output.complaint(
      "holdfast:",
      output.errorStyle.warn,
      safe`${file} has not finished loading: does it call execute() at its top level? Export the agent from a module that does ` +
        "nothing else, and execute runs in another one; Ctrl-C stops waiting",
    );
  }, SLOW_LOAD_MS);
  try {
    return await work();
  } finally {
    clearTimeout(slow);
  }
}

async function importModule(file: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const resolved = path.resolve(io.cwd, file);
  await access(resolved).catch((error: unknown) => {
    throw fileFailure(error, file);
  });
  try {
    return (await import(pathToFileURL(resolved).href)) as Readonly<Record<string, unknown>>;
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
