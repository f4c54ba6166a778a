// SQLite through node:sqlite. One connection writes, one reads; a write transaction lives inside one macrotask, so that
// two handles on a file never block each other's event loop: who finds the file locked waits by timers.
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import type { InspectLimits } from "../../../contracts/storage.ts";
import { FILE_MODE } from "../../../core/file-mode.ts";
import {
  type BulkSpec,
  type Driver,
  type Execute,
  type Param,
  type Plan,
  type Row,
  StaleFence,
  type Step,
} from "../driver.ts";
import { tooMuch } from "../inspection.ts";
import { CHECKPOINT_FRAMES, Checkpoints } from "./checkpoints.ts";
import { bindable, Connection } from "./connection.ts";
import { createDatabaseFile, warnIfExposed } from "./database-file.ts";
import { sqlite } from "./dialect.ts";
import { busyError, isBusy, isTooMuch, sqliteError } from "./errors.ts";
import { Inspector } from "./inspector.ts";
import { reclaim, rewrite, type Space } from "./space.ts";

export interface SqliteOptions {
  /** A file path, or ":memory:". */
  readonly path: string;
  readonly durability: "full" | "normal";
  readonly busyMs: number;
  readonly environment: Environment;
  /** Rights of a file that is made; its owner's only when not given. */
  readonly fileMode?: number;
}

/** Rows of one insert, as many as there are: a few constant texts per table. */
const WIDTHS = [16, 2, 1];
const POLL_MS = 20;
/** Frames of a row that carries bytes; an estimate, on the high side. */
const FRAMES_PER_BODY = 8;

class SqliteDriver implements Driver {
  readonly dialect = sqlite;
  readonly #options: SqliteOptions;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #checkpoints: Checkpoints;
  readonly #inspector: Inspector;
  /** Written by the transaction under way. */
  #rows = 0;
  readonly #lookups = new Map<string, string>();
  readonly #bulks = new Map<BulkSpec, readonly { readonly width: number; readonly text: string }[]>();

  constructor(options: SqliteOptions, writer: Connection, reader: Connection) {
    this.#options = options;
    this.#writer = writer;
    this.#reader = reader;
    this.#inspector = new Inspector(options.environment);
    const setAuto = (frames: number) => writer.db.exec(`PRAGMA wal_autocheckpoint = ${frames}`);
    this.#checkpoints = new Checkpoints(options.path, options.environment, setAuto);
  }

  transact<T>(plan: () => Plan<T>): Promise<T> {
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
      // It has happened: nothing from here on may say otherwise.
      this.#checkpoints.committed(this.#rows);
      return result;
    });
  }

  /**
   * Runs it in one go once nobody else holds the write lock; waits by timers, because busy_timeout would block the whole
   * process. Nothing of ours comes between its statements: there is no await among them.
   */
  async #whenFree<T>(run: () => T): Promise<T> {
    const { environment, busyMs, path } = this.#options;
    const deadline = environment.monotonic() + busyMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return run();
      } catch (error) {
        if (error instanceof StaleFence) throw error;
        if (!isBusy(error)) throw sqliteError(error, path);
        if (environment.monotonic() >= deadline) throw busyError(path, error);
      }
      const spread = (environment.random(1)[0] ?? 0) / 255;
      await environment.sleep(Math.min(1 + attempt * 0.5, 8) * (0.5 + spread));
    }
  }

  #drive<T>(plan: Plan<T>): T {
    let next = plan.next();
    while (!next.done) next = plan.next(next.value.steps.map((step) => this.#step(step)));
    return next.value;
  }

  #step(step: Step): readonly Row[] {
    switch (step.kind) {
      case "query":
        return step.answers === undefined
          ? this.#writer.all(step.sql, step.params)
          : this.#writer.rows(step.sql, step.params);
      case "lookup": {
        const text = this.#lookupText(step.sql);
        return step.keys.flatMap((key) => this.#writer.all(text, [key]));
      }
      case "settle":
        return [];
      case "bulk":
        this.#bulk(step.spec, step.rows);
        return [];
    }
  }

  #lookupText(sql: string): string {
    const known = this.#lookups.get(sql) ?? sqlite.renderLookup(sql, false);
    this.#lookups.set(sql, known);
    return known;
  }

  #bulk(spec: BulkSpec, rows: readonly (readonly Param[])[]): void {
    let texts = this.#bulks.get(spec);
    if (texts === undefined) {
      const widths = spec.verb === "insert" ? WIDTHS : [1];
      texts = widths.map((width) => ({ width, text: sqlite.renderBulk(spec, width) }));
      this.#bulks.set(spec, texts);
    }
    const hasBody = spec.table === "blobs" || spec.table === "segment_frames";
    this.#rows += hasBody ? rows.length * FRAMES_PER_BODY : rows.length;
    let done = 0;
    for (const { width, text } of texts) {
      for (; rows.length - done >= width; done += width) {
        const changed = this.#writer.run(text, width === 1 ? (rows[done] ?? []) : joined(rows, done, width));
        if (spec.verb === "fence" && changed !== 1) throw new StaleFence();
      }
    }
  }

  #rollback(): void {
    try {
      this.#writer.db.exec("ROLLBACK");
    } catch (error) {
      // SQLite has rolled back by itself after some errors, a full disk among them.
      this.#options.environment.log("debug", "sqlite.rollback", { path: this.#options.path, error: String(error) });
    }
  }

  async read(sql: string, params: readonly Param[]): Promise<readonly Row[]> {
    try {
      return this.#reader.rows(sql, params);
    } catch (error) {
      throw sqliteError(error, this.#options.path);
    }
  }

  async inspect(sql: string, params: readonly Param[], limits: InspectLimits): Promise<readonly Row[]> {
    const { path } = this.#options;
    try {
      if (path !== ":memory:") return await this.#inspector.run({ path }, sql, bindable(params), limits);
      // Nobody else can look into our memory: a copy is looked at, made anew when something was written since.
      const version = Number(this.#writer.all("SELECT total_changes() AS n", [])[0]?.n);
      const image = () => this.#writer.db.serialize();
      return await this.#inspector.run({ image, version }, sql, bindable(params), limits);
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

  /** data_version changes whenever another connection, also of another process, has committed. */
  watch(heard: (sessions: null) => void): () => void {
    const stop = new AbortController();
    const version = () => this.#reader.all("PRAGMA data_version", [])[0]?.data_version;
    const poll = async () => {
      let seen = version();
      while (!stop.signal.aborted) {
        await this.#options.environment.sleep(POLL_MS, stop.signal);
        if (stop.signal.aborted) return;
        const now = version();
        if (now !== seen) heard(null);
        seen = now;
      }
    };
    poll().catch((error) => {
      this.#options.environment.log("warn", "sqlite.watch", { error: String(error) });
    });
    return () => stop.abort();
  }

  reclaim(): Promise<void> {
    return this.#typed(() => reclaim(this.#space()));
  }

  rewrite(): Promise<void> {
    return this.#typed(() => rewrite(this.#space()));
  }

  /** A checkpoint writes to the file outside of any transaction: what SQLite says of that is told like all else. */
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
    this.#inspector.close();
    await this.#checkpoints.close();
    if (this.#reader !== this.#writer && this.#reader.db.isOpen) this.#reader.db.close();
    if (this.#writer.db.isOpen) this.#writer.db.close();
  }
}

function joined(rows: readonly (readonly Param[])[], from: number, width: number): readonly Param[] {
  const params: Param[] = [];
  for (let i = from; i < from + width; i++) for (const param of rows[i] ?? []) params.push(param);
  return params;
}

const OUR_TABLE = "SELECT name FROM sqlite_master WHERE name = 'holdfast_meta'";

function makeReady(db: DatabaseSync, path: string): void {
  // Before the first page, or not at all; said to a store that is there, it would be a write, for which all must wait.
  if (db.prepare("PRAGMA page_count").get()?.page_count === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  if (path !== ":memory:") db.exec("PRAGMA journal_mode = WAL");
}

function prepare(connection: Connection, options: SqliteOptions, role: "writer" | "reader"): void {
  const { db } = connection;
  if (role === "writer") {
    // A file that is not ours stays as it is, and an empty one until a store is to be made of it.
    if (db.prepare(OUR_TABLE).get() !== undefined) makeReady(db, options.path);
    db.exec(`PRAGMA synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`);
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_FRAMES}`);
    db.exec("PRAGMA secure_delete = ON");
    db.exec("PRAGMA busy_timeout = 0");
    db.exec("PRAGMA cache_size = -16384");
  } else {
    db.exec("PRAGMA query_only = ON");
    // A reader waits only while another process recovers or resets the WAL, which takes no time.
    db.exec("PRAGMA busy_timeout = 2000");
    db.exec("PRAGMA cache_size = -16384");
  }
  db.exec("PRAGMA foreign_keys = OFF");
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
      prepare(writer, options, "writer");
      // Two connections to ":memory:" would be two databases: reads share the writer, between its transactions.
      reader = path === ":memory:" ? writer : new Connection(path);
      if (reader !== writer) prepare(reader, options, "reader");
      if (path !== ":memory:") warnIfExposed(path, fileMode, environment);
      return new SqliteDriver(options, writer, reader);
    } catch (error) {
      if (reader !== writer) reader?.db.close();
      writer?.db.close();
      if (!isBusy(error)) throw openError(error, path);
      if (environment.monotonic() >= deadline) throw busyError(path, error);
    }
    await environment.sleep(5 + (environment.random(1)[0] ?? 0) / 16);
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
