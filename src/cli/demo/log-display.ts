// The live display of the demo: follows a session's log, as any other process could, and prints each step when it ends.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { LogEvent } from "../../contracts/log.ts";
import { describeOwner } from "../../core/run-owner.ts";
import type { Output } from "../output.ts";
import { padEnd, padStart, safe, truncate } from "../terminal.ts";
import { formatSpan } from "../units.ts";

const INDENT = "     ";
const NAME_WIDTH = 18;
const TOOK_WIDTH = 7;
/** How long waitFor() waits for one event, which usually comes within two seconds. */
const LONGEST_WAIT_MS = 15_000;

interface StartedStep {
  at: number;
  readonly name: string;
  isAsked: boolean;
}

export class LogDisplay {
  readonly events: LogEvent[] = [];
  readonly #holdfast: Holdfast;
  readonly #session: string;
  readonly #output: Output;
  readonly #over = new AbortController();
  readonly #steps = new Map<number, StartedStep>();
  readonly #waiting = new Set<() => void>();
  /** The lines that are printed after the pause; null: the display is not paused. */
  #delayed: string[] | null = [];
  #iteration = 0;
  #failure: unknown;
  #running: Promise<void> = Promise.resolve();

  constructor(holdfast: Holdfast, session: string, output: Output) {
    this.#holdfast = holdfast;
    this.#session = session;
    this.#output = output;
  }

  start(): void {
    this.#running = this.#follow().catch((error: unknown) => {
      this.#failure = error;
      this.#wake();
    });
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
    await this.pause();
  }

  async pause(): Promise<void> {
    this.#delayed ??= [];
    await this.#output.clearProgress();
  }

  async resume(): Promise<void> {
    const lines = this.#delayed ?? [];
    this.#delayed = null;
    if (!this.#output.json) await this.#output.lines(lines);
  }

  /** Returns the first past or future event that fulfils the condition. `lost` and `signal` end the wait. */
  async waitFor(
    matches: (event: LogEvent) => boolean,
    what: string,
    signal: AbortSignal,
    lost: Promise<never>,
  ): Promise<LogEvent> {
    const deadline = performance.now() + LONGEST_WAIT_MS;
    for (;;) {
      const found = this.events.find(matches);
      if (found !== undefined) return found;
      if (signal.aborted) throw new HoldfastError("Aborted", "the demo was stopped");
      if (this.#failure !== undefined) throw this.#failure;
      if (performance.now() > deadline) {
        throw new HoldfastError(
          "Internal",
          `the demo waited ${LONGEST_WAIT_MS / 1000} s for ${what}, and it did not come`,
        );
      }
      const next = new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        setTimeout(resolve, 100);
      });
      await Promise.race([next, lost]);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #follow(): Promise<void> {
    for await (const event of this.#holdfast.log.tail(this.#session, { signal: this.#over.signal })) {
      await this.#show(event);
      this.events.push(event);
      this.#wake();
    }
  }

  async #show({ type, data, seq, at }: LogEvent): Promise<void> {
    const { style } = this.#output;
    const begun = typeof data.step === "number" ? this.#steps.get(data.step) : undefined;
    if (type === "step/started") {
      if (Number(data.iteration) > this.#iteration) {
        this.#iteration = Number(data.iteration);
        await this.#line(style.strong(`iteration ${this.#iteration}`));
      }
      const name = `${data.kind} ${data.name}`;
      this.#steps.set(seq, { at, name, isAsked: false });
      if (this.#delayed === null) await this.#output.progress(safe`${INDENT}  ${padEnd(name, NAME_WIDTH)} …`);
    }
    if (begun !== undefined && type === "step/done") {
      const took = begun.isAsked ? "decided" : formatSpan(at - begun.at);
      await this.#line(`  ${padEnd(begun.name, NAME_WIDTH)}${padStart(took, TOOK_WIDTH)}  ${style.good("✓")}`);
    }
    if (begun !== undefined && type === "step/failed")
      await this.#line(`  ${padEnd(begun.name, NAME_WIDTH)}${style.bad("✗")}`);
    if (type === "message/added") await this.#line(`  ${style.faint(await this.#messageText(seq))}`);
    if (type === "run/claimed") {
      const how = data.status === "recovering" ? style.warn("took the run over") : "claimed the run";
      await this.#line(`${style.name(describeOwner(String(data.owner)).worker)} ${how}`);
    }
    if (begun !== undefined && type === "step/asked") {
      begun.isAsked = true;
      await this.#line(`  ${padEnd(begun.name, NAME_WIDTH)}${style.warn("?  it may have happened")}`);
    }
    if (begun !== undefined && type === "step/again") {
      Object.assign(begun, { at, isAsked: false });
      if (this.#delayed === null) await this.#output.progress(safe`${INDENT}  ${padEnd(begun.name, NAME_WIDTH)} …`);
    }
    if (type === "run/completed") await this.#line(style.good("completed"));
  }

  async #messageText(seq: number): Promise<string> {
    const [message] = await this.#holdfast.history.session(this.#session, { after: seq - 1, limit: 1 });
    const [block] = message?.content ?? [];
    return block?.type === "text" ? truncate(safe`${block.text}`, 70) : "";
  }

  async #line(text: string): Promise<void> {
    if (this.#delayed !== null) {
      this.#delayed.push(`${INDENT}${text}`);
      return;
    }
    await this.#output.clearProgress();
    if (!this.#output.json) await this.#output.line(`${INDENT}${text}`);
  }
}
