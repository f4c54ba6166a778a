// The one question of the demo, for the person at the terminal.
import type { Answer } from "../../contracts/decisions.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Context } from "../command-line.ts";
import type { Keyboard } from "./keyboard.ts";

export interface DemoAnswer {
  readonly verdict: Answer["verdict"];
  /** Whether a person chose the verdict. */
  readonly isByPerson: boolean;
}

const CHOICES: readonly (readonly [string, string, Answer["verdict"]])[] = [
  ["1", "it happened: continue with its receipt (Enter)", "result"],
  ["2", "execute it again", "retry"],
  ["3", "it must not happen", "fail"],
];
const DEFAULT_VERDICT = "result";

/** Whether there is a person at a terminal who did not pass --yes. */
export function canAsk({ args, io, output }: Context): boolean {
  return !args.flag("yes") && !output.json && io.stdin.isTTY === true;
}

/** The person's verdict; without a person at the terminal, the verdict that the bank's records give. */
export async function askForVerdict(
  context: Context,
  question: string,
  keyboard: Keyboard,
  signal: AbortSignal,
): Promise<DemoAnswer> {
  if (!canAsk(context)) return { verdict: "result", isByPerson: false };
  const { output } = context;
  await output.lines(["", `   ${output.style.strong(question)}`]);
  await output.lines(CHOICES.map(([key, text]) => `     ${output.style.name(key)}  ${text}`));
  for (;;) {
    await output.bytes("   Your answer: ");
    const line = await Promise.race([keyboard.line(), stopped(signal)]);
    const verdict = line === null ? DEFAULT_VERDICT : parseVerdict(line);
    if (verdict !== undefined) return { verdict, isByPerson: true };
    await output.lines(["   Type 1, 2 or 3; Enter alone is 1."]);
  }
}

function parseVerdict(line: string): Answer["verdict"] | undefined {
  const key = line.trim();
  return key === "" ? DEFAULT_VERDICT : CHOICES.find(([one]) => one === key)?.[2];
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new HoldfastError("Aborted", "the demo was stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
