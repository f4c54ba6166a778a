// Formats counts and durations for messages.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Each unit, with the number at which the next unit begins. */
const SPAN_UNITS = [
  ["ms", 1, SECOND],
  ["s", SECOND, MINUTE],
  ["min", MINUTE, HOUR],
  ["h", HOUR, 2 * DAY],
] as const;

/** "12 s", "3 min", "5 h", "12 d": rounded, and short enough for a table. */
export function formatSpan(ms: number): string {
  const span = Math.max(0, ms);
  for (const [name, unit, end] of SPAN_UNITS) {
    const count = Math.round(span / unit);
    // 59.9 s would print as 60 s, so the next unit begins where rounding reaches it.
    if (count * unit < end) return `${count} ${name}`;
  }
  return `${formatCount(Math.round(span / DAY))} d`;
}

/** "12,345". toLocaleString is not used, because loading the rules of a language takes longer than printing a table. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count)) return count.toLocaleString("en-US");
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
