// OpenCode's database as a place to put sessions back: read and written here, each change in one transaction.
import * as path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../contracts/environment.ts";
import { type OpenedDatabase, readDatabase, writeDatabase } from "./database.ts";
import type { ExportedSession } from "./export.ts";
import { type Completion, type RestoreTarget, readLocalRow, type StoredOpenCodeSession } from "./restore-plan.ts";
import { insertSession, readRows, readTree, type SessionPlace, type SessionRows, writeRows } from "./rows.ts";
import { failed } from "./runner.ts";
import { deleteRows, deleteSessions, deleteTodos, fitting, insertTodos, selectLocal } from "./sql.ts";

export class DatabaseTarget implements RestoreTarget {
  readonly #file: string;
  readonly #environment: Pick<Environment, "now">;
  /** What was here of sessions that an import changes. */
  readonly #before = new Map<string, SessionRows>();

  constructor(file: string, environment: Pick<Environment, "now">) {
    this.#file = file;
    this.#environment = environment;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
    const rows = await readDatabase(this.#file, ({ database, schema }) =>
      fitting(ids).flatMap((list) => database.prepare(selectLocal(list, schema.session.has("path"))).all()),
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
      const place = placeOf(opened, completion);
      for (const { id } of imported) setPlace(opened, id, place);
      for (const session of unwritten) insertSession(opened, session, place, this.#environment.now());
      if (database.prepare("select 1 from session where id = ?").get(rootId) === undefined) {
        throw failed(["import", rootId], "the session is not there");
      }
      for (const list of fitting(staleTodos)) database.exec(deleteTodos(list));
      const rows = [...todos].flatMap(([session_id, list]) => list.map((row) => ({ session_id, ...row })));
      for (const list of fitting(rows)) database.exec(insertTodos(list));
    });
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void> {
    const added = touched.map(({ id }) => id).filter((id) => !before.has(id));
    if (added.length === 0 && this.#before.size === 0) return;
    await writeDatabase(this.#file, (opened) => {
      for (const list of fitting(added)) opened.database.exec(deleteSessions(list));
      for (const [id, rows] of this.#before) writeRows(opened, id, rows);
    });
  }
}

/** The project is the one that the import found; before 1.15 it left the directory and its path as they were elsewhere. */
function placeOf({ database, schema }: OpenedDatabase, { cwd, rootId }: Completion): SessionPlace {
  const project = database
    .prepare("select p.id, p.worktree from project p join session s on s.project_id = p.id where s.id = ?")
    .get(rootId);
  if (project === undefined) throw failed(["import", rootId], "the session is not there, or has no project");
  const known = schema.session.has("path")
    ? database.prepare("select path from session where id = ?").get(rootId)?.path
    : null;
  const inProject = path.relative(path.resolve(String(project.worktree)), cwd).replaceAll("\\", "/");
  return { project_id: String(project.id), directory: cwd, path: typeof known === "string" ? known : inProject };
}

function setPlace({ database, schema }: OpenedDatabase, id: string, place: SessionPlace): void {
  const { project_id, directory } = place;
  database.prepare("update session set project_id = ?, directory = ? where id = ?").run(project_id, directory, id);
  if (schema.session.has("path")) database.prepare("update session set path = ? where id = ?").run(place.path, id);
}
