// SQLite through node:sqlite. One connection writes, one reads; a write transaction lives inside one macrotask, so that
// two handles on a file never block each other's event loop: a handle that finds the file locked waits by timers.
import { statSync } from "node:fs";
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import type { EngineReport } from "../../../contracts/storage/engine-report.ts";
import type { InspectLimits } from "../../../contracts/storage/storage.ts";
import { randomShare } from "../../../core/backoff.ts";
import { FILE_MODE } from "../../../core/file-mode.ts";
import { TimeSlice } from "../../../core/time-slice.ts";
import {
  type BulkSpec,
  type Driver,
  type Execute,
  type Param,
  type Plan,
  type Row,
  StaleFence,
  type Statement,
  type TransactOptions,
} from "../driver.ts";
import { tooMuch } from "../inspection.ts";
import { Checkpointer } from "./checkpointer.ts";
import {
  BulkTexts,
  bindable,
  CHECKPOINT_FRAMES,
  Connection,
  joinRows,
  makeReady,
  prepareConnection,
  type SqliteOptions,
} from "./connection.ts";
import { createDatabaseFile, type OpenFile, openFile, warnIfExposed } from "./database-file.ts";
import { sqlite } from "./dialect.ts";
import { busyError, isBusy, isTooMuch, sqliteError } from "./errors.ts";
import { examineSqlite } from "./examiner.ts";
import { Inspector } from "./inspector.ts";
import { driveInSlices, logRollback, startThread, transactInThread } from "./large-transaction.ts";
import { reclaim, rewrite, type Space } from "./space.ts";
import { watchDataVersion } from "./watch.ts";

/** Frames of a row that carries bytes; an estimate, on the high side. */
const FRAMES_PER_BODY = 8;
/** WAL frames after which a commit checkpoints itself, because the thread does not keep up. */
const LATE_CHECKPOINT_FRAMES = 16_000;
/**
 * Frames after which the thread is asked to checkpoint: not too often, because its syncs slow down concurrent commits.
 */
const ASKED_CHECKPOINT_FRAMES = 4000;
/** Rows of a commit that many wait for; the event loop is not to be held up any longer by a checkpoint in it. */
const BUSY_ROWS = 16;
/** Frames a commit takes beside those of its rows; an estimate, on the high side. */
const FRAMES_PER_COMMIT = 4;

class SqliteDriver implements Driver {
  readonly dialect = sqlite;
  readonly answersAtOnce = true;
  readonly #options: SqliteOptions;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #checkpoints: Checkpoints;
  /** Made for the first query. */
  #inspector: Inspector | null = null;
  /** Written by the transaction under way. */
  #rows = 0;
  readonly #lookups = new Map<string, string>();
  readonly #bulks = new BulkTexts();
  /** null: in memory. */
  readonly #file: OpenFile | null;
  /** The large transaction of a store in memory: readers share its connection, and must not see half of it. */
  #exclusive: Promise<unknown> | null = null;

  constructor(options: SqliteOptions, writer: Connection, reader: Connection) {
    this.#options = options;
    this.#writer = writer;
    this.#reader = reader;
    this.#file = options.path === ":memory:" ? null : openFile(options.path);
    const setAuto = (frames: number) => writer.db.exec(`PRAGMA wal_autocheckpoint = ${frames}`);
    this.#checkpoints = new Checkpoints(options.path, options.environment, setAuto);
  }

  async transact<T>(plan: () => Plan<T>, { prepared }: TransactOptions = {}): Promise<T> {
    if (this.#exclusive !== null) await this.#whenWhole();
    if (prepared === undefined) return this.#transactAtOnce(plan);
    if (this.#file === null) return this.#transactInSlices(plan);
    const thread = await startThread(this.#options, this.#file);
    if (thread === null) return this.#transactAtOnce(plan);
    return transactInThread(thread, plan, {
      options: this.#options,
      prepared,
      texts: this.#bulks,
      whenFree: (run) => this.#whenFree(run),
    });
  }

  #transactAtOnce<T>(plan: () => Plan<T>): Promise<T> {
    return this.#whenFree(() => {
      this.#writer.run("BEGIN IMMEDIATE", []);
      this.#rows = 0;
      let result: T;
      try {
        result = this.#drive(plan());
        this.#writer.run("COMMIT", []);
      } catch (error) {
        this.#rollback();
        throw error;
      }
      // The transaction has committed, so later errors must not be reported as its failure.
      this.#checkpoints.countRows(this.#rows);
      return result;
    });
  }

  /** Of a store in memory. */
  async #transactInSlices<T>(plan: () => Plan<T>): Promise<T> {
    this.#writer.run("BEGIN IMMEDIATE", []);
    const slice = new TimeSlice(this.#options.environment);
    const running = driveInSlices(plan(), slice, (statement) => this.#run(statement));
    this.#exclusive = running;
    try {
      const result = await running;
      this.#writer.run("COMMIT", []);
      return result;
    } catch (error) {
      this.#rollback();
      throw sqliteError(error, this.#options.path);
    } finally {
      this.#exclusive = null;
    }
  }

  /**
   * Runs it in one go once the write lock is free; waits by timers, because busy_timeout would block the whole process.
   * No other code of this process runs between its statements: there is no await among them.
   */
  async #whenFree<T>(run: () => T | Promise<T>): Promise<T> {
    const { environment, busyMs, path } = this.#options;
    const deadline = environment.monotonic() + busyMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (error instanceof StaleFence) throw error;
        if (!isBusy(error)) throw sqliteError(error, path);
        if (environment.monotonic() >= deadline) throw busyError(path, error);
      }
      await environment.sleep(Math.min(1 + attempt * 0.5, 8) * (0.5 + randomShare(environment)));
    }
  }

  #drive<T>(plan: Plan<T>): T {
    let next = plan.next();
    while (!next.done) next = plan.next(next.value.statements.map((statement) => this.#run(statement)));
    return next.value;
  }

  #run(statement: Statement): readonly Row[] {
    switch (statement.kind) {
      case "query":
        return statement.answers === undefined
          ? this.#writer.all(statement.sql, statement.params)
          : this.#writer.rows(statement.sql, statement.params);
      case "lookup": {
        const text = this.#lookupText(statement.sql);
        return statement.keys.flatMap((key) => this.#writer.all(text, [key]));
      }
      case "lock-table":
        return [];
      case "bulk":
        this.#bulk(statement.spec, statement.rows);
        return [];
    }
  }

  #lookupText(sql: string): string {
    const known = this.#lookups.get(sql) ?? sqlite.renderLookup(sql, false);
    this.#lookups.set(sql, known);
    return known;
  }

  #bulk(spec: BulkSpec, rows: readonly (readonly Param[])[]): void {
    const hasBody = spec.table === "blobs" || spec.table === "segment_frames";
    this.#rows += hasBody ? rows.length * FRAMES_PER_BODY : rows.length;
    let done = 0;
    for (const { width, text } of this.#bulks.of(spec)) {
      for (; rows.length - done >= width; done += width) {
        const changed = this.#writer.run(text, width === 1 ? (rows[done] ?? []) : joinRows(rows, done, width));
        if (spec.verb === "fence" && changed !== 1) throw new StaleFence();
      }
    }
  }

  #rollback(): void {
    try {
      this.#writer.db.exec("ROLLBACK");
    } catch (error) {
      logRollback(this.#options, error);
    }
  }

  async read(sql: string, params: readonly Param[]): Promise<readonly Row[]> {
    if (this.#exclusive !== null) await this.#whenWhole();
    try {
      return this.#reader.rows(sql, params);
    } catch (error) {
      throw sqliteError(error, this.#options.path);
    }
  }

  async lookup(sql: string, keys: readonly Param[]): Promise<readonly Row[]> {
    const text = this.#lookupText(sql);
    if (this.#exclusive !== null) await this.#whenWhole();
    try {
      return keys.flatMap((key) => this.#reader.rows(text, [key]));
    } catch (error) {
      throw sqliteError(error, this.#options.path);
    }
  }

  /** Waits until no large transaction is in progress on the reading connection. */
  async #whenWhole(): Promise<void> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => {});
  }

  async inspect(sql: string, params: readonly Param[], limits: InspectLimits): Promise<readonly Row[]> {
    const { path, environment } = this.#options;
    this.#inspector ??= new Inspector(environment);
    const inspector = this.#inspector;
    await this.#whenWhole();
    try {
      if (path !== ":memory:") return await inspector.run({ path }, sql, bindable(params), limits);
      // Another process cannot read this memory: it reads a copy, which is made again after a write.
      const version = Number(this.#writer.all("SELECT total_changes() AS n", [])[0]?.n);
      const image = () => this.#writer.db.serialize();
      return await inspector.run({ image, version }, sql, bindable(params), limits);
    } catch (error) {
      if (isTooMuch(error)) throw tooMuch("SQLite", error);
      throw sqliteError(error, path);
    }
  }

  async migrate(create: boolean, run: (execute: Execute) => Promise<void>): Promise<void> {
    if (create) await this.#whenFree(() => makeReady(this.#writer.db, this.#options.path));
    await this.#whenFree(() => this.#writer.run("BEGIN IMMEDIATE", []));
    try {
      // Nothing inside waits for anything but these synchronous statements, so the lock spans no macrotask.
      await run(async (...sql) => sql.map((one) => this.#writer.db.prepare(one).all() as readonly Row[]).at(-1) ?? []);
      this.#writer.run("COMMIT", []);
    } catch (error) {
      this.#rollback();
      throw sqliteError(error, this.#options.path);
    }
  }

  announce(): void {}

  watch(onChange: (sessions: null) => void): () => void {
    return watchDataVersion(this.#writer, this.#options.environment, onChange);
  }

  reclaim(): Promise<void> {
    return this.#typed(() => reclaim(this.#space()));
  }

  rewrite(): Promise<void> {
    return this.#typed(() => rewrite(this.#space()));
  }

  /** A checkpoint writes to the file outside of any transaction: its errors are reported like all others. */
  async #typed<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw sqliteError(error, this.#options.path);
    }
  }

  #space(): Space {
    const { path, environment, busyMs } = this.#options;
    return { db: this.#writer.db, path, environment, busyMs, whenFree: (run) => this.#whenFree(run) };
  }

  async examine(): Promise<EngineReport> {
    const { path } = this.#options;
    try {
      return await examineSqlite(path, path === ":memory:" ? this.#reader.db : null);
    } catch (error) {
      throw sqliteError(error, path);
    }
  }

  async size(): Promise<number> {
    if (this.#options.path === ":memory:") {
      const row = this.#reader.all(
        "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()",
        [],
      );
      return Number(row[0]?.n ?? 0);
    }
    return [this.#options.path, `${this.#options.path}-wal`]
      .map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
      .reduce((a, b) => a + b, 0);
  }

  async close(): Promise<void> {
    this.#inspector?.close();
    await this.#checkpoints.close();
    if (this.#reader !== this.#writer && this.#reader.db.isOpen) this.#reader.db.close();
    if (this.#writer.db.isOpen) this.#writer.db.close();
  }
}

/** When the WAL is moved into the database. While many write at once a thread does it; before and after, commits do it themselves. */
class Checkpoints {
  readonly #path: string;
  readonly #environment: Environment;
  readonly #setAuto: (frames: number) => void;
  #checkpointer: Checkpointer | null = null;
  #threadless: boolean;
  /** In the WAL since the last checkpoint, roughly. */
  #frames = 0;
  /** Of these, since the last commit that many waited for. */
  #quietFrames = 0;
  /** What the writer's connection is set to. */
  #auto = CHECKPOINT_FRAMES;

  constructor(path: string, environment: Environment, setAuto: (frames: number) => void) {
    this.#path = path;
    this.#environment = environment;
    this.#setAuto = setAuto;
    this.#threadless = path === ":memory:";
  }

  countRows(rows: number): void {
    const busy = rows >= BUSY_ROWS;
    const frames = rows + FRAMES_PER_COMMIT;
    this.#frames += frames;
    this.#quietFrames = busy ? 0 : this.#quietFrames + frames;
    if (this.#checkpointer !== null) {
      // A WAL that is begun anew in time stays short, and a commit that need not make its file longer is a third faster.
      if (busy) this.#from(LATE_CHECKPOINT_FRAMES);
      else if (this.#quietFrames >= CHECKPOINT_FRAMES) this.#from(CHECKPOINT_FRAMES);
    }
    if (this.#frames < ASKED_CHECKPOINT_FRAMES) return;
    this.#frames = 0;
    if (!busy || this.#threadless) return;
    if (this.#checkpointer === null) {
      try {
        this.#checkpointer = new Checkpointer(this.#path);
      } catch (error) {
        // No thread may be started here: commits keep checkpointing.
        this.#threadless = true;
        this.#environment.log("info", "sqlite.checkpointer", { error: String(error) });
        return;
      }
      this.#from(LATE_CHECKPOINT_FRAMES);
    }
    this.#checkpointer.ask();
  }

  async close(): Promise<void> {
    await this.#checkpointer?.close();
  }

  #from(frames: number): void {
    if (frames === this.#auto) return;
    this.#auto = frames;
    this.#setAuto(frames);
  }
}

export async function openSqlite(options: SqliteOptions): Promise<Driver> {
  const { path, environment, busyMs, fileMode = FILE_MODE } = options;
  const deadline = environment.monotonic() + busyMs;
  if (path !== ":memory:") createDatabaseFile(path, fileMode);
  for (;;) {
    let writer: Connection | undefined;
    let reader: Connection | undefined;
    try {
      writer = new Connection(path);
      prepareConnection(writer, options, "writer");
      // Two connections to ":memory:" would be two databases: reads share the writer, between its transactions.
      reader = path === ":memory:" ? writer : new Connection(path);
      if (reader !== writer) prepareConnection(reader, options, "reader");
      if (path !== ":memory:") warnIfExposed(path, fileMode, environment);
      return new SqliteDriver(options, writer, reader);
    } catch (error) {
      if (reader !== writer) reader?.db.close();
      writer?.db.close();
      if (!isBusy(error)) throw openError(error, path);
      if (environment.monotonic() >= deadline) throw busyError(path, error);
    }
    await environment.sleep(5 + 16 * randomShare(environment));
  }
}

function openError(error: unknown, path: string): unknown {
  if (isDirectory(path)) {
    return new HoldfastError("BadUrl", `${path} is a directory, not a store`, {
      details: { path },
      hint: "Give the path of a file inside it.",
      cause: error,
    });
  }
  return sqliteError(error, path);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
