// Runs the database engine's own check and reports its findings as issues.
import type { CheckKind, CheckReport } from "../contracts/check.ts";
import type { EngineDamage } from "../contracts/storage/engine-report.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { IssueReporter } from "./findings.ts";

const KIND: Readonly<Record<EngineDamage["part"], CheckKind>> = {
  index: "index-damaged",
  page: "page-damaged",
  schema: "schema-damaged",
};

export interface EngineOutcome extends NonNullable<CheckReport["engine"]> {
  /** The schema is damaged, so no row that is read through it can be trusted. */
  readonly isUnreadable: boolean;
}

export async function checkEngine(storage: Storage, reporter: IssueReporter): Promise<EngineOutcome> {
  const { check, notRun, damages } = await storage.examine();
  for (const { part, name, messages, count } of damages) {
    reporter.report(KIND[part], name === null ? [] : [name], { check, messages, count });
  }
  return { check, notRun, isUnreadable: damages.some(({ part }) => part === "schema") };
}
