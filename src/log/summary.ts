// One-line summaries of events, made from the event alone, so that no payload is read.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { LogEvent } from "../contracts/log.ts";
import { rowId } from "../core/row-id.ts";
import { firstSeq } from "./event-row.ts";
import { RUN_SUMMARIES } from "./run-summary.ts";

const short = (head: Json | undefined) => (typeof head === "string" ? head.slice(0, 11) : "none");
const from = (source: Json | undefined) => {
  const { session, seq } = (source ?? {}) as JsonObject;
  return typeof session === "string" ? `${session}#${seq}` : `#${seq}`;
};
const counted = (list: Json | undefined, one: string) => {
  const n = Array.isArray(list) ? list.length : 0;
  return `${n} ${one}${n === 1 ? "" : "s"}`;
};
const formatHead = (head: Json | undefined) =>
  typeof head === "string" ? `head ${short(head)}` : "before its first head";
const version = (kind: string, event: LogEvent) => `${kind} ${rowId(event.session, firstSeq(event, kind))}`;

const SUMMARIES: Readonly<Record<string, (event: LogEvent) => string>> = {
  ...RUN_SUMMARIES,
  "session/created": ({ data }) =>
    data.from === undefined ? "session created" : `session made from ${from(data.from)}`,
  "session/updated": ({ data }) => `session updated: ${data.status}, ${counted(data.tags, "tag")}`,
  "alias/set": () => "alias set",
  "alias/removed": () => "alias removed",
  "message/added": ({ data, agent }) => `${data.role} message of ${agent}`,
  "messages/cleared": ({ data, agent }) => `${data.count} messages of ${agent} erased`,
  "turn/begun": ({ session, seq, agent }) =>
    `turn ${rowId(session, seq)} begun${agent === undefined ? "" : ` by ${agent}`}`,
  "eval/started": (event) => `${version("eval", event)} started`,
  "eval/added": (event) => `${version("eval", event)} ${event.data.status}`,
  "call/started": (event) => `${event.data.type} ${version("call", event)} started${ofModel(event)}`,
  "call/put": (event) =>
    `${event.data.type} ${version("call", event)} ${event.data.status}${ofModel(event)}${cost(event)}`,
  "snapshot/added": () => "variables saved",
  "head/created": ({ session, data }) =>
    `${data.status ?? "a"} head ${short(data.head)}` +
    `${data.turn === undefined ? "" : ` ends turn ${session}#${data.turn}`}, on ${short(data.basis)}`,
  "head/moved": ({ data }) => `back to ${formatHead(data.head)}, was ${formatHead(data.was)}`,
  "branch/begun": ({ data }) => `${data.verb}: continues from ${from(data.from)}`,
  "derivation/added": ({ data }) => `${data.type} of ${from(data.source)}`,
  "invocation/started": (event) =>
    `${event.data.type ?? "invocation"} ${rowId(event.session, event.seq)} of ${event.data.callee ?? "a session"}`,
  "invocation/finished": (event) => `${version("invocation", event)} ${event.data.status ?? "finished"}`,
  "state/set": ({ data }) => `state set: ${counted(data.keys, "key")}`,
  "state/patched": ({ data }) => `state patched: ${counted(data.keys, "key")}, ${counted(data.removed, "key")} removed`,
  "state/cleared": () => "state cleared",
  annotation: ({ session, agent, data }) =>
    typeof data.invocation === "number"
      ? `the error of invocation ${session}#${data.invocation}`
      : `a note${agent === undefined ? "" : ` of ${agent}`}`,
};

function ofModel({ data }: LogEvent): string {
  return data.model === undefined ? "" : ` on ${data.model}`;
}

function cost({ data }: LogEvent): string {
  const tokens = data.tokens_in === undefined ? "" : `, ${data.tokens_in} in, ${data.tokens_out ?? "?"} out`;
  return `${tokens}${data.cost_usd === undefined ? "" : `, $${data.cost_usd}`}`;
}

const LONGEST = 120;

export function summaryOf(event: LogEvent): string {
  const summary = SUMMARIES[event.type]?.(event) ?? event.type.replaceAll("/", " ");
  return summary.length <= LONGEST ? summary : `${summary.slice(0, LONGEST - 1)}…`;
}
