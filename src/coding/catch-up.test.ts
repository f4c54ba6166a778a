// A conversation that is behind its capture: whatever reads it or removes the capture imports the rest first.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Transcript } from "../../test/coding/transcripts.ts";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { NewCapture } from "../contracts/captures.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { importCaptured } from "./catch-up.ts";
import { digest } from "./conversation/digest.ts";
import { handover } from "./conversation/handover.ts";
import { conversationOfRequest } from "./conversation/request-conversations.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";

describe.each(ENGINES)("a capture that was not imported, on $name", (engine) => {
  let ground: EngineStore;
  let hf: Holdfast;
  let request = "";
  let n = 0;
  beforeAll(async () => {
    ground = await engine.fresh();
    hf = await open(ground.url);
  });
  beforeEach(() => {
    request = `r-${++n}`;
  });
  afterAll(async () => {
    await hf.close();
    await ground.end();
  });

  function save(t: Transcript, more: Partial<NewCapture> = {}) {
    const content = new TextEncoder().encode(t.text);
    const file = { role: "transcript", path: `project/${SESSION}.jsonl`, content, grows: true } as const;
    return hf.captures.save({ request, agent: "claude-code", sessionId: SESSION, cwd: "/w", files: [file], ...more });
  }

  function asked(...prompts: string[]): Transcript {
    const t = new Transcript();
    for (const prompt of prompts) {
      t.prompt(prompt);
      t.say(`answer to ${prompt}`);
    }
    return t;
  }

  const texts = async (session: string) => JSON.stringify(await hf.history.session(session));

  test("CA7 is in the handover and in the digest, also when nothing was ever imported", async () => {
    const { session } = await save(asked("one", "two"));
    expect(await handover(hf, session)).toContain("answer to two");
    const next = await save(asked("one", "two", "three"));
    expect(next.session).toBe(session);
    expect(await digest(hf, session)).toContain("answer to three");
    const last = await save(asked("one", "two", "three", "four"));
    expect(await conversationOfRequest(hf, request, "claude-code")).toBe(session);
    expect(await texts(last.session)).toContain("answer to four");
  });

  test("CA7 is imported once: what is in its session is not looked for again", async () => {
    const { session, id } = await save(asked("one"));
    await handover(hf, session);
    const { seq } = (await hf.log.read({ session })).at(-1) ?? {};
    await handover(hf, session);
    await digest(hf, session);
    await conversationOfRequest(hf, request);
    expect((await hf.log.read({ session })).at(-1)?.seq).toBe(seq);
    expect(await importCaptured(hf, { id })).toMatchObject({ messages: 0 });
  });

  test("CA5 CA7 outlives its capture, also one whose time is over", async () => {
    const { session, id } = await save(asked("one"));
    await hf.captures.expire(id, 1);
    expect(await handover(hf, session)).toContain("answer to one");
    const later = await save(asked("one", "two"));
    await hf.captures.expire(later.id, 1);
    const { removed } = await hf.captures.deleteExpired();
    expect(removed.filter((one) => one.id === later.id)).toEqual([{ id: later.id, request, sessionId: SESSION }]);
    expect(await texts(later.session)).toContain("answer to two");
  });

  test("CA5 is told when it could not be imported before its capture was removed", async () => {
    const main = await hf.sessions.create({});
    await hf.history.append({ session: main.id, agent: "a" }, { role: "user", content: "x" });
    const head = await hf.heads.publish(main.id);
    const fork = await hf.sessions.fork({ session: main.id, head: head.id });
    const { id } = await save(asked("one"), { session: fork.id });
    await hf.captures.expire(id, 1);
    const { removed } = await hf.captures.deleteExpired();
    expect(removed.find((one) => one.id === id)?.notImported).toContain("is a fork");
    expect(await hf.captures.get(id)).toBeNull();
  });

  test("CA8 beside the newest is a conversation of its own, and prefer imports both first", async () => {
    const newest = await save(asked("one", "two"));
    const beside = await save(asked("one", "other"), { basis: null, onConflict: "keep" });
    expect(beside).toMatchObject({ diverged: true });
    expect(beside.session).not.toBe(newest.session);
    await hf.captures.prefer(beside.id);
    expect(await texts(newest.session)).toContain("answer to two");
    expect(await texts(beside.session)).toContain("answer to other");
    expect(await conversationOfRequest(hf, request)).toBe(beside.session);
    await hf.captures.prefer(newest.id);
    expect(await conversationOfRequest(hf, request)).toBe(newest.session);
    expect((await hf.check()).issues).toEqual([]);
  });

  test("CA8 of many that are kept beside at once, each has a conversation of its own", async () => {
    await save(asked("one"));
    const all = await Promise.all(
      [1, 2, 3, 4].map((m) => save(asked("one", `other ${m}`), { basis: null, onConflict: "keep" })),
    );
    expect(new Set(all.map(({ session }) => session)).size).toBe(4);
    for (const [i, { session }] of all.entries())
      expect(await digest(hf, session)).toContain(`answer to other ${i + 1}`);
  });
});
