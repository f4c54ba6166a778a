// Paths of captured files. They come from a store or a bundle that is untrusted: each part is checked before it is
// used, and anything that is not plainly a name is refused.
import { HoldfastError } from "../contracts/errors.ts";

/** What file systems allow in a name, and in a path below a directory of our own. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 1024;
const MOST_PARTS = 16;
/** Names that are devices on some systems, whatever follows their first dot. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f\\:<>"|?*]/;

/** Its parts; UnsafePath when one of them could lead anywhere but below where it is put. */
export function checkPath(path: string): readonly string[] {
  const parts = path.split("/");
  if (path.length > LONGEST_PATH || parts.length > MOST_PARTS) throw unsafe(path, "it is too long");
  if (!path.isWellFormed()) throw unsafe(path, "it is not Unicode");
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") throw unsafe(path, "it has a part that is no name");
    if (UNSAFE.test(part)) throw unsafe(path, "it has a character that no name may have");
    if (DEVICE.test(part)) throw unsafe(path, "it names a device");
    if (/[ .]$/.test(part)) throw unsafe(path, "a name ends in a dot or a space");
    if (Buffer.byteLength(part) > LONGEST_NAME) throw unsafe(path, "a name is too long");
  }
  return parts;
}

export function unsafe(path: string, why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the path ${JSON.stringify(path.slice(0, 200))} is refused: ${why}`, {
    details: { path: path.slice(0, 200) },
    hint: "Nothing was written. Whoever made this capture or bundle did not make it with holdfast.",
  });
}
