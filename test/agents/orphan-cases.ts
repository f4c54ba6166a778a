// Runs of `holdfast run` as processes that tests kill, stop and wait for, and what stands in the store of their claims.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { COMPILED } from "../compiled.ts";
import type { FakeClaude } from "../fake-claude.ts";
import { folder, Machine, type ProgramResult, saved } from "../run-machine.ts";
import { eventually } from "./holdfast.ts";

/** The row of the only claim in a store; "" while there is none. */
export function claimIn(store: string): string {
  if (!existsSync(store)) return "";
  const database = new DatabaseSync(store, { readOnly: true });
  try {
    return String(database.prepare("SELECT value FROM holdfast_meta WHERE name LIKE 'claim:%'").get()?.value ?? "");
  } catch {
    // It is being made.
    return "";
  } finally {
    database.close();
  }
}

/** A process that claims request r, and is killed before it does anything else. */
export async function claimAndDie(store: string, agent: string): Promise<void> {
  const source = path.resolve(import.meta.dirname, "../../src/open.ts");
  const program = `import { open } from ${JSON.stringify(source)};
    const hf = await open(${JSON.stringify(store)});
    await hf.captures.claim("r", ${JSON.stringify(agent)});
    process.stdout.write("claimed");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, ...COMPILED },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
}

export interface Case {
  readonly machine: Machine;
  readonly child: ChildProcess;
  readonly ended: Promise<ProgramResult>;
}

export function start(fake: FakeClaude, args: readonly string[], machine = new Machine()): Case {
  let child: ChildProcess | undefined;
  const ended = machine.run(fake, args, {}, (one) => {
    child = one;
  });
  if (child === undefined) throw new Error("bug: it was not started");
  return { machine, child, ended };
}

let files = 0;
export const goFile = () => path.join(folder, `go-${++files}`);
export const begun = ({ home }: Machine) =>
  eventually(() => existsSync(path.join(home, "env.json")), "the agent begins");
export const isSaved = (store: string, text: string) =>
  eventually(async () => (await saved(store, "r")).some((one) => one.includes(text)), `${text} is saved`);
