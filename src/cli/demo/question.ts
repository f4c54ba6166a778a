// The one question of the demo, put to whoever sits at the terminal.

import type { Answer } from "../../contracts/decisions.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Context } from "../command.ts";
import { firstLine } from "../confirm.ts";

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

/** Without anybody to ask: what a person would say who looked at the bank's book. */
export async function askWhether(
  { args, io, output }: Context,
  question: string,
  signal: AbortSignal,
): Promise<Choice> {
  if (args.flag("yes") || output.json || io.stdin.isTTY !== true) return { verdict: "result", isAsked: false };
  await output.lines(["", `   ${output.style.strong(question)}`]);
  await output.lines(CHOICES.map(([key, text]) => `     ${output.style.name(key)}  ${text}`));
  await output.bytes("   Your answer: ");
  const said = await Promise.race([firstLine(io.stdin), stopped(signal)]).catch((error: unknown) => {
    io.stdin.destroy?.();
    throw error;
  });
  const key = said.trim();
  return { verdict: CHOICES.find(([one]) => one === key)?.[2] ?? "result", isAsked: true };
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new HoldfastError("Aborted", "the demo was stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
