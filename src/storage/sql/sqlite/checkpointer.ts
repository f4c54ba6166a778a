// Checkpoints the WAL in a separate thread. A commit that did so would block the event loop while all these pages are
// written and synced.
import type { Worker } from "node:worker_threads";

/** Plain JavaScript in a string: it needs no file beside the bundle it ends up in. */
const PROGRAM = `
const { workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { path, shared, restartFrames, waitMs } = workerData;
const db = new DatabaseSync(path);
db.exec("PRAGMA busy_timeout = " + waitMs + "; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
const passive = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
const restart = db.prepare("PRAGMA wal_checkpoint(RESTART)");
for (let seen = 0; ; ) {
  Atomics.wait(shared, 0, seen);
  if (Atomics.load(shared, 1) === 1) break;
  seen = Atomics.load(shared, 0);
  try {
    // While there is always a writer, the WAL is never completely in the database, and would grow for ever.
    if (passive.get().log >= restartFrames) restart.get();
  } catch {
    // A commit meets the same error, and reports it to its caller, which can act on it.
  }
}
db.close();
`;

/** From this many frames on, the WAL is begun anew; writers wait for that moment, by timers. */
const RESTART_FRAMES = 8000;
/** How long it waits for the lock between busy writers; and then for readers, while the writers wait. */
const WAIT_MS = 20;

const ASKED = 0;
const ENDING = 1;

export class Checkpointer {
  readonly #shared = new Int32Array(new SharedArrayBuffer(8));
  readonly #worker: Worker;

  constructor(path: string) {
    // Loaded only now: most programs need no thread.
    const threads = process.getBuiltinModule("node:worker_threads");
    this.#worker = new threads.Worker(PROGRAM, {
      eval: true,
      workerData: { path, shared: this.#shared, restartFrames: RESTART_FRAMES, waitMs: WAIT_MS },
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    // If the thread cannot start or dies, nothing is lost: commits checkpoint when the WAL gets long.
    this.#worker.on("error", () => {});
    this.#worker.unref();
  }

  /** Returns at once. Requests during a round are served by the next round. */
  ask(): void {
    Atomics.add(this.#shared, ASKED, 1);
    Atomics.notify(this.#shared, ASKED);
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((done) => this.#worker.once("exit", () => done()));
    if (this.#worker.threadId === -1) return;
    this.#worker.ref();
    Atomics.store(this.#shared, ENDING, 1);
    this.ask();
    await ended;
  }
}
