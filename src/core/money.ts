// Sums of money. Doubles cannot hold most decimal fractions, so a sum collects an error in its last digits.

/** Enough for a nano-dollar beside a hundred dollars, and few enough that no error of a double shows. */
const DIGITS = 12;

/** The nearest number of 12 significant digits: 0.1 + 0.2 is 0.3. */
export function roundUsd(usd: number): number {
  return Number(usd.toPrecision(DIGITS));
}

/** A sum that no number holds is as good as the largest there is. */
export function addUsd(a: number, b: number): number {
  const sum = a + b;
  return sum < Number.MAX_VALUE ? roundUsd(sum) : Number.MAX_VALUE;
}
