// A process keeps a store open while another one, of a newer version, migrates it. Its commits must not happen then: it
// does not know what the newer schema wants written. Every commit therefore reads the schema's version in its own
// transaction, where a migration cannot change it any more, and reads look for it once in a while.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Driver, Row, Step } from "./driver.ts";
import { SCHEMA_QUERY, SCHEMA_VERSION } from "./migrations.ts";

/** What a fence requires. One that fails is planned again, and that plan says what is wrong. */
export const KNOWN_SCHEMA = `${SCHEMA_QUERY} AND value = '${SCHEMA_VERSION}'`;

/** The first step of a plan: on PostgreSQL it also keeps migrations out until the transaction ends. */
export const READ_SCHEMA: Step = { kind: "query", sql: SCHEMA_QUERY, params: [] };

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
  throw new HoldfastError("StoreCorrupted", "the store does not say which schema it has", {
    hint: "Nothing was written. Restore a backup.",
  });
}

/** For so long after the version was last seen, reads take it for granted. */
export const SCHEMA_CHECK_MS = 1000;

/** Refuses reads of a store that was migrated beneath its handle. */
export class SchemaWatch {
  readonly #driver: Driver;
  readonly #environment: Environment;
  #seenAt: number;
  #check: Promise<void> | null = null;

  constructor(driver: Driver, environment: Environment) {
    this.#driver = driver;
    this.#environment = environment;
    this.#seenAt = environment.monotonic();
  }

  /** A commit happened, which it does under the known schema only. */
  confirm(): void {
    this.#seenAt = this.#environment.monotonic();
  }

  /** Beside a read; null while the version was seen a moment ago. */
  checkIfDue(): Promise<void> | null {
    if (this.#environment.monotonic() - this.#seenAt < SCHEMA_CHECK_MS) return null;
    const check = this.#checkNow();
    // Its read may fail first.
    check.catch(() => {});
    return check;
  }

  /** The engine refused a statement of ours: perhaps because its tables are not what this version knows. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof HoldfastError) || error.code !== "Internal") return error;
    return this.#checkNow().then(
      () => error,
      (refusal: unknown) => refusal,
    );
  }

  #checkNow(): Promise<void> {
    this.#check ??= this.#readVersion().finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  async #readVersion(): Promise<void> {
    let rows: readonly Row[];
    try {
      rows = await this.#driver.read(SCHEMA_QUERY, []);
    } catch (error) {
      // Whether the store can be reached at all is for the read itself to say; the next one looks again.
      this.#environment.log("debug", "schema.check", { error: String(error) });
      return;
    }
    requireKnownSchema(rows);
    this.confirm();
  }
}
