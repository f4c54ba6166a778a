// A process may keep a store open while another one, of a newer version, migrates it. Then the older process must not commit: it
// does not know what the newer schema requires. Every commit therefore reads the schema's version in its own
// transaction, where a migration cannot change it any more. Reads check the version about once a second.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Row, Statement } from "./driver.ts";
import { SCHEMA_QUERY, SCHEMA_VERSION } from "./migrations.ts";

/** The condition of a fence. If it fails, the commit is planned again, and that plan reports the error. */
export const KNOWN_SCHEMA = `${SCHEMA_QUERY} AND value = '${SCHEMA_VERSION}'`;

/** The first statement of a plan: on PostgreSQL it also keeps migrations out until the transaction ends. */
export const READ_SCHEMA: Statement = { kind: "query", sql: SCHEMA_QUERY, params: [] };

export function requireKnownSchema(rows: readonly Row[] = []): void {
  const found = Number(rows[0]?.value ?? Number.NaN);
  if (found === SCHEMA_VERSION) return;
  if (found > SCHEMA_VERSION) {
    throw new HoldfastError(
      "SchemaTooNew",
      `the store was migrated to schema ${found} while this process had it open, and this version knows ${SCHEMA_VERSION}`,
      {
        details: { found, known: SCHEMA_VERSION },
        hint: "Nothing was written. Update holdfast on this machine and start the process again.",
      },
    );
  }
  if (found >= 0) {
    throw new HoldfastError(
      "Conflict",
      `the store has schema ${found}, and this process opened it with ${SCHEMA_VERSION}`,
      {
        details: { found, known: SCHEMA_VERSION },
        hint: "An older copy was put in its place. Nothing was written. Open the store again, which migrates it.",
      },
    );
  }
  throw new HoldfastError("StoreCorrupted", "the store contains no schema version", {
    hint: "Nothing was written. Restore a backup.",
  });
}
