// What a session really holds, read through the public surface: contiguous from 1, a chain that verifies, and every
// message word for word what its writer wrote.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { LogEvent } from "../../src/contracts/log.ts";
import type { Message } from "../../src/contracts/messages.ts";

const WORDS = "what an agent said must be there again word for word after whatever happened to its machine".split(" ");

/** One text for each number of each writer, the same at any time; its end depends on the whole. */
export function textOf(writer: string, n: number): string {
  const words = Array.from({ length: 10 + (n % 60) }, (_, i) => WORDS[(n + i) % WORDS.length] ?? "");
  const digest = createHash("sha256").update(`${writer} ${n}`).digest("hex");
  return `${writer} ${n} ${words.join(" ")} ${digest}`;
}

export interface FoundMessage {
  readonly seq: number;
  readonly writer: string;
  readonly n: number;
}

/** The writer and the number of a message; fails unless it is the whole text. */
export function foundIn(message: Message): FoundMessage {
  const [block] = message.content;
  const text = block?.type === "text" ? block.text : "";
  const [writer = "", n = ""] = text.split(" ", 2);
  assert.equal(message.content.length, 1);
  assert.equal(text, textOf(writer, Number(n)), `message ${message.seq} is not what was written`);
  return { seq: message.seq, writer, n: Number(n) };
}

/** The session's messages, after its log was found whole. */
export async function examine(store: Holdfast, session: string): Promise<readonly FoundMessage[]> {
  const report = await store.log.verify(session);
  assert.ok(report.ok, `the chain of ${session} breaks: ${JSON.stringify(report)}`);
  const events = await allEvents(store, session);
  assert.ok(events.length >= report.seq, `${events.length} events of ${report.seq}`);
  const misplaced = events.find(({ seq }, i) => seq !== i + 1);
  assert.equal(misplaced, undefined, "seqs are not contiguous from 1");
  const found = (await store.history.session(session)).map(foundIn);
  const added = events.filter(({ type }) => type === "message/added").map(({ seq }) => seq);
  assert.deepEqual(found.map(({ seq }) => seq).slice(0, added.length), added, "messages and their events disagree");
  const names = new Set(found.map(({ writer, n }) => `${writer} ${n}`));
  assert.equal(names.size, found.length, "a message is there twice");
  return found;
}

export async function allEvents(store: Holdfast, session: string): Promise<readonly LogEvent[]> {
  const events: LogEvent[] = [];
  for (;;) {
    const page = await store.log.read(session, { after: events.at(-1)?.seq ?? 0, limit: 10_000 });
    events.push(...page);
    if (page.length < 10_000) return events;
  }
}

/** What children said was acknowledged ("ack <session> <seq> <writer> <n>"), to be compared with what is there. */
export class Acknowledgements {
  readonly #sessions = new Map<string, Map<number, string>>();
  count = 0;

  /** For a child's lines; others than acknowledgements are passed over. */
  note(line: string): void {
    const [word, session = "", seq = "", writer = "", n = ""] = line.split(" ");
    if (word === "ack") this.add(session, { seq: Number(seq), writer, n: Number(n) });
  }

  add(session: string, { seq, writer, n }: FoundMessage): void {
    const known = this.#sessions.get(session) ?? new Map<number, string>();
    this.#sessions.set(session, known);
    const name = `${writer} ${n}`;
    const before = known.get(seq);
    assert.ok(before === undefined || before === name, `seq ${seq} was acknowledged to ${before} and to ${name}`);
    if (before === undefined) this.count++;
    known.set(seq, name);
  }

  get sessions(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  missingFrom(session: string, found: readonly FoundMessage[]): readonly string[] {
    const there = new Map(found.map(({ seq, writer, n }) => [seq, `${writer} ${n}`]));
    const acknowledged = [...(this.#sessions.get(session) ?? [])];
    return acknowledged.filter(([seq, name]) => there.get(seq) !== name).map(([seq, name]) => `${seq}: ${name}`);
  }

  /** Every session whole, everything acknowledged there. */
  async compare(store: Holdfast): Promise<void> {
    for (const session of this.sessions) {
      const lost = this.missingFrom(session, await examine(store, session));
      assert.deepEqual(lost, [], `${lost.length} acknowledged messages are lost`);
    }
  }
}
