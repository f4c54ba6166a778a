// What every check of a session is given: the session as it was read, what its log says, and where to report.

import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { SecondLook } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import type { Survey } from "./survey.ts";

export interface Subject {
  readonly survey: Survey;
  readonly look: SecondLook;
  readonly session: CheckedSessionRow;
  /** null in quick mode, which does not read the log. */
  readonly ledger: Ledger | null;
}
