// An import never wedges: whatever the agent went back to and whatever others did to the session between two imports, the next
// one brings in the conversation as the transcript has it, each message and each call once.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { Transcript } from "../../../test/coding/transcripts.ts";
import { ENGINES, openOn } from "../../../test/engines.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { scaled } from "../../testing/scale.ts";
import { readClaude } from "./claude.ts";
import { importConversation } from "./import.ts";

const claude = (t: Transcript) => readClaude(t.text).conversation;

describe.each(ENGINES)("an import on $name", (engine) => {
  let hf: Holdfast;
  let n = 0;
  const to = () => ({ session: `again-${++n}`, request: "r" });
  beforeAll(async () => {
    const opened = await openOn(engine);
    hf = opened.hf;
    return opened.close;
  });

  const keys = async (session: string) => (await hf.history.session(session)).flatMap(({ key }) => key ?? []);

  /** The messages of the conversation, once each, and no call twice. */
  async function expectWhole(session: string, t: Transcript): Promise<void> {
    expect(await keys(session)).toEqual(claude(t).messages.map(({ key }) => key));
    const calls = await (await hf.sessions.at({ session })).calls();
    const refs = calls.flatMap(({ responseRef }) => responseRef ?? []);
    expect(new Set(refs).size).toBe(refs.length);
  }

  test("CA7 goes on where the agent went back into a turn that was ended meanwhile", async () => {
    const t = new Transcript("wedge");
    t.prompt("one");
    const [use = ""] = t.answer([{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "sleep 8" } }]);
    const at = to();
    await importConversation(hf, claude(t), at); // in mid-turn
    t.result("toolu_1", "interrupted"); // another agent goes on, and ends both turns
    t.prompt("two");
    t.say("second");
    await importConversation(hf, claude(t), at);
    t.result("toolu_1", "woken", use); // the first one works on to its end
    t.say("first");
    for (const prompt of ["three", "four"]) {
      await importConversation(hf, claude(t), at);
      await expectWhole(at.session, t);
      t.prompt(prompt);
      t.say(`answer to ${prompt}`);
    }
    await importConversation(hf, claude(t), at);
    await expectWhole(at.session, t);
    const turns = await (await hf.sessions.at({ session: at.session })).turns();
    expect(turns.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    expect((await hf.check()).issues).toEqual([]);
  });

  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("prompt", "say", "tools", "import") },
    { weight: 2, arbitrary: fc.nat(50).map((back) => ({ back })) },
    { weight: 1, arbitrary: fc.constantFrom("finish", "abort", "begin", "publish", "append") },
    { weight: 1, arbitrary: fc.nat(20).map((head) => ({ head })) },
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  test("CA7 brings the conversation in, whatever was done to the session before", async () => {
    const numRuns = engine.name === "sqlite" ? scaled({ short: 30, long: 600 }) : scaled({ short: 8, long: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps: readonly Step[]) => {
        const at = to();
        const t = new Transcript(at.session);
        t.prompt("first");
        await importConversation(hf, claude(t), at);
        for (const one of steps) await take(one, t, at);
        t.say("last");
        await importConversation(hf, claude(t), at);
        await expectWhole(at.session, t);
        expect(await importConversation(hf, claude(t), at)).toMatchObject({ messages: 0, calls: 0, rewound: false });
      }),
      { numRuns },
    );
    expect((await hf.check()).issues).toEqual([]);
  });

  async function take(one: Step, t: Transcript, at: { session: string; request: string }): Promise<void> {
    const { session } = at;
    if (typeof one === "object") {
      if ("back" in one) {
        const uuids = claude(t).messages.map(({ key }) => key);
        t.leaf = uuids[one.back % uuids.length] ?? null;
        return;
      }
      const { items } = await hf.heads.list({ session });
      const head = items.filter(({ status }) => status === "complete")[one.head % items.length];
      if (head !== undefined) await hf.sessions.resume({ session, head: head.id });
      return;
    }
    if (one === "prompt") t.prompt(`prompt ${t.lines.length}`);
    else if (one === "say") t.say(`answer ${t.lines.length}`);
    else if (one === "tools") t.tools("Bash", "Read");
    else if (one === "import") await importConversation(hf, claude(t), at);
    else if (one === "begin") await hf.turns.begin(session);
    else if (one === "publish") await hf.heads.publish(session);
    else if (one === "append")
      await hf.history.append({ session, agent: "person" }, { role: "user", content: "aside" });
    else {
      const turns = await (await hf.sessions.at({ session })).turns();
      const turn = turns.findLast(({ status }) => status === "open");
      // One that the session has left cannot be ended any more.
      if (turn !== undefined) await hf.turns[one](turn.id).catch(() => undefined);
    }
  }
});
