// A large transaction runs in a thread of its own, on a connection of its own: the main thread's event loop keeps
// running, and other writers wait by timers, as they do for another process. If the thread dies, SQLite rolls the
// transaction back.
import type { Worker } from "node:worker_threads";
import { HoldfastError } from "../../../contracts/errors.ts";
import type { Param, Row } from "../driver.ts";
import type { BulkText } from "./connection.ts";
import { ADD_CHECKSUM_FUNCTION } from "./connection.ts";
import type { OpenFile } from "./database-file.ts";
import type { PackedRows } from "./packed-rows.ts";

/**
 * Plain JavaScript in a string: it needs no file beside the bundle it ends up in. The file must be the very one that the
 * store has open: under its name there may be another by now, or none, which SQLite would create.
 */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { statSync } = require("node:fs");
const { DatabaseSync } = require("node:sqlite");
const { path, file, pragmas, emptyBytes } = workerData;
const isSame = () => {
  const now = statSync(path, { bigint: true, throwIfNoEntry: false });
  return now !== undefined && now.ino === file.ino && now.dev === file.dev;
};
let db = null;
const statements = new Map();
const staged = new Map();
function statement(text) {
  let made = statements.get(text);
  if (made === undefined) statements.set(text, (made = db.prepare(text)));
  return made;
}
function write({ texts, packed: { width, cells, lengths, bytes } }) {
  let cell = 0;
  let part = 0;
  let at = 0;
  const next = (count) => {
    const params = new Array(count);
    for (let i = 0; i < count; i++) {
      const value = cells[cell++];
      if (value !== undefined) params[i] = value;
      else {
        const length = lengths[part++];
        params[i] = length === 0 ? emptyBytes : bytes.subarray(at, at + length);
        at += length;
      }
    }
    return params;
  };
  let left = width === 0 ? 0 : cells.length / width;
  for (const { width: many, text } of texts) {
    for (; left >= many; left -= many) statement(text).run(...next(many * width));
  }
  return [];
}
const verbs = {
  open() {
    if (!isSame()) return [{ isSame: 0 }];
    db = new DatabaseSync(path);
    for (const pragma of pragmas) db.exec("PRAGMA " + pragma);
    ${ADD_CHECKSUM_FUNCTION}
    return [{ isSame: isSame() ? 1 : 0 }];
  },
  stage({ id, texts, packed }) {
    staged.set(id, { texts, packed });
    return [];
  },
  all: ({ text, params }) => statement(text).all(...params).map((row) => ({ ...row })),
  lookUp: ({ text, keys }) => keys.flatMap((key) => verbs.all({ text, params: [key] })),
  write,
  writeStaged({ id }) {
    const rows = staged.get(id);
    staged.delete(id);
    return write(rows);
  },
  close() {
    db?.close();
    parentPort.close();
    return [];
  },
};
parentPort.on("message", (asked) => {
  try {
    parentPort.postMessage({ rows: verbs[asked.verb](asked) });
  } catch (error) {
    const { message, errcode, code } = error;
    parentPort.postMessage({ error: { message: String(message), errcode, code } });
  }
});
`;

interface Answer {
  readonly rows?: readonly Row[];
  readonly error?: { readonly message: string; readonly errcode?: number; readonly code?: string };
}

interface Waiting {
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

export class WriterThread {
  readonly #worker: Worker;
  readonly #path: string;
  /** Answers come in the order of the calls. */
  readonly #waiting: Waiting[] = [];
  #ended = false;

  /** Throws where no thread may be started. */
  constructor(path: string, file: OpenFile, pragmas: readonly string[]) {
    this.#path = path;
    // Loaded only now: most programs need no thread.
    const threads = process.getBuiltinModule("node:worker_threads");
    this.#worker = new threads.Worker(PROGRAM, {
      eval: true,
      // Of one byte, none of it: before Node 24 an array without memory of its own is bound as NULL.
      workerData: { path, file, pragmas, emptyBytes: new Uint8Array(1).subarray(0, 0) },
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    this.#worker.on("message", (answer: Answer) => this.#onAnswer(answer));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(undefined));
  }

  /** False if the file under the store's path is not the one that the store has open. */
  async open(): Promise<boolean> {
    const [answer] = await this.#call({ verb: "open" });
    return answer?.isSame === 1;
  }

  /** Rows that will be written later, once the transaction has begun. */
  stage(id: number, texts: readonly BulkText[], packed: PackedRows): Promise<unknown> {
    return this.#call({ verb: "stage", id, texts, packed }, packed);
  }

  writeStaged(id: number): Promise<readonly Row[]> {
    return this.#call({ verb: "writeStaged", id });
  }

  write(texts: readonly BulkText[], packed: PackedRows): Promise<readonly Row[]> {
    return this.#call({ verb: "write", texts, packed }, packed);
  }

  all(text: string, params: readonly Param[]): Promise<readonly Row[]> {
    return this.#call({ verb: "all", text, params });
  }

  /** The rows of each key, one after the other. */
  lookUp(text: string, keys: readonly Param[]): Promise<readonly Row[]> {
    return this.#call({ verb: "lookUp", text, keys });
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const ended = new Promise<void>((done) => this.#worker.once("exit", () => done()));
    this.#call({ verb: "close" }).catch(() => {});
    await ended;
  }

  #call(asked: object, packed?: PackedRows): Promise<readonly Row[]> {
    if (this.#ended) return Promise.reject(this.#lost(undefined));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage(asked, packed === undefined ? [] : [packed.bytes.buffer, packed.lengths.buffer]);
    });
  }

  #onAnswer({ rows, error }: Answer): void {
    const waiting = this.#waiting.shift();
    if (error === undefined) waiting?.resolve(rows ?? []);
    else waiting?.reject(Object.assign(new Error(error.message), { errcode: error.errcode, code: error.code }));
  }

  #end(error: unknown): void {
    this.#ended = true;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#lost(error));
  }

  #lost(cause: unknown): HoldfastError {
    return new HoldfastError("StoreUnreachable", `the thread that wrote to ${this.#path} ended before it answered`, {
      details: { path: this.#path },
      retryable: true,
      hint: "Whether the change was made is not known. Read what is there, and then try again.",
      ...(cause === undefined ? {} : { cause }),
    });
  }
}
