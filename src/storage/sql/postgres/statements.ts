// The texts that a plan's statements become, and how rows become their parameters. Texts are made once.
import type { BulkSpec, Param, Row, Statement } from "../driver.ts";
import { pieces } from "../row-pieces.ts";
import type { Connection } from "./connection.ts";
import { arrayLiteral, postgres, renderTogether } from "./dialect.ts";
import { isUnreachable } from "./errors.ts";

/** A parameter is held whole on both sides, so very many rows are sent in several statements. */
const MOST_ROWS = 2000;
const MOST_BYTES = 8 * 1024 * 1024;
const LOCK_MODES = { alone: "SHARE ROW EXCLUSIVE", beside: "ROW EXCLUSIVE" } as const;

export class PlanTexts {
  readonly #texts = new Map<string, string>();
  readonly #bulks = new Map<BulkSpec, { readonly one: string; readonly many: string }>();
  readonly #trips = new Map<string, string | null>();

  render(sql: string): string {
    const known = this.#texts.get(sql) ?? postgres.render(sql);
    this.#texts.set(sql, known);
    return known;
  }

  /** A plan of one trip that fits into one statement. */
  together(statements: readonly Statement[]): { readonly text: string; readonly params: readonly Param[] } | null {
    const bulks = statements.flatMap((statement) =>
      statement.kind === "bulk" && statement.rows.length > 0 ? [statement] : [],
    );
    if (bulks.length !== statements.length || bulks.some(({ rows }) => pieces(rows, MOST_ROWS, MOST_BYTES).length > 1))
      return null;
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

  send(connection: Connection, statement: Statement): Promise<readonly Row[]> {
    switch (statement.kind) {
      case "query":
        return connection.send(this.render(statement.sql), statement.params);
      case "lookup":
        return connection.send(this.renderLookup(statement.sql, statement.lock), [arrayLiteral(statement.keys)]);
      case "lock-table":
        return connection.send(`LOCK TABLE ${statement.table} IN ${LOCK_MODES[statement.how]} MODE`, []);
      case "bulk": {
        const { one, many } = this.#bulk(statement.spec);
        const [row] = statement.rows;
        if (statement.rows.length === 1 && row !== undefined) return connection.send(one, row);
        const sent = pieces(statement.rows, MOST_ROWS, MOST_BYTES).map((rows) =>
          connection.send(many, columnsOf(statement.spec, rows)),
        );
        return settle(sent).then(() => []);
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

  renderLookup(sql: string, lock: boolean): string {
    const key = `${lock}${sql}`;
    const known = this.#texts.get(key) ?? postgres.renderLookup(sql, lock);
    this.#texts.set(key, known);
    return known;
  }
}

/**
 * Waits for all, then fails with the first error: the later ones only say that the transaction is aborted. Not when the
 * connection is lost, for then some of them are never answered.
 */
export async function settle(sent: readonly Promise<readonly Row[]>[]): Promise<readonly (readonly Row[])[]> {
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

/** Rows to one array per parameter; a row holds only the parameters, in the order of the columns that take one. */
function columnsOf(spec: BulkSpec, rows: readonly (readonly Param[])[]): Param[] {
  const count = spec.columns.filter((column) => column.value.includes("?")).length;
  return Array.from({ length: count }, (_, i) => arrayLiteral(rows.map((row) => row[i] ?? null)));
}
