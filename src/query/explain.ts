// What a query becomes: its SQL, its parameters and the engine's plan.
import { LIMITS } from "../contracts/limits.ts";
import type { Explanation } from "../contracts/query.ts";
import type { InspectLimits, InspectRow, Storage } from "../contracts/storage/storage.ts";
import type { PreparedQuery } from "./prepared.ts";

export async function explain(
  storage: Storage,
  { sql, params }: PreparedQuery,
  limits: InspectLimits,
): Promise<Explanation> {
  const rows = await storage.inspect(storage.fragments.explain + sql, params, { ...limits, maxRows: LIMITS.queryRows });
  return {
    sql,
    params: params.map((one) => (one instanceof Uint8Array ? `x'${Buffer.from(one).toString("hex")}'` : one)),
    plan: storage.engine === "sqlite" ? indented(rows) : rows.map((row) => String(Object.values(row)[0])),
  };
}

/** SQLite's plan is a tree of numbered rows. */
function indented(rows: readonly InspectRow[]): readonly string[] {
  const depth = new Map<unknown, number>([[0, 0]]);
  return rows.map((row) => {
    const own = depth.get(row.parent) ?? 0;
    depth.set(row.id, own + 1);
    return `${"  ".repeat(own)}${row.detail}`;
  });
}
