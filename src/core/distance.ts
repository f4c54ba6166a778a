// "Did you mean": the known names that are nearest to a misspelt one, for errors about fields, options, commands and
// choices.

/** The number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Longer names are not compared: they are no misspellings, and the comparison would take long. */
const MOST_NAME_CHARS = 100;

/** The known names that are near enough to be meant: none, or all that are equally near. */
function nearest(typed: string, known: readonly string[]): readonly string[] {
  if (typed.length > MOST_NAME_CHARS) return [];
  const most = Math.max(1, Math.floor(typed.length / 3));
  const distanceTo = (name: string) => (typed.length >= 2 && name.startsWith(typed) ? 0.5 : editDistance(typed, name));
  const near = known.map((name) => ({ name, distance: distanceTo(name) })).filter(({ distance }) => distance <= most);
  const least = Math.min(...near.map(({ distance }) => distance));
  return near.filter(({ distance }) => distance === least).map(({ name }) => name);
}

/** More suggestions would not help. */
const GUESSES = 3;

/** `"run" or "runs"`; empty if no known name is near. */
export function suggestNames(typed: string, known: readonly string[], prefix = ""): string {
  return nearest(typed, known)
    .slice(0, GUESSES)
    .map((name) => `"${prefix}${name}"`)
    .join(" or ");
}

/** The end of a message, `; did you mean "run" or "runs"?`, or nothing. */
export function didYouMean(typed: string, known: readonly string[], prefix = ""): string {
  const names = suggestNames(typed, known, prefix);
  return names === "" ? "" : `; did you mean ${names}?`;
}
