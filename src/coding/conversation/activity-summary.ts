// Summarises a stored conversation by its tool calls: files changed, commands, the task list, and calls without a result.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Session } from "../../contracts/session.ts";
import { isObject } from "../../core/check.ts";
import { isProgramText, type LooseObject, textOf } from "./agent-content.ts";
import { withoutDigest } from "./digest-frame.ts";
import { messageTime, readStoredMessages, type StoredMessage } from "./stored-messages.ts";

export interface ActivitySummary {
  readonly messages: number;
  readonly prompts: readonly StoredMessage[];
  readonly last: readonly StoredMessage[];
  /** Files that a successful tool call changed. The newest is last; each is listed once. */
  readonly changed: readonly string[];
  readonly read: readonly string[];
  readonly commands: readonly { readonly command: string; readonly failed: boolean }[];
  readonly tasks: readonly { readonly title: string; readonly status: string }[];
  /** Tool calls without a result. */
  readonly open: readonly { readonly name: string; readonly input: unknown }[];
  readonly summary: StoredMessage | null;
  /** What the agent said last since the last prompt; null: nothing yet. */
  readonly answer: StoredMessage | null;
  /** The times of the first and the last message; null: unknown. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** Characters of the digests before prompts, which are left out here. */
  readonly digestChars: number;
}

type Block = StoredMessage["content"][number];
type ToolUse = Extract<Block, { type: "tool_use" }>;
type ToolResult = Extract<Block, { type: "tool_result" }>;

const CHANGES = /^(edit|write|multiedit|notebookedit|patch|apply_patch)$/i;
const DONE = ["completed", "done", "cancelled", "deleted"];

/** `sessions` continue each other, oldest first. Only the last `last` messages are kept in full. */
export async function summarizeActivity(
  hf: Pick<Holdfast, "history">,
  sessions: readonly Session[],
  last: number,
): Promise<ActivitySummary> {
  const seen = new ActivityCollector(last);
  for (const session of sessions) {
    seen.begin();
    for await (const message of readStoredMessages(hf, session)) seen.add(message);
  }
  return seen.all();
}

class ActivityCollector {
  readonly #most: number;
  #sessions = 0;
  #messages = 0;
  #digestChars = 0;
  readonly #prompts: StoredMessage[] = [];
  readonly #last: StoredMessage[] = [];
  readonly #changed = new Set<string>();
  readonly #read = new Set<string>();
  readonly #commands = new Map<string, { command: string; failed: boolean }>();
  readonly #open = new Map<string, ToolUse>();
  readonly #tasks = new Map<string, { title: string; status: string }>();
  #summary: StoredMessage | null = null;
  #answer: StoredMessage | null = null;
  #firstAt: number | null = null;
  #lastAt: number | null = null;

  constructor(most: number) {
    this.#most = most;
  }

  /** A new session begins: tool calls that were cut off in the previous one are not open any more. */
  begin(): void {
    this.#sessions++;
    this.#open.clear();
  }

  add(stored: StoredMessage): void {
    const isPrompt = stored.metadata?.prompt === true && !isProgramText(stored.content);
    const stripped = isPrompt ? withoutDigest(stored.content) : null;
    const message = stripped === null ? stored : { ...stored, content: stripped.content };
    this.#digestChars += stripped?.chars ?? 0;
    this.#messages++;
    this.#last.push(message);
    if (this.#last.length > this.#most) this.#last.shift();
    const at = messageTime(message);
    this.#firstAt ??= at;
    this.#lastAt = at ?? this.#lastAt;
    if (isPrompt) this.#answer = null;
    if (isPrompt && message.content.length > 0) this.#prompts.push(message);
    if (message.metadata?.compaction === true) this.#summary = message;
    for (const block of message.content) {
      if (block.type === "tool_use") this.#use(block);
      else if (block.type === "tool_result") this.#result(block);
      else if (block.type === "text" && message.role === "assistant") this.#answer = message;
    }
  }

  #use(block: ToolUse): void {
    this.#open.set(block.id, block);
    const input = isObject(block.input) ? block.input : {};
    const command = /^bash$/i.test(block.name) ? textOf(input.command) : null;
    if (command !== null) this.#commands.set(block.id, { command, failed: false });
    if (/^todowrite$/i.test(block.name) && Array.isArray(input.todos)) this.#list(input.todos);
    if (block.name === "TaskUpdate") this.#update(input);
  }

  /** Call it when the tool succeeded: the file counts as changed or read. */
  #file({ name, input }: ToolUse): void {
    const fields = isObject(input) ? input : {};
    const file = textOf(fields.file_path) ?? textOf(fields.filePath) ?? textOf(fields.notebook_path);
    if (file === null) return;
    const set = CHANGES.test(name) ? this.#changed : this.#read;
    set.delete(file);
    set.add(file);
  }

  /** A call of TodoWrite has the whole list. */
  #list(todos: readonly unknown[]): void {
    this.#tasks.clear();
    for (const [i, todo] of todos.entries()) {
      if (!isObject(todo) || typeof todo.content !== "string") continue;
      this.#tasks.set(String(i), { title: todo.content, status: textOf(todo.status) ?? "pending" });
    }
  }

  #update({ taskId, status, subject }: LooseObject): void {
    const key = this.#keyOf(String(taskId));
    const task = this.#tasks.get(key);
    if (task === undefined) return;
    this.#tasks.set(key, { title: textOf(subject) ?? task.title, status: textOf(status) ?? task.status });
  }

  /** Every session numbers its tasks from 1. */
  #keyOf(task: string): string {
    return `${this.#sessions}:${task}`;
  }

  #result(block: ToolResult): void {
    const use = this.#open.get(block.toolUseId);
    this.#open.delete(block.toolUseId);
    const command = this.#commands.get(block.toolUseId);
    if (command !== undefined) command.failed = block.isError === true;
    if (use !== undefined && block.isError !== true) this.#file(use);
    if (use?.name !== "TaskCreate" || block.isError === true || !isObject(use.input)) return;
    // Only the result has the number of the task.
    const [, id] = /#(\d+)/.exec(resultText(block)) ?? [];
    const title = textOf(use.input.subject);
    if (id !== undefined && title !== null) this.#tasks.set(this.#keyOf(id), { title, status: "pending" });
  }

  all(): ActivitySummary {
    return {
      messages: this.#messages,
      prompts: this.#prompts,
      last: this.#last,
      changed: [...this.#changed],
      read: [...this.#read].filter((file) => !this.#changed.has(file)),
      commands: [...this.#commands.values()],
      open: [...this.#open.values()],
      tasks: [...this.#tasks.values()].filter(({ status }) => !DONE.includes(status)),
      summary: this.#summary,
      answer: this.#answer,
      digestChars: this.#digestChars,
      firstAt: this.#firstAt,
      lastAt: this.#lastAt,
    };
  }
}

export function resultText({ content }: ToolResult): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join("\n");
}

export function textOfMessage({ content }: StoredMessage): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
