// Where OpenCode keeps the sessions of this machine. Its database is read directly when its schema is known, and by OpenCode's program
// when it is not, which is logged; versions before 1.2 keep files.
import { isWithoutSessions, locateDatabase, readDatabase, UnknownDatabase } from "./database.ts";
import type { OpenCode } from "./runner.ts";

export type OpenCodeStorage =
  | { readonly kind: "none" }
  /** Its schema is known. */
  | { readonly kind: "database"; readonly file: string }
  /** Only the program can read and write it. */
  | { readonly kind: "program"; readonly why: string };

/** Looked up anew each time: an import may make the database. */
export async function locateStorage(runner: OpenCode, dataDir: string): Promise<OpenCodeStorage> {
  const location = await locateDatabase(runner.options.env, dataDir);
  if (location.kind === "none") return location;
  if (location.kind === "unclear") return byProgram(runner, dataDir, location.why);
  const why = await readDatabase(location.file, () => null).catch((error: unknown) => {
    if (error instanceof UnknownDatabase) return error.message;
    throw error;
  });
  if (why === null) return { kind: "database", file: location.file };
  return (await isWithoutSessions(location.file)) ? { kind: "none" } : byProgram(runner, location.file, why);
}

/** Each command of the program takes seconds; the log says why. */
function byProgram(runner: OpenCode, place: string, why: string): OpenCodeStorage {
  const text =
    "OpenCode's database is not read directly: every look at it starts the opencode program, which takes seconds";
  runner.options.environment.log("warn", "opencode.program", { text, place, why });
  return { kind: "program", why };
}
