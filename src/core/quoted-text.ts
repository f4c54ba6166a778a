// Restored text for a model: every line is quoted, so that no text can end its quotation, and the heading says that it is data.

/** A text that is longer is cut, and says so. */
const MOST_CHARS = 4000;

export function quoteText(text: string, most = MOST_CHARS): string {
  const shown = text.length <= most ? text : `${text.slice(0, most)} … (${text.length} characters in all)`;
  return shown
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** A name in a line of its own, without what could begin another line. */
export function inLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");
}
