// The processes of the demo: real ones, each a `holdfast worker` for the demo's agent.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { HoldfastError } from "../../contracts/errors.ts";
import { programFile } from "../package-files.ts";
import { type StoreChoice, storeEnvironment } from "../store.ts";
import { BANK } from "./agent.ts";

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export class WorkerProcess {
  readonly pid: number;
  /** Rejects if the process ends although the demo did not stop it. */
  readonly lost: Promise<never>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<ProcessExit>;
  #isStopping = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    let errors = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.stdout?.resume();
    this.#ended = once(child, "close").then(([code, signal]: unknown[]) => ({
      code: typeof code === "number" ? code : null,
      signal: typeof signal === "string" ? signal : null,
    }));
    this.lost = this.#ended.then(({ code }) => {
      if (this.#isStopping) return new Promise<never>(() => {});
      throw new HoldfastError("Internal", `the worker ended by itself (${code}): ${errors.trim() || "no message"}`);
    });
    this.lost.catch(() => {});
  }

  end(signal: "SIGKILL" | "SIGTERM"): Promise<ProcessExit> {
    this.#isStopping = true;
    this.#child.kill(signal);
    return this.#ended;
  }
}

export class WorkerProcesses {
  readonly #workers: WorkerProcess[] = [];
  readonly #choice: StoreChoice;
  readonly #book: string;

  constructor(choice: StoreChoice, book: string) {
    this.#choice = choice;
    this.#book = book;
  }

  start(): WorkerProcess {
    const work = ["worker", "--agents", programFile("demo-agent"), "--poll", "100", "--json"];
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", programFile("holdfast"), ...work], {
      // The worker ends with the demo, because the demo's end closes the worker's standard input. Only the demo handles
      // Ctrl-C.
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      // The store is not passed as an argument: every user of the machine can see arguments, and a URL can contain a
      // password.
      env: { ...process.env, ...storeEnvironment(this.#choice), [BANK]: this.#book },
    });
    const worker = new WorkerProcess(child);
    this.#workers.push(worker);
    return worker;
  }

  /** Kills all workers, so that none outlives the demo. */
  async killAll(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end("SIGKILL")));
  }
}
