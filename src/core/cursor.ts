// Cursors of lists: opaque to callers, the number of the last row seen to us.
import { HoldfastError } from "../contracts/errors.ts";

export function writeCursor(no: number): string {
  return Buffer.from(`n${no}`).toString("base64url");
}

/** null when none was given. */
export function readCursor(value: unknown): number | null {
  if (value === undefined) return null;
  const text = typeof value === "string" ? Buffer.from(value, "base64url").toString("utf8") : "";
  if (!/^n[0-9]{1,15}$/.test(text)) {
    throw new HoldfastError("InvalidArgument", "cursor must be one that a list returned as `next`", {
      details: { what: "cursor" },
    });
  }
  return Number(text.slice(1));
}
