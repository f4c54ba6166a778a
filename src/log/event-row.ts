// An event as a row with small facts: made from the event alone, so that no payload is ever touched.
import type { Json } from "../contracts/json.ts";
import type { LogEvent } from "../contracts/log.ts";
import type { TraceEvent } from "../contracts/trace.ts";
import { rowId } from "../core/row-id.ts";

const KINDS: readonly (readonly [prefix: string, kind: string])[] = [
  ["session/", "session"],
  ["alias/", "alias"],
  ["message/", "message"],
  ["turn/", "turn"],
  ["eval/", "eval"],
  ["call/", "call"],
  ["snapshot/", "snapshot"],
  ["head/created", "head"],
  ["head/moved", "branch"],
  ["branch/", "branch"],
  ["invocation/", "invocation"],
  ["derivation/", "derivation"],
  ["state/", "state"],
  ["board/", "board"],
  ["task/", "task"],
  ["annotation", "annotation"],
  ["run/", "run"],
  ["step/", "step"],
  ["iteration/", "checkpoint"],
  ["checkpoint/", "checkpoint"],
];

/** Of rows that are versions, the event says of what: the seq of the first. */
export function firstSeq({ data, seq }: LogEvent, kind: string): number {
  const first = data[kind];
  return typeof first === "number" ? first : seq;
}

export function rowOf(event: LogEvent, erased: boolean): NonNullable<TraceEvent["row"]> | null {
  const kind = KINDS.find(([prefix]) => event.type.startsWith(prefix))?.[1];
  if (kind === undefined) return null;
  const small = Object.entries(event.data).filter(([, value]) => value === null || typeof value !== "object");
  const facts: Record<string, Json> = Object.fromEntries(small);
  if (erased) facts.erased = true;
  return { kind, id: idOf(event, kind), facts };
}

function idOf(event: LogEvent, kind: string): string {
  const named = { alias: event.data.name, head: event.data.head, board: event.data.board, task: event.data.task }[kind];
  if (typeof named === "string") return named;
  if (kind === "run") return event.run ?? String(event.data.run);
  return kind === "session" ? event.session : rowId(event.session, firstSeq(event, kind));
}
