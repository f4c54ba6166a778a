// The names of the statements that change many rows in a commit, and the scopes of erasures; see commit.ts.

/**
 * The scope of an erasure: an agent's messages in a session, the messages of one run, or all content of one kind in a
 * session. "work" is the payloads of evals, calls, snapshots and heads.
 */
export type ErasedScope =
  | "messages"
  | "run"
  | "allMessages"
  | "allState"
  | "allAnnotations"
  | "allWork"
  /** The payloads of a run's events. */
  | "journal"
  /** Checkpoints that other loops saved. */
  | "saved"
  /** One capture by its id, or all captures of a session. */
  | "capture"
  | "allCaptures";

type OfSession = { session: number };

/** The parameters that select the rows of a scope; `session` and `agent` are row numbers. */
export interface ScopeParams {
  messages: OfSession & { agent: number; upTo: number };
  run: OfSession & { agent: number; run: string; upTo: number };
  allMessages: OfSession;
  allState: OfSession;
  allAnnotations: OfSession;
  allWork: OfSession;
  journal: OfSession & { run: string; from: number; upTo: number };
  saved: OfSession & { agent: number };
  capture: { id: string };
  allCaptures: OfSession;
}

/** The scopes with content that may be inline in the rows of events. */
export type EventScope = "messages" | "run" | "allMessages" | "journal" | "saved";

/** The scopes of messages, which the text index has. */
export type MessageScope = "messages" | "run" | "allMessages";

/** The tables of a log with content that can be erased. */
export type ErasedRow = "events" | "evals" | "calls" | "snapshots" | "heads" | "invocations" | "state" | "annotations";

/** Statements with a constant text that change many rows; storage/sql/statements.ts has the texts. */
export type StatementName =
  | "session.describe"
  | "session.born"
  | "session.untag"
  | "session.tombstone"
  | "session.unalias"
  | "session.countAliases"
  | "session.recountAliases"
  | "session.branchTo"
  | "session.headTo"
  | "session.remainsTo"
  | "session.complete"
  | "session.forget"
  | "invocation.link"
  | "run.move"
  | "run.progress"
  | "run.continueFrom"
  | "run.beat"
  | "run.admit"
  | "signal.take"
  | "decision.answer"
  | "messages.erase"
  | "run.erase"
  | "allMessages.erase"
  | "journal.erase"
  | "saved.erase"
  | "capture.erase"
  | "allCaptures.erase"
  | "capture.expire"
  | "capture.diverge"
  | "claim.put"
  | "claim.remove"
  | "claim.sweep"
  | `${"runs" | "signals" | "decisions" | "checkpoints"}.${"drop" | "removeAll"}`
  | "checkpoints.dropSaved"
  | "state.close"
  | "state.closeAll"
  | "state.hide"
  | "allState.erase"
  | "allAnnotations.erase"
  | "allWork.erase"
  | "inline.index"
  | "inline.indexed"
  | "inline.shorten"
  | `${EventScope}.unindex`
  | `${ErasedScope}.${"release" | "dropLinks" | "drop"}`
  | `${"turns" | "evals" | "calls" | "snapshots" | "heads" | "invocations" | "derivations" | "branches"}.dropAll`
  | "remains.clear"
  | "remains.keep"
  | `remains.forget${"Messages" | "Evals" | "Calls" | "Snapshots" | "Heads" | "Invocations" | "State"}`
  | `row.${Exclude<ErasedRow, "invocations">}.release`
  | `row.${ErasedRow}.erase`
  | "row.events.unindex"
  | `index.${"removeKind" | "removeSegments" | "removePages" | "removeItems"}`
  | `index.${"repair" | `${"addMissing" | "removeStray"}${"Memories" | "Documents"}`}`
  | `index.${"advance" | "bump" | "settle" | "dropSegment" | "dropPages" | "moveItems"}`
  | `index.${"removeDropped" | "unmark" | "removeBeyond" | "dropBeyond" | "shorten" | "shortenKind"}`
  | `index.${"dropPages" | "dropSegment" | "pendSegment"}OfItem`
  | `index.${"dropPages" | "dropSegments" | "pendSegments"}Of${"Items" | "Group"}`
  | `index.${"removeItem" | "removeSomeItems" | "removeGroup"}`
  | `${MessageScope | "row.events"}.dropSegments`
  | "tasks.removeAll"
  | "tasks.removeBoard"
  | "boards.removeAll"
  | "agent.touch"
  | "agent.untag"
  | "agent.detachBlocks"
  | "block.release"
  | "block.drop"
  | "block.removeVersions"
  | "blob.pin"
  | "blob.drop"
  | "blob.disown"
  | "blob.regrow"
  | "blobs.condemn"
  | "links.makeRoom"
  | "links.adopt"
  | "links.move"
  | "links.cut"
  | "links.forget"
  | "links.drop"
  | "segments.forget"
  | "segments.drop"
  | "segment.grow"
  | "segment.seal"
  | "segment.drop"
  | "frames.clear"
  | "frames.drop"
  | "gc.advance"
  | `memory.${"addField" | "addIndexItem" | "remove" | "removeChanges"}`
  | `memories.${"removeScope" | "removeScopeChanges"}`
  | "metadata.removeItem"
  | "metadata.removeItems"
  | "metadata.removeStrays"
  | "metadata.removeScope"
  | `documents.${"release" | "drop" | "remove"}${"" | "All"}`
  | `vectors.${"remove" | "touch" | "pack" | "addPage"}`
  | `vectors.remove${"All" | "Pages" | "Generations"}`
  | `documents.${"embed" | "needNone" | "needOne" | "settle"}`
  | `passages.${"embed" | "needOne" | "settle" | "mark" | "drop"}`
  | `passages.${"touch" | "emptyPages" | "countVectors" | "dropVectors" | "dropFailures"}`
  | `${MessageScope | "row.events" | "memory" | "memories"}.markPassages`
  | "index.cutTo"
  | "memories.cut"
  | "index.cover"
  | "vectors.refillPage"
  | "vectors.dropGenerationPages"
  | `failures.${"forget" | "forgetScope" | "retry" | "retryDue"}`;
