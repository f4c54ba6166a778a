// The named reads of vectors, and of the index of metadata; see queries.ts.
import type { Read } from "./rows.ts";

export interface VectorQueries {
  /** The values of a field from (`from`, `after`) on, in the order of value and item. */
  "metadata.items": Read<
    {
      kind: string;
      scope: number;
      path: Uint8Array;
      from: Uint8Array;
      after: number;
      to: Uint8Array;
      limit: number;
    },
    { readonly value: Uint8Array; readonly item: number }
  >;
}
