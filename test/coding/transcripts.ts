// Transcripts as Claude Code writes them, line by line, without running it: the shapes are those of 2.1.325, with as many
// of its fields as a reader may look at.
import { readFileSync } from "node:fs";
import * as path from "node:path";

const SESSION = "11111111-2222-4333-8444-555555555555";
const fixtures = path.join(import.meta.dirname, "../../src/coding/conversation/fixtures");

export function fixture(name: string): Buffer {
  return readFileSync(path.join(fixtures, name));
}

export type Block = Readonly<Record<string, unknown>>;

export class Transcript {
  readonly lines: string[] = [];
  /** The entry that the next one follows. */
  leaf: string | null = null;
  readonly #name: string;
  #n = 0;

  constructor(name = "t") {
    this.#name = name;
  }

  get text(): string {
    return this.lines.map((line) => `${line}\n`).join("");
  }

  raw(line: unknown): void {
    this.lines.push(typeof line === "string" ? line : JSON.stringify(line));
  }

  entry(fields: Block, parent = this.leaf): string {
    const n = ++this.#n;
    const uuid = `${this.#name}-${n}`;
    const timestamp = new Date(1_790_000_000_000 + n * 1000).toISOString();
    const common = { isSidechain: false, uuid, timestamp, userType: "external", cwd: "/w", sessionId: SESSION };
    this.raw({ parentUuid: parent, ...common, version: "2.1.325", gitBranch: "main", ...fields });
    this.leaf = uuid;
    return uuid;
  }

  prompt(content: unknown, fields: Block = {}): string {
    return this.entry({ type: "user", message: { role: "user", content }, promptSource: "sdk", ...fields });
  }

  attachment(type: string, fields: Block = {}): string {
    return this.entry({ type: "attachment", attachment: { type, ...fields } });
  }

  /** One line for each block, all of one answer. */
  answer(blocks: readonly Block[], fields: Block = {}): readonly string[] {
    const id = `msg_${this.#name}_${this.#n}`;
    const isTool = blocks.some(({ type }) => type === "tool_use");
    const usage = { input_tokens: 100, cache_creation_input_tokens: 20, cache_read_input_tokens: 3, output_tokens: 7 };
    return blocks.map((block) =>
      this.entry({
        type: "assistant",
        message: {
          id,
          type: "message",
          role: "assistant",
          model: "claude-sonnet-4-5",
          content: [block],
          usage,
          stop_reason: isTool ? "tool_use" : "end_turn",
          ...fields,
        },
      }),
    );
  }

  say(text: string): string {
    return this.answer([{ type: "text", text }])[0] ?? "";
  }

  /** Several at once: each result follows the line of its own call. */
  tools(...names: readonly string[]): void {
    const ids = names.map((name) => `toolu_${this.#name}_${this.#n}_${name}`);
    const uses = names.map((name, i) => ({ type: "tool_use", id: ids[i], name, input: { command: name } }));
    for (const [i, line] of this.answer(uses).entries()) this.result(ids[i] ?? "", `${names[i]} done`, line);
  }

  result(id: string, content: unknown, parent = this.leaf, fields: Block = {}): string {
    const message = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] };
    return this.entry({ type: "user", message, toolUseResult: { stdout: content }, ...fields }, parent);
  }
}

/** A conversation of every kind of thing, the same for the same name. */
export function rich(name = "t", turns = 3): Transcript {
  const t = new Transcript(name);
  for (let i = 0; i < turns; i++) {
    t.raw({ type: "queue-operation", operation: "enqueue", sessionId: SESSION });
    t.prompt(`question ${i}`);
    t.attachment("environment");
    t.raw({ type: "api-request-blob", content: [{ type: "text", text: "a copy" }] });
    t.answer([
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: `let me see ${i}` },
    ]);
    t.tools("Read", "Bash", "Grep");
    t.attachment("total_tokens_reminder");
    t.tools("Bash");
    t.say(`answer ${i}`);
    t.raw({ type: "last-prompt", leafUuid: t.leaf, sessionId: SESSION });
  }
  return t;
}
