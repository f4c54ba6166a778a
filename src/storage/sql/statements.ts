// Every constant text of the store by name: named reads, named changes, guards. A test prints them all for both engines.
import type { GuardName } from "../../contracts/storage/commit.ts";
import type { QueryName } from "../../contracts/storage/queries.ts";
import type { StatementName } from "../../contracts/storage/statement-names.ts";
import * as agents from "./agents.ts";
import * as archive from "./archive.ts";
import * as blobs from "./blobs.ts";
import * as captures from "./captures.ts";
import * as check from "./check.ts";
import * as checksums from "./checksum-checks.ts";
import * as embeddings from "./embeddings.ts";
import * as erasure from "./erasure.ts";
import * as history from "./history.ts";
import * as inlineContent from "./inline-content.ts";
import * as lineage from "./lineage.ts";
import * as log from "./log.ts";
import * as memory from "./memory.ts";
import * as metadata from "./metadata.ts";
import * as passages from "./passages.ts";
import * as references from "./references.ts";
import * as runs from "./runs.ts";
import * as sessions from "./sessions.ts";
import * as state from "./state.ts";
import { type Complete, type NamesOf, StatementTexts } from "./statement-texts.ts";
import * as stats from "./stats.ts";
import * as tasks from "./tasks.ts";
import * as textIndex from "./text-index.ts";
import * as trace from "./trace.ts";
import * as vectors from "./vectors.ts";

const READS = [
  sessions.queries,
  lineage.queries,
  archive.queries,
  log.queries,
  history.queries,
  erasure.queries,
  runs.queries,
  state.queries,
  agents.queries,
  tasks.queries,
  captures.queries,
  blobs.queries,
  inlineContent.queries,
  references.queries,
  stats.queries,
  check.queries,
  checksums.queries,
  trace.queries,
  memory.queries,
  metadata.queries,
  textIndex.queries,
  vectors.queries,
  embeddings.queries,
  passages.queries,
] as const;

const USUAL_READS = [sessions.queries, history.queries];

export const QUERIES = new StatementTexts<Complete<QueryName, NamesOf<typeof READS>>>(READS, USUAL_READS);

const CHANGES = [
  sessions.statements,
  lineage.statements,
  archive.statements,
  erasure.statements,
  runs.statements,
  state.statements,
  agents.statements,
  tasks.statements,
  captures.statements,
  blobs.statements,
  inlineContent.statements,
  memory.statements,
  metadata.statements,
  vectors.statements,
  embeddings.statements,
  passages.statements,
  textIndex.statements,
] as const;

const USUAL_CHANGES = [inlineContent.statements, sessions.statements];

export const STATEMENTS = new StatementTexts<Complete<StatementName, NamesOf<typeof CHANGES>>>(CHANGES, USUAL_CHANGES);

const CHECKS = [
  sessions.guards,
  lineage.guards,
  archive.guards,
  history.guards,
  runs.guards,
  state.guards,
  agents.guards,
  tasks.guards,
  captures.guards,
  memory.guards,
  blobs.guards,
  inlineContent.guards,
  vectors.guards,
  passages.guards,
  textIndex.guards,
] as const;

const USUAL_CHECKS = [sessions.guards, history.guards];

/** Each answers one value; no row is null. */
export const GUARDS = new StatementTexts<Complete<GuardName, NamesOf<typeof CHECKS>>>(CHECKS, USUAL_CHECKS);
