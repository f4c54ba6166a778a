// A simulated server that behaves as PostgreSQL does, over one real SQLite file. A transaction spans the round trips of
// a plan and holds its locks between them: rows that it looked up to change them, rows that it changed, keys that it
// inserted, tables. Its writes are buffered and executed in one real transaction when it commits; until then each
// statement runs after those writes and is rolled back. The locks keep that correct: no other transaction changes what
// a statement has read. Isolation is READ COMMITTED, statement by statement, with one difference: a guard that waited
// for a row counts other rows after the wait; PostgreSQL counts them before it.
import { type Driver, LOOKUP, type Param, type Plan, type Row, type Statement } from "../../storage/sql/driver.ts";
import { sqlite } from "../../storage/sql/sqlite/dialect.ts";
import type { Disk } from "./disk.ts";
import { LockTable } from "./locks.ts";
import type { Process } from "./scheduler.ts";
import { touchedRows, writtenTable } from "./touched-rows.ts";

/** The timeouts that a driver sets when it connects; null: none, as is the server's default. */
export interface ServerTimeouts {
  readonly lockMs: number | null;
  readonly idleInTransactionMs: number | null;
}

/** A server error with the code from which the driver makes its own errors. */
class ServerError extends Error {
  readonly code: string;
  readonly severity: string;

  constructor(code: string, message: string, severity = "ERROR") {
    super(message);
    this.code = code;
    this.severity = severity;
  }
}

/** Marks a guard in a plan: its rows are locked. */
export const LOCK_ROW = " /*for update*/";

/** Tables whose rows get their numbers before the transaction that adds them commits. */
const NUMBERED: ReadonlySet<string> = new Set(["sessions", "agents"]);

/** Thrown to roll back a real transaction that was only read. */
class RolledBack extends Error {
  readonly rows: readonly Row[];

  constructor(rows: readonly Row[]) {
    super();
    this.rows = rows;
  }
}

/** One connection of a client: at most one transaction, which begins with its first trip. */
export class ServerConnection {
  /** Of round trips before, with the numbers their rows have got. */
  readonly writes: Statement[] = [];
  readonly client: string;
  isBusy = false;
  /** The client is gone: the connection ends when its current trip is done. */
  isLeft = false;
  isClosed = false;
  idle: AbortController | null = null;

  constructor(client: string) {
    this.client = client;
  }
}

export class SimulatedServer {
  readonly #driver: Driver;
  readonly #process: Process;
  readonly #disk: Disk;
  readonly #locks = new LockTable<ServerConnection>();
  readonly #numbers = new Map<string, number>();

  /** `process` is the server's own, which has no faults. */
  constructor(driver: Driver, process: Process, disk: Disk) {
    this.#driver = driver;
    this.#process = process;
    this.#disk = disk;
  }

  connect(client: Process): ServerConnection {
    const connection = new ServerConnection(client.name);
    client.whenDead(() => this.disconnect(connection));
    return connection;
  }

  read(sql: string, params: readonly Param[]): Promise<readonly Row[]> {
    return this.#driver.read(sql, params);
  }

  /** The client is gone, and the server knows it. */
  disconnect(connection: ServerConnection): void {
    connection.isLeft = true;
    if (!connection.isBusy) this.#end(connection);
  }

  /** Runs the statements of one trip; after the last one it commits. An error ends the transaction. */
  async execute(
    connection: ServerConnection,
    { statements, last }: { readonly statements: readonly Statement[]; readonly last: boolean },
    timeouts: ServerTimeouts,
  ): Promise<readonly (readonly Row[])[]> {
    connection.idle?.abort();
    if (connection.isClosed) throw new ServerError("25P03", "terminated: idle in transaction for too long", "FATAL");
    connection.isBusy = true;
    try {
      const rows = last
        ? await this.#commit(connection, statements, timeouts)
        : await this.#statements(connection, statements, timeouts);
      if (last || connection.isLeft) this.#end(connection);
      else this.#awaitNext(connection, timeouts);
      return rows;
    } catch (error) {
      this.#end(connection);
      throw isDuplicate(error) ? new ServerError("23505", String(error)) : error;
    } finally {
      connection.isBusy = false;
    }
  }

  #end(connection: ServerConnection): void {
    connection.isClosed = true;
    connection.idle?.abort();
    this.#locks.releaseAll(connection);
  }

  #awaitNext(connection: ServerConnection, { idleInTransactionMs }: ServerTimeouts): void {
    if (idleInTransactionMs === null) return;
    const idle = new AbortController();
    connection.idle = idle;
    this.#process.environment.sleep(idleInTransactionMs, idle.signal).then(() => {
      if (!idle.signal.aborted) this.#end(connection);
    });
  }

  async #statements(
    connection: ServerConnection,
    statements: readonly Statement[],
    timeouts: ServerTimeouts,
  ): Promise<readonly (readonly Row[])[]> {
    const results: (readonly Row[])[] = [];
    for (const statement of statements) {
      await this.#process.schedule("statement");
      const isFound = await this.#lock(connection, statement, timeouts);
      const numbered = await this.#withNumbers(statement);
      results.push(isFound ? await this.#look(connection.writes, numbered) : []);
      if (isWrite(numbered)) connection.writes.push(numbered);
    }
    return results;
  }

  /** All locks first, then everything in one real transaction. */
  async #commit(
    connection: ServerConnection,
    statements: readonly Statement[],
    timeouts: ServerTimeouts,
  ): Promise<readonly (readonly Row[])[]> {
    const numbered: Statement[] = [];
    for (const statement of statements) {
      await this.#process.schedule("statement");
      await this.#lock(connection, statement, timeouts);
      numbered.push(await this.#withNumbers(statement));
    }
    await this.#disk.written(this.#process, connection.client);
    const { writes } = connection;
    const plan = function* (): Plan<readonly (readonly Row[])[]> {
      return (yield { statements: [...writes, ...numbered], last: true }).slice(writes.length);
    };
    return this.#driver.transact(plan);
  }

  /** Runs the statement after the buffered writes and rolls everything back; returns its answer. */
  async #look(writes: readonly Statement[], statement: Statement): Promise<readonly Row[]> {
    const plan = function* (): Plan<never> {
      const rows = yield { statements: [...writes, statement], last: true };
      throw new RolledBack(rows.at(-1) ?? []);
    };
    try {
      return await this.#driver.transact(plan);
    } catch (error) {
      if (error instanceof RolledBack) return error.rows;
      throw error;
    }
  }

  /** A used number is not used again, even if its row is rolled back. */
  async #withNumbers(statement: Statement): Promise<Statement> {
    if (statement.kind !== "bulk" || statement.spec.verb !== "insert" || !NUMBERED.has(statement.spec.table))
      return statement;
    const { spec, rows } = statement;
    const [newest] = await this.#driver.read(`SELECT coalesce(max(no), 0) AS n FROM ${spec.table}`, []);
    let last = Math.max(this.#numbers.get(spec.table) ?? 0, Number(newest?.n));
    const numbered = rows.map((row) => [...row, ++last]);
    this.#numbers.set(spec.table, last);
    const columns = [...spec.columns, { name: "no", type: "int", value: "?" } as const];
    return { kind: "bulk", spec: { ...spec, columns }, rows: numbered };
  }

  /** Takes the locks of a statement; false when it looks for rows to lock and there are none. */
  async #lock(connection: ServerConnection, statement: Statement, timeouts: ServerTimeouts): Promise<boolean> {
    const take = (name: string, mode: "shared" | "exclusive") => this.#acquire(connection, name, mode, timeouts);
    switch (statement.kind) {
      case "lock-table":
        await take(statement.table, statement.how === "alone" ? "exclusive" : "shared");
        return true;
      case "lookup":
        return statement.lock ? this.#lockFound(connection, lookups(statement.sql, statement.keys), take) : true;
      case "query": {
        if (statement.sql.endsWith(LOCK_ROW)) return this.#lockFound(connection, [statement], take);
        const table = writtenTable(statement.sql);
        if (table === null) return true;
        await take(table, "shared");
        await this.#lockFound(connection, [statement], take);
        return true;
      }
      case "bulk": {
        const { spec, rows } = statement;
        if (rows.length === 0) return true;
        await take(spec.table, "shared");
        if (spec.verb === "insert") await this.#lockKeys(statement, take);
        else {
          const sql = sqlite.renderBulk(spec, 1);
          await this.#lockFound(
            connection,
            rows.map((params) => ({ sql, params })),
            take,
          );
        }
        return true;
      }
    }
  }

  /** In the order of their numbers, as every plan does it. True when there are any. */
  async #lockFound(
    { writes }: ServerConnection,
    statements: readonly { readonly sql: string; readonly params: readonly Param[] }[],
    take: Take,
  ): Promise<boolean> {
    const found: { readonly table: string; readonly no: number }[] = [];
    for (const { sql, params } of statements) {
      const asked = touchedRows(sql, params);
      if (asked === null) continue;
      const rows = await this.#look(writes, { kind: "query", sql: asked.sql, params: asked.params });
      for (const row of rows) found.push(...asked.tables.map((table, i) => ({ table, no: Number(row[`r${i}`]) })));
    }
    found.sort((a, b) => (a.table === b.table ? a.no - b.no : 0));
    for (const { table, no } of found) await take(`${table} ${no}`, "exclusive");
    return found.length > 0;
  }

  /**
   * An insert of a key that another transaction has inserted waits for its end; a row that exists already is changed.
   */
  async #lockKeys({ spec, rows }: Extract<Statement, { kind: "bulk" }>, take: Take): Promise<void> {
    if (spec.key.length === 0) return;
    const taking = spec.columns.filter(({ value }) => value.includes("?"));
    const at = spec.key.map((name) => taking.findIndex((column) => column.name === name));
    if (at.includes(-1)) return;
    const where = spec.key.map((name, i) => `${name} = ${taking[at[i] ?? 0]?.value}`).join(" AND ");
    for (const row of rows) {
      const key = at.map((index) => row[index] ?? null);
      await take(`${spec.table} ${JSON.stringify(key)}`, "exclusive");
      if (!spec.suffix.includes("DO UPDATE")) continue;
      const there = await this.#driver.read(`SELECT rowid AS no FROM ${spec.table} WHERE ${where}`, key);
      for (const { no } of there) await take(`${spec.table} ${Number(no)}`, "exclusive");
    }
  }

  async #acquire(
    connection: ServerConnection,
    name: string,
    mode: "shared" | "exclusive",
    { lockMs }: ServerTimeouts,
  ): Promise<void> {
    const held = this.#locks.acquire(connection, name, mode);
    const over = new AbortController();
    if (lockMs !== null) {
      this.#process.environment.sleep(lockMs, over.signal).then(() => {
        if (!over.signal.aborted) this.#locks.cancel(connection, new ServerError("55P03", `${name} is locked`));
      });
    }
    try {
      const hasWaited = await held.catch((error: unknown) => {
        throw error instanceof ServerError ? error : new ServerError("40P01", String(error));
      });
      if (hasWaited) await this.#process.schedule("lock");
    } finally {
      over.abort();
    }
  }
}

function isWrite(statement: Statement): boolean {
  return statement.kind === "bulk" || (statement.kind === "query" && writtenTable(statement.sql) !== null);
}

type Take = (name: string, mode: "shared" | "exclusive") => Promise<void>;

function lookups(sql: string, keys: readonly Param[]) {
  const text = sql.replace(LOOKUP, "= ?");
  return keys.map((key) => ({ sql: text, params: [key] }));
}

/** Whether SQLite reports that a unique key exists already. */
function isDuplicate(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Error && "errcode" in cause && Number(cause.errcode) % 256 === 19;
}
