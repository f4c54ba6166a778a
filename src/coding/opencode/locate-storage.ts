// Finds out how to read OpenCode's sessions: directly from its database if the schema is known, otherwise with OpenCode's program, which
// is logged. Versions before 1.2 have files instead of a database.
import { isWithoutSessions, locateDatabase, readDatabase, UnknownDatabase } from "./database.ts";
import type { OpenCode } from "./runner.ts";

export type OpenCodeStorage =
  | { readonly kind: "none" }
  /** A database with a known schema. */
  | { readonly kind: "database"; readonly file: string }
  /** Only the program can read and write it. */
  | { readonly kind: "program"; readonly why: string };

/** Call it again after an import, which may have created the database. */
export async function locateStorage(runner: OpenCode, dataDir: string): Promise<OpenCodeStorage> {
  const location = await locateDatabase(runner.options.env, dataDir);
  if (location.kind === "none") return location;
  if (location.kind === "unclear") return useProgram(runner, dataDir, location.why);
  const why = await readDatabase(location.file, () => null).catch((error: unknown) => {
    if (error instanceof UnknownDatabase) return error.message;
    throw error;
  });
  if (why === null) return { kind: "database", file: location.file };
  return (await isWithoutSessions(location.file)) ? { kind: "none" } : useProgram(runner, location.file, why);
}

/** Each command of the program takes seconds, so the log says why it is used. */
function useProgram(runner: OpenCode, place: string, why: string): OpenCodeStorage {
  const text = "OpenCode's database is not read directly: each query starts the opencode program, which takes seconds";
  runner.options.environment.log("warn", "opencode.program", { text, place, why });
  return { kind: "program", why };
}
