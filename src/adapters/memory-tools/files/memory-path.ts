// Paths of memory files. Files are rows of the store and no path reaches a disk, but other programs may write the files to one, so
// everything that could lead out of the directory there is refused here.
import { HoldfastError } from "../../../contracts/errors.ts";
import { checkId, invalid } from "../../../core/check.ts";

export const ROOT = "/memories";

/** The path without a slash at its end. An error is a text for the model. */
export function parseMemoryPath(given: unknown, what: string): string {
  if (typeof given !== "string") throw invalid(what, `a path below ${ROOT}`, given);
  const path = given.replace(/\/+$/, "");
  if (path !== ROOT && !path.startsWith(`${ROOT}/`))
    throw refused(`Path must start with ${ROOT}, got: ${shorten(given)}`);
  if (isEscaping(path)) throw refused(`Path ${shorten(given)} would escape ${ROOT} directory`);
  const [, , ...names] = path.split("/");
  // A name with a control character or a backslash is another path elsewhere.
  if (names.some((name) => name === "" || /[\\\p{Cc}]/u.test(name))) {
    throw refused(`Path ${shorten(given)} has an empty name, a backslash or a control character in it`);
  }
  return checkId(path, what);
}

/** A name that means another directory, also if some program decodes the path, once or twice. */
function isEscaping(path: string): boolean {
  const decoded = path.replaceAll(/%(?:25)*(2e|2f|5c)/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return decoded.split(/[/\\]/).some((name) => name === "." || name === "..");
}

function refused(message: string): HoldfastError {
  return new HoldfastError("InvalidArgument", message, { details: { what: "path" } });
}

/** A path in an error. */
function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}

/** Whether the path is in the directory, at any depth. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

/** The directories above the path, the nearest first, without the root. */
export function parentsOf(path: string): readonly string[] {
  const names = path.slice(ROOT.length + 1).split("/");
  return names.slice(1).map((_, i) => `${ROOT}/${names.slice(0, names.length - 1 - i).join("/")}`);
}
