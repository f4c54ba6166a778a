// A handover for people, as Markdown: what a coding agent was asked, what it did and what is open. Quoted text comes from models and
// tools. It is put in code spans and blocks, where it is neither Markdown nor HTML, and control characters are escaped.
import type { Capture } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Session } from "../../contracts/session.ts";
import { isObject } from "../../core/check.ts";
import type { ImportStores } from "../catch-up.ts";
import { type ActivitySummary, summarizeActivity, textOfMessage } from "./activity-summary.ts";
import { type Loose, textOf } from "./agent-content.ts";
import { catchUpWithEarlier } from "./request-conversations.ts";
import { isMirror, mirroredConversation, mirroredId } from "./sdk-mirror.ts";
import { momentOf, plain, shortened } from "./short-text.ts";
import { messageTime, type StoredMessage } from "./stored-messages.ts";

export interface HandoverOptions {
  /** The capture from which the session can be restored; null: it is gone. Not given: the newest one. */
  readonly capture?: string | null;
  /** How many prompts, files and commands are listed, the newest of each; 20 when not given. */
  readonly items?: number;
  /** What its commands name the store by, such as `--store agents.db`; without it they use the reader's default store. */
  readonly storeOptions?: string;
}

type Stores = ImportStores & Pick<Holdfast, "sessions">;

/** First the session's newest capture is imported. */
export async function handover(hf: Stores, session: string, options: HandoverOptions = {}): Promise<string> {
  const { id } = (await hf.sessions.at(session)).session;
  const { sessions, behind } = await catchUpWithEarlier(hf, id);
  const view = await hf.sessions.at(id);
  const { title } = view.session;
  const { items = 20 } = options;
  const doings = await summarizeActivity(hf, sessions, 1);
  const coding = await codingOf(hf, view.session);
  const capture = await captureFor(hf, view.session, coding, options.capture);
  const request = capture?.request ?? view.session.request;
  const facts: readonly (readonly [string, string | null])[] = [
    ["Agent", [textOf(coding.agent), textOf(coding.version)].filter((one) => one !== null).join(" ") || null],
    ["Session", id],
    ["Agent's session id", textOf(coding.sessionId)],
    ["Directory", textOf(coding.cwd)],
    ["Request", request],
  ];
  return [
    `# Handover: ${code(title ?? id)}`,
    "",
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`- ${name}: ${code(value)}`])),
    ...(sessions.length === 1 ? [] : [`- Goes on from: ${sessions.slice(0, -1).map(named).join(", ")}`]),
    `- Messages: ${doings.messages}${timesOf(doings)}`,
    ...(behind === null ? [] : [`- The newest messages may be missing: ${code(behind)}`]),
    ...(doings.digestChars === 0
      ? []
      : [`- Left out of the prompts: ${doings.digestChars} characters that told of earlier sessions`]),
    ...section("What was asked", counted(doings.prompts, items, quoteMessage)),
    ...section("Last answer", answered(doings)),
    ...section(
      "Files changed",
      counted(doings.changed, items, (file) => [`- ${code(file)}`]),
    ),
    ...section(
      "Commands",
      counted(doings.commands, items, ({ command, failed }) => [`- ${code(command)}${failed ? " (failed)" : ""}`]),
    ),
    ...section("Sub-agents", await subagents(hf, sessions)),
    ...section("Open", [
      ...doings.tasks.map(({ title: task, status }) => `- ${code(task)} (${code(status)})`),
      ...doings.open.map(({ name, input }) => `- cut off in ${code(name)}: ${code(JSON.stringify(input) ?? "")}`),
    ]),
    ...section("Tokens and cost", await spending(hf, sessions)),
    ...section(
      "How to continue",
      continuing(request, textOf(coding.agent), capture?.id ?? null, options.storeOptions ?? ""),
    ),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return ["", `## ${title}`, ...(lines[0] === "" ? [] : [""]), ...lines];
}

/** The newest of them, and how many there are beside. */
function counted<T>(all: readonly T[], most: number, lines: (one: T) => readonly string[]): readonly string[] {
  const out = Math.max(0, all.length - most);
  const shown = all.slice(out).flatMap(lines);
  return out === 0 ? shown : [`*${out} earlier ones are not listed.*`, "", ...shown];
}

function named({ id }: Session): string {
  return code(id);
}

function timesOf({ firstAt, lastAt }: ActivitySummary): string {
  return firstAt === null || lastAt === null ? "" : `, from ${momentOf(firstAt)} to ${momentOf(lastAt)}`;
}

function quoteMessage(message: StoredMessage): readonly string[] {
  const at = messageTime(message);
  const when = at === null ? [] : ["", `*${momentOf(at)}*`];
  return [...when, "", ...block(shortened(textOfMessage(message), 4000))];
}

/** Only an answer to the last prompt: readers would take an earlier answer for it. */
function answered({ answer, prompts, open }: ActivitySummary): readonly string[] {
  if (answer === null) return prompts.length === 0 ? [] : ["There is none yet to the last prompt."];
  return open.length === 0
    ? quoteMessage(answer)
    : [...quoteMessage(answer), "", "The agent was still at work, or was cut off: see Open."];
}

/** A code block by indentation, which no line can end. */
function block(text: string): readonly string[] {
  return plain(text)
    .split("\n")
    .map((line) => `    ${line}`);
}

/** A code span that the text cannot end. */
function code(text: string): string {
  const line = plain(shortened(text, 300))
    .replace(/[\n\t]+/g, " ")
    .trim();
  if (line === "") return "(empty)";
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const mark = "`".repeat(longest + 1);
  const pad = longest > 0 ? " " : "";
  return `${mark}${pad}${line}${pad}${mark}`;
}

/** What an import says of the agent; of a mirrored session its entries do. */
async function codingOf(hf: Stores, session: Session): Promise<Loose> {
  if (!isMirror(session)) return isObject(session.metadata.coding) ? session.metadata.coding : {};
  const { agent, version, cwd } = await mirroredConversation(hf, session);
  return { agent, version, cwd, sessionId: mirroredId(session.metadata) };
}

/** The one that is named; null: none; undefined: the newest of the session. */
async function captureFor(
  { captures }: Stores,
  { request, id }: Session,
  coding: Loose,
  named: string | null | undefined,
): Promise<Capture | null> {
  if (named !== undefined) return named === null ? null : captures.get(named);
  const sessionId = textOf(coding.sessionId);
  if (request === null || sessionId === null) return null;
  const { items } = await captures.list({ request, sessionId });
  return items.find((one) => one.session === id) ?? null;
}

/** `run` comes first: it goes on with whatever is there, and what is written here may be read when the capture is gone. */
function continuing(
  request: string | null,
  agent: string | null,
  capture: string | null,
  storeOptions: string,
): readonly string[] {
  if (request === null) return [];
  const program = agent === "opencode" ? "opencode" : "claude";
  const store = storeOptions === "" ? "" : ` ${storeOptions.trim()}`;
  const run = ["", ...block(`holdfast run --request ${word(request)}${store} -- ${program}`), ""];
  if (capture === null) {
    return [...run, "The capture of the session's files is gone: `run` tells the agent this conversation instead."];
  }
  const only = ["To put the session's files back and no more, as long as the capture is there:", ""];
  return [...run, ...only, ...block(`holdfast restore --capture ${word(capture)}${store}`)];
}

function word(text: string): string {
  return /^[\w./:=@-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

async function subagents(hf: Stores, sessions: readonly Session[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { id } of sessions) {
    for (const { label, callee, status } of await (await hf.sessions.at(id)).invocations()) {
      lines.push(`- ${code(label ?? callee ?? "")} (${status}) in ${code(callee ?? "")}`);
    }
  }
  return lines;
}

/** Of the sessions and of those that worked for them. */
async function spending(hf: Stores, sessions: readonly Session[]): Promise<readonly string[]> {
  const total = { calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0, unknownCosts: 0 };
  const seen = new Set<string>();
  for (const { id } of sessions) await family(hf, id, seen);
  const spent: (typeof total)[] = [];
  for (const one of seen) spent.push((await hf.sessions.cost({ session: one })).total);
  for (const one of sessions) if (isMirror(one)) spent.push(...(await mirroredSpending(hf, one)));
  for (const one of spent) for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += one[name];
  const { calls, inputTokens, outputTokens, cachedTokens, costUsd, unknownCosts } = total;
  const unknown = unknownCosts === 0 ? "" : ` (the cost of ${unknownCosts} calls is not known)`;
  return [
    `- Calls: ${calls}`,
    `- Tokens: ${inputTokens} in (${cachedTokens} of them from a cache), ${outputTokens} out`,
    `- Cost: ${unknownCosts === calls ? "not known" : `${costUsd.toFixed(4)} USD`}${unknownCosts === calls ? "" : unknown}`,
    ...reported(sessions),
  ];
}

/** What the SDK mirrors has no calls of its own in the store: the entries say what each took. */
async function mirroredSpending(hf: Stores, session: Session) {
  const { calls } = await mirroredConversation(hf, session);
  return calls.map(({ inputTokens, outputTokens, cachedTokens, costUsd }) => ({
    calls: 1,
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cachedTokens: cachedTokens ?? 0,
    costUsd: costUsd ?? 0,
    unknownCosts: costUsd === null ? 1 : 0,
  }));
}

/** A session without a reported cost does not count as free. */
function reported(sessions: readonly Session[]): readonly string[] {
  const costs = sessions.flatMap(({ metadata: { coding } }) =>
    isObject(coding) && typeof coding.reportedCostUsd === "number" ? [coding.reportedCostUsd] : [],
  );
  if (costs.length === 0) return [];
  const least = costs.length < sessions.length ? "at least " : "";
  const sum = costs.reduce((a, b) => a + b);
  return [`- Cost as the agent itself reports it: ${least}${sum.toFixed(4)} USD`];
}

async function family(hf: Stores, session: string, seen: Set<string>): Promise<ReadonlySet<string>> {
  if (seen.has(session)) return seen;
  seen.add(session);
  for (const { callee } of await (await hf.sessions.at({ session })).invocations()) {
    if (callee !== null && (await hf.sessions.get({ session: callee })) !== null) await family(hf, callee, seen);
  }
  return seen;
}
