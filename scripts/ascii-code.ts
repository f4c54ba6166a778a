// V8 keeps a source text with a single character beyond Latin-1 in two bytes a character, and takes longer to read all of it.
// In the bundle such characters are escaped, which means the same in texts, templates and regular expressions.
import type { Plugin } from "rolldown";

const OTHER = /[^\0-\x7f]/g;

export const asciiCode: Plugin = {
  name: "ascii-code",
  renderChunk(code, { name }) {
    // After a backslash, or in a raw template, an escape has another meaning.
    const strange = /\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f`][^`]*`/.exec(code)?.[0];
    if (strange !== undefined) throw new Error(`${name}: ${strange} cannot be written in ASCII`);
    return { code: code.replace(OTHER, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`), map: null };
  },
};
