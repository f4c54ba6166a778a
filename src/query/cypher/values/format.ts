// How numbers are written as text: a float always shows that it is one.

export function formatNumber(value: bigint | number | string): string {
  if (typeof value !== "number") return String(value);
  const text = Object.is(value, -0) ? "-0" : String(value).replace("e+", "e");
  return Number.isFinite(value) && !/[.e]/.test(text) ? `${text}.0` : text;
}
