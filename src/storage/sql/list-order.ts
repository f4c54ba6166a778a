// The two orders of lists, by the number of their rows: which rows come after the last that was seen, and the direction.
export interface Order {
  readonly past: "<" | ">";
  readonly direction: " DESC" | "";
}

export const NEWEST_FIRST: Order = { past: "<", direction: " DESC" };
export const OLDEST_FIRST: Order = { past: ">", direction: "" };
