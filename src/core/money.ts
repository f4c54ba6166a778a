// Sums of money. A double cannot hold most decimal fractions exactly, so sums have errors in their last digits.

/** 12 digits keep a nano-dollar of a hundred dollars, and hide the error of a double. */
const DIGITS = 12;

/** The nearest number of 12 significant digits: 0.1 + 0.2 is 0.3. */
export function roundUsd(usd: number): number {
  return Number(usd.toPrecision(DIGITS));
}

/** A sum that is larger than any number becomes the largest number. */
export function addUsd(a: number, b: number): number {
  const sum = a + b;
  return sum < Number.MAX_VALUE ? roundUsd(sum) : Number.MAX_VALUE;
}
