// How a failure is told: one line and a hint for people, one JSON document for programs, never a stack trace unless
// HOLDFAST_DEBUG asks for it.
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import { EXIT, exitOf } from "./exit.ts";
import { commandHint } from "./hints.ts";
import type { Output } from "./output.ts";
import { safeJson, safeLine } from "./terminal.ts";

/** The command line itself is wrong. Told in one line, so the message says everything. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Whoever read our output went away (`| head`); there is nobody left to tell. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** The output goes to a place that does not take it: a full disk, mostly. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
}

/** Tells it on stderr and answers with the exit code. */
export async function report(error: unknown, output: Output, debug: boolean): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok;
  const facts = describe(error, (text) => output.withCommands(text));
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

function describe(error: unknown, told: (text: string) => string): Failure {
  if (error instanceof UsageError) return { code: "Usage", message: told(error.message), exit: EXIT.usage };
  if (error instanceof OutputFailed) return { code: error.name, message: error.message, exit: EXIT.error };
  if (isHoldfastError(error)) {
    const { hint: given, ...rest } = error.toJSON();
    const hint = given === undefined ? undefined : commandHint(given, runOf(error));
    return { ...rest, ...(hint === undefined ? {} : { hint: told(hint) }), exit: exitOf(error.code) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "Internal",
    message: `unexpected error: ${message}`,
    hint: "this should not happen; HOLDFAST_DEBUG=1 shows where it did",
    exit: EXIT.error,
  };
}

/** The run that an error is about, where its details name it. */
function runOf({ details }: HoldfastError): string | undefined {
  // Of runs that took up one another the last is meant, unless it is gone.
  const last = details.lastStatus === "deleted" ? undefined : details.last;
  const run = last ?? details.run ?? (details.kind === "run" ? details.id : undefined);
  return typeof run === "string" && run !== "" ? run : undefined;
}

function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}

/** A file the user named could not be used: the operating system's error in our words. */
export function fileFailure(error: unknown, file: string): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const options = { cause: error, details: { file } };
  if (code === "ENOENT") return new HoldfastError("NotFound", `no file ${file}`, options);
  if (code === "EACCES" || code === "EPERM") {
    return new HoldfastError("PermissionDenied", `this user may not read or write ${file}`, options);
  }
  if (code === "EISDIR") return new HoldfastError("InvalidArgument", `${file} is a directory, not a file`, options);
  if (code === "ENOSPC") return new HoldfastError("StoreFull", `no space left for ${file}`, options);
  return error;
}
