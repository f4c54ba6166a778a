// The keyboard of the demo. While the demo draws, it ignores typed keys and does not echo them; only a question reads
// keys.
import type { InStream } from "../io.ts";

const CTRL_C = "\u0003";

export class Keyboard {
  readonly #stdin: InStream;
  readonly #interrupt: () => void;
  #isOpen = false;
  /** The open question, with the text typed so far. */
  #question: { text: string; readonly answer: PromiseWithResolvers<string | null> } | null = null;
  #isOver = false;

  /** A terminal in raw mode sends no signal for Ctrl-C: `interrupt` is called instead. */
  constructor(stdin: InStream, interrupt: () => void = () => process.kill(process.pid, "SIGINT")) {
    this.#stdin = stdin;
    this.#interrupt = interrupt;
  }

  open(): void {
    this.#isOpen = true;
    this.#stdin.setRawMode?.(true);
    this.#listen().then(
      () => this.#over(),
      () => this.#over(),
    );
  }

  /** Reads one line; null if the input has ended. */
  async line(): Promise<string | null> {
    if (this.#isOver) return null;
    const answer = Promise.withResolvers<string | null>();
    this.#question = { text: "", answer };
    this.#stdin.setRawMode?.(false);
    return answer.promise;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#stdin.setRawMode?.(false);
    // An open stream keeps the process alive.
    this.#stdin.destroy?.();
  }

  async #listen(): Promise<void> {
    for await (const chunk of this.#stdin) {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
      if (this.#question === null) {
        if (text.includes(CTRL_C)) this.#interrupt();
        continue;
      }
      this.#question.text += text;
      const [line, ...rest] = this.#question.text.split("\n");
      if (rest.length > 0) this.#answer(line ?? "");
    }
  }

  #answer(line: string | null): void {
    this.#stdin.setRawMode?.(true);
    const question = this.#question;
    this.#question = null;
    question?.answer.resolve(line);
  }

  #over(): void {
    this.#isOver = true;
    this.#question?.answer.resolve(null);
    this.#question = null;
  }
}
