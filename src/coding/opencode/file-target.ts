// Restores sessions into the files of OpenCode before 1.2. OpenCode's import overwrites existing files, so the files of an existing
// session are kept in memory until the restore is complete.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import type { ExportedSession } from "./export.ts";
import { idsIn, namesIn, readInfos, readTodos, updatedAt } from "./file-storage.ts";
import { isPlainFile } from "./plan-files.ts";
import type { Completion, RestoreTarget, StoredOpenCodeSession } from "./restore-plan.ts";
import { isMessageId, isPartId, type TodoRow } from "./sql.ts";

export class FileTarget implements RestoreTarget {
  readonly #storage: string;
  /** By session: the paths and bytes of its files before the restore. */
  readonly #before = new Map<string, ReadonlyMap<string, Uint8Array>>();

  constructor(dataDir: string) {
    this.#storage = path.join(dataDir, "storage");
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
    const wanted = new Set(ids);
    const found = new Map<string, StoredOpenCodeSession>();
    // An unreadable session is skipped: it is not part of the restore, or the import writes all of its files again.
    for (const [id, info] of await readInfos(this.#storage, () => {})) {
      const messageIds = await idsIn(path.join(this.#storage, "message", id), isMessageId);
      if (!wanted.has(id) && !messageIds.some((message) => wanted.has(message))) continue;
      const parts = messageIds.map((message) => idsIn(path.join(this.#storage, "part", message), isPartId));
      found.set(id, {
        id,
        project_id: String(info.projectID),
        directory: String(info.directory),
        path: null,
        time_updated: updatedAt(info),
        messageIds,
        partIds: (await Promise.all(parts)).flat(),
        todos: await readTodos(this.#storage, id, updatedAt(info)),
      });
    }
    return found;
  }

  async prepare({ id }: StoredOpenCodeSession): Promise<void> {
    const files = new Map<string, Uint8Array>();
    for (const file of await this.#filesOf(id)) files.set(file, await readFile(file));
    this.#before.set(id, files);
  }

  async hasExactly(): Promise<boolean> {
    return false;
  }

  async complete({ todos, staleTodos }: Completion): Promise<void> {
    for (const id of staleTodos) await rm(this.#todoFile(id), { force: true });
    for (const [id, rows] of todos) await replaceFile(this.#todoFile(id), encodeTodos(rows));
  }

  #todoFile(id: string): string {
    return path.join(this.#storage, "todo", `${id}.json`);
  }

  async undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void> {
    for (const { id } of touched) {
      const was = this.#before.get(id);
      if (before.has(id) && was === undefined) continue;
      for (const file of await this.#filesOf(id)) if (!was?.has(file)) await rm(file, { force: true });
      for (const [file, bytes] of was ?? []) await replaceFile(file, bytes);
      if (was === undefined) await rm(path.join(this.#storage, "message", id), { recursive: true, force: true });
    }
    const added = touched.map(({ id }) => id).filter((id) => !before.has(id));
    const left = [...(await this.read(added)).keys()].filter((id) => added.includes(id));
    if (left.length > 0) throw new HoldfastError("AgentFailed", `${left.join(", ")} cannot be removed`);
  }

  async #filesOf(id: string): Promise<readonly string[]> {
    const inStorage = (...parts: string[]) => path.join(this.#storage, ...parts);
    const projects = await namesIn(inStorage("session"));
    const files = projects.map((project) => inStorage("session", project, `${id}.json`));
    for (const message of await idsIn(inStorage("message", id), isMessageId)) {
      files.push(inStorage("message", id, `${message}.json`));
      const parts = await idsIn(inStorage("part", message), isPartId);
      files.push(...parts.map((part) => inStorage("part", message, `${part}.json`)));
    }
    files.push(this.#todoFile(id));
    const isThere = await Promise.all(files.map(isPlainFile));
    return files.filter((_, i) => isThere[i]);
  }
}

/** The format of these versions, in which each task has an id. */
function encodeTodos(rows: readonly TodoRow[]): Uint8Array {
  const todos = rows.map(({ id, content, status, priority, position }) => ({
    content,
    status,
    priority,
    id: id ?? String(position + 1),
  }));
  return Buffer.from(JSON.stringify(todos, null, 2));
}

/** A reader sees the old file or the whole new one. */
async function replaceFile(file: string, bytes: Uint8Array): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.holdfast`;
  await writeFile(temporary, bytes, { mode: 0o600 });
  await rename(temporary, file);
}
