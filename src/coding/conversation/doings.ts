// What was done, as the tool calls of a stored conversation say: files changed, commands, the task list, what is open.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { ContentBlock, Message } from "../../contracts/messages.ts";
import { isObject, type Loose, textOf } from "./content.ts";

export interface Doings {
  readonly messages: number;
  readonly prompts: readonly Message[];
  readonly last: readonly Message[];
  /** Newest last; each once. */
  readonly changed: readonly string[];
  readonly read: readonly string[];
  readonly commands: readonly { readonly command: string; readonly failed: boolean }[];
  readonly tasks: readonly { readonly title: string; readonly status: string }[];
  /** Tool calls without a result. */
  readonly open: readonly { readonly name: string; readonly input: unknown }[];
  readonly summary: Message | null;
  readonly answer: Message | null;
}

type ToolUse = Extract<ContentBlock, { type: "tool_use" }>;
type ToolResult = Extract<ContentBlock, { type: "tool_result" }>;

const PAGE = 500;
const CHANGES = /^(edit|write|multiedit|notebookedit|patch|apply_patch)$/i;
const DONE = ["completed", "done", "cancelled", "deleted"];

/** Page by page: nothing is kept of what lies before the last messages but what it says here. */
export async function doingsOf(hf: Pick<Holdfast, "history">, session: string, last: number): Promise<Doings> {
  const seen = new Gathering(last);
  for (let after: string | undefined; ; ) {
    const page = await hf.history.session(session, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const message of page) seen.add(message);
    after = page.at(-1)?.id;
    if (page.length < PAGE) return seen.all();
  }
}

class Gathering {
  readonly #most: number;
  #messages = 0;
  readonly #prompts: Message[] = [];
  readonly #last: Message[] = [];
  readonly #changed = new Set<string>();
  readonly #read = new Set<string>();
  readonly #commands = new Map<string, { command: string; failed: boolean }>();
  readonly #open = new Map<string, ToolUse>();
  readonly #tasks = new Map<string, { title: string; status: string }>();
  #summary: Message | null = null;
  #answer: Message | null = null;

  constructor(most: number) {
    this.#most = most;
  }

  add(message: Message): void {
    this.#messages++;
    this.#last.push(message);
    if (this.#last.length > this.#most) this.#last.shift();
    if (message.metadata?.prompt === true) this.#prompts.push(message);
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
    const file = textOf(input.file_path) ?? textOf(input.filePath) ?? textOf(input.notebook_path);
    if (file !== null) {
      const set = CHANGES.test(block.name) ? this.#changed : this.#read;
      set.delete(file);
      set.add(file);
    }
    const command = /^bash$/i.test(block.name) ? textOf(input.command) : null;
    if (command !== null) this.#commands.set(block.id, { command, failed: false });
    if (/^todowrite$/i.test(block.name) && Array.isArray(input.todos)) this.#list(input.todos);
    if (block.name === "TaskUpdate") this.#update(input);
  }

  /** The whole list at once. */
  #list(todos: readonly unknown[]): void {
    this.#tasks.clear();
    for (const [i, todo] of todos.entries()) {
      if (!isObject(todo) || typeof todo.content !== "string") continue;
      this.#tasks.set(String(i), { title: todo.content, status: textOf(todo.status) ?? "pending" });
    }
  }

  #update({ taskId, status, subject }: Loose): void {
    const task = this.#tasks.get(String(taskId));
    if (task === undefined) return;
    this.#tasks.set(String(taskId), { title: textOf(subject) ?? task.title, status: textOf(status) ?? task.status });
  }

  #result(block: ToolResult): void {
    const use = this.#open.get(block.toolUseId);
    this.#open.delete(block.toolUseId);
    const command = this.#commands.get(block.toolUseId);
    if (command !== undefined) command.failed = block.isError === true;
    if (use?.name !== "TaskCreate" || block.isError === true || !isObject(use.input)) return;
    // The number that the task got is in the answer only.
    const [, id] = /#(\d+)/.exec(resultText(block)) ?? [];
    const title = textOf(use.input.subject);
    if (id !== undefined && title !== null) this.#tasks.set(id, { title, status: "pending" });
  }

  all(): Doings {
    return {
      ...{ messages: this.#messages, prompts: this.#prompts, last: this.#last },
      ...{ changed: [...this.#changed], read: [...this.#read].filter((file) => !this.#changed.has(file)) },
      ...{ commands: [...this.#commands.values()], open: [...this.#open.values()] },
      tasks: [...this.#tasks.values()].filter(({ status }) => !DONE.includes(status)),
      ...{ summary: this.#summary, answer: this.#answer },
    };
  }
}

export function resultText({ content }: ToolResult): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join("\n");
}

export function saidIn(message: Message): string {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
