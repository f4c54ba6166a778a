// Restores sessions into OpenCode's database, which Holdfast reads and writes itself; each change is one transaction.
import * as path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../contracts/environment.ts";
import { type OpenedDatabase, readDatabase, writeDatabase } from "./database.ts";
import type { ExportedSession } from "./export.ts";
import { type Completion, type RestoreTarget, readLocalRow, type StoredOpenCodeSession } from "./restore-plan.ts";
import { insertSession, readRows, readTree, type SessionLocation, type SessionRows, writeRows } from "./rows.ts";
import { commandFailed } from "./runner.ts";
import { chunksForStatement, deleteRows, deleteSessions, deleteTodos, insertTodos, selectLocal } from "./sql.ts";

export class DatabaseTarget implements RestoreTarget {
  readonly #file: string;
  readonly #environment: Pick<Environment, "now">;
  /** The rows of existing sessions before an import changed them. */
  readonly #before = new Map<string, SessionRows>();

  constructor(file: string, environment: Pick<Environment, "now">) {
    this.#file = file;
    this.#environment = environment;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
    const rows = await readDatabase(this.#file, ({ database, schema }) =>
      chunksForStatement(ids).flatMap((list) => database.prepare(selectLocal(list, schema.session.has("path"))).all()),
    );
    return new Map(rows.map((row) => [String(row.id), readLocalRow(row)]));
  }

  async prepare({ id }: StoredOpenCodeSession, last: string | undefined): Promise<void> {
    this.#before.set(id, await readDatabase(this.#file, (opened) => readRows(opened, id)));
    if (last === undefined) return;
    await writeDatabase(this.#file, ({ database }) => database.exec(deleteRows("message", id, [last])));
  }

  async hasExactly(session: ExportedSession): Promise<boolean> {
    const tree = await readDatabase(this.#file, (opened) => readTree(opened, session.id));
    const here = tree?.sessions.find(({ id }) => id === session.id);
    return here !== undefined && isDeepStrictEqual(here.data.messages, session.data.messages);
  }

  async complete(completion: Completion): Promise<void> {
    const { rootId, imported, unwritten, todos, staleTodos } = completion;
    await writeDatabase(this.#file, (opened) => {
      const { database } = opened;
      const location = locationFor(opened, completion);
      for (const { id } of imported) setLocation(opened, id, location);
      for (const session of unwritten) insertSession(opened, session, location, this.#environment.now());
      if (database.prepare("select 1 from session where id = ?").get(rootId) === undefined) {
        throw commandFailed(["import", rootId], "it did not write the session");
      }
      for (const list of chunksForStatement(staleTodos)) database.exec(deleteTodos(list));
      const rows = [...todos].flatMap(([session_id, list]) => list.map((row) => ({ session_id, ...row })));
      for (const list of chunksForStatement(rows)) database.exec(insertTodos(list));
    });
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void> {
    const added = touched.map(({ id }) => id).filter((id) => !before.has(id));
    if (added.length === 0 && this.#before.size === 0) return;
    await writeDatabase(this.#file, (opened) => {
      for (const list of chunksForStatement(added)) opened.database.exec(deleteSessions(list));
      for (const [id, rows] of this.#before) writeRows(opened, id, rows);
    });
  }
}

/** The project that OpenCode's import found. Before 1.15 the import kept the directory and path of the machine of the capture. */
function locationFor({ database, schema }: OpenedDatabase, { cwd, rootId }: Completion): SessionLocation {
  const project = database
    .prepare("select p.id, p.worktree from project p join session s on s.project_id = p.id where s.id = ?")
    .get(rootId);
  if (project === undefined)
    throw commandFailed(["import", rootId], "it did not write the session, or gave it no project");
  const stored = schema.session.has("path")
    ? database.prepare("select path from session where id = ?").get(rootId)?.path
    : null;
  const inProject = path.relative(path.resolve(String(project.worktree)), cwd).replaceAll("\\", "/");
  return { project_id: String(project.id), directory: cwd, path: typeof stored === "string" ? stored : inProject };
}

function setLocation({ database, schema }: OpenedDatabase, id: string, location: SessionLocation): void {
  const { project_id, directory } = location;
  database.prepare("update session set project_id = ?, directory = ? where id = ?").run(project_id, directory, id);
  if (schema.session.has("path")) database.prepare("update session set path = ? where id = ?").run(location.path, id);
}
