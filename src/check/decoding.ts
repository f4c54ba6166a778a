// Decodes a row exactly as every read of it does, and reports a failure as an issue.
import { HoldfastError } from "../contracts/errors.ts";
import type { IssueReporter } from "./findings.ts";

export function checkDecoding(reporter: IssueReporter, table: string, row: string, decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "StoreCorrupted") throw error;
    const { column } = error.details;
    reporter.report("column-unreadable", [row], { table, column: typeof column === "string" ? column : null });
  }
}
