// A run's row beside what the log makes of it.
import { toHex } from "./bytes.ts";
import { canonicalJson } from "./canonical.ts";
import { jsonObject } from "./decode.ts";
import type { Columns } from "./runs-said.ts";

/** Columns in which a row is not what was said. */
export function differing(row: Readonly<Record<string, unknown>>, said: Columns): readonly string[] {
  return Object.keys(said).filter((column) => !isSame(row[column] ?? null, said[column] ?? null));
}

function isSame(found: unknown, said: unknown): boolean {
  if (said === null || typeof said !== "object") return found === said;
  return typeof found === "object" && found !== null && canonicalJson(found as never) === canonicalJson(said as never);
}

/** As the log would say it. */
export function runColumns(row: {
  readonly toolset: Uint8Array;
  readonly limits: Uint8Array;
}): Readonly<Record<string, unknown>> {
  return { ...row, toolset: toHex(row.toolset), limits: jsonObject.read(row.limits) ?? null };
}
