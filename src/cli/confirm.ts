// Asks before the command erases something for good or repeats an effect. A script cannot answer, so it passes --yes.
import { HoldfastError } from "../contracts/errors.ts";
import type { Context } from "./command-line.ts";
import { UsageError } from "./failure.ts";
import { safeLine, wrap } from "./terminal.ts";

export const YES_OPTION = { type: "flag", short: "y", summary: "do not ask" } as const;

/** Returns only if the answer is yes; otherwise it throws. */
export async function confirm(context: Context, question: string, refused = "nothing was erased"): Promise<void> {
  if (context.args.flag("yes")) return;
  const { stdin } = context.io;
  if (stdin.isTTY !== true || context.output.json) throw new UsageError(`${question} Confirm with --yes`);
  for (const line of wrap(safeLine(`${question} Type yes:`), context.output.width)) await context.output.error(line);
  const answer = await readFirstLine(stdin);
  if (["y", "yes"].includes(answer.trim().toLowerCase())) return;
  throw new HoldfastError("Aborted", refused, { hint: "the answer was not yes" });
}

async function readFirstLine(stdin: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = "";
  for await (const chunk of stdin) {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
}
