// Paths of captured files. The store or bundle that they come from is untrusted: each part is checked before use, and
// anything that is not a plain name is refused.
import { HoldfastError } from "../contracts/errors.ts";

/** The lengths that file systems allow for a name, and for a path below a directory of ours. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 1024;
const MOST_PARTS = 16;
/** Names that are devices on some systems, also with an extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f\\:<>"|?*]/;

/** Returns the parts of the path. Throws UnsafePath if a part could lead outside of the target directory. */
export function checkPath(path: string): readonly string[] {
  const parts = path.split("/");
  if (path.length > LONGEST_PATH || parts.length > MOST_PARTS) throw unsafe(path, "it is too long");
  if (!path.isWellFormed()) throw unsafe(path, "it is not Unicode");
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") throw unsafe(path, "a part of it is not a file name");
    if (UNSAFE.test(part)) throw unsafe(path, "it contains a character that names may not have");
    if (DEVICE.test(part)) throw unsafe(path, "it names a device");
    if (/[ .]$/.test(part)) throw unsafe(path, "a name ends in a dot or a space");
    if (Buffer.byteLength(part) > LONGEST_NAME) throw unsafe(path, "a name is too long");
  }
  return parts;
}

export function unsafe(path: string, why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the path ${JSON.stringify(path.slice(0, 200))} is refused: ${why}`, {
    details: { path: path.slice(0, 200) },
    hint: "Nothing was written. This capture or bundle was not made by Holdfast.",
  });
}
