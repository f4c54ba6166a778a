// What a sweep took away, in words.
import type { CapturesRemoved } from "../../contracts/captures.ts";
import { formatBytes, plural } from "../units.ts";

/** Bytes that other captures or messages hold as well are counted, and stay. */
export function sweptWords({ removed, bytes }: CapturesRemoved): string {
  return `${plural(removed.length, "expired capture")} (${formatBytes(bytes)})`;
}
