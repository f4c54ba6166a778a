// A context that is read from the newest message back equals the context made from the whole past. The transcripts are
// longer than a page, have several agents and tools whose results are far from their calls, and go over forks, clears
// and compactions.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { MessageInput } from "../contracts/messages.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { findAt } from "../core/session-lookup.ts";
import { open } from "../open.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { scaled } from "../testing/scale.ts";
import { contextAt } from "./context.ts";
import { cut, sum } from "./context-cut.ts";
import { estimate } from "./token-estimate.ts";

const AGENTS = ["ada", "ben"] as const;
const tool = fc.constantFrom("a", "b", "c");
const message: fc.Arbitrary<MessageInput> = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40).map((n): MessageInput => ({ role: "user", content: "x".repeat(n + 1) })) },
  {
    weight: 2,
    arbitrary: tool.map(
      (id): MessageInput => ({ role: "assistant", content: [{ type: "tool_use", id, name: "look", input: {} }] }),
    ),
  },
  {
    weight: 2,
    arbitrary: tool.map(
      (toolUseId): MessageInput => ({ role: "tool", content: [{ type: "tool_result", toolUseId, content: "done" }] }),
    ),
  },
);

type Step =
  | {
      readonly kind: "say";
      readonly agent: (typeof AGENTS)[number];
      readonly run: string;
      readonly said: MessageInput[];
    }
  | { readonly kind: "compact"; readonly keep: number }
  | { readonly kind: "fork" }
  | { readonly kind: "clear"; readonly agent: (typeof AGENTS)[number] }
  | { readonly kind: "clearRun"; readonly agent: (typeof AGENTS)[number]; readonly run: string }
  | { readonly kind: "resume" };

const agent = fc.constantFrom(...AGENTS);
const run = fc.constantFrom("r1", "r2");
const said = fc.array(message, { minLength: 1, maxLength: 90, size: "max" });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("say" as const), agent, run, said }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("compact" as const), keep: fc.nat(80) }) },
  { weight: 2, arbitrary: fc.constant({ kind: "fork" } as const) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const), agent }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clearRun" as const), agent, run }) },
  { weight: 1, arbitrary: fc.constant({ kind: "resume" } as const) },
);

let stores = 0;

/** Returns the session in which the steps end. */
async function play(hf: Holdfast, steps: readonly Step[]): Promise<string> {
  let session = `s${stores++}`;
  await hf.sessions.create({ id: session });
  for (const one of steps) {
    if (one.kind === "say") await hf.history.appendMany({ session, agent: one.agent }, one.said, { run: one.run });
    else if (one.kind === "fork") session = (await hf.sessions.fork(session, { id: `s${stores++}` })).id;
    else if (one.kind === "clear") await hf.history.clear({ session, agent: one.agent });
    else if (one.kind === "clearRun") await hf.history.clearRun({ session, agent: one.agent }, one.run);
    else if (one.kind === "resume") await hf.sessions.resume(session);
    else await hf.heads.compact(session, { agent: "ada", summary: "in short", keep: one.keep }).catch(() => undefined);
  }
  return session;
}

/** The expected messages: reads all of them, and removes those that a compaction covers. */
async function stored(hf: Holdfast, session: string, who: string | undefined) {
  const { compaction } = await hf.sessions.context(session);
  const all = await (await hf.sessions.at(session)).messages();
  const ids = all.map(({ id }) => id);
  const live = all
    .slice(compaction === null ? 0 : ids.indexOf(compaction.upTo) + 1)
    .filter((one) => !("erased" in one));
  const plain = live.map((one) => {
    if ("erased" in one) throw new Error("bug: it was left out");
    const { id, agent, role, content } = one;
    return { id, agent, role, content, repaired: false } satisfies ContextMessage;
  });
  const summary = plain.find(({ id }) => id === compaction?.summary);
  const over = compaction?.over ?? [];
  const messages = plain.filter(
    (one) => one !== summary && !over.includes(one.id) && (who === undefined || one.agent === who),
  );
  return { summary, messages, isWhole: compaction === null || ids.includes(compaction.upTo) };
}

for (const engine of ENGINES) {
  describe(`contexts on ${engine.name}`, () => {
    test("SE8 a context read from the newest message back equals that of the whole past, and counts what it leaves out", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url, { durability: "normal" });
      let [compared, left, compacted] = [0, 0, 0];
      const numRuns = scaled(engine.name === "sqlite" ? { short: 60, long: 150 } : { short: 20, long: 40 });
      try {
        await fc.assert(
          fc.asyncProperty(
            fc.array(step, { minLength: 1, maxLength: 10, size: "max" }),
            fc.array(fc.nat(4000), { minLength: 3, maxLength: 3 }),
            async (steps, budgets) => {
              const session = await play(hf, steps);
              for (const who of [undefined, ...AGENTS]) {
                const { summary, messages, isWhole } = await stored(hf, session, who);
                // The messages that a compaction covers may have been cleared, so the remaining messages do not show
                // where it ended.
                if (!isWhole) continue;
                const first = summary === undefined ? [] : [summary];
                for (const budget of [0, ...budgets]) {
                  const got = await hf.sessions.context(
                    session,
                    who === undefined ? { budget } : { budget, agent: who },
                  );
                  const expected = cut(messages, budget - sum(first, estimate), estimate);
                  expect(got.messages).toEqual([...first, ...expected.messages]);
                  expect(got.leftOut).toEqual({ messages: expected.leftOut });
                  expect(got.tokens).toBe(sum(got.messages, estimate));
                  compared += 1;
                  left += expected.leftOut > 64 ? 1 : 0;
                  compacted += first.length;
                }
              }
            },
          ),
          { numRuns },
        );
      } finally {
        await hf.close();
        await ground.end();
      }
      // Fewer generated sessions have fewer long ones among them.
      expect([compared > 100, left > numRuns / 10, compacted > 10]).toEqual([true, true, true]);
    }, 240_000);

    test("ST11 a budget reads only the end of a long past, in bounded pages", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url, { durability: "normal" });
      try {
        const one: MessageInput = { role: "user", content: "a text of forty characters, or about that" };
        await hf.history.appendMany({ session: "long", agent: "ada" }, Array<MessageInput>(5000).fill(one));
        const noSystem = () => Promise.reject(new Error("no blocks were asked for"));
        const storage = new SqlStorage(ground.driver, realEnvironment());
        const pages: number[] = [];
        const watched = watching(storage, pages);
        const found = await findAt(watched, { session: "long" });
        const context = await contextAt(watched, createPayloads(watched), found, { budget: 1500 }, noSystem);
        expect(context.messages.length).toBeGreaterThan(90);
        expect(context.leftOut.messages).toBe(5000 - context.messages.length);
        expect(pages.reduce((total, n) => total + n, 0)).toBeLessThan(3 * context.messages.length);
        pages.length = 0;
        await contextAt(watched, createPayloads(watched), found, { budget: 1_000_000 }, noSystem);
        expect(Math.max(...pages)).toBeLessThanOrEqual(2048);
      } finally {
        await hf.close();
        await ground.end();
      }
    });
  });
}

/** Records how many rows each read returned. */
function watching(storage: SqlStorage, pages: number[]): Storage {
  const query: Storage["query"] = async (name, params) => {
    const rows = await storage.query(name, params);
    pages.push(rows.length);
    return rows;
  };
  return new Proxy(storage, { get: (one, name) => (name === "query" ? query : Reflect.get(one, name, one)) });
}
