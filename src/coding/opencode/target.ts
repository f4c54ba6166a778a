// Where sessions are put back: OpenCode's database, written here in one transaction; the same by the program, where its schema is not
// known; or the files of versions before 1.2. Sessions come in by OpenCode's own import. What a target adds, it can take back.
import type { Environment } from "../../contracts/environment.ts";
import { DatabaseTarget } from "./database-target.ts";
import type { ExportedSession } from "./export.ts";
import { FileTarget } from "./file-target.ts";
import type { LocalSession } from "./local.ts";
import { ProgramTarget } from "./program-target.ts";
import type { OpenCode } from "./runner.ts";
import type { TodoRow } from "./sql.ts";
import { findStorage } from "./storage.ts";

/** What is still to be done when the program has imported what it must. */
export interface Completion {
  /** The directory of this machine that the sessions go on in. */
  readonly cwd: string;
  readonly rootId: string;
  /** Imported by the program. */
  readonly imported: readonly ExportedSession[];
  /** To be written as they are. Only a target that stored the root exactly gets any. */
  readonly unwritten: readonly ExportedSession[];
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
  /** Sessions whose tasks here are out of date. */
  readonly staleTodos: readonly string[];
}

export interface RestoreTarget {
  /** By session id; `ids` are of sessions, or of messages whose sessions are wanted. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, LocalSession>>;
  /** Before a session that is here is imported: keeps what an undo needs. `last`: this message makes room for what became of it. */
  prepare(local: LocalSession, last: string | undefined): Promise<void>;
  /** Every message and part of it is here as it was captured. false: not, or that cannot be told. */
  hasExactly(session: ExportedSession): Promise<boolean>;
  complete(completion: Completion): Promise<void>;
  /** Sessions that were not here are not here again, and the others are as they were. */
  undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, LocalSession>): Promise<void>;
}

/** Which of them it is shows only after an import, where there was nothing before. */
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
    const storage = await findStorage(this.#runner, this.#dataDir);
    const environment: Pick<Environment, "now"> = this.#runner.options.environment;
    if (storage.kind === "database") return new DatabaseTarget(storage.file, environment);
    return storage.kind === "program" ? new ProgramTarget(this.#runner) : null;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, LocalSession>> {
    const found = new Map<string, LocalSession>();
    for (const target of await this.#all()) {
      for (const [id, local] of await target.read(ids)) if (!found.has(id)) found.set(id, local);
    }
    return found;
  }

  /** null: it is nowhere. */
  async having(id: string): Promise<RestoreTarget | null> {
    for (const target of await this.#all()) if ((await target.read([id])).has(id)) return target;
    return null;
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, LocalSession>): Promise<void> {
    for (const target of await this.#all()) await target.undo(touched, before);
  }
}
