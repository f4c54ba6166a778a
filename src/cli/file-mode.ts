// The permissions of files that commands create: HOLDFAST_FILE_MODE, in octal as in chmod; by default only the owner
// has any.
import { checkFileMode, FILE_MODE } from "../core/file-mode.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";

export function fileModeOf(env: Io["env"]): number {
  return givenFileMode(env) ?? FILE_MODE;
}

/** Returns undefined if the variable is not set. */
export function givenFileMode({ HOLDFAST_FILE_MODE: text }: Io["env"]): number | undefined {
  if (!text) return undefined;
  try {
    return checkFileMode(
      /^(0o?)?[0-7]{3}$/.test(text) ? Number.parseInt(text.replace(/^0o/, ""), 8) : text,
      "file mode",
    );
  } catch {
    throw new UsageError(
      `HOLDFAST_FILE_MODE is "${text}"; give rights to read and write in octal, such as 600 (owner) or 660 (owner and group)`,
    );
  }
}
