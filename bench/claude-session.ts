// Deterministic Claude Code transcripts of a given size: the same options give the same bytes on every machine. The lines
// have the shapes that Claude Code 2.1.325 writes, reduced to the fields a resume needs (test/agents resumes one with
// the real agent). Their text is that of bench/transcripts.ts, ordinary or repetitive.
import { createHash } from "node:crypto";
import { ordinaryTranscript, repetitiveTranscript } from "./transcripts.ts";

export interface ClaudeSessionOptions {
  /** The transcript is at least this long and ends with a finished turn. */
  readonly bytes: number;
  readonly seed?: number;
  readonly kind?: "ordinary" | "repetitive";
  readonly cwd?: string;
  readonly sessionId?: string;
}

export interface ClaudeSession {
  readonly sessionId: string;
  /** The JSONL file. */
  readonly bytes: Uint8Array;
  readonly lines: number;
  /** The prompt of turn n contains MARK-n. */
  readonly turns: number;
  /** The uuid of the last line. */
  readonly leaf: string;
  /** The end of each turn in bytes. */
  readonly ends: readonly number[];
}

const CALLS_PER_TURN = 6;
const RESULT_CHARS = 4_000;
/** The agent stores more with a message than it sends to the model, so the file grows faster than the context. */
const ASIDE_CHARS = 6 * RESULT_CHARS;
const EPOCH_MS = Date.UTC(2026, 0, 1);

export function claudeSession(options: ClaudeSessionOptions): ClaudeSession {
  const { bytes, seed = 1, kind = "ordinary", cwd = "/srv/repo" } = options;
  const sessionId = options.sessionId ?? uuidOf(`session ${seed}`);
  const text = new Text(kind === "ordinary" ? ordinaryTranscript : repetitiveTranscript, bytes, seed);
  const writer = new Writer({ sessionId, cwd, seed });
  let turns = 0;
  const ends: number[] = [];
  do {
    turns++;
    writer.prompt(turns);
    for (let call = 1; call <= CALLS_PER_TURN && writer.length < bytes; call++) {
      writer.call(`${turns}.${call}`, text.take(RESULT_CHARS), text.take(ASIDE_CHARS));
    }
    writer.end(turns, text.take(400));
    ends.push(writer.length);
  } while (writer.length < bytes);
  return { sessionId, bytes: writer.bytes(), lines: writer.lines, turns, leaf: writer.leaf, ends };
}

/** The texts of the messages of a plain transcript, in order. */
class Text {
  readonly #pieces: Iterator<string>;
  #rest = "";

  constructor(generate: (bytes: number, seed: number) => Uint8Array, bytes: number, seed: number) {
    this.#pieces = contents(generate, bytes, seed);
  }

  take(size: number): string {
    while (this.#rest.length < size) this.#rest += this.#pieces.next().value;
    const taken = this.#rest.slice(0, size);
    this.#rest = this.#rest.slice(size);
    return taken;
  }
}

/** Texts without an end: after the last text of a transcript, the transcript of the next seed follows. */
function* contents(
  generate: (bytes: number, seed: number) => Uint8Array,
  bytes: number,
  seed: number,
): Generator<string, never> {
  for (let next = seed; ; next += 1_000_003) {
    const lines = Buffer.from(generate(Math.max(bytes, 100_000), next))
      .toString("utf8")
      .trimEnd()
      .split("\n");
    for (const line of lines) yield (JSON.parse(line) as { message: { content: string } }).message.content;
  }
}

class Writer {
  length = 0;
  lines = 0;
  leaf = "";
  readonly #parts: Buffer[] = [];
  readonly #about: { readonly sessionId: string; readonly cwd: string; readonly seed: number };

  constructor(about: { readonly sessionId: string; readonly cwd: string; readonly seed: number }) {
    this.#about = about;
  }

  prompt(turn: number): void {
    const message = { role: "user", content: `Turn ${turn}: please continue. MARK-${turn}` };
    const promptId = this.#uuid(`prompt ${turn}`);
    this.#line({ type: "user", message, promptId, permissionMode: "bypassPermissions" });
  }

  /** A tool call and its result, which the agent stores twice: in the message, and structured beside it. */
  call(name: string, stdout: string, aside: string): void {
    const id = `toolu_${this.#hex(`call ${name}`).slice(0, 24)}`;
    const input = { command: `make step-${name}`, description: "run step" };
    const source = this.#assistant(`call ${name}`, [{ type: "tool_use", id, name: "Bash", input }], "tool_use");
    const result = { tool_use_id: id, type: "tool_result", content: stdout, is_error: false };
    this.#line({
      type: "user",
      message: { role: "user", content: [result] },
      toolUseResult: { stdout, stderr: aside, interrupted: false, isImage: false },
      sourceToolAssistantUUID: source,
    });
  }

  end(turn: number, text: string): void {
    this.#assistant(`end ${turn}`, [{ type: "text", text: `Turn ${turn} is done. ${text}` }], "end_turn");
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts, this.length);
  }

  #assistant(name: string, content: object[], stop_reason: string): string {
    const id = this.#hex(name).slice(0, 24);
    const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const usage = { input_tokens: 1000, ...cached, output_tokens: 50 };
    const reply = { id: `msg_${id}`, type: "message", role: "assistant", model: "claude-sonnet-4-5" };
    const message = { ...reply, content, stop_reason, stop_sequence: null, usage };
    return this.#line({ type: "assistant", message, requestId: `req_${id}` });
  }

  #line(entry: object): string {
    const { sessionId, cwd } = this.#about;
    const uuid = this.#uuid(`line ${this.lines}`);
    const line = {
      parentUuid: this.lines === 0 ? null : this.leaf,
      isSidechain: false,
      userType: "external",
      entrypoint: "sdk-ts",
      cwd,
      sessionId,
      version: "2.1.325",
      gitBranch: "main",
      ...entry,
      uuid,
      timestamp: new Date(EPOCH_MS + this.lines * 1000).toISOString(),
    };
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    this.#parts.push(bytes);
    this.length += bytes.length;
    this.lines++;
    this.leaf = uuid;
    return uuid;
  }

  #hex(name: string): string {
    return hexOf(`${this.#about.sessionId} ${this.#about.seed} ${name}`);
  }

  #uuid(name: string): string {
    return uuidOf(`${this.#about.sessionId} ${this.#about.seed} ${name}`);
  }
}

function hexOf(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}

function uuidOf(name: string): string {
  const hex = hexOf(name);
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
