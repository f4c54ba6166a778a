// "Did you mean": the nearest known name, if it is near enough to be a slip of the fingers.
import { editDistance } from "../core/distance.ts";

export function nearest(typed: string, known: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(typed.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = typed.length >= 2 && name.startsWith(typed) ? 0.5 : editDistance(typed, name);
    if (distance <= most && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** `; did you mean "sessions"?`, or nothing. */
export function didYouMean(typed: string, known: readonly string[], prefix = ""): string {
  const name = nearest(typed, known);
  return name === undefined ? "" : `; did you mean "${prefix}${name}"?`;
}
