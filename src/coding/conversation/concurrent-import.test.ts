// Imports of one conversation that meet, through two handles on one store, as two processes have them.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixture, rich, type Transcript } from "../../../test/coding/transcripts.ts";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { open } from "../../open.ts";
import { range } from "../../testing/expect.ts";
import { readClaude, withSubagents } from "./claude.ts";
import { type Conversation, isAtRest } from "./conversation.ts";
import { importConversation } from "./import.ts";

const upTo = ({ lines }: Transcript, count: number) =>
  readClaude(
    lines
      .slice(0, count)
      .map((line) => `${line}\n`)
      .join(""),
  ).conversation;

function withSubagent(): Conversation {
  const id = "agent-af11a538400b63651";
  const meta = JSON.parse(fixture(`claude-2.1.325-${id}.meta.json`).toString());
  const { conversation } = readClaude(fixture(`claude-2.1.325-${id}.jsonl`));
  return withSubagents(readClaude(fixture("claude-2.1.325.jsonl")).conversation, [{ id, conversation, meta }]);
}

const turnsOf = ({ messages }: Conversation) => messages.filter(({ isPrompt }) => isPrompt).length;

/** The result of the imports, whichever of them did which part. */
async function sums(hf: Holdfast, session: string): Promise<unknown> {
  const view = await hf.sessions.at({ session });
  const [calls, turns, invocations] = [await view.calls(), await view.turns(), await view.invocations()];
  return {
    messages: (await hf.history.session(session)).map(({ key, role, content }) => ({ key, role, content })),
    calls: calls.map(({ status, responseRef, inputTokens }) => `${responseRef} ${status} ${inputTokens}`).toSorted(),
    turns: turns.map(({ status }) => status),
    invocations: invocations.map(({ status }) => status),
    children: await Promise.all(invocations.map(({ callee }) => sums(hf, callee ?? ""))),
  };
}

describe.each(ENGINES)("two imports at once on $name", (engine) => {
  let ground: EngineStore;
  let a: Holdfast;
  let b: Holdfast;
  let n = 0;
  beforeAll(async () => {
    ground = await engine.fresh();
    [a, b] = [await open(ground.url), await open(ground.url)];
  });
  afterAll(async () => {
    for (const hf of [a, b]) await hf.close();
    await ground.end();
  });

  const into = (hf: Holdfast, session: string, conversation: Conversation) =>
    importConversation(hf, conversation, { session, request: "r" });

  /** What one import makes of it. */
  async function expected(conversation: Conversation): Promise<unknown> {
    const session = `alone-${++n}`;
    await into(a, session, conversation);
    return sums(a, session);
  }

  test("CA7 of the same conversation add nothing twice, also where both begin it", async () => {
    const t = rich("same", 6);
    const all = upTo(t, t.lines.length);
    const wanted = await expected(all);
    for (const round of range(8)) {
      const session = `same-${++n}`;
      if (round % 2 === 0) await into(a, session, upTo(t, 15));
      await Promise.all([into(a, session, all), into(b, session, all), into(a, session, all)]);
      expect(await sums(b, session), `round ${round}`).toEqual(wanted);
    }
  });

  test("CA7 of increments that overlap come to what the longest is", async () => {
    const t = rich("more", 5);
    const wanted = await expected(upTo(t, t.lines.length));
    for (const round of range(5)) {
      const session = `more-${++n}`;
      const all = t.lines.length;
      const parts = (from: number) => range(6).map((i) => upTo(t, Math.min(all, from + i * 14)));
      const importStepwise = async (hf: Holdfast, from: number) => {
        for (const part of parts(from)) await into(hf, session, part);
      };
      await Promise.all([importStepwise(a, 3 + round), importStepwise(b, all - 70)]);
      expect(await sums(a, session), `round ${round}`).toEqual(wanted);
    }
  });

  test("CA7 of an older state leaves a turn open that another has begun for its next prompt", async () => {
    const t = rich("begun", 2);
    const wanted = await expected(upTo(t, t.lines.length));
    const counts = range(t.lines.length + 1);
    const older = counts.map((count) => upTo(t, count)).findLast((one) => isAtRest(one) && turnsOf(one) === 1);
    if (older === undefined) throw new Error("the transcript has no moment of rest between its turns");
    const session = `begun-${++n}`;
    await into(a, session, older);
    await b.turns.begin(session, { agent: older.agent });
    await into(a, session, older);
    await into(b, session, upTo(t, t.lines.length));
    expect(await sums(a, session)).toEqual(wanted);
  });

  test("CA7 with a sub-agent and a compaction have each of them once", async () => {
    const conversation = withSubagent();
    const wanted = await expected(conversation);
    for (const round of range(5)) {
      const session = `sub-${++n}`;
      await Promise.all([into(a, session, conversation), into(b, session, conversation)]);
      expect(await sums(a, session), `round ${round}`).toEqual(wanted);
    }
  });

  test("CA7 meet others who add to the session, and go on", async () => {
    const t = rich("noted", 4);
    const session = `noted-${++n}`;
    const importing = into(a, session, upTo(t, t.lines.length));
    for (const i of range(20)) await b.history.append({ session, agent: "someone" }, { role: "user", content: `${i}` });
    await importing;
    const keyed = (await a.history.session(session)).filter(({ key }) => key !== undefined);
    expect(keyed).toHaveLength(upTo(t, t.lines.length).messages.length);
    expect((await (await a.sessions.at({ session })).turns()).length).toBe(4);
    expect((await a.check()).issues).toEqual([]);
  });
});
