// The targets of a restore: OpenCode's database, which Holdfast writes in one transaction; the database through OpenCode's program, if the
// schema is unknown; or the files of versions before 1.2. OpenCode's own import adds sessions. Each target can undo its changes.
import type { Environment } from "../../contracts/environment.ts";
import { DatabaseTarget } from "./database-target.ts";
import type { ExportedSession } from "./export.ts";
import { FileTarget } from "./file-target.ts";
import { locateStorage } from "./locate-storage.ts";
import { ProgramTarget } from "./program-target.ts";
import type { RestoreTarget, StoredOpenCodeSession } from "./restore-plan.ts";
import type { OpenCode } from "./runner.ts";

/** The database is looked up again until it exists: an import may create it. */
export class RestoreTargets {
  readonly #runner: OpenCode;
  readonly #dataDir: string;
  readonly #files: RestoreTarget;
  #database: RestoreTarget | null = null;

  constructor(runner: OpenCode, dataDir: string) {
    this.#runner = runner;
    this.#dataDir = dataDir;
    this.#files = new FileTarget(dataDir);
  }

  async #all(): Promise<readonly RestoreTarget[]> {
    this.#database ??= await this.#findDatabase();
    return this.#database === null ? [this.#files] : [this.#database, this.#files];
  }

  async #findDatabase(): Promise<RestoreTarget | null> {
    const storage = await locateStorage(this.#runner, this.#dataDir);
    const environment: Pick<Environment, "now"> = this.#runner.options.environment;
    if (storage.kind === "database") return new DatabaseTarget(storage.file, environment);
    return storage.kind === "program" ? new ProgramTarget(this.#runner) : null;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
    const found = new Map<string, StoredOpenCodeSession>();
    for (const target of await this.#all()) {
      for (const [id, local] of await target.read(ids)) if (!found.has(id)) found.set(id, local);
    }
    return found;
  }

  /** The target that has the session; null: none has it. */
  async findTarget(id: string): Promise<RestoreTarget | null> {
    for (const target of await this.#all()) if ((await target.read([id])).has(id)) return target;
    return null;
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void> {
    for (const target of await this.#all()) await target.undo(touched, before);
  }
}
