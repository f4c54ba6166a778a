// The processes of the demo: real ones, each a `holdfast worker` for the demo's agent.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { HoldfastError } from "../../contracts/errors.ts";
import { programFile } from "../package-files.ts";
import { type StoreChoice, storeEnvironment } from "../store.ts";
import { BANK } from "./agent.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

export class Hand {
  readonly pid: number;
  /** Rejects when it ends without being told to. */
  readonly lost: Promise<never>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  #isTold = false;

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
      if (this.#isTold) return new Promise<never>(() => {});
      throw new HoldfastError("Internal", `the worker ended by itself (${code}): ${errors.trim() || "no message"}`);
    });
    this.lost.catch(() => {});
  }

  end(signal: "SIGKILL" | "SIGTERM"): Promise<Ended> {
    this.#isTold = true;
    this.#child.kill(signal);
    return this.#ended;
  }
}

export class Crew {
  readonly #hands: Hand[] = [];
  readonly #choice: StoreChoice;
  readonly #book: string;

  constructor(choice: StoreChoice, book: string) {
    this.#choice = choice;
    this.#book = book;
  }

  hire(): Hand {
    const work = ["worker", "--agents", programFile("demo-agent"), "--poll", "100", "--json"];
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", programFile("holdfast"), ...work], {
      // It leaves when we do, whatever ends us, because its input ends then; Ctrl-C is ours alone to handle.
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      // Not as arguments: those are shown to everybody on the machine, and a URL can hold a password.
      env: { ...process.env, ...storeEnvironment(this.#choice), [BANK]: this.#book },
    });
    const hand = new Hand(child);
    this.#hands.push(hand);
    return hand;
  }

  /** Whatever happened: no process outlives the demo. */
  async dismiss(): Promise<void> {
    await Promise.all(this.#hands.map((hand) => hand.end("SIGKILL")));
  }
}
