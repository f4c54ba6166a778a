// Makes a handover for people, as Markdown: the prompts, what the agent did, and what is open. Quoted text comes from models and tools.
// It is put in code spans and blocks, where it is neither Markdown nor HTML, and control characters are escaped.
import type { Capture } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Session } from "../../contracts/session.ts";
import { isObject } from "../../core/check.ts";
import type { ImportStores } from "../catch-up.ts";
import { type ActivitySummary, summarizeActivity, textOfMessage } from "./activity-summary.ts";
import { type LooseObject, textOf } from "./agent-content.ts";
import { catchUpWithEarlier } from "./request-conversations.ts";
import { isMirror, mirroredConversation, mirroredId } from "./sdk-mirror.ts";
import { escapeControls, formatMoment, shorten } from "./short-text.ts";
import { messageTime, type StoredMessage } from "./stored-messages.ts";

export interface HandoverOptions {
  /** The capture from which the session can be restored; null: it is gone. Not given: the newest one. */
  readonly capture?: string | null;
  /** How many prompts, files and commands are listed, the newest of each; 20 when not given. */
  readonly items?: number;
  /** The options by which its commands name the store, such as `--store agents.db`; without it they use the reader's default store. */
  readonly storeOptions?: string;
}

type Stores = ImportStores & Pick<Holdfast, "sessions">;

/** Imports the session's newest capture first. */
export async function handover(hf: Stores, session: string, options: HandoverOptions = {}): Promise<string> {
  const { id } = (await hf.sessions.at(session)).session;
  const { sessions, behind } = await catchUpWithEarlier(hf, id);
  const view = await hf.sessions.at(id);
  const { title } = view.session;
  const { items = 20 } = options;
  const activity = await summarizeActivity(hf, sessions, 1);
  const coding = await codingMetadata(hf, view.session);
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
    ...(sessions.length === 1 ? [] : [`- Continues: ${sessions.slice(0, -1).map(sessionCode).join(", ")}`]),
    `- Messages: ${activity.messages}${timesOf(activity)}`,
    ...(behind === null ? [] : [`- The newest messages may be missing: ${code(behind)}`]),
    ...(activity.digestChars === 0
      ? []
      : [`- Left out of the prompts: ${activity.digestChars} characters of digests of earlier sessions`]),
    ...section("What was asked", newestItems(activity.prompts, items, quoteMessage)),
    ...section("Last answer", lastAnswer(activity)),
    ...section(
      "Files changed",
      newestItems(activity.changed, items, (file) => [`- ${code(file)}`]),
    ),
    ...section(
      "Commands",
      newestItems(activity.commands, items, ({ command, failed }) => [
        `- ${code(command)}${failed ? " (failed)" : ""}`,
      ]),
    ),
    ...section("Sub-agents", await subagents(hf, sessions)),
    ...section("Open", [
      ...activity.tasks.map(({ title: task, status }) => `- ${code(task)} (${code(status)})`),
      ...activity.open.map(({ name, input }) => `- cut off in ${code(name)}: ${code(JSON.stringify(input) ?? "")}`),
    ]),
    ...section("Tokens and cost", await spending(hf, sessions)),
    ...section(
      "How to continue",
      howToContinue(request, textOf(coding.agent), capture?.id ?? null, options.storeOptions ?? ""),
    ),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return ["", `## ${title}`, ...(lines[0] === "" ? [] : [""]), ...lines];
}

/** The newest `most` items, and how many earlier ones are not listed. */
function newestItems<T>(all: readonly T[], most: number, lines: (one: T) => readonly string[]): readonly string[] {
  const out = Math.max(0, all.length - most);
  const shown = all.slice(out).flatMap(lines);
  return out === 0 ? shown : [`*${out} earlier ones are not listed.*`, "", ...shown];
}

function sessionCode({ id }: Session): string {
  return code(id);
}

function timesOf({ firstAt, lastAt }: ActivitySummary): string {
  return firstAt === null || lastAt === null ? "" : `, from ${formatMoment(firstAt)} to ${formatMoment(lastAt)}`;
}

function quoteMessage(message: StoredMessage): readonly string[] {
  const at = messageTime(message);
  const when = at === null ? [] : ["", `*${formatMoment(at)}*`];
  return [...when, "", ...block(shorten(textOfMessage(message), 4000))];
}

/** The answer to the last prompt. An earlier answer is not shown, because a reader would mistake it for that one. */
function lastAnswer({ answer, prompts, open }: ActivitySummary): readonly string[] {
  if (answer === null) return prompts.length === 0 ? [] : ["The last prompt has no answer yet."];
  return open.length === 0
    ? quoteMessage(answer)
    : [...quoteMessage(answer), "", "The agent was still working, or was cut off: see Open."];
}

/** A code block by indentation, which no line can end. */
function block(text: string): readonly string[] {
  return escapeControls(text)
    .split("\n")
    .map((line) => `    ${line}`);
}

/** A code span that the text cannot end. */
function code(text: string): string {
  const line = escapeControls(shorten(text, 300))
    .replace(/[\n\t]+/g, " ")
    .trim();
  if (line === "") return "(empty)";
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const mark = "`".repeat(longest + 1);
  const pad = longest > 0 ? " " : "";
  return `${mark}${pad}${line}${pad}${mark}`;
}

/** The metadata of the agent's session: that of the import, or of the entries of a mirrored session. */
async function codingMetadata(hf: Stores, session: Session): Promise<LooseObject> {
  if (!isMirror(session)) return isObject(session.metadata.coding) ? session.metadata.coding : {};
  const { agent, version, cwd } = await mirroredConversation(hf, session);
  return { agent, version, cwd, sessionId: mirroredId(session.metadata) };
}

/** The capture with the id `named`; null: none; undefined: the newest of the session. */
async function captureFor(
  { captures }: Stores,
  { request, id }: Session,
  coding: LooseObject,
  named: string | null | undefined,
): Promise<Capture | null> {
  if (named !== undefined) return named === null ? null : captures.get(named);
  const sessionId = textOf(coding.sessionId);
  if (request === null || sessionId === null) return null;
  const { items } = await captures.list({ request, sessionId });
  return items.find((one) => one.session === id) ?? null;
}

/** `run` comes first, because it works with whatever exists: the capture may be gone when a person reads the handover. */
function howToContinue(
  request: string | null,
  agent: string | null,
  capture: string | null,
  storeOptions: string,
): readonly string[] {
  if (request === null) return [];
  const program = agent === "opencode" ? "opencode" : "claude";
  const store = storeOptions === "" ? "" : ` ${storeOptions.trim()}`;
  const run = ["", ...block(`holdfast run --request ${quoteWord(request)}${store} -- ${program}`), ""];
  if (capture === null) {
    return [
      ...run,
      "The capture of the session's files is gone: `run` gives the agent a digest of this conversation instead.",
    ];
  }
  const only = ["To restore only the session's files, as long as the capture exists:", ""];
  return [...run, ...only, ...block(`holdfast restore --capture ${quoteWord(capture)}${store}`)];
}

function quoteWord(text: string): string {
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

/** Tokens and cost of the sessions and of their sub-agents. */
async function spending(hf: Stores, sessions: readonly Session[]): Promise<readonly string[]> {
  const total = { calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0, unknownCosts: 0 };
  const seen = new Set<string>();
  for (const { id } of sessions) await collectInvoked(hf, id, seen);
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
    ...reportedCost(sessions),
  ];
}

/** A mirrored session has no calls in the store: its entries have the tokens of each. */
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

/** If a session has no reported cost, the sum is a lower bound. */
function reportedCost(sessions: readonly Session[]): readonly string[] {
  const costs = sessions.flatMap(({ metadata: { coding } }) =>
    isObject(coding) && typeof coding.reportedCostUsd === "number" ? [coding.reportedCostUsd] : [],
  );
  if (costs.length === 0) return [];
  const least = costs.length < sessions.length ? "at least " : "";
  const sum = costs.reduce((a, b) => a + b);
  return [`- Cost as the agent itself reports it: ${least}${sum.toFixed(4)} USD`];
}

async function collectInvoked(hf: Stores, session: string, seen: Set<string>): Promise<ReadonlySet<string>> {
  if (seen.has(session)) return seen;
  seen.add(session);
  for (const { callee } of await (await hf.sessions.at({ session })).invocations()) {
    if (callee !== null && (await hf.sessions.get({ session: callee })) !== null)
      await collectInvoked(hf, callee, seen);
  }
  return seen;
}
