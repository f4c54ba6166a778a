// Builds the timeline of a run from its events: iterations and their steps, attempts, takeovers by workers, and
// decisions of people.
import type { Decision } from "../contracts/decisions.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { LogEvent } from "../contracts/log.ts";
import { plainObject } from "../core/decode.ts";
import { formatOwner } from "../core/run-owner.ts";
import { shortNames } from "./runs.ts";
import { type Column, type Frame, table } from "./table.ts";
import { formatSpan, formatTime } from "./units.ts";

type Tone = "good" | "bad" | "warn" | "plain";

export interface Moment {
  /** iteration: a heading for the moments that follow; step: one attempt of a step; run: an event of the whole run. */
  readonly kind: "iteration" | "step" | "run";
  readonly iteration: number;
  readonly at: number;
  /** For steps, for example "tool pay"; otherwise empty. */
  readonly step: string;
  /** For steps, the path in the iteration; otherwise null. */
  readonly path: string | null;
  text: string;
  tone: Tone;
  /** The duration, if known, without the time that people took to answer. */
  ms: number | null;
  /** How long a person took to answer about it; null: no question was asked or answered yet. */
  waitedMs: number | null;
}

/** Builds the timeline of one run, oldest moment first; `events` must be in order. */
export function buildTimeline(events: readonly LogEvent[]): readonly Moment[] {
  const builder = new TimelineBuilder();
  for (const event of events) builder.apply(event);
  return builder.moments;
}

class TimelineBuilder {
  readonly moments: Moment[] = [];
  /** Steps by the seq of their first event. */
  readonly #steps = new Map<number, Moment>();
  /** When the last attempt of a step began; null: unknown. */
  readonly #begun = new Map<Moment, number | null>();
  /** Steps that only wait and have not ended. */
  readonly #waiting = new Set<Moment>();
  /** When the open question of a step was asked, by the seq of the step. */
  readonly #asked = new Map<number, number>();
  /** Steps that wait for approval before their first attempt and have not begun. */
  readonly #approvals = new Set<Moment>();
  /** When the first of the open questions was asked. */
  #askedSince = 0;
  #iteration = 1;
  #heading: Moment | null = null;

  apply(event: LogEvent): void {
    const { type, data, seq, at } = event;
    if (type === "checkpoint/taken") this.#iteration = Number(data.iteration) + 1;
    const begun = type === "message/added" ? ((data.step ?? {}) as JsonObject) : data;
    if (type === "iteration/complete") this.#completeIteration(Number(data.iteration), at);
    else if (typeof begun.path === "string") this.#beginStep(seq, begun, event);
    else this.#addRunMoment(event);
  }

  #addRunMoment(event: LogEvent): void {
    const { type, data, at } = event;
    const step = typeof data.step === "number" ? this.#steps.get(data.step) : undefined;
    const waited = this.#trackWait(event, step);
    if (step !== undefined) this.#updateStep(step, event);
    const described = describeEvent(event, step, waited, this.#questionReason(event, step));
    // The last iteration has no checkpoint, because it ends with the run.
    if (/^run\/(completed|failed|cancelled)$/.test(type)) {
      if (this.#heading !== null) setDuration(this.#heading, at);
      this.#heading = null;
      for (const one of this.#waiting) one.text = `${one.text}; the run ended first`;
    }
    if (described !== null)
      this.#add({ kind: "run", at, step: "", path: null, ...described, ms: null, waitedMs: null });
  }

  /** The kind of question that the event answers. */
  #questionReason({ type }: LogEvent, step: Moment | undefined): Decision["reason"] {
    if (step === undefined) return "in-doubt";
    if (type === "step/begun") this.#approvals.delete(step);
    return this.#approvals.has(step) ? "approval" : "in-doubt";
  }

  /**
   * Returns how long a person took to answer; time in which several questions are open counts once for the iteration.
   */
  #trackWait(event: LogEvent, step: Moment | undefined): number | null {
    const { type, data, at } = event;
    const seq = isApproval(event) ? event.seq : Number(data.step);
    if (type === "step/asked" || isApproval(event)) {
      if (this.#asked.size === 0) this.#askedSince = at;
      this.#asked.set(seq, at);
    }
    const since = this.#asked.get(seq);
    if (type !== "run/answered" || since === undefined) return null;
    this.#asked.delete(seq);
    if (step !== undefined) {
      step.waitedMs = (step.waitedMs ?? 0) + at - since;
      // The answer ends the step or starts it again, so the step's own duration is unknown.
      this.#begun.set(step, null);
    }
    if (this.#heading !== null && this.#asked.size === 0) {
      this.#heading.waitedMs = (this.#heading.waitedMs ?? 0) + at - this.#askedSince;
    }
    return at - since;
  }

  #beginStep(seq: number, { kind, name, path, attempt, iteration }: JsonObject, event: LogEvent): void {
    const { type, at, data } = event;
    if (typeof iteration === "number" && iteration !== this.#iteration) {
      this.#iteration = iteration;
      this.#heading = null;
    }
    const isOver = type !== "step/started";
    const waits = isOver || isApproval(event) ? null : describeWaitingStep(data);
    const open = isApproval(event) ? APPROVAL : "begun, outcome unknown";
    const step = this.#add({
      kind: "step",
      at,
      step: kind === name ? String(kind) : `${kind} ${name}`,
      path: String(path),
      text: isOver ? describeRecordedStep(event) : (waits ?? open),
      tone: isOver ? "plain" : "warn",
      ms: null,
      waitedMs: null,
    });
    this.#begun.set(step, isApproval(event) ? null : at);
    if (waits !== null) this.#waiting.add(step);
    if (isApproval(event)) this.#approvals.add(step);
    if (Number(attempt) > 1) step.text = `attempt ${attempt}${isOver ? "" : `: ${step.text}`}`;
    if (type === "step/failed") markFailed(step, data);
    this.#steps.set(seq, step);
    this.#trackWait(event, step);
  }

  /** Updates the moment of a begun step with a later event about the step. */
  #updateStep(step: Moment, { type, at, data }: LogEvent): void {
    const tries = /^attempt \d+/.exec(step.text)?.[0] ?? "";
    if (type === "step/done" || type === "step/failed") {
      const begun = this.#begun.get(step) ?? null;
      step.ms = begun === null ? null : at - begun;
      step.text = this.#waiting.delete(step) && hasTimedOut(step, data) ? "timed out: no signal came" : tries;
      step.tone = "plain";
    }
    if (type === "step/failed") markFailed(step, data);
    if (type === "step/again" || type === "step/begun") this.#begun.set(step, at);
    if (type === "step/begun") step.text = [tries, "begun, outcome unknown"].filter(Boolean).join(": ");
    if (type === "run/answered" && this.#approvals.has(step) && data.verdict === "retry") {
      step.text = [tries, "approved, not begun yet"].filter(Boolean).join(": ");
    }
    if (type === "step/asked") step.text = [tries, "in doubt: it may have happened"].filter(Boolean).join(": ");
  }

  #completeIteration(iteration: number, at: number): void {
    const heading = this.#heading ?? this.#addHeading(at, iteration);
    setDuration(heading, at);
    heading.text = heading.waitedMs === null ? "complete" : `complete; people took ${formatSpan(heading.waitedMs)}`;
    heading.tone = "good";
    this.#heading = null;
    this.#iteration = iteration + 1;
  }

  #addHeading(at: number, iteration = this.#iteration): Moment {
    const heading: Moment = {
      kind: "iteration",
      iteration,
      at,
      step: `iteration ${iteration}`,
      path: null,
      text: "",
      tone: "plain",
      ms: null,
      waitedMs: null,
    };
    this.moments.push(heading);
    this.#heading = heading;
    return heading;
  }

  #add(moment: Omit<Moment, "iteration">): Moment {
    if (moment.kind === "step") this.#heading ??= this.#addHeading(moment.at);
    const added: Moment = { ...moment, iteration: this.#iteration };
    this.moments.push(added);
    return added;
  }
}

const APPROVAL = "waits for approval";

/** Whether the event is the intent of a step that needs approval before its first attempt. */
function isApproval({ type, data }: LogEvent): boolean {
  return type === "step/started" && data.approval === true;
}

/** Describes the result of a step that is recorded only at its end: its message, or what it read. */
function describeRecordedStep({ type, data, seq }: LogEvent): string {
  return type === "message/added" ? `${data.role} message #${seq}` : describeRead(data);
}

/** Describes a recorded read: how much it returned and the position in the log; empty for other steps. */
function describeRead({ kind, name, position }: JsonObject): string {
  const at = kind === "read" ? plainObject.read(position) : undefined;
  if (at === undefined) return "";
  const { seq, count } = at;
  const what = name === "state" ? "key" : "message";
  return `${count} ${what}${count === 1 ? "" : "s"} at #${seq}`;
}

/** Says what a waiting step waits for, and until when; null for other steps. */
function describeWaitingStep({ kind, name, until, run }: JsonObject): string | null {
  const end = typeof until === "number" ? ` until ${formatTime(until)}` : "";
  if (kind === "wait") return `waiting for signal ${name}${end === "" ? ", without a timeout" : end}`;
  if (kind === "sleep") return `${name === "pause" ? "pausing" : "asleep"}${end}`;
  return kind === "spawn" ? `waiting for its child ${run}` : null;
}

/** Whether a wait timed out: a wait that a signal ended names the signal. */
function hasTimedOut({ step }: Moment, data: JsonObject): boolean {
  return step.startsWith("wait ") && data.signal === undefined;
}

/** Sets the duration of the iteration without the time that people took, which is in its text. */
function setDuration(heading: Moment, at: number): void {
  heading.ms = Math.max(0, at - heading.at - (heading.waitedMs ?? 0));
  if (heading.waitedMs !== null) heading.text = `people took ${formatSpan(heading.waitedMs)}`;
}

function errorMessage(data: JsonObject): string {
  const { code, message } = (data.error ?? {}) as JsonObject;
  return message === "" || message === undefined ? String(code) : String(message);
}

function markFailed(step: Moment, data: JsonObject): void {
  step.text = [step.text, `failed: ${errorMessage(data)}`].filter(Boolean).join(" ");
  step.tone = "bad";
}

type MomentText = Pick<Moment, "text" | "tone">;

const VERDICTS: Readonly<Record<Decision["reason"], Readonly<Record<string, string>>>> = {
  "in-doubt": { retry: "execute it again", result: "it happened", fail: "it did not happen and must not" },
  approval: { retry: "go ahead", result: "use this result instead", fail: "refused" },
};

/** Describes an event of the run; null if the step's own moment already shows it. */
function describeEvent(
  { type, data, agent }: LogEvent,
  step: Moment | undefined,
  waited: number | null,
  reason: Decision["reason"],
): MomentText | null {
  switch (type) {
    case "run/created":
      return { text: `begun by ${agent} ${data.agentVersion}${describeSource(data)}`, tone: "plain" };
    case "run/claimed":
      if (data.status === "recovering")
        return { text: `its worker was gone; taken over by ${formatOwner(String(data.owner))}`, tone: "warn" };
      return { text: `claimed by ${formatOwner(String(data.owner))}`, tone: "plain" };
    case "run/released":
      if (data.recovered === true)
        return { text: "recovered: its worker was gone; another worker can claim it", tone: "warn" };
      if (data.error !== undefined) return { text: `released: ${errorMessage(data)}`, tone: "bad" };
      return { text: "released; another worker can claim it", tone: "plain" };
    case "run/waiting":
      return describeWaits(data.waits);
    case "run/paused":
      return { text: `paused until ${formatTime(Number(data.wake_at))}`, tone: "warn" };
    case "run/pausing":
      return { text: "will pause when its iteration ends", tone: "plain" };
    case "run/unpaused":
      return { text: "its pause was ended", tone: "plain" };
    case "run/cancelling":
      return { text: "cancellation requested", tone: "plain" };
    case "run/woken":
      return { text: `its child ${data.child} has ended`, tone: "plain" };
    case "run/signalled":
      return { text: `signal ${data.name}`, tone: "plain" };
    case "run/answered":
      return { text: describeAnswer(data, step, waited, reason), tone: "good" };
    case "step/asked":
      return { text: `a person is asked: did ${step?.step ?? "it"} happen?`, tone: "warn" };
    case "step/again":
      return { text: `${step?.step ?? "the step"} is executed again under the same key`, tone: "warn" };
    default:
      return describeEnd(type, data);
  }
}

function describeEnd(type: string, data: JsonObject): MomentText | null {
  if (type === "run/completed") return { text: "completed", tone: "good" };
  if (type !== "run/failed" && type !== "run/cancelled") return null;
  const { message } = (data.error ?? {}) as JsonObject;
  const why = type === "run/cancelled" || message === undefined ? "" : `: ${message}`;
  return { text: `${type.slice("run/".length)}${why}`, tone: "bad" };
}

function describeAnswer(
  { verdict, by, note }: JsonObject,
  step: Moment | undefined,
  waited: number | null,
  reason: Decision["reason"],
): string {
  const person = by === undefined ? "a person" : String(by);
  const after = waited === null ? "" : ` after ${formatSpan(waited)}`;
  const reasonGiven = note === undefined ? "" : `, "${note}"`;
  return `${person} decided on ${step?.step ?? "it"}${after}: ${describeVerdict(verdict, reason)}${reasonGiven}`;
}

/** The meaning of a verdict, as the person chose it. */
export function describeVerdict(verdict: Json | undefined, reason: Decision["reason"]): string {
  return VERDICTS[reason][String(verdict)] ?? String(verdict);
}

function describeSource({ from, parent }: JsonObject): string {
  const { run, iteration, retry } = (from ?? {}) as JsonObject;
  if (retry === true) return `, a retry of ${run}`;
  if (run !== undefined)
    return `, from ${run} ${iteration === 0 ? "at its beginning" : `after iteration ${iteration}`}`;
  return parent === undefined ? "" : `, spawned by ${parent}`;
}

/** Describes what a run waits for, without decisions, which the step's own moment shows. */
function describeWaits(waits: Json | undefined): MomentText | null {
  const listed = (typeof waits === "string" ? JSON.parse(waits) : []) as readonly (readonly [string, string])[];
  const others = listed.filter(([kind]) => kind !== "decision").map(([kind, what]) => `${kind} ${what}`);
  return others.length === 0 ? null : { text: `waits for ${others.join(", ")}`, tone: "warn" };
}

/** Keeps the last `most` iterations, with the moments of the run between them. */
export function lastIterations(moments: readonly Moment[], most: number): readonly Moment[] {
  const last = moments.at(-1)?.iteration ?? 0;
  return moments.filter(({ iteration }) => iteration > last - most);
}

export function timelineLines(moments: readonly Moment[], begun: number, frame: Frame): string[] {
  const ids = moments.flatMap(({ text }) => text.match(RUN_ID) ?? []);
  const nameOf = frame.width === Number.POSITIVE_INFINITY ? (id: string) => id : shortNames(ids);
  return table(columns(begun, nameOf), moments, frame);
}

const RUN_ID = /\brun_[0-9a-z]+\b/g;

function columns(begun: number, nameOf: (id: string) => string): readonly Column<Moment>[] {
  return [
    {
      title: "AFTER",
      align: "right",
      cell: ({ at }) => offset(at - begun),
      colour: (text, _, style) => style.faint(text),
    },
    {
      title: "STEP",
      keep: true,
      shrink: 2,
      min: 12,
      cell: ({ kind, step, path }) =>
        kind === "step" ? `  ${step}${path?.includes(".") ? ` (${path})` : ""}` : step || "·",
      colour: (text, { kind }, style) => (kind === "iteration" ? style.strong(text) : text),
    },
    { title: "TOOK", align: "right", cell: ({ ms }) => (ms === null ? "" : formatSpan(ms)) },
    {
      title: "WHAT",
      // Wide enough for a worker's id, so that it is not split.
      keep: true,
      wrap: true,
      shrink: 3,
      min: 34,
      cell: ({ text }) => text.replace(RUN_ID, nameOf),
      colour: (text, { tone }, style) => (tone === "plain" ? text : style[tone](text)),
    },
  ];
}

/** The time since the run began: in hundredths of a second during the first minute. */
function offset(ms: number): string {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1000).toFixed(2)} s` : formatSpan(ms);
}
