// Checks the version of Node. An old Node must be able to run this file in order to report that it is too old, so it
// imports nothing and uses the syntax of Node 14.

/** One line that refuses the running Node, or undefined if it is new enough. */
export function nodeRefusal(): string | undefined {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  // zstd came to Node in 22.15 and, on the short-lived 23 line, in 23.8.
  const tooOld = major < 22 || (major === 22 && minor < 15) || (major === 23 && minor < 8);
  if (!tooOld) return undefined;
  return `holdfast needs Node 22.15 or newer; this is ${process.version} (${process.execPath})`;
}

/** What the user can do about it. */
export const NEWER_NODE =
  "Install a newer Node, such as the LTS from nodejs.org. Or install one for this project only, which npx then uses:  " +
  "npm install --save-dev node@24";
