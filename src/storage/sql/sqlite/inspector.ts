// Runs queries of people in processes of their own. A statement that takes too long cannot be interrupted in a thread of
// ours (node:sqlite has no way to, and a thread that is ended first finishes its statement); a process can be ended.
import type { ChildProcess } from "node:child_process";
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import type { InspectLimits } from "../../../contracts/storage/storage.ts";
import type { Param, Row } from "../driver.ts";
import { timedOut, tooManyRows } from "../inspection.ts";

/**
 * Plain JavaScript in a string: it needs no file beside the bundle it ends up in. The connection cannot write, and
 * allows nothing but reading tables. Its parent may be killed: a thread checks that it still exists, because a running
 * statement would not notice.
 */
const PROGRAM = `
const { DatabaseSync, constants } = require("node:sqlite");
const { Worker } = require("node:worker_threads");
new Worker("const parent = process.ppid; setInterval(() => { if (process.ppid !== parent) " +
  "process.kill(process.pid, 'SIGKILL'); }, 500)", { eval: true });
let db;
const statements = new Map();
function open({ path, image }) {
  db?.close();
  statements.clear();
  db = image === undefined ? new DatabaseSync(path, { readOnly: true }) : new DatabaseSync(":memory:");
  if (image !== undefined) db.deserialize(image);
  db.exec("PRAGMA query_only = ON; PRAGMA busy_timeout = 2000; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
  const allowed = [constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_FUNCTION, constants.SQLITE_RECURSIVE];
  db.setAuthorizer?.((action) => (allowed.includes(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
}
function run({ sql, params, maxRows }) {
  const statement = statements.get(sql) ?? db.prepare(sql);
  if (statements.size < 100) statements.set(sql, statement);
  const rows = [];
  for (const row of statement.iterate(...params)) {
    if (rows.length >= maxRows) return { over: true };
    rows.push({ ...row });
  }
  return { rows };
}
process.on("disconnect", () => process.exit());
process.on("message", (asked) => {
  try {
    if (asked.open !== undefined) open(asked.open);
    process.send(run(asked));
  } catch (error) {
    process.send({ error: { message: String(error?.message), errcode: error?.errcode } });
  }
});
`;

/** How many processes work at once; further queries wait. How many are kept for the next query. */
const MOST = 4;
const KEPT = 1;

/** The target of a query: a file, or a copy of a store in memory and the state that was copied. */
export type InspectionTarget =
  | { readonly path: string }
  | { readonly image: () => Uint8Array; readonly version: number };

interface Answer {
  readonly rows?: readonly Row[];
  readonly over?: true;
  readonly error?: { readonly message: string; readonly errcode?: number };
}

interface Helper {
  readonly child: ChildProcess;
  /** The target that the process has open. */
  version: number | null;
}

export class Inspector {
  readonly #environment: Environment;
  readonly #idle: Helper[] = [];
  readonly #all = new Set<Helper>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #closed = false;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async run(
    place: InspectionTarget,
    sql: string,
    params: readonly Param[],
    limits: InspectLimits,
  ): Promise<readonly Row[]> {
    if (this.#busy >= MOST) await new Promise<void>((turn) => this.#waiting.push(turn));
    this.#busy++;
    try {
      const helper = this.#idle.pop() ?? this.#start();
      const version = "path" in place ? 0 : place.version;
      const open = helper.version === version ? {} : { open: "path" in place ? place : { image: place.image() } };
      helper.version = version;
      return this.#judge(await this.#ask(helper, { ...open, sql, params, maxRows: limits.maxRows }, limits), limits);
    } finally {
      this.#busy--;
      this.#waiting.shift()?.();
    }
  }

  #start(): Helper {
    // Loaded only now: most programs query nothing.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "-e", PROGRAM], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      env: {},
    });
    const helper: Helper = { child, version: null };
    this.#all.add(helper);
    return helper;
  }

  /** A process that only waits for the next query does not keep its parent from ending. */
  #rest(helper: Helper): void {
    if (this.#closed || this.#idle.length >= KEPT) this.#end(helper);
    else {
      helper.child.unref();
      helper.child.channel?.unref();
      this.#idle.push(helper);
    }
  }

  #end(helper: Helper): void {
    this.#all.delete(helper);
    helper.child.kill("SIGKILL");
  }

  async #ask(helper: Helper, asked: object, { timeoutMs }: InspectLimits): Promise<Answer> {
    const { child } = helper;
    child.ref();
    child.channel?.ref();
    const over = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const ended = () => reject(new HoldfastError("Aborted", "the process that ran the query ended"));
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", ended);
    child.send(asked, (error) => {
      if (error !== null) reject(error);
    });
    const late = this.#environment.sleep(timeoutMs, over.signal).then((): Answer => {
      throw timedOut(timeoutMs);
    });
    try {
      const answer = await Promise.race([promise, late]);
      child.removeAllListeners("message");
      child.removeListener("error", reject);
      child.removeListener("exit", ended);
      this.#rest(helper);
      return answer;
    } catch (error) {
      child.on("error", () => {});
      this.#end(helper);
      throw error;
    } finally {
      over.abort();
      late.catch(() => {});
      promise.catch(() => {});
    }
  }

  #judge(answer: Answer, { maxRows }: InspectLimits): readonly Row[] {
    if (answer.over) throw tooManyRows(maxRows);
    if (answer.error !== undefined) {
      throw Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode });
    }
    return answer.rows ?? [];
  }

  close(): void {
    this.#closed = true;
    for (const helper of [...this.#all]) this.#end(helper);
  }
}
