// PostgreSQL through postgres.js. A trip of a plan is pipelined: BEGIN goes with the first one, COMMIT with the last, so
// that a plan of one trip is one round trip. Every handle has its own pool whose search_path is the store's schema.
import { createHash } from "node:crypto";
import type { Environment } from "../../../contracts/environment.ts";
import { TABLES } from "../../../contracts/rows.ts";
import type { InspectLimits } from "../../../contracts/storage.ts";
import {
  type BulkSpec,
  type Driver,
  type Execute,
  LostRace,
  type Param,
  type Plan,
  type Row,
  StaleFence,
  type Step,
} from "../driver.ts";
import { outOfRange, timedOut, tooManyRows, tooMuch } from "../inspection.ts";
import { arrayLiteral, postgres, renderTogether } from "./dialect.ts";
import { isRace, isStale, isTooMuch, isUnreachable, postgresError, sqlState } from "./errors.ts";
import { openPool, type Pool, type Reserved, type Sql } from "./pool.ts";

export interface PostgresOptions {
  readonly url: string;
  readonly schema: string;
  readonly durability: "full" | "normal";
  readonly poolSize: number;
  readonly busyMs: number;
  readonly environment: Environment;
}

const ANNOUNCE_MS = 10;
const MOST_ROWS = 2000;
const MOST_BYTES = 8 * 1024 * 1024;
/** Races a plan may lose in a row before its caller is told. */
const MOST_RACES = 100;
const PAYLOAD_BYTES = 7000;
const LOCK_MODES = { alone: "SHARE ROW EXCLUSIVE", beside: "ROW EXCLUSIVE" } as const;
/** A hint may be lost: it does not wait for the disk, where it would keep commits waiting. */
/** Whatever the database's default is: what is asked behind a lock must see what those before have done. */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";
const NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

class PostgresDriver implements Driver {
  readonly dialect = postgres;
  readonly answersAtOnce = false;
  readonly #options: PostgresOptions;
  readonly #pool: Pool;
  readonly #channel: string;
  readonly #texts = new Map<string, string>();
  readonly #bulks = new Map<BulkSpec, { readonly one: string; readonly many: string }>();
  readonly #trips = new Map<string, string | null>();
  #vacuum: { readonly running: Promise<void> | null; readonly next: Promise<void> | null } = {
    running: null,
    next: null,
  };
  #announced = new Set<string>();
  #announcing = false;

  constructor(options: PostgresOptions, pool: Pool) {
    this.#options = options;
    this.#pool = pool;
    this.#channel = `holdfast_${createHash("sha256").update(options.schema).digest("hex").slice(0, 32)}`;
  }

  async transact<T>(plan: () => Plan<T>): Promise<T> {
    const { environment, busyMs } = this.#options;
    const deadline = environment.monotonic() + busyMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#pool.reserved((connection) => this.#drive(connection, plan()));
      } catch (error) {
        if (isStale(error)) throw new StaleFence();
        // A race was lost before anything happened: the plan is made again from what is there now.
        const isLost = isRace(error) || error instanceof LostRace;
        if (!isLost || attempt >= MOST_RACES || environment.monotonic() >= deadline) {
          throw postgresError(error, this.#pool.target);
        }
      }
      await environment.sleep(Math.min(attempt, 10) * (environment.random(1)[0] ?? 0) * 0.02);
    }
  }

  async #drive<T>(connection: Reserved, plan: Plan<T>): Promise<T> {
    let begun = false;
    let committed = false;
    try {
      let next = plan.next();
      while (!next.done) {
        const { steps, last } = next.value;
        const together = !begun && last ? this.#together(steps) : null;
        if (together !== null) {
          committed = last;
          next = plan.next([await send(connection, together.text, together.params), ...steps.slice(1).map(() => [])]);
          continue;
        }
        const sent: Promise<readonly Row[]>[] = [];
        if (!begun) sent.push(send(connection, BEGIN, []));
        begun = true;
        for (const step of steps) sent.push(this.#step(connection, step));
        if (last) sent.push(send(connection, "COMMIT", []));
        const results = await settle(sent);
        committed = last;
        const offset = sent.length - steps.length - (last ? 1 : 0);
        next = plan.next(results.slice(offset, offset + steps.length));
      }
      if (begun && !committed) await send(connection, "ROLLBACK", []);
      return next.value;
    } catch (error) {
      // Harmless when the failed COMMIT has rolled back already; it must not leave the connection inside a transaction.
      if (begun && !isUnreachable(error)) await send(connection, "ROLLBACK", []).catch(() => {});
      throw error;
    }
  }

  /** A plan of one trip that can be said in one statement. */
  #together(steps: readonly Step[]): { readonly text: string; readonly params: readonly Param[] } | null {
    const bulks = steps.flatMap((step) => (step.kind === "bulk" && step.rows.length > 0 ? [step] : []));
    if (bulks.length !== steps.length || bulks.some(({ rows }) => pieces(rows).length > 1)) return null;
    const key = bulks.map(({ spec, rows }) => `${spec.name}${rows.length === 1 ? 1 : 2}`).join(" ");
    let text = this.#trips.get(key);
    if (text === undefined) {
      text = renderTogether(bulks.map(({ spec, rows }) => ({ spec, width: Math.min(rows.length, 2) })));
      this.#trips.set(key, text);
    }
    if (text === null) return null;
    const params = bulks.flatMap(({ spec, rows }) => (rows.length === 1 ? (rows[0] ?? []) : columnsOf(spec, rows)));
    return { text, params };
  }

  #step(connection: Reserved, step: Step): Promise<readonly Row[]> {
    switch (step.kind) {
      case "query":
        return send(connection, this.#text(step.sql), step.params);
      case "lookup":
        return send(connection, this.#lookup(step.sql, step.lock), [arrayLiteral(step.keys)]);
      case "settle":
        return send(connection, `LOCK TABLE ${step.table} IN ${LOCK_MODES[step.how]} MODE`, []);
      case "bulk": {
        const { one, many } = this.#bulk(step.spec);
        const [row] = step.rows;
        if (step.rows.length === 1 && row !== undefined) return send(connection, one, row);
        return settle(pieces(step.rows).map((rows) => send(connection, many, columnsOf(step.spec, rows)))).then(
          () => [],
        );
      }
    }
  }

  #bulk(spec: BulkSpec): { readonly one: string; readonly many: string } {
    const known = this.#bulks.get(spec);
    if (known !== undefined) return known;
    const made = { one: postgres.renderBulk(spec, 1), many: postgres.renderBulk(spec, 2) };
    this.#bulks.set(spec, made);
    return made;
  }

  #text(sql: string): string {
    const known = this.#texts.get(sql) ?? postgres.render(sql);
    this.#texts.set(sql, known);
    return known;
  }

  #lookup(sql: string, lock: boolean): string {
    const key = `${lock}${sql}`;
    const known = this.#texts.get(key) ?? postgres.renderLookup(sql, lock);
    this.#texts.set(key, known);
    return known;
  }

  async read(sql: string, params: readonly Param[]): Promise<readonly Row[]> {
    try {
      // A plain array: what the client returns carries more than rows.
      return [...(await this.#pool.guarded((pool) => send(pool, this.#text(sql), params)))];
    } catch (error) {
      throw postgresError(error, this.#pool.target);
    }
  }

  /** A transaction that cannot write, on a connection of its own, planned for these very values. */
  async inspect(sql: string, params: readonly Param[], limits: InspectLimits): Promise<readonly Row[]> {
    const text = postgres.render(sql);
    try {
      return await this.#pool.reserved(async (connection) => {
        const before = [
          "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
          `SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(limits.timeoutMs))}`,
          "SET LOCAL plan_cache_mode = force_custom_plan",
        ];
        try {
          const sent = before.map((one) => send(connection, one, []));
          sent.push(connection.unsafe(text, params as never[]).execute() as unknown as Promise<readonly Row[]>);
          const results = await settle([...sent, send(connection, "COMMIT", [])]);
          const rows = [...(results[before.length] ?? [])];
          if (rows.length > limits.maxRows) throw tooManyRows(limits.maxRows);
          return rows;
        } catch (error) {
          if (!isUnreachable(error)) await send(connection, "ROLLBACK", []).catch(() => {});
          throw error;
        }
      });
    } catch (error) {
      if (sqlState(error) === "57014") throw timedOut(limits.timeoutMs);
      if (sqlState(error) === "22003") throw outOfRange(error);
      if (isTooMuch(error)) throw tooMuch("PostgreSQL", error);
      throw postgresError(error, this.#pool.target);
    }
  }

  async migrate(create: boolean, run: (execute: Execute) => Promise<void>): Promise<void> {
    try {
      await this.#pool.reserved(async (connection) => {
        try {
          await connection.unsafe("BEGIN");
          // One lock for all stores of the database: creating schemas at once would collide in the catalogue.
          await connection.unsafe("SELECT pg_advisory_xact_lock(7310868735)");
          if (create) await connection.unsafe(`CREATE SCHEMA IF NOT EXISTS "${this.#options.schema}"`);
          await run(async (...sql) => {
            const answers = await connection.unsafe(sql.join(";\n"));
            return [...(sql.length === 1 ? answers : ((answers.at(-1) ?? []) as unknown as readonly Row[]))];
          });
          await connection.unsafe("COMMIT");
        } catch (error) {
          if (!isUnreachable(error)) await connection.unsafe("ROLLBACK").catch(() => {});
          throw error;
        }
      });
    } catch (error) {
      throw postgresError(error, this.#pool.target);
    }
  }

  /** After the commit, from one connection, many at a time: NOTIFY inside commits would queue them behind each other. */
  announce(sessions: Iterable<string>): void {
    for (const session of sessions) this.#announced.add(session);
    if (this.#announcing) return;
    this.#announcing = true;
    this.#options.environment.sleep(ANNOUNCE_MS).then(() => {
      this.#announcing = false;
      return this.#tell();
    });
  }

  async #tell(): Promise<void> {
    if (this.#announced.size === 0) return;
    const payload = JSON.stringify([...this.#announced]);
    this.#announced = new Set();
    try {
      await send(this.#pool.sql, NOTIFY, [this.#channel, Buffer.byteLength(payload) > PAYLOAD_BYTES ? "*" : payload]);
    } catch (error) {
      this.#options.environment.log("debug", "postgres.announce", { error: String(error) });
    }
  }

  watch(heard: (sessions: readonly string[] | null) => void): () => void {
    const client = this.#pool.listener();
    let isOver = false;
    client
      .listen(
        this.#channel,
        (payload) => heard(payload === "*" ? null : JSON.parse(payload)),
        // Also called after a reconnect: what was announced in between is lost, so everything is looked at again.
        () => heard(null),
      )
      .catch((error) => {
        if (!isOver) this.#options.environment.log("warn", "postgres.listen", { error: String(error) });
      });
    return () => {
      isOver = true;
      client.end({ timeout: 0 }).catch(() => {});
    };
  }

  /** Dead rows are removed at once instead of whenever autovacuum comes by. Those who ask meanwhile share the next one. */
  reclaim(): Promise<void> {
    if (this.#vacuum.next !== null) return this.#vacuum.next;
    const before = this.#vacuum.running ?? Promise.resolve();
    const next = before.then(() => {
      this.#vacuum = { running: next, next: null };
      return this.#vacuumAll();
    });
    this.#vacuum = { ...this.#vacuum, next };
    return next;
  }

  async #vacuumAll(): Promise<void> {
    const tables = Object.keys(TABLES);
    try {
      // As one statement: the server looks through its whole catalogue once for each.
      await this.#pool.sql.unsafe(`VACUUM ${tables.join(", ")}`);
      return;
    } catch {
      // The others are not left because of one.
    }
    for (const table of tables) {
      await this.#pool.sql.unsafe(`VACUUM ${table}`).catch((error) => {
        this.#options.environment.log("warn", "postgres.vacuum", { table, error: String(error) });
      });
    }
  }

  /** Table by table, each into a new file; the old one is deleted and not overwritten. */
  async rewrite(): Promise<void> {
    for (const table of Object.keys(TABLES)) {
      try {
        await this.#pool.sql.unsafe(`VACUUM (FULL) ${table}`);
      } catch (error) {
        throw postgresError(error, this.#pool.target);
      }
    }
  }

  async size(): Promise<number> {
    const rows = await this.read(
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS n FROM pg_class c " +
        "JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = current_schema() AND c.relkind = 'r'",
      [],
    );
    return Number(rows[0]?.n ?? 0);
  }

  async close(): Promise<void> {
    await this.#tell();
    await this.#pool.end();
  }
}

/** On its way at once: the client starts a query only when somebody waits for it, and order is everything here. */
function send(sql: Sql | Reserved, text: string, params: readonly Param[]): Promise<readonly Row[]> {
  return sql.unsafe(text, params as never[], { prepare: true }).execute() as unknown as Promise<readonly Row[]>;
}

/**
 * Waits for all, then fails with the first error: the later ones only say that the transaction is aborted. Not when the
 * connection is lost, for then some of them are never answered.
 */
async function settle(sent: readonly Promise<readonly Row[]>[]): Promise<readonly (readonly Row[])[]> {
  await Promise.all(
    sent.map((one) =>
      one.catch((error) => {
        if (isUnreachable(error)) throw error;
      }),
    ),
  );
  const results = await Promise.allSettled(sent);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** Rows that fit in one statement; a parameter is held whole on both sides, so very many are sent piece by piece. */
function pieces(rows: readonly (readonly Param[])[]): readonly (readonly (readonly Param[])[])[] {
  const made: (readonly Param[])[][] = [];
  let piece: (readonly Param[])[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = row.reduce<number>(
      (sum, param) => sum + (typeof param === "object" && param !== null ? param.byteLength : 16),
      0,
    );
    if (piece.length > 0 && (piece.length >= MOST_ROWS || bytes + size > MOST_BYTES)) {
      made.push(piece);
      piece = [];
      bytes = 0;
    }
    piece.push(row);
    bytes += size;
  }
  if (piece.length > 0) made.push(piece);
  return made;
}

/** Rows to one array per parameter; a row holds only the parameters, in the order of the columns that take one. */
function columnsOf(spec: BulkSpec, rows: readonly (readonly Param[])[]): Param[] {
  const count = spec.columns.filter((column) => column.value.includes("?")).length;
  return Array.from({ length: count }, (_, i) => arrayLiteral(rows.map((row) => row[i] ?? null)));
}

export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  return new PostgresDriver(options, await openPool(options));
}
