// How much a test does: little in `npm test`, which has to end within minutes, and all of it in `npm run test:long`.
// A short test proves the same guarantee with fewer seeds, random cases or repetitions.

/** True in `npm run test:long`. */
export const isLong = process.env.HOLDFAST_TEST_LONG === "1";

export interface Scale<T> {
  readonly short: T;
  readonly long: T;
}

/** What this run uses: a count, a list of cases, a time limit. */
export function scaled<T>({ short, long }: Scale<T>): T {
  return isLong ? long : short;
}
