// What PostgreSQL does differently from SQLite.
import { rowsText } from "../bulk.ts";
import { type ChecksumForm, type PartType, renderChecksums } from "../checksum.ts";
import type { BulkColumn, BulkSpec, Dialect, Param } from "../driver.ts";
import { LOOKUP, NUL_ESCAPE, NUMBERS, PAIRS, TEXTS } from "../driver.ts";

const ARRAY_TYPES = { int: "bigint[]", real: "float8[]", text: "text[]", bytes: "bytea[]" } as const;

/** An array as PostgreSQL reads it from text. */
export function arrayLiteral(items: readonly Param[]): string {
  return `{${items.map(arrayItem).join(",")}}`;
}

function arrayItem(item: Param): string {
  if (item === null) return "NULL";
  if (typeof item === "number") return String(item);
  if (typeof item === "string") return `"${item.replace(/[\\"]/g, "\\$&")}"`;
  return `"\\\\x${Buffer.from(item.buffer, item.byteOffset, item.byteLength).toString("hex")}"`;
}

function jsonCell(type: "int" | "real" | "text", i: number): string {
  if (type === "text") return `(j.r ->> ${i}) COLLATE "C" AS c${i}`;
  return `CAST(j.r ->> ${i} AS ${type === "int" ? "bigint" : "double precision"}) AS c${i}`;
}

function render(sql: string): string {
  let n = 0;
  return withChecksums(sql)
    .replaceAll(`${NUMBERS} ?`, IN_NUMBERS)
    .replaceAll(`${TEXTS} ?`, IN_TEXTS)
    .replaceAll(`${PAIRS} ?`, PAIR_ROWS)
    .replace(/\?/g, () => `$${++n}`);
}

/** A JSON array of whole numbers is the text of an array but for its brackets. */
const IN_NUMBERS = "= ANY(CAST(translate(CAST(? AS TEXT), '[]', '{}') AS BIGINT[]))";
const IN_TEXTS =
  '= ANY(ARRAY(SELECT j.item COLLATE "C" FROM jsonb_array_elements_text(CAST(CAST(? AS TEXT) AS JSONB)) AS j(item)))';

const PAIR_ROWS =
  "(SELECT CAST(j.pair ->> 0 AS BIGINT) AS a, CAST(j.pair ->> 1 AS BIGINT) AS b " +
  "FROM json_array_elements(CAST(CAST(? AS TEXT) AS JSON)) AS j(pair))";

/** The same as checksumOf() in core/checksum.ts. */
const CHECKSUM: ChecksumForm = {
  before: "left(encode(sha256(convert_to(concat_ws(',', ",
  after: "), 'UTF8')), 'hex'), 16)",
  part: (type, value) => (value === "NULL" ? "'n'" : `coalesce(${checksumPart(type, value)}, 'n')`),
};

function checksumPart(type: PartType, value: string): string {
  if (type === "int") return `'i' || CAST(CAST(${value} AS BIGINT) AS TEXT)`;
  return type === "text" ? `'t' || replace(${value}, ',', ',,')` : `'x' || encode(sha256(${value}), 'hex')`;
}

function withChecksums(sql: string): string {
  return renderChecksums(sql, CHECKSUM);
}

/** One array per parameter, unnested to rows: any number of rows is one statement with one text. A single row is plain. */
function renderBulk(spec: BulkSpec, width: number): string {
  if (spec.verb === "fence") return fenceText(spec, width);
  if (width === 1) return render(rowsText(spec, 1));
  const source = unnested(spec);
  const key = spec.key.map((name) => `${spec.table}.${name} = ${cellOf(spec, name)}`).join(" AND ");
  switch (spec.verb) {
    case "insert":
      return insertText(
        spec,
        spec.columns.map((column) => cellOf(spec, column.name)),
        source,
      );
    case "update":
      return `UPDATE ${spec.table} SET ${assignments(spec)} FROM ${source} WHERE ${key}`;
    case "delete":
      return `DELETE FROM ${spec.table} USING ${source} WHERE ${key}`;
  }
}

function insertText(spec: BulkSpec, cells: readonly string[], source: string): string {
  const columns = spec.columns.map((column) => column.name).join(", ");
  return `INSERT INTO ${spec.table} (${columns}) SELECT ${cells.join(", ")} FROM ${source}${spec.suffix}`;
}

function parameterFor(spec: BulkSpec): readonly BulkColumn[] {
  return spec.columns.filter((column) => column.value.includes("?"));
}

function unnested(spec: BulkSpec): string {
  const { arrays, names } = arraysOf(spec);
  return `unnest(${arrays.join(", ")}) AS u(${names.join(", ")})`;
}

/**
 * The same with a last column that numbers the rows. PostgreSQL takes an unnest for 10 rows and a series for 1,000, and
 * where it believes in 10 it joins by comparing each with each. For joins among the rows of one statement only: where
 * rows of a table are looked for, few is the better guess.
 */
function numbered(spec: BulkSpec): string {
  const { arrays, names } = arraysOf(spec);
  const series = `generate_series(1, cardinality(${arrays[0]}))`;
  return `ROWS FROM (unnest(${arrays.join(", ")}), ${series}) AS u(${names.join(", ")}, n)`;
}

function arraysOf(spec: BulkSpec): { readonly arrays: readonly string[]; readonly names: readonly string[] } {
  const columns = parameterFor(spec);
  return {
    arrays: columns.map((column, i) => `$${i + 1}::${ARRAY_TYPES[column.type]}`),
    names: columns.map((_, i) => `c${i}`),
  };
}

function cellOf(spec: BulkSpec, name: string): string {
  const column = spec.columns.find((one) => one.name === name);
  return column === undefined ? "NULL" : column.value.replace("?", `u.c${indexOf(spec, name)}`);
}

function indexOf(spec: BulkSpec, name: string): number {
  return parameterFor(spec).findIndex((one) => one.name === name);
}

function assignments(spec: BulkSpec): string {
  return spec.columns
    .filter((column) => !spec.key.includes(column.name))
    .map((column) => `${column.name} = ${cellOf(spec, column.name)}`)
    .join(", ");
}

/** A fence's first key column finds the row, the others must still hold; they are named with a `was_` in front. */
function fenceKey(spec: BulkSpec, value: (name: string) => string): string {
  const held = spec.key.map((name) => `${spec.table}.${name.replace("was_", "")} = ${value(name)}`).join(" AND ");
  const required = spec.requires === undefined ? "" : " AND EXISTS (SELECT FROM required)";
  return `${held}${spec.suffix}${required}`;
}

/**
 * First of all parts: the server locks tables in their order, and a transaction that holds this one waits for no other
 * (a migration locks it exclusively, and then the others).
 */
function requiredPart({ requires }: BulkSpec): readonly string[] {
  return requires === undefined ? [] : [`required AS MATERIALIZED (${requires})`];
}

/** Locks rows in the order of the first key column before it changes anything, so that batches never deadlock. */
function fenceParts(spec: BulkSpec, width: number): { readonly parts: readonly string[]; readonly held: string } {
  if (width === 1) {
    const set = spec.columns.filter((column) => !spec.key.includes(column.name)).map((column) => `${column.name} = ?`);
    const update = `UPDATE ${spec.table} SET ${set.join(", ")} WHERE ${fenceKey(spec, () => "?")} RETURNING 1`;
    return {
      parts: [...requiredPart(spec), render(`moved AS (${update})`)],
      held: "SELECT 1 / count(*) AS held FROM moved",
    };
  }
  const [first = ""] = spec.key;
  const array = `$${indexOf(spec, first) + 1}::bigint[]`;
  const update =
    // The array again, so that any plan finds the rows by their numbers; the count, so that all locks come first.
    `UPDATE ${spec.table} SET ${assignments(spec)} FROM ${numbered(spec)} WHERE ${spec.table}.${first} = ANY(${array}) ` +
    `AND ${fenceKey(spec, (name) => cellOf(spec, name))} AND (SELECT count(*) FROM locked) >= 0 RETURNING 1`;
  return {
    parts: [
      ...requiredPart(spec),
      `locked AS MATERIALIZED (SELECT ${first} FROM ${spec.table} WHERE ${first} = ANY(${array}) ORDER BY ${first} FOR UPDATE)`,
      `moved AS (${update})`,
    ],
    held: `SELECT 1 / (CASE WHEN count(*) = cardinality(${array}) THEN 1 ELSE 0 END) AS held FROM moved`,
  };
}

function fenceText(spec: BulkSpec, width: number): string {
  const { parts, held } = fenceParts(spec, width);
  return `WITH ${parts.join(", ")} ${held}`;
}

/**
 * A whole trip as one statement, when it is a fence and inserts: the server parses, plans and answers once, and commits
 * by itself. An insert that looks up a blob by its hash must also look among those this very statement stores.
 */
export function renderTogether(steps: readonly { readonly spec: BulkSpec; readonly width: number }[]): string | null {
  const [fence, ...inserts] = steps;
  if (fence?.spec.verb !== "fence" || inserts.some(({ spec }) => spec.verb !== "insert")) return null;
  if (new Set(steps.map(({ spec }) => spec)).size !== steps.length) return null;
  const { parts, held } = fenceParts(fence.spec, fence.width);
  let offset = parameterFor(fence.spec).length;
  const stores = inserts.some(({ spec }) => spec.name === "blobs.store");
  const rest = inserts.map(({ spec, width }, i) => {
    const isStore = spec.name === "blobs.store";
    const text = shift(stores && !isStore ? renderBeside(spec, width) : renderBulk(spec, width), offset);
    offset += parameterFor(spec).length;
    return isStore ? `stored AS (${text} RETURNING no, sha256)` : `w${i} AS (${text})`;
  });
  return withChecksums(`WITH ${[...parts, ...rest].join(", ")} ${held}`);
}

/** How a row finds the number of its blob: see specs.ts. */
const BLOB_LOOKUP = "(SELECT no FROM blobs WHERE sha256 = ?)";

/** An insert beside `stored`: a row is asked for its blob there, many are joined with it. */
function renderBeside(spec: BulkSpec, width: number): string {
  if (width === 1) {
    const lookup = /\(SELECT no FROM blobs WHERE sha256 = (\$\d+)\)/g;
    return renderBulk(spec, 1).replace(lookup, "coalesce((SELECT no FROM stored WHERE sha256 = $1), $&)");
  }
  const joins: string[] = [];
  const cells = spec.columns.map(({ name, value }) => {
    const cell = cellOf(spec, name);
    if (value !== BLOB_LOOKUP) return cell;
    joins.push(` LEFT JOIN stored AS of_${name} ON of_${name}.sha256 = u.c${indexOf(spec, name)}`);
    return `coalesce(of_${name}.no, ${cell})`;
  });
  if (joins.length === 0) return renderBulk(spec, width);
  // In the order given, whichever way it joins: numbers of rows say which came first.
  return insertText(spec, cells, `${numbered(spec)}${joins.join("")} ORDER BY u.n`);
}

function shift(text: string, by: number): string {
  return text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + by}`);
}

export const postgres: Dialect = {
  engine: "postgres",
  types: {
    serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    int: "BIGINT",
    real: "DOUBLE PRECISION",
    text: 'TEXT COLLATE "C"',
    bytes: "BYTEA",
    table_end: "",
  },
  render,
  // Locks are taken in the order of the row numbers, so that two batches never wait for each other in a circle.
  renderLookup: (sql, lock) => `${sql.replace(LOOKUP, "= ANY($1)")}${lock ? " ORDER BY no FOR UPDATE" : ""}`,
  renderBulk: (spec, width) => withChecksums(renderBulk(spec, width)),
  lockRow: " FOR UPDATE",
  greater: (a, b) => `greatest(${a}, ${b})`,
  // Every commit reads the schema's version and so has this table until it ends (schema-fence.ts). A commit that waits for
  // the migration may read as of a moment before it, where transactions are repeatable reads by default: the table is
  // written anew, because of such a table it then sees no row at all (PostgreSQL manual, "MVCC caveats").
  excludeCommits: [`ALTER TABLE holdfast_meta ALTER COLUMN value TYPE TEXT COLLATE "C" USING value || ''`],
  serverTime: "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms",
  tableNames: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  describeTable:
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns " +
    "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
  explain: "EXPLAIN (GENERIC_PLAN) ",
  fragments: {
    int: "bigint",
    real: "double precision",
    text: "text",
    bytes: "bytea",
    offset: "integer",
    collate: ' COLLATE "C"',
    utf8: (bytes) =>
      `CASE WHEN position('\\x00'::bytea IN ${bytes}) = 0 THEN convert_from(${bytes}, 'UTF8') END COLLATE "C"`,
    hex: (bytes) => `encode(${bytes}, 'hex') COLLATE "C"`,
    numberText: (number) => `CAST(${number} AS text) COLLATE "C"`,
    position: (text, part) => `strpos(${text}, ${part})`,
    // Only one reference to a recursive query may stand in it, but what is named there may be used again and again.
    recursive: (name, arms) => {
      const [first, ...more] = arms;
      if (first !== undefined && more.length === 0) return first(name);
      const again = `${name}_again`;
      return `(WITH ${again} AS (SELECT * FROM ${name}) ${arms.map((arm) => arm(again)).join(" UNION ")})`;
    },
    jsonRows: (columns) =>
      `SELECT ${columns.map((type, i) => jsonCell(type, i)).join(", ")} FROM jsonb_array_elements(CAST(CAST(? AS text) AS jsonb)) AS j(r)`,
    jsonField: (bytes, ...path) =>
      `CASE WHEN position('\\x${NUL_ESCAPE}'::bytea IN ${bytes}) = 0 THEN ` +
      `(CAST(convert_from(${bytes}, 'UTF8') AS json) #>> '{${path.join(",")}}') END COLLATE "C"`,
    explain: "EXPLAIN ",
  },
};
