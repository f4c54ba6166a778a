// Every constant text of the store by name: named reads, named changes, guards. A test prints them all for both engines.
import type { QueryName } from "../../contracts/queries.ts";
import type { GuardName, StatementName } from "../../contracts/storage.ts";
import * as agents from "./agents.ts";
import * as archive from "./archive.ts";
import * as blobs from "./blobs.ts";
import * as captures from "./captures.ts";
import * as check from "./check.ts";
import * as checksums from "./checksum-checks.ts";
import * as erasure from "./erasure.ts";
import * as history from "./history.ts";
import * as words from "./inline-content.ts";
import * as lineage from "./lineage.ts";
import * as log from "./log.ts";
import * as references from "./references.ts";
import * as runs from "./runs.ts";
import * as sessions from "./sessions.ts";
import * as state from "./state.ts";
import * as stats from "./stats.ts";
import * as tasks from "./tasks.ts";
import * as trace from "./trace.ts";

export const QUERIES: Readonly<Record<QueryName, string>> = {
  ...sessions.queries,
  ...lineage.queries,
  ...archive.queries,
  ...log.queries,
  ...history.queries,
  ...erasure.queries,
  ...runs.queries,
  ...state.queries,
  ...agents.queries,
  ...tasks.queries,
  ...captures.queries,
  ...blobs.queries,
  ...words.queries,
  ...references.queries,
  ...stats.queries,
  ...check.queries,
  ...checksums.queries,
  ...trace.queries,
};

export const STATEMENTS: Readonly<Record<StatementName, string>> = {
  ...sessions.statements,
  ...lineage.statements,
  ...archive.statements,
  ...erasure.statements,
  ...runs.statements,
  ...state.statements,
  ...agents.statements,
  ...tasks.statements,
  ...captures.statements,
  ...blobs.statements,
  ...words.statements,
};

/** Each answers one value; no row is null. */
export const GUARDS: Readonly<Record<GuardName, string>> = {
  ...sessions.guards,
  ...lineage.guards,
  ...archive.guards,
  ...history.guards,
  ...runs.guards,
  ...state.guards,
  ...agents.guards,
  ...tasks.guards,
  ...captures.guards,
  ...blobs.guards,
  ...words.guards,
};
