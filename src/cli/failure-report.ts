// Reports a failure: one line and a hint for people, one JSON document for programs. The stack trace is printed only if
// HOLDFAST_DEBUG is set.
import { type HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import { EXIT, exitOf } from "./exit.ts";
import { OutputClosed, OutputFailed, UsageError } from "./failure.ts";
import { commandHint } from "./hints.ts";
import type { Output } from "./output.ts";
import { safeJson, safeLine } from "./terminal.ts";

/** Prints the failure on stderr and returns the exit code. */
export async function reportFailure(error: unknown, output: Output, debug: boolean): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok;
  const facts = describeFailure(error, (text) => output.withCommands(text));
  if (output.json) {
    const { exit, ...rest } = facts;
    await output.error(safeJson({ ...rest, exit }, 2));
  } else {
    const { bad, faint } = output.errorStyle;
    await output.complaint("holdfast:", bad, safeLine(facts.message));
    if (facts.hint !== undefined) await output.complaint("  hint:", faint, safeLine(facts.hint));
  }
  if (debug && error instanceof Error) await output.error(stackOf(error));
  return facts.exit;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly retryable?: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly exit: number;
}

function describeFailure(error: unknown, withCommands: (text: string) => string): Failure {
  if (error instanceof UsageError) return { code: "Usage", message: withCommands(error.message), exit: EXIT.usage };
  if (error instanceof OutputFailed) return { code: error.name, message: error.message, exit: EXIT.error };
  if (isHoldfastError(error)) {
    const { hint: libraryHint, ...rest } = error.toJSON();
    const hint = libraryHint === undefined ? undefined : commandHint(libraryHint, findRunId(error));
    // The API's name of what the user knows as SESSION.
    const message = rest.message.replace(/\blocator\.session\b/g, "SESSION");
    return { ...rest, message, ...(hint === undefined ? {} : { hint: withCommands(hint) }), exit: exitOf(error.code) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "Internal",
    message: `unexpected error: ${message}`,
    hint: "this is a bug; set HOLDFAST_DEBUG=1 to print where it happened",
    exit: EXIT.error,
  };
}

/** The run that the error's details name. */
function findRunId({ details }: HoldfastError): string | undefined {
  // In a chain of retries, the error is about the last run, unless that run is deleted.
  const last = details.lastStatus === "deleted" ? undefined : details.last;
  const run = last ?? details.run ?? (details.kind === "run" ? details.id : undefined);
  return typeof run === "string" && run !== "" ? run : undefined;
}

function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
