// The engine's own check, as issues of the report.
import type { CheckKind, CheckReport } from "../contracts/check.ts";
import type { EngineDamage } from "../contracts/storage/engine-report.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { SecondLook } from "./findings.ts";

const KIND: Readonly<Record<EngineDamage["part"], CheckKind>> = {
  index: "index-damaged",
  page: "page-damaged",
  schema: "schema-damaged",
};

export interface EngineOutcome extends NonNullable<CheckReport["engine"]> {
  /** Rows are read through tables that are not what they should be: nothing else can be believed. */
  readonly isUnreadable: boolean;
}

export async function checkEngine(storage: Storage, look: SecondLook): Promise<EngineOutcome> {
  const { check, notRun, damages } = await storage.examine();
  for (const { part, name, messages, count } of damages) {
    look.report(KIND[part], name === null ? [] : [name], { check, messages, count });
  }
  return { check, notRun, isUnreadable: damages.some(({ part }) => part === "schema") };
}
