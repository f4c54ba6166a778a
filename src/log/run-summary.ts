// One-line summaries of a run's events, made from the event alone.
import type { Json } from "../contracts/json.ts";
import type { LogEvent } from "../contracts/log.ts";
import { plainObject } from "../core/decode.ts";

type Summarize = (event: LogEvent) => string;

const step = ({ session, data }: LogEvent) => `step ${session}#${data.step}`;
const failure = ({ data }: LogEvent) => String(plainObject.read(data.error)?.code ?? "Error");
/** The kind and the name of the step that the event begins. */
const begins = ({ data }: LogEvent) => (data.kind === data.name ? `${data.kind}` : `${data.kind} ${data.name}`);
const place = ({ data }: LogEvent) =>
  `iteration ${data.iteration}${Number(data.attempt) > 1 ? `, try ${data.attempt}` : ""}`;
/** The position of a recorded read in the log, and how many messages or values it returned. */
const position = ({ data }: LogEvent) => {
  const at = plainObject.read(data.position);
  return at === undefined ? "" : `: ${at.count} at #${at.seq}`;
};
const over: Summarize = (event) => (event.data.step === undefined ? `${begins(event)}, ${place(event)}` : step(event));

export const RUN_SUMMARIES: Readonly<Record<string, Summarize>> = {
  "run/created": (event) => `run of ${event.agent} ${event.data.agentVersion} created${source(event)}`,
  "run/claimed": ({ data }) =>
    data.status === "recovering"
      ? `run claimed, its worker was gone, epoch ${data.epoch}`
      : `run claimed by a worker, epoch ${data.epoch}`,
  "run/released": ({ data }) =>
    `run ${data.recovered === true ? "recovered, its worker was gone" : "released by its worker"}, epoch ${data.epoch}`,
  "run/waiting": ({ data }) => `run waits for ${waited(data.waits)}`,
  "run/paused": () => "run paused",
  "run/pausing": () => "pause requested, from the end of the iteration",
  "run/unpaused": () => "run continues after a pause",
  "run/cancelling": () => "cancellation requested",
  "run/woken": ({ data }) => `run woken by the end of ${data.child}`,
  "run/signalled": ({ data }) => `signal ${data.name}`,
  "run/answered": (event) =>
    `${step(event)}: ${event.data.verdict}${event.data.by === undefined ? "" : `, by ${event.data.by}`}`,
  "run/completed": () => "run completed",
  "run/failed": (event) => `run failed: ${event.data.stop === "failed" ? failure(event) : event.data.stop}`,
  "run/cancelled": () => "run cancelled",
  "run/deleted": () => "run deleted",
  "iteration/complete": ({ data }) => `iteration ${data.iteration} complete`,
  "checkpoint/taken": ({ data }) => `continues after iteration ${data.iteration} of another run`,
  "step/started": (event) =>
    event.data.approval === true
      ? `${begins(event)}, ${place(event)}: a person is asked to approve it`
      : `${begins(event)} begun, ${place(event)}`,
  "step/begun": (event) => `${step(event)} begun, as approved`,
  "step/done": (event) => `${over(event)} done${position(event)}`,
  "step/failed": (event) => `${over(event)} failed: ${failure(event)}`,
  "step/asked": (event) => `${step(event)} in doubt: a person is asked`,
  "step/again": (event) => `${step(event)} begun again, under the same key`,
};

function source({ data }: LogEvent): string {
  const from = plainObject.read(data.from);
  if (from !== undefined) return `, ${from.retry === true ? "to retry" : "from"} ${from.run}`;
  return data.parent === undefined ? "" : `, spawned by ${data.parent}`;
}

/** Formats the waits in the run's row: pairs of a kind and a name. */
function waited(waits: Json | undefined): string {
  const listed: unknown = typeof waits === "string" ? JSON.parse(waits) : [];
  const words = (Array.isArray(listed) ? listed : []).map((one) => (Array.isArray(one) ? one.join(" ") : "?"));
  return words.length === 0 ? "something unknown" : words.join(" or ");
}
