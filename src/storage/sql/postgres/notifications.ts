// Notifications between handles on one PostgreSQL store: which sessions a commit has changed. A notification may be
// lost, so nothing relies on it.
import { createHash } from "node:crypto";
import type { Environment } from "../../../contracts/environment.ts";
import type { PostgresAccess } from "./connect.ts";
import { WORK_MS } from "./settings.ts";

const ANNOUNCE_MS = 10;
const PAYLOAD_BYTES = 7000;
/** A notification does not wait for the disk, because commits would wait for it. */
const NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
/** Behind a pooler LISTEN does not work: all logs are checked at this interval. */
const POLL_MS = 1000;

/** Called with the changed sessions; null if any session may have changed. */
type OnChange = (sessions: readonly string[] | null) => void;

export class Notifications {
  readonly #access: PostgresAccess;
  readonly #environment: Environment;
  readonly #waitMs: number;
  readonly #channel: string;
  #announced = new Set<string>();
  #isAnnouncing = false;

  /** `waitMs`: how long a notification may take. */
  constructor(access: PostgresAccess, environment: Environment, schema: string, waitMs: number) {
    this.#access = access;
    this.#environment = environment;
    this.#waitMs = waitMs;
    this.#channel = `holdfast_${createHash("sha256").update(schema).digest("hex").slice(0, 32)}`;
  }

  /** After the commit, from one connection, many at a time: NOTIFY inside commits would queue them behind each other. */
  announce(sessions: Iterable<string>): void {
    for (const session of sessions) this.#announced.add(session);
    if (this.#isAnnouncing) return;
    this.#isAnnouncing = true;
    this.#environment.sleep(ANNOUNCE_MS).then(() => {
      this.#isAnnouncing = false;
      return this.flush();
    });
  }

  async flush(): Promise<void> {
    if (this.#announced.size === 0) return;
    const payload = JSON.stringify([...this.#announced]);
    this.#announced = new Set();
    const text = Buffer.byteLength(payload) > PAYLOAD_BYTES ? "*" : payload;
    try {
      const { pool } = this.#access;
      await pool.hint(this.#waitMs, WORK_MS, (connection) => connection.send(NOTIFY, [this.#channel, text]));
    } catch (error) {
      this.#environment.log("debug", "postgres.announce", { error: String(error) });
    }
  }

  watch(onChange: OnChange): () => void {
    if (this.#access.isPooled) return this.#poll(onChange);
    const { client, end } = this.#access.listen();
    let isOver = false;
    client
      .listen(
        this.#channel,
        (payload) => onChange(payload === "*" ? null : JSON.parse(payload)),
        // Also called after a reconnect: what was announced in between is lost, so everything is looked at again.
        () => onChange(null),
      )
      .catch((error) => {
        if (!isOver) this.#environment.log("warn", "postgres.listen", { error: String(error) });
      });
    return () => {
      isOver = true;
      end();
    };
  }

  #poll(onChange: OnChange): () => void {
    const over = new AbortController();
    const again = async () => {
      for (;;) {
        await this.#environment.sleep(POLL_MS, over.signal);
        if (over.signal.aborted) return;
        onChange(null);
      }
    };
    void again();
    return () => over.abort();
  }
}
