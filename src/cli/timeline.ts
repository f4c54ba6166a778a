// The timeline of a run, built from its events: iterations and their steps, attempts, the workers that took it over, and what people
// decided.
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
  /** iteration: a heading of those that follow; step: one try of one; run: of the run as a whole. */
  readonly kind: "iteration" | "step" | "run";
  readonly iteration: number;
  readonly at: number;
  /** "tool pay"; of others empty. */
  readonly step: string;
  /** Its place in the iteration; of others null. */
  readonly path: string | null;
  text: string;
  tone: Tone;
  /** How long it took, when that is known; without the time in which a person was asked. */
  ms: number | null;
  /** How long a person took to answer about it; null: no person was asked, or has answered yet. */
  waitedMs: number | null;
}

/** Of one run, oldest first; `events` are in order. */
export function buildTimeline(events: readonly LogEvent[]): readonly Moment[] {
  const telling = new TimelineBuilder();
  for (const event of events) telling.apply(event);
  return telling.moments;
}

class TimelineBuilder {
  readonly moments: Moment[] = [];
  /** Steps by the seq of their first event. */
  readonly #steps = new Map<number, Moment>();
  /** When the last attempt of a step began; null: unknown. */
  readonly #begun = new Map<Moment, number | null>();
  /** Steps that only wait, and have not ended. */
  readonly #waiting = new Set<Moment>();
  /** Since when a person is asked, by the seq of the step. */
  readonly #asked = new Map<number, number>();
  /** Steps that were asked about before their first try, and have not begun. */
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
    // The last iteration has no checkpoint: it ends with the run.
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

  /** How long a person took to answer; of several questions at once, the time in which any was open counts once. */
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
      // The answer ends the step or starts it again, so how long the step itself took is not known.
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
    const open = isApproval(event) ? APPROVAL : "begun, end not known";
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
    if (Number(attempt) > 1) step.text = `try ${attempt}${isOver ? "" : `: ${step.text}`}`;
    if (type === "step/failed") markFailed(step, data);
    this.#steps.set(seq, step);
    this.#trackWait(event, step);
  }

  /** Updates a step that has begun with an event about it. */
  #updateStep(step: Moment, { type, at, data }: LogEvent): void {
    const tries = /^try \d+/.exec(step.text)?.[0] ?? "";
    if (type === "step/done" || type === "step/failed") {
      const begun = this.#begun.get(step) ?? null;
      step.ms = begun === null ? null : at - begun;
      step.text = this.#waiting.delete(step) && hasTimedOut(step, data) ? "timed out: no signal came" : tries;
      step.tone = "plain";
    }
    if (type === "step/failed") markFailed(step, data);
    if (type === "step/again" || type === "step/begun") this.#begun.set(step, at);
    if (type === "step/begun") step.text = [tries, "begun, end not known"].filter(Boolean).join(": ");
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

/** The intent of a step that asks a person before its first try. */
function isApproval({ type, data }: LogEvent): boolean {
  return type === "step/started" && data.approval === true;
}

/** What a step that is recorded with its end gave: which message, or what was read. */
function describeRecordedStep({ type, data, seq }: LogEvent): string {
  return type === "message/added" ? `${data.role} message #${seq}` : describeRead(data);
}

/** Where in the log a recorded read looked, and how much it gave; of other steps empty. */
function describeRead({ kind, name, position }: JsonObject): string {
  const at = kind === "read" ? plainObject.read(position) : undefined;
  if (at === undefined) return "";
  const { seq, count } = at;
  const what = name === "state" ? "key" : "message";
  return `${count} ${what}${count === 1 ? "" : "s"} at #${seq}`;
}

/** What a step that only waits is waiting for, and until when; null: it does something. */
function describeWaitingStep({ kind, name, until, run }: JsonObject): string | null {
  const end = typeof until === "number" ? ` until ${formatTime(until)}` : "";
  if (kind === "wait") return `waiting for signal ${name}${end === "" ? ", however long it takes" : end}`;
  if (kind === "sleep") return `${name === "pause" ? "pausing" : "asleep"}${end}`;
  return kind === "spawn" ? `waiting for its child ${run}` : null;
}

/** A wait that a signal ended names it. */
function hasTimedOut({ step }: Moment, data: JsonObject): boolean {
  return step.startsWith("wait ") && data.signal === undefined;
}

/** Sets how long the iteration took, without the time that people took, which is in its text. */
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
  "in-doubt": { retry: "do it again", result: "it happened", fail: "it did not happen, and shall not" },
  approval: { retry: "go ahead", result: "use this result instead", fail: "refused" },
};

/** null: the step's own moment says it already. */
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
      return { text: `taken by ${formatOwner(String(data.owner))}`, tone: "plain" };
    case "run/released":
      if (data.recovered === true) return { text: "recovered: its worker was gone; for another to take", tone: "warn" };
      if (data.error !== undefined) return { text: `given back: ${errorMessage(data)}`, tone: "bad" };
      return { text: "given back, for another worker to take", tone: "plain" };
    case "run/waiting":
      return describeWaits(data.waits);
    case "run/paused":
      return { text: `paused until ${formatTime(Number(data.wake_at))}`, tone: "warn" };
    case "run/pausing":
      return { text: "asked to pause when its iteration ends", tone: "plain" };
    case "run/unpaused":
      return { text: "woken from its pause", tone: "plain" };
    case "run/cancelling":
      return { text: "asked to end", tone: "plain" };
    case "run/woken":
      return { text: `its child ${data.child} has ended`, tone: "plain" };
    case "run/signalled":
      return { text: `signal ${data.name}`, tone: "plain" };
    case "run/answered":
      return { text: describeAnswer(data, step, waited, reason), tone: "good" };
    case "step/asked":
      return { text: `a person is asked: did ${step?.step ?? "it"} happen?`, tone: "warn" };
    case "step/again":
      return { text: `${step?.step ?? "the step"} is done again, under the same key`, tone: "warn" };
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

/** What the verdict means to the person who answers. */
export function describeVerdict(verdict: Json | undefined, reason: Decision["reason"]): string {
  return VERDICTS[reason][String(verdict)] ?? String(verdict);
}

function describeSource({ from, parent }: JsonObject): string {
  const { run, iteration, retry } = (from ?? {}) as JsonObject;
  if (retry === true) return `, taking up ${run}`;
  if (run !== undefined)
    return `, from ${run} ${iteration === 0 ? "at its beginning" : `after iteration ${iteration}`}`;
  return parent === undefined ? "" : `, spawned by ${parent}`;
}

/** Waits for decisions are left out: the step's own moment has them. */
function describeWaits(waits: Json | undefined): MomentText | null {
  const listed = (typeof waits === "string" ? JSON.parse(waits) : []) as readonly (readonly [string, string])[];
  const others = listed.filter(([kind]) => kind !== "decision").map(([kind, what]) => `${kind} ${what}`);
  return others.length === 0 ? null : { text: `waits for ${others.join(", ")}`, tone: "warn" };
}

/** The last iterations, with the moments of the run between them. */
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
      // Room for the id of a worker, which is not broken then.
      keep: true,
      wrap: true,
      shrink: 3,
      min: 34,
      cell: ({ text }) => text.replace(RUN_ID, nameOf),
      colour: (text, { tone }, style) => (tone === "plain" ? text : style[tone](text)),
    },
  ];
}

/** Since the run began: to the hundredth of a second in its first minute. */
function offset(ms: number): string {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1000).toFixed(2)} s` : formatSpan(ms);
}
