// The one question of the demo, put to whoever sits at the terminal.

import type { Answer } from "../../contracts/decisions.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Context } from "../command.ts";
import type { Keyboard } from "./keyboard.ts";

export interface Choice {
  readonly verdict: Answer["verdict"];
  /** Whether a person chose it. */
  readonly isAsked: boolean;
}

const CHOICES: readonly (readonly [string, string, Answer["verdict"]])[] = [
  ["1", "it happened: go on with its receipt (Enter)", "result"],
  ["2", "do it again", "retry"],
  ["3", "it shall not happen", "fail"],
];
const WHEN_NOTHING_IS_SAID = "result";

/** Whether there is somebody to ask, who wants to be. */
export function asksSomebody({ args, io, output }: Context): boolean {
  return !args.flag("yes") && !output.json && io.stdin.isTTY === true;
}

/** Without anybody to ask: what a person would say who looked at the bank's book. */
export async function askWhether(
  context: Context,
  question: string,
  keyboard: Keyboard,
  signal: AbortSignal,
): Promise<Choice> {
  if (!asksSomebody(context)) return { verdict: "result", isAsked: false };
  const { output } = context;
  await output.lines(["", `   ${output.style.strong(question)}`]);
  await output.lines(CHOICES.map(([key, text]) => `     ${output.style.name(key)}  ${text}`));
  for (;;) {
    await output.bytes("   Your answer: ");
    const said = await Promise.race([keyboard.line(), stopped(signal)]);
    const verdict = said === null ? WHEN_NOTHING_IS_SAID : verdictOf(said);
    if (verdict !== undefined) return { verdict, isAsked: true };
    await output.lines(["   That is none of them: type 1, 2 or 3; Enter alone is 1."]);
  }
}

function verdictOf(said: string): Answer["verdict"] | undefined {
  const key = said.trim();
  return key === "" ? WHEN_NOTHING_IS_SAID : CHOICES.find(([one]) => one === key)?.[2];
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new HoldfastError("Aborted", "the demo was stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
