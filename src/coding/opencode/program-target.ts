// Restores sessions into an OpenCode database with an unknown schema. Every read and every change is a command of OpenCode's program, so
// there are no transactions, and a failed restore is undone step by step.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { type ExportedSession, readExport } from "./export.ts";
import {
  type Completion,
  idsNotIn,
  type RestoreTarget,
  readLocalRow,
  type StoredOpenCodeSession,
} from "./restore-plan.ts";
import { commandFailed, type OpenCode } from "./runner.ts";
import {
  chunksForStatement,
  deleteRows,
  deleteSessions,
  deleteTodos,
  insertTodos,
  selectLocal,
  type TodoRow,
  updateSession,
} from "./sql.ts";

export class ProgramTarget implements RestoreTarget {
  readonly #runner: OpenCode;
  /** The exports of sessions of which prepare() removed the last common message, and the id of that message. */
  readonly #copies = new Map<string, { readonly copy: string; readonly last: string }>();
  readonly #prepared = new Set<string>();

  constructor(runner: OpenCode) {
    this.#runner = runner;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
    const local = new Map<string, StoredOpenCodeSession>();
    for (const list of chunksForStatement(ids)) {
      for (const row of await this.#runner.rows(selectLocal(list))) local.set(String(row.id), readLocalRow(row));
    }
    return local;
  }

  async prepare({ id }: StoredOpenCodeSession, last: string | undefined): Promise<void> {
    this.#prepared.add(id);
    if (last === undefined) return;
    const copy = await this.#runner.text(["export", id]);
    const read = readExport(copy, id);
    if ("wrong" in read) throw commandFailed(["export", id], read.wrong);
    this.#copies.set(id, { copy, last });
    await this.#runner.rows(deleteRows("message", id, [last]));
  }

  async hasExactly(): Promise<boolean> {
    return false;
  }

  async complete({ todos, staleTodos }: Completion): Promise<void> {
    await this.#writeTodos(todos, staleTodos);
  }

  async #writeTodos(todos: Completion["todos"], clear: readonly string[]): Promise<void> {
    for (const list of chunksForStatement(clear)) await this.#runner.rows(deleteTodos(list));
    const rows = [...todos].flatMap(([session_id, list]) => list.map((row: TodoRow) => ({ session_id, ...row })));
    for (const list of chunksForStatement(rows)) await this.#runner.rows(insertTodos(list));
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void> {
    const added = touched.filter(({ id }) => !before.has(id)).map(({ id }) => id);
    for (const list of chunksForStatement(added)) await this.#runner.rows(deleteSessions(list));
    for (const session of touched) {
      const was = before.get(session.id);
      if (was !== undefined && this.#prepared.has(was.id)) await this.#undoOne(session, was);
    }
    await this.#requireGone(added);
  }

  async #undoOne(session: ExportedSession, was: StoredOpenCodeSession): Promise<void> {
    const copy = this.#copies.get(was.id);
    const messages = [...idsNotIn(session.messageIds, was.messageIds), ...(copy === undefined ? [] : [copy.last])];
    for (const list of chunksForStatement(messages)) await this.#runner.rows(deleteRows("message", was.id, list));
    const parts = idsNotIn(session.partIds, was.partIds);
    for (const list of chunksForStatement(parts)) await this.#runner.rows(deleteRows("part", was.id, list));
    if (copy !== undefined) await this.#import(copy.copy);
    const { id, project_id, directory, path, time_updated } = was;
    await this.#runner.rows(updateSession({ id, project_id, directory, path, time_updated }));
    await this.#writeTodos(new Map([[id, was.todos]]), [id]);
  }

  async #import(copy: string): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), "holdfast-opencode-"));
    try {
      const file = path.join(folder, "before.json");
      await writeFile(file, copy, { mode: 0o600 });
      await this.#runner.text(["import", file]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** In some versions `opencode db` writes nothing and still exits with 0. */
  async #requireGone(ids: readonly string[]): Promise<void> {
    const there = ids.length === 0 ? [] : [...(await this.read(ids)).keys()];
    if (there.length === 0) return;
    for (const id of there) await this.#runner.text(["session", "delete", id]);
    const left = [...(await this.read(ids)).keys()];
    if (left.length > 0) throw commandFailed(["session", "delete"], `${left.join(", ")} still exists`);
  }
}
