// Whether a row can be read: the same decoding that every read of it does, with what it says as an issue.
import { HoldfastError } from "../contracts/errors.ts";
import type { SecondLook } from "./findings.ts";

export function checkDecoding(look: SecondLook, table: string, row: string, decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "StoreCorrupted") throw error;
    const { column } = error.details;
    look.report("column-unreadable", [row], { table, column: typeof column === "string" ? column : null });
  }
}
