// The "model": decides what to answer from the request alone. A prompt carries its own script, as directives in double
// square brackets, and the number of assistant messages that already follow it says which step is due. So a request that
// is retried, sent from another machine or after a restart gets the same answer, and side requests (titles, summaries)
// cannot shift the script.
//
//   [[say text]]  [[tool Name {json}]]  [[tools [{"name":…,"input":…}]]]  [[big N label]]  [[script name]]
//   [[recall REGEX]]   what of it came before this prompt: `RECALL earlier=N found=[…]`
//   [[think text]]  [[delay MS]]   go with the next step
//   [[error STATUS type message]]  [[cut text]]  [[hang]]   an API error, a stream that breaks off, no answer at all

/** `text` is what the person or model wrote; `full` has tool calls and tool results too. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly full: string;
  /** A turn on the user's side that carries tool results. */
  readonly isToolResult: boolean;
}

/** A conversation in a form common to both APIs. */
export interface Conversation {
  readonly model: string;
  readonly system: string;
  readonly turns: readonly Turn[];
  /** The names of the tools that the agent offers. */
  readonly tools: readonly string[];
  /** Equal requests, and they alone, have the same; ids in the answer are made from it. */
  readonly fingerprint: string;
}

interface ToolCall {
  readonly name: string;
  readonly input: unknown;
}

export interface ApiError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

export interface Reply {
  readonly text?: string;
  readonly thinking?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly error?: ApiError;
  readonly delayMs?: number;
  readonly hang?: true;
  readonly cut?: true;
}

/** A reply, or what to look for in what came before. */
interface Step extends Reply {
  readonly recall?: RegExp;
}

type Carry = Pick<Reply, "thinking" | "delayMs">;

/** Named scripts, for what cannot be written in a prompt (inputs with double brackets of their own). */
export type Scripts = Readonly<Record<string, string>>;

/** Text without the notes that agents wrap in <system-reminder>. */
export function withoutReminders(text: string): string {
  return text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "").trim();
}

/** The bodies of the outermost `[[…]]`, in order; `[[` and `]]` inside one must balance. */
export function findDirectives(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length - 1; i++) {
    const pair = text.slice(i, i + 2);
    if (pair === "[[") {
      if (depth === 0) start = i + 2;
      depth++;
      i++;
    } else if (pair === "]]" && depth > 0) {
      depth--;
      if (depth === 0) found.push(text.slice(start, i).trim());
      i++;
    }
  }
  return found;
}

/** Text of exactly `size` characters, the same for the same label, that does not repeat in short cycles. */
export function filler(size: number, label: string): string {
  const words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima".split(" ");
  let seed = [...label].reduce((n, c) => (n * 31 + c.charCodeAt(0)) >>> 0, 7);
  let text = `${label}:`;
  while (text.length < size) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    text += ` ${words[seed % words.length]}${(seed >>> 8) % 1000}`;
  }
  return text.slice(0, size);
}

export function decide(conversation: Conversation, scripts: Scripts): Reply {
  if (isSideRequest(conversation)) return { text: "Fake title" };
  if (isSummaryRequest(conversation)) return { text: summaryOf(conversation) };

  const { turns, tools } = conversation;
  const promptAt = turns.findLastIndex(
    (turn) => turn.role === "user" && !turn.isToolResult && withoutReminders(turn.text) !== "",
  );
  const steps = stepsIn(withoutReminders(turns[promptAt]?.text ?? ""), scripts);
  const done = turns.slice(promptAt + 1).filter((turn) => turn.role === "assistant").length;
  const step = steps[done];
  if (step === undefined) {
    return { text: steps.length === 0 ? `OK. (${turns.length} messages seen)` : "Script finished." };
  }
  const { recall, ...reply } = step;
  if (recall !== undefined) return { ...reply, text: recalled(turns, promptAt, recall) };
  const missing = (reply.toolCalls ?? []).filter((call) => !tools.includes(call.name));
  if (missing.length > 0) return { text: `[fake] tool not offered: ${missing.map((call) => call.name).join(", ")}` };
  return reply;
}

/** The steps written in a prompt or a named script. A bad directive is a step that says so: the test sees it at once. */
function stepsIn(text: string, scripts: Scripts): Step[] {
  const steps: Step[] = [];
  let carry: Carry = {};
  for (const body of findDirectives(text)) {
    const [, verb = "", rest = ""] = /^(\S+)\s*([\s\S]*)$/.exec(body) ?? [];
    if (verb === "think") carry = { ...carry, thinking: rest };
    else if (verb === "delay") carry = { ...carry, delayMs: Number(rest) };
    else {
      const [first, ...others] = stepsOf(verb, rest, scripts);
      if (first !== undefined) steps.push({ ...carry, ...first }, ...others);
      carry = {};
    }
  }
  return steps;
}

function stepsOf(verb: string, rest: string, scripts: Scripts): Step[] {
  try {
    return verb === "script" ? namedScript(rest, scripts) : [stepOf(verb, rest)];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ text: `[fake] bad directive ${JSON.stringify(`${verb} ${rest}`.slice(0, 80))}: ${why}` }];
  }
}

function namedScript(name: string, scripts: Scripts): Step[] {
  const script = scripts[name];
  return script === undefined ? [{ text: `[fake] no script named ${name}` }] : stepsIn(script, scripts);
}

function stepOf(verb: string, rest: string): Step {
  const [, first = "", second = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  switch (verb) {
    case "say":
      return { text: rest };
    case "big":
      return { text: filler(Number(first), second || "big") };
    case "tool":
      return { toolCalls: [{ name: first, input: second === "" ? {} : JSON.parse(second) }] };
    case "tools":
      return { toolCalls: JSON.parse(rest) };
    case "recall":
      return { recall: new RegExp(rest || "(?!)", "g") }; // without a pattern it finds nothing
    case "error": {
      const [, type = "", message = ""] = /^(\S*)\s*([\s\S]*)$/.exec(second) ?? [];
      return {
        error: { status: Number(first), type: type || "api_error", message: message || "scripted error" },
      };
    }
    case "hang":
      return { hang: true };
    case "cut":
      return { text: rest || "this answer is cut off before its end", cut: true };
    default:
      return { text: `[fake] unknown directive ${verb}` };
  }
}

/** A request for a title or the like, made beside the conversation. */
function isSideRequest({ tools, system }: Conversation): boolean {
  return tools.length === 0 && /\b(title|topic)\b/i.test(system);
}

/** An agent that compacts its context asks for a summary. */
function isSummaryRequest({ turns }: Conversation): boolean {
  const asks =
    /detailed summary of (the|our) conversation|prompt for continuing our conversation|summarize (the|our) conversation/i;
  return asks.test(turns.at(-1)?.text ?? "");
}

/** Keeps every marker such as CODEWORD-42, so that a test can see what a summary carried over. */
function summaryOf({ turns }: Conversation): string {
  const markers = unique(textOf(turns.slice(0, -1)).match(/\b[A-Z]{3,}-\d+\b/g));
  const summary = `Fake summary of ${turns.length} messages. Markers: ${markers.join(" ") || "none"}`;
  return `<analysis>fake</analysis>\n<summary>${summary}</summary>`;
}

function recalled(turns: readonly Turn[], promptAt: number, pattern: RegExp): string {
  const found = unique(textOf(turns.slice(0, promptAt)).match(pattern));
  return `RECALL earlier=${promptAt} found=${JSON.stringify(found)}`;
}

function textOf(turns: readonly Turn[]): string {
  return turns.map((turn) => turn.full).join("\n");
}

function unique(matches: readonly string[] | null): string[] {
  return [...new Set(matches)];
}
