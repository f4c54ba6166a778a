// Checksums of rows in SQL (core/checksum.ts), for statements that change single columns and for the checker. The texts
// here are the same for both engines; each dialect says how it computes one.
import { type CheckedTable, coveredBy } from "../../core/checksum.ts";

export type PartType = "int" | "text" | "bytes";

/** How an engine computes a checksum: of the list of parts, and of each part. */
export interface ChecksumForm {
  readonly before: string;
  readonly after: string;
  part(type: PartType, value: string): string;
}

const PART = /#(int|text|bytes)\((.*?)\)#/gs;

export function renderChecksums(sql: string, form: ChecksumForm): string {
  if (!sql.includes("#sum(")) return sql;
  return sql
    .replace(PART, (_, type: PartType, value: string) => form.part(type, value))
    .replaceAll("#sum(", form.before)
    .replaceAll(")#", form.after);
}

export function checksumSql(table: string, parts: readonly (readonly [type: PartType, value: string])[]): string {
  return `#sum('${table}', ${parts.map(([type, value]) => `#${type}(${value})#`).join(", ")})#`;
}

/** The checksum of a row; `changes` are the columns that get another value. */
export function rowChecksumSql(
  table: CheckedTable,
  changes: Readonly<Record<string, string>> = {},
  name: string = table,
): string {
  const parts = (coveredBy(table) ?? []).map(([column, type]): readonly [PartType, string] => {
    const changed = changes[column];
    if (type === "blobref") {
      return ["bytes", changed ?? `(SELECT x.sha256 FROM blobs x WHERE x.no = ${name}.${column})`];
    }
    if (type === "serial" || type === "real") throw new Error(`bug: no checksum covers a ${type} (${table}.${column})`);
    return [type, changed ?? `${name}.${column}`];
  });
  return checksumSql(table, parts);
}

/**
 * The assignment for a statement that changes some columns and has not read the others: a row whose checksum was wrong
 * keeps a wrong one, so that the damage is still found.
 */
export function keepChecksum(table: CheckedTable, changes: Readonly<Record<string, string>>): string {
  return keep(table, rowChecksumSql(table), rowChecksumSql(table, changes));
}

function keep(table: string, before: string, after: string): string {
  const was = `${table}.checksum`;
  return `checksum = CASE WHEN ${was} IS NULL OR ${was} = ${before} THEN ${after} ELSE ${was} END`;
}

/** The counters of the store have no shape in contracts/storage/tables.ts: no rule writes their rows. */
export function counterChecksumSql(n = "counters.n"): string {
  const parts = [["text", "counters.name"] as const, ["int", n] as const];
  return checksumSql("counters", parts);
}

export function keepCounter(n: string): string {
  return keep("counters", counterChecksumSql(), counterChecksumSql(n));
}
