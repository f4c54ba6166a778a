// Large transactions: those of a file run in a thread of their own, those of a store in memory on the main thread, in slices
// of time.
import type { Environment } from "../../../contracts/environment.ts";
import { TimeSlice } from "../../../core/time-slice.ts";
import type { Param, Plan, Row, Statement } from "../driver.ts";
import { type BulkTexts, bindable, type SqliteOptions, writerPragmas } from "./connection.ts";
import type { OpenFile } from "./database-file.ts";
import { sqlite } from "./dialect.ts";
import { sqliteError } from "./errors.ts";
import { packRows } from "./packed-rows.ts";
import { WriterThread } from "./writer-thread.ts";

/** Keys that are looked up at once. */
const KEYS_AT_ONCE = 500;
/** Of a thread that writes very many rows: pages of their indexes are written once instead of again and again. */
const LARGE_CACHE = "cache_size = -65536";

/** Lets the event loop run between two statements whenever a slice of time is spent. */
export async function driveInSlices<T>(
  plan: Plan<T>,
  slice: TimeSlice,
  runStatement: (statement: Statement) => readonly Row[] | Promise<readonly Row[]>,
): Promise<T> {
  let next = plan.next();
  while (!next.done) {
    const results: (readonly Row[])[] = [];
    for (const statement of next.value.statements) {
      const rows: Row[] = [];
      for (const part of partsOf(statement)) {
        if (slice.isSpent) await slice.pause();
        const found = await runStatement(part);
        for (const row of found) rows.push(row);
      }
      results.push(rows);
    }
    next = plan.next(results);
  }
  return next.value;
}

function partsOf(statement: Statement): readonly Statement[] {
  if (statement.kind !== "lookup" || statement.keys.length <= KEYS_AT_ONCE) return [statement];
  const parts: Statement[] = [];
  for (let at = 0; at < statement.keys.length; at += KEYS_AT_ONCE) {
    parts.push({ ...statement, keys: statement.keys.slice(at, at + KEYS_AT_ONCE) });
  }
  return parts;
}

/** A plan's statements in a thread. Rows that are known before the transaction begins are in the thread by then. */
class ThreadTransaction {
  readonly #thread: WriterThread;
  readonly #texts: BulkTexts;
  readonly #slice: TimeSlice;
  readonly #staged = new Map<Statement, number>();
  /**
   * Sent ahead: the thread need not wait for the main thread between two of them, while other writers wait for its
   * lock.
   */
  readonly #writes: Promise<unknown>[] = [];

  constructor(thread: WriterThread, texts: BulkTexts, environment: Environment) {
    this.#thread = thread;
    this.#texts = texts;
    this.#slice = new TimeSlice(environment);
  }

  async stage(statements: readonly Statement[]): Promise<void> {
    for (const statement of statements) {
      if (statement.kind !== "bulk") continue;
      if (this.#slice.isSpent) await this.#slice.pause();
      const id = this.#staged.size;
      this.#staged.set(statement, id);
      await this.#thread.stage(id, this.#texts.of(statement.spec), packRows(statement.rows));
    }
  }

  async run<T>(plan: Plan<T>): Promise<T> {
    const [driven] = await Promise.allSettled([driveInSlices(plan, this.#slice, (statement) => this.#run(statement))]);
    // The first error caused the others.
    for (const write of this.#writes) await write;
    if (driven.status === "rejected") throw driven.reason;
    return driven.value;
  }

  async #run(statement: Statement): Promise<readonly Row[]> {
    switch (statement.kind) {
      case "query":
        return this.#thread.all(sqlite.render(statement.sql), bindable(statement.params));
      case "lookup":
        return this.#thread.lookUp(
          sqlite.renderLookup(statement.sql, false),
          bindable(statement.keys as readonly Param[]),
        );
      case "lock-table":
        return [];
      case "bulk": {
        // A fence needs the number of changed rows.
        if (statement.spec.verb === "fence") throw new Error("bug: a large transaction has a fence");
        const id = this.#staged.get(statement);
        const texts = this.#texts.of(statement.spec);
        this.#send(
          id === undefined ? this.#thread.write(texts, packRows(statement.rows)) : this.#thread.writeStaged(id),
        );
        return [];
      }
    }
  }

  #send(write: Promise<unknown>): void {
    this.#writes.push(write);
    write.catch(() => {});
  }
}

/** null, with a log entry, if no thread can start; then the main thread writes, and holds the event loop meanwhile. */
export async function startThread(options: SqliteOptions, file: OpenFile): Promise<WriterThread | null> {
  const { path, environment } = options;
  let thread: WriterThread | null = null;
  let why = "another file has the name of the store's";
  try {
    thread = new WriterThread(path, file, [...writerPragmas(options), LARGE_CACHE]);
    if (await thread.open()) return thread;
  } catch (error) {
    why = String(error);
  }
  await thread?.close();
  environment.log("info", "sqlite.writer-thread", { path, error: why });
  return null;
}

interface ThreadWork {
  readonly options: SqliteOptions;
  readonly prepared: readonly Statement[];
  readonly texts: BulkTexts;
  /** Runs it once the write lock is free. */
  whenFree(run: () => Promise<unknown>): Promise<unknown>;
}

/** Runs the plan in the thread, and ends the thread. */
export async function transactInThread<T>(thread: WriterThread, plan: () => Plan<T>, work: ThreadWork): Promise<T> {
  const { options, prepared, texts, whenFree } = work;
  try {
    const transaction = new ThreadTransaction(thread, texts, options.environment);
    await transaction.stage(prepared);
    await whenFree(() => thread.all("BEGIN IMMEDIATE", []));
    try {
      const result = await transaction.run(plan());
      await thread.all("COMMIT", []);
      return result;
    } catch (error) {
      await thread.all("ROLLBACK", []).catch((failed) => logRollback(options, failed));
      throw sqliteError(error, options.path);
    }
  } finally {
    await thread.close();
  }
}

/** SQLite has rolled back by itself after some errors, a full disk among them. */
export function logRollback({ path, environment }: SqliteOptions, error: unknown): void {
  environment.log("debug", "sqlite.rollback", { path, error: String(error) });
}
