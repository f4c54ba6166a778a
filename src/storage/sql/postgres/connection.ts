// One connection to PostgreSQL. It is never reopened: the client would reconnect by itself and send the rest of a
// transaction outside of it. `destroy` releases callers that wait for a server that no longer answers.
import { connect as dial, type Socket } from "node:net";
import type postgresJs from "postgres";
import type { Environment } from "../../../contracts/environment.ts";
import type { Param, Row } from "../driver.ts";

export type Sql = postgresJs.Sql;
export type ClientOptions = postgresJs.Options<{ bigint: postgresJs.PostgresType<number> }>;
export type MakeClient = (own: ClientOptions) => Sql;

/** How long a server may take to let a client in, and a connection to end. */
export const CONNECT_MS = 10_000;
const END_MS = 1000;
/**
 * The server plans a prepared statement once, by the size that its tables have then, and keeps that plan until the tables are
 * analysed. While they grow, the plan may read a table from end to end. So the plans are discarded from time to time:
 * soon after the connection was opened, then at intervals that double up to the longest.
 */
const FIRST_PLANS_MS = 500;
const LONGEST_PLANS_MS = 16_000;

export interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** Rows, and what the client knows of the connection. */
interface Answer extends ReadonlyArray<Row> {
  readonly state?: { readonly pid?: number };
}

/** The first of the hosts that answers; `onSocket` is called for every try. */
export async function dialAny({ host, port, path }: Address, onSocket: (socket: Socket) => void): Promise<Socket> {
  const addresses =
    typeof path === "string" ? [{ path }] : host.map((name, i) => ({ host: name, port: port[i] ?? 5432 }));
  let last: unknown = closedError();
  for (const address of addresses) {
    const socket = dial(address);
    onSocket(socket);
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve);
        socket.once("error", reject);
        socket.once("close", () => reject(closedError()));
      });
      socket.removeAllListeners();
      // The client checks a certificate against this name.
      return Object.assign(socket, address);
    } catch (error) {
      last = error;
      socket.destroy();
    }
  }
  throw last;
}

export class Connection {
  readonly #client: Sql;
  readonly #environment: Environment;
  readonly #isPrepared: boolean;
  #socket: Socket | null = null;
  #isOpen = false;
  #isEnding = false;
  #dialFailed: (error: unknown) => void = () => {};
  /** The deadline of its answer, on the monotonic clock; null if nothing is under way. */
  deadline: number | null = null;
  /** When the last trip of a plan was sent. */
  sentAt = 0;
  /** True if it was destroyed because it did not answer in time. */
  isLate = false;
  /** When it was opened, and since when it is unused. */
  openedAt = 0;
  idleAt = 0;
  #plansMs = FIRST_PLANS_MS;
  #plannedAt = 0;
  /** Statements of callers that share it and wait for their answers. */
  sharers = 0;
  /** When the answers of these are overdue. */
  readonly answersDue = new Set<{ at: number }>();
  /** The probe under way, which checks whether the server still answers. */
  probe: Promise<boolean> | null = null;
  /** The process id of the server, if it is known to stay the same. */
  pid: number | null = null;

  constructor(make: MakeClient, environment: Environment, isPrepared: boolean, onClose: (gone: Connection) => void) {
    this.#environment = environment;
    this.#isPrepared = isPrepared;
    this.#client = make({
      max: 1,
      onclose: () => {
        // The client forgets a statement that was sent between the socket's error and its end.
        this.destroy();
        onClose(this);
      },
      // Not in the client's types: how it gets its socket.
      ...({ socket: (options: Address) => this.#dial(options) } as object),
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Opens it with a first statement. */
  async open(text: string): Promise<Answer> {
    const failed = new Promise<never>((_, reject) => {
      this.#dialFailed = reject;
    });
    failed.catch(() => {});
    const over = new AbortController();
    const late = this.#environment.sleep(CONNECT_MS, over.signal).then(() => {
      if (over.signal.aborted) return [];
      throw Object.assign(new Error("no answer"), { code: "CONNECT_TIMEOUT" });
    });
    late.catch(() => {});
    try {
      const first = this.#client.unsafe(text).execute() as unknown as Promise<Answer>;
      first.catch(() => {});
      const rows = await Promise.race([first, failed, late]);
      this.#isOpen = true;
      this.openedAt = this.#environment.monotonic();
      this.#plannedAt = this.openedAt;
      return rows;
    } catch (error) {
      this.destroy();
      throw error;
    } finally {
      over.abort();
    }
  }

  async #dial(address: Address): Promise<Socket> {
    try {
      if (this.#socket !== null || this.#isEnding) throw closedError();
      return await dialAny(address, (socket) => {
        this.#socket = socket;
      });
    } catch (error) {
      this.#dialFailed(error);
      throw error;
    }
  }

  /** Sends at once: the client starts a query only when it is awaited, and the order matters here. */
  send(text: string, params: readonly Param[], prepare = true): Promise<readonly Row[]> {
    if (!this.#isOpen) return Promise.reject(closedError());
    const options = { prepare: prepare && this.#isPrepared };
    return this.#client.unsafe(text, params as never[], options).execute() as unknown as Promise<readonly Row[]>;
  }

  /** Between two uses: goes with the next statement, which waits for no answer of its own. */
  discardOldPlans(): void {
    const now = this.#environment.monotonic();
    if (!this.#isPrepared || now - this.#plannedAt < this.#plansMs) return;
    this.#plannedAt = now;
    this.#plansMs = Math.min(LONGEST_PLANS_MS, this.#plansMs * 2);
    // If it fails, the connection is lost, and the next statement says so.
    this.run("DISCARD PLANS").catch(() => {});
  }

  /** Several statements without parameters, as one message. */
  run(text: string): Promise<readonly Row[]> {
    if (!this.#isOpen) return Promise.reject(closedError());
    return this.#client.unsafe(text).execute() as unknown as Promise<readonly Row[]>;
  }

  /** At once; everything under way fails. */
  destroy(): void {
    this.#isOpen = false;
    this.#isEnding = true;
    this.#client.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
  }

  /** Closes the connection at the server, without waiting long. */
  async end(): Promise<void> {
    this.#isOpen = false;
    this.#isEnding = true;
    const over = new AbortController();
    await Promise.race([this.#client.end().catch(() => {}), this.#environment.sleep(END_MS, over.signal)]);
    over.abort();
    this.#socket?.destroy();
  }
}

function closedError(): Error {
  return Object.assign(new Error("the connection is closed"), { code: "CONNECTION_CLOSED" });
}
