// What a sweep took away, in words.
import type { CapturesRemoved } from "../../contracts/captures.ts";
import { safe } from "../terminal.ts";
import { formatBytes, plural } from "../units.ts";

/** Bytes that other captures or messages hold as well are counted, and stay. */
export function sweptWords({ removed, bytes }: CapturesRemoved): string {
  const lost = removed.flatMap(({ id, notImported }) =>
    notImported === undefined ? [] : [safe`${id}: ${notImported}`],
  );
  const told = lost.length === 0 ? "" : `; not imported before: ${lost.join(", ")}`;
  return `${plural(removed.length, "expired capture")} (${formatBytes(bytes)})${told}`;
}
