// The scale of a test: small in `npm test`, which must end within minutes, and full in `npm run test:long`.
// A short test proves the same guarantee with fewer seeds, random cases or repetitions.

/** True in `npm run test:long`. */
export const isLong = process.env.HOLDFAST_TEST_LONG === "1";

export interface Scale<T> {
  readonly short: T;
  readonly long: T;
}

/** Chooses the value for this run: a count, a list of cases or a time limit. */
export function scaled<T>({ short, long }: Scale<T>): T {
  return isLong ? long : short;
}
