// Instants as EDN writes them, `#inst "2026-01-31T12:00:00.000Z"`, to and from epoch milliseconds. The calendar
// arithmetic is done here because rules may not make a Date: it would read the clock outside of the environment.

const INSTANT = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|[+-]\d\d:\d\d)?)?$/;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The beginning of the year 0000 and the end of 9999: the years that four digits can express. */
const FIRST_MS = -62_167_219_200_000;
const LAST_MS = 253_402_300_799_999;

export function isInstant(ms: number): boolean {
  return Number.isInteger(ms) && ms >= FIRST_MS && ms <= LAST_MS;
}

/** null if the text is no such time, such as a 30th of February. A time without an offset is UTC. */
export function parseInstant(text: string): number | null {
  const match = INSTANT.exec(text);
  if (match === null) return null;
  const part = (index: number) => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return null;
  const days = daysOf(year, month, day);
  const back = dateOf(days);
  if (back.month !== month || back.day !== day) return null;
  const offset = offsetMs(match[8] ?? "Z");
  if (offset === null) return null;
  const ms = Number((match[7] ?? "0").padEnd(3, "0"));
  const at = days * DAY_MS + (hour * 60 + minute) * MINUTE_MS + second * 1000 + ms - offset;
  return isInstant(at) ? at : null;
}

export function printInstant(ms: number): string {
  const days = Math.floor(ms / DAY_MS);
  const { year, month, day } = dateOf(days);
  const rest = ms - days * DAY_MS;
  const two = (n: number) => String(n).padStart(2, "0");
  const clock = [Math.floor(rest / 3_600_000), Math.floor(rest / MINUTE_MS) % 60, Math.floor(rest / 1000) % 60];
  const fraction = String(rest % 1000).padStart(3, "0");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}T${clock.map(two).join(":")}.${fraction}Z`;
}

function offsetMs(text: string): number | null {
  if (text === "Z") return 0;
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(4, 6))];
  if (hours > 23 || minutes > 59) return null;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** Days since 1970-01-01 in the proleptic Gregorian calendar; years are counted from March, so that leap days come last. */
function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function dateOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leaps = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1 };
}
