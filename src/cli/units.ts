// Formats sizes, counts, ages and times for people, and parses the durations that they type.
import { formatCount, formatSpan } from "../core/format-numbers.ts";
import { UsageError } from "./failure.ts";

export { formatCount, formatSpan };

const SIZE_UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** Formats a size; 1 kB is 1000 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes === 1) return "1 byte";
  let value = bytes;
  let unit = 0;
  // 999.95 would print as 1000.0, so the next unit begins there.
  while (value >= (unit === 0 ? 1000 : 999.95) && unit < SIZE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${bytes} bytes` : `${value.toFixed(1)} ${SIZE_UNITS[unit]}`;
}

/** For example "1 message" or "2,000 messages". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Counts whose singular cannot be derived from the key, or whose key is no readable name. */
const NOUNS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  branches: ["branch", "branches"],
  deletedSessions: ["deleted session", "deleted sessions"],
  inherited: ["message that forks inherit", "messages that forks inherit"],
  memories: ["memory", "memories"],
  partialSessions: ["partial session", "partial sessions"],
  state: ["value of state", "values of state"],
};

/** For example "2 sessions, 1 branch"; counts of 0 are left out. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => plural(count, ...(NOUNS[name] ?? ([name.replace(/s$/, ""), name] as const))))
    .join(", ");
}

export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(share !== 0 && Math.abs(share) < 0.1 ? 1 : 0)} %`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats an age. Clocks of machines differ, so a time in the future is "just now". */
export function formatAge(at: number, now: number): string {
  const span = now - at;
  return span < SECOND ? "just now" : `${formatSpan(span)} ago`;
}

/** Formats a time in UTC, to the second, so that texts sort by time. */
export function formatTime(at: number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return `@${at}`;
  return `${time.toISOString().slice(0, 19).replace("T", " ")}Z`;
}

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Parses "90s", "15m", "12h" or "7d" to milliseconds. */
export function parseDuration(text: string, option: string): number {
  return durationOf(text, `${option} takes a time such as 90s, 15m, 12h or 7d, not "${text}"`);
}

/** Parses a duration; null for "never". */
export function parseDurationOrNever(text: string, option: string): number | null {
  if (text === "never") return null;
  return durationOf(text, `${option} takes a time such as 90s, 15m, 12h or 7d, or never, not "${text}"`);
}

function durationOf(text: string, otherwise: string): number {
  const match = DURATION.exec(text);
  const unit = DURATION_UNITS[match?.[2] ?? ""];
  const ms = Math.round(Number(match?.[1]) * (unit ?? Number.NaN));
  if (!Number.isSafeInteger(ms)) throw new UsageError(otherwise);
  return ms;
}
