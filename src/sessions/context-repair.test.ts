// Repair turns any transcript, however broken, into one that every provider accepts, and does not change a valid one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContextMessage } from "../contracts/context.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import { cut, sum } from "./context-cut.ts";
import { EARLIER, INTERRUPTED, repair, repairFrom } from "./context-repair.ts";
import { estimate } from "./token-estimate.ts";

const id = fc.constantFrom("a", "b", "c", "a-2");
const word = fc.constantFrom("yes", "no", "perhaps");
const text = word.map((said): ContentBlock => ({ type: "text", text: said }));
const use = id.map((one): ContentBlock => ({ type: "tool_use", id: one, name: "look", input: { at: one } }));
const result = fc
  .tuple(id, fc.oneof(word, fc.array(fc.oneof(text, use), { maxLength: 2 })))
  .map(([toolUseId, content]): ContentBlock => ({ type: "tool_result", toolUseId, content }));

function messageOf(role: ContextMessage["role"], blocks: fc.Arbitrary<ContentBlock>): fc.Arbitrary<ContextMessage> {
  return fc
    .array(blocks, { minLength: 1, maxLength: 4 })
    .map((content) => ({ id: "s#1", agent: "ada", role, content: structuredClone(content), repaired: false }));
}

const transcript = fc.array(
  fc.oneof(
    messageOf("assistant", fc.oneof(text, use)),
    messageOf("tool", result),
    messageOf("user", fc.oneof(text, result)),
    messageOf("assistant", fc.oneof(text, use, result)),
    messageOf("user", fc.oneof(use, result)),
    messageOf("system", text),
  ),
  { maxLength: 12 },
);

const resultsIn = ({ content }: ContextMessage) => content.filter(({ type }) => type === "tool_result");

/** Why a provider would refuse the transcript. This check is independent of the repair. */
function fault(messages: readonly ContextMessage[]): string | null {
  const seen = new Set<string>();
  let answered = 0;
  for (const [i, { content }] of messages.entries()) {
    const calls = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    if (new Set([...seen, ...calls]).size < seen.size + calls.length) return `an id is used twice before ${i}`;
    for (const call of calls) seen.add(call);
    const waiting = new Set(calls);
    for (let next = i + 1; waiting.size > 0; next++) {
      const answer = messages[next];
      if (answer === undefined) return `nothing follows the call ${i}`;
      const leading = answer.content.findIndex(({ type }) => type !== "tool_result");
      const results = leading === -1 ? answer.content : answer.content.slice(0, leading);
      if (!["tool", "user"].includes(answer.role)) return `the ${answer.role} answers the call ${i}`;
      if (results.length === 0) return `something stands between the call ${i} and its results`;
      for (const block of results) {
        if (block.type !== "tool_result" || !waiting.delete(block.toolUseId)) return `a stray result behind ${i}`;
        answered += 1;
      }
      if (leading !== -1 && waiting.size > 0) return `something stands between results of ${i}`;
    }
  }
  const results = messages.flatMap(resultsIn).length;
  if (results !== answered) return `${results - answered} results without a call`;
  if (messages.some((one) => one.role === "tool" && resultsIn(one).length === 0)) return "a tool that has no result";
  return messages.some(({ content }) => content.length === 0) ? "an empty message" : null;
}

const fixed = (messages: readonly ContextMessage[]) => repair(messages).flat();

describe("repair", () => {
  test("SE8 any list of calls and results becomes one that every provider accepts", () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        expect(fault(fixed(messages))).toBeNull();
      }),
      { numRuns: 2000 },
    );
  });

  test("SE8 repair does not change a valid transcript, nor a repaired one", () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const once = fixed(messages);
        const twice = fixed(once);
        expect(twice).toEqual(once);
        expect(twice.every((message, i) => message === once[i])).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test("SE8 repair keeps every call in order, and all texts and results", () => {
    const names = (messages: readonly ContextMessage[]) =>
      messages.flatMap(({ content }) =>
        content.flatMap((b) => (b.type === "tool_use" ? [JSON.stringify(b.input)] : [])),
      );
    const texts = (messages: readonly ContextMessage[]) =>
      messages
        .flatMap(({ content }) => content.flatMap((block) => contentsOf(block)))
        .filter((one) => one !== INTERRUPTED && one !== "")
        .sort();
    const contentsOf = (block: ContentBlock): readonly string[] => {
      if (block.type === "text") return [block.text.replace(EARLIER, "").trim()];
      if (block.type !== "tool_result") return [];
      return typeof block.content === "string" ? [block.content] : block.content.flatMap(contentsOf);
    };
    fc.assert(
      fc.property(transcript, (messages) => {
        expect(names(fixed(messages))).toEqual(names(messages));
        expect(texts(fixed(messages))).toEqual(texts(messages));
      }),
      { numRuns: 1000 },
    );
  });

  /** Tries every cut, the longest first, with the whole transcript in memory. */
  function naive(messages: readonly ContextMessage[], room: number, count = estimate) {
    const { units, starts } = repairFrom(messages, messages.length);
    for (let first = 0; ; first++) {
      const from = first === 0 ? 0 : (starts[first] ?? messages.length);
      const kept = repairFrom(messages, from).units.slice(first).flat();
      const fits = sum(kept, count) <= room && sum(units.slice(first).flat(), count) <= room;
      if (fits || kept.length === 0) return { messages: kept, leftOut: from };
    }
  }

  test("SE8 what a budget leaves does not depend on how much of the past was read, once that is settled", () => {
    let settled = 0;
    fc.assert(
      fc.property(transcript, fc.nat(60), fc.nat(12), (messages, room, skipped) => {
        const whole = cut(messages, room, estimate);
        const part = cut(messages.slice(skipped), room, estimate);
        if (!part.isSettled) return;
        settled += 1;
        expect(part.messages).toEqual(whole.messages);
        expect(part.leftOut + Math.min(skipped, messages.length)).toBe(whole.leftOut);
      }),
      { numRuns: 5000 },
    );
    expect(settled).toBeGreaterThan(500);
  });

  test("SE8 without a second use of an id, a budget keeps the end of the whole context", () => {
    fc.assert(
      fc.property(transcript, fc.nat(200), (messages, room) => {
        const ids = messages.flatMap(({ content }) => content.flatMap((b) => (b.type === "tool_use" ? [b.id] : [])));
        if (new Set(ids).size < ids.length) return;
        const all = repair(messages).flat();
        const { messages: kept } = cut(messages, room, estimate);
        expect(kept).toEqual(all.slice(all.length - kept.length));
      }),
      { numRuns: 1000 },
    );
  });

  test("SE8 what a budget leaves is valid and the newest, and the rest is counted", () => {
    const summary: ContextMessage = { id: "s#9", agent: "ada", role: "user", content: [], repaired: false };
    fc.assert(
      fc.property(transcript, fc.nat(200), fc.boolean(), (messages, budget, compacted) => {
        const room = budget - (compacted ? estimate(summary) : 0);
        const part = cut(messages, room, estimate);
        const tokens = sum(part.messages, estimate);
        expect(fault(part.messages)).toBeNull();
        expect(tokens <= room || part.messages.length === 0).toBe(true);
        expect(part).toMatchObject(naive(messages, room));
      }),
      { numRuns: 1000 },
    );
  });

  const again = fc.array(fc.tuple(fc.constantFrom("a", "a", "a", "a-2", "a-3", "b"), fc.boolean()), {
    minLength: 20,
    maxLength: 120,
    size: "max" as const,
  });
  const conversationWith = (calls: readonly (readonly [id: string, isAnswered: boolean])[]) =>
    calls.flatMap(([id, isAnswered]): readonly ContextMessage[] => {
      const from = { id: "s#1", agent: "ada", repaired: false } as const;
      const use: ContentBlock = { type: "tool_use", id, name: "x", input: {} };
      const result: ContentBlock = { type: "tool_result", toolUseId: id, content: "r" };
      const answer: ContextMessage = { ...from, role: "tool", content: [result] };
      return [{ ...from, role: "assistant", content: [use] }, ...(isAnswered ? [answer] : [])];
    });
  /** One token per byte, so that every longer id counts. */
  const bytesOf = ({ content }: ContextMessage) => JSON.stringify(content).length;

  test("SE8 where ids are used again and again, a budget leaves out no more than it must", () => {
    let shortened = 0;
    fc.assert(
      fc.property(again, fc.double({ min: 0, max: 1, noNaN: true }), (calls, share) => {
        const messages = conversationWith(calls);
        const room = Math.floor(sum(repair(messages).flat(), bytesOf) * share);
        const expected = naive(messages, room, bytesOf);
        expect(cut(messages, room, bytesOf)).toMatchObject(expected);
        const { units, starts } = repairFrom(messages, messages.length);
        const next = starts.indexOf(expected.leftOut) - 1;
        if (next >= 0 && sum(units.slice(next).flat(), bytesOf) <= room) shortened += 1;
      }),
      { numRuns: 200 },
    );
    expect(shortened).toBeGreaterThan(3);
  });

  test("SE8 with an id that is used thousands of times, a budget reads each message only a few times", () => {
    const messages = conversationWith(Array.from({ length: 3000 }, () => ["a", true] as const));
    const stored = sum(repairFrom(messages, messages.length).units.flat(), bytesOf);
    let looks = 0;
    const counting = (message: ContextMessage) => {
      looks += 1;
      return bytesOf(message);
    };
    const { leftOut } = cut(messages, stored, counting);
    expect(leftOut).toBeGreaterThan(200);
    expect(looks).toBeLessThan(40 * messages.length);
  });

  // Comparing each call of the id with all others would exceed the time limit of a test.
  test("SE8 with an id that one message uses a hundred thousand times, each call and result is read once", () => {
    const ids = Array.from({ length: 100_000 }, (_, n) => n);
    const calls = ids.map((n): ContentBlock => ({ type: "tool_use", id: "a", name: "look", input: { n } }));
    const answers = ids.map((n): ContentBlock => ({ type: "tool_result", toolUseId: "a", content: `${n}` }));
    const one = { id: "s#1", agent: "ada", repaired: false } as const;
    const [shown] = repair([
      { ...one, role: "assistant", content: calls },
      { ...one, role: "tool", content: answers },
    ]);
    const last = (at: number) => shown?.[at]?.content.at(-1);
    expect(last(0)).toMatchObject({ id: "a-100000", input: { n: 99_999 } });
    expect(last(1)).toMatchObject({ toolUseId: "a-100000", content: "99999" });
  });

  test("SE8 the estimate is the documented one", () => {
    const message = (content: readonly ContentBlock[]): ContextMessage => ({
      id: null,
      agent: null,
      role: "user",
      content,
      repaired: false,
    });
    expect(estimate(message([]))).toBe(4);
    expect(estimate(message([{ type: "text", text: "12345678" }]))).toBe(6);
    expect(estimate(message([{ type: "text", text: "ééé" }]))).toBe(6);
    expect(estimate(message([{ type: "image", source: { url: "https://example.com/a.png" } }]))).toBe(1004);
    const inner: ContentBlock = { type: "tool_result", toolUseId: "call", content: [{ type: "text", text: "1234" }] };
    expect(estimate(message([inner]))).toBe(6);
    expect(estimate(message([{ type: "tool_use", id: "ab", name: "cd", input: {} }]))).toBe(6);
  });
});
