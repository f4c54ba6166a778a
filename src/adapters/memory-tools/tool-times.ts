// Times as models write and read them: ISO 8601, with or without a clock and a zone; without a zone in UTC.
import { invalid } from "../../core/check.ts";
import { isInstant, parseInstant, printInstant } from "../../core/instant.ts";
import type { Field } from "./agent-tool.ts";

const DAY_MS = 86_400_000;
const DATE = /^\d{4}-\d\d-\d\d$/;

export const timeField = (description: string) =>
  ({
    type: "string",
    limit: "titleBytes",
    description: `${description}, in ISO 8601: 2026-01-31 or 2026-01-31T15:00:00Z.`,
  }) as const satisfies Field;

/** A date alone is its beginning, or with `isEnd` its last millisecond. */
export function readTime(text: string, what: string, isEnd = false): number {
  // A space instead of the T, and more digits of a second than milliseconds.
  const given = text
    .trim()
    .replace(/^(\d{4}-\d\d-\d\d) (?=\d)/, "$1T")
    .replace(/(\.\d{3})\d+/, "$1");
  const found = parseInstant(given);
  if (found === null || found < 0) throw invalid(what, "a time such as 2026-01-31 or 2026-01-31T15:00:00Z", text);
  return isEnd && DATE.test(given) ? found + DAY_MS - 1 : found;
}

/** To the minute, in UTC. */
export function printTime(at: number): string {
  return isInstant(at) ? `${printInstant(at).slice(0, 16).replace("T", " ")} UTC` : `@${at}`;
}

/** To the millisecond, as readTime reads it. */
export function printExactTime(at: number): string {
  return isInstant(at) ? printInstant(at) : printTime(at);
}
