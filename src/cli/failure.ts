// Failures that only a CLI has: wrong usage, output that cannot be written, files of the user that cannot be used.
import { HoldfastError } from "../contracts/errors.ts";

/** The command line is wrong. The message says what is wrong and what to do, so there is no separate hint. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The reader of the output has closed it (`| head`), so the command ends without a message. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** The output cannot be written, mostly because a disk is full. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
}

/** Translates the operating system's error about a file that the user named. */
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
