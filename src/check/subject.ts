// The context of every check of a session: the session's row, what its log describes, and the reporter.
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { IssueReporter } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import type { Survey } from "./survey.ts";

export interface Subject {
  readonly survey: Survey;
  readonly reporter: IssueReporter;
  readonly session: CheckedSessionRow;
  /** null in quick mode, which does not read the log. */
  readonly ledger: Ledger | null;
}
