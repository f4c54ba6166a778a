// persistentQuery() around a query that is played: what the SDK is told, what is captured when, and that nothing of ours
// changes what the agent says.
import { describe, expect, test } from "vitest";
import type { SessionStore } from "../../contracts/session-store.ts";
import { open } from "../../open.ts";
import { simulatedEnvironment } from "../../testing/environment.ts";
import {
  type CaptureMoment,
  claudeSessionStore,
  type PersistentQueryInput,
  persistentQuery,
  type QueryProblem,
} from "./entry.ts";

type SdkMessage = Readonly<Record<string, unknown>>;
type Options = { resume?: string; continue?: boolean; enableFileCheckpointing?: boolean; model?: string } & {
  sessionStore?: SessionStore;
  sessionStoreFlush?: "batched" | "eager";
};
type Query = (input: { prompt: string; options?: Options }) => AsyncGenerator<SdkMessage, void>;

const INIT = { type: "system", subtype: "init", session_id: "s1" };
const ANSWER = { type: "assistant", session_id: "s1" };
const RESULT = { type: "result", subtype: "success", session_id: "s1" };
const KEY = { projectKey: "-a", sessionId: "s1" };

/** Plays the lines; what is a function is done in between. */
function played(lines: readonly (SdkMessage | (() => Promise<void>))[]) {
  const told: { prompt: string; options?: Options }[] = [];
  const query: Query = (input) => {
    told.push(input);
    return (async function* () {
      for (const line of lines) {
        if (typeof line === "function") await line();
        else yield line;
      }
    })();
  };
  return { query, told };
}

async function all(messages: AsyncIterable<SdkMessage>): Promise<SdkMessage[]> {
  const found: SdkMessage[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

async function inStore<T>(work: (hf: Awaited<ReturnType<typeof open>>) => Promise<T>): Promise<T> {
  const hf = await open(":memory:");
  try {
    return await work(hf);
  } finally {
    await hf.close();
  }
}

type QueryInput = Partial<Omit<PersistentQueryInput<Query>, "hf">>;

/** What it says, and what the SDK was told, with the lines played. */
async function run(lines: Parameters<typeof played>[0], given: QueryInput = {}) {
  return inStore(async (hf) => {
    const { query, told } = played(lines);
    const messages = await all(persistentQuery({ hf, query, prompt: "go", onProblem: () => undefined, ...given }));
    return { messages, told: told[0] };
  });
}

describe("what the SDK is told", () => {
  test("CA14 a session that was restored is resumed, and nothing else is", async () => {
    const options: Options = { resume: "other", continue: true, model: "m" };
    const restored = await run([INIT, RESULT], { options, restore: async () => ({ sessionId: "s1" }) });
    expect(restored.told?.options).toMatchObject({ resume: "s1", model: "m", sessionStoreFlush: "eager" });
    expect(restored.told?.options).not.toHaveProperty("continue");
    for (const restore of [async () => null, async () => Promise.reject(new Error("damaged"))]) {
      const fresh = await run([INIT, RESULT], { options, restore, onProblem: () => undefined });
      expect(fresh.told?.options).toMatchObject({ model: "m" });
      expect(fresh.told?.options).not.toHaveProperty("resume");
      expect(fresh.told?.options).not.toHaveProperty("continue");
    }
    expect((await run([INIT], { options })).told?.options).toMatchObject({ resume: "other", continue: true });
  });

  test("CA14 the caller is told what was restored, before the prompt is made, and why it was not", async () => {
    const starts: unknown[] = [];
    const problems: unknown[] = [];
    const prompt = ({ resumed }: { resumed: string | null }) => (resumed === null ? "all of it" : "go on");
    const given = {
      prompt,
      onStart: (start: unknown) => starts.push(start),
      onProblem: (one: unknown) => problems.push(one),
    };
    expect((await run([INIT], { ...given, restore: async () => ({ sessionId: "s1" }) })).told?.prompt).toBe("go on");
    const error = new Error("damaged");
    expect((await run([INIT], { ...given, restore: () => Promise.reject(error) })).told?.prompt).toBe("all of it");
    expect(starts).toEqual([
      { resumed: "s1", mirrored: true },
      { resumed: null, mirrored: true },
    ]);
    expect(problems).toEqual([{ during: "restore", error }]);
  });

  test("CA14 entries go to the store, which gives none back", async () => {
    await inStore(async (hf) => {
      const entries = [{ type: "user", uuid: "u1" }];
      const { query, told } = played([INIT, async () => told[0]?.options?.sessionStore?.append(KEY, entries), RESULT]);
      await all(persistentQuery({ hf, query, prompt: "go", request: "r1" }));
      expect(await told[0]?.options?.sessionStore?.load(KEY)).toBeNull();
      expect(await claudeSessionStore(hf).load(KEY)).toEqual(entries);
      expect((await hf.sessions.list({ request: "r1" })).items).toHaveLength(1);
    });
  });

  test("CA14 a turn of which no entry came is told once", async () => {
    const problems: { during: string; error: unknown }[] = [];
    await run([INIT, RESULT, RESULT], { onProblem: (problem) => problems.push(problem) });
    expect(problems).toMatchObject([{ during: "mirror", error: { code: "InvalidArgument" } }]);
    const failed = await run([INIT, { type: "result" }], { options: { enableFileCheckpointing: true } });
    expect(failed.messages).toHaveLength(2);
    expect(problems).toHaveLength(1);
  });

  test("CA14 with file checkpoints there is no mirror, because the SDK refuses both together", async () => {
    const starts: unknown[] = [];
    const options = { enableFileCheckpointing: true };
    const { told } = await run([INIT], { options, onStart: (start) => starts.push(start) });
    expect(told?.options).not.toHaveProperty("sessionStore");
    expect(starts).toEqual([{ resumed: null, mirrored: false }]);
  });

  test("CA14 a store of the caller's own is refused", async () => {
    const given = { options: { sessionStore: { append: async () => undefined, load: async () => null } } };
    await expect(run([INIT], given)).rejects.toMatchObject({ code: "InvalidArgument" });
  });
});

describe("captures", () => {
  test("CA14 come after each result and at the end, and every message is passed on", async () => {
    const captured: string[] = [];
    const capture = async (sessionId: string, moment: CaptureMoment) => void captured.push(`${moment} ${sessionId}`);
    const forked = { ...INIT, session_id: "s2" };
    const lines = [INIT, ANSWER, RESULT, forked, { ...RESULT, session_id: "s2" }];
    const { messages } = await run(lines, { capture, captureEveryMs: 1e6 });
    expect(messages).toEqual(lines);
    expect(captured).toEqual(["result s1", "result s2", "exit s2"]);
  });

  test("CA14 come while it works, once for what happens in a while, and never two at a time", async () => {
    const environment = simulatedEnvironment(1);
    const captured: string[] = [];
    let atWork = 0;
    const capture = async (_: string, moment: CaptureMoment) => {
      expect(++atWork).toBe(1);
      captured.push(moment);
      await environment.sleep(500);
      atWork--;
    };
    const pass = () => environment.advance(2000);
    const lines = [INIT, ANSWER, ANSWER, pass, ANSWER, pass, ANSWER, async () => environment.advance(100), RESULT];
    const running = run(lines, { capture, captureEveryMs: 1000, environment });
    for (let i = 0; i < 40; i++) await environment.advance(i < 20 ? 0 : 1000);
    await running;
    expect(captured).toEqual(["entry", "entry", "result", "exit"]);
  });

  test("CA14 that fail are told, and change nothing", async () => {
    const problems: QueryProblem[] = [];
    const error = new Error("disk full");
    const onProblem = (problem: QueryProblem) => {
      problems.push(problem);
      throw new Error("the callback fails too");
    };
    const lines = [INIT, RESULT];
    const { messages } = await run(lines, { capture: () => Promise.reject(error), onProblem, captureEveryMs: 1e6 });
    expect(messages).toEqual(lines);
    expect(problems.filter(({ during }) => during === "capture")).toEqual([
      { during: "capture", moment: "result", sessionId: "s1", error },
      { during: "capture", moment: "exit", sessionId: "s1", error },
    ]);
  });

  test("CA14 that never end are not waited for", async () => {
    const environment = simulatedEnvironment(1);
    const problems: string[] = [];
    const running = run([INIT, RESULT], {
      capture: () => new Promise(() => undefined),
      capturePatienceMs: 1000,
      environment,
      onProblem: ({ moment, error }) => moment && problems.push(`${moment}: ${(error as Error).message}`),
    });
    for (let i = 0; i < 20; i++) await environment.advance(500);
    expect((await running).messages).toHaveLength(2);
    expect(problems.map((text) => text.split(" within ")[0])).toEqual([
      "result: the capture did not end",
      "exit: the capture did not end",
    ]);
  });

  test("CA14 come at the end also when the agent fails or nobody listens any longer", async () => {
    const captured: string[] = [];
    const capture = async (_: string, moment: CaptureMoment) => void captured.push(moment);
    const failing = [INIT, () => Promise.reject(new Error("exited with code 1"))];
    await expect(run(failing, { capture, captureEveryMs: 1e6 })).rejects.toThrow("exited with code 1");
    expect(captured.splice(0)).toEqual(["exit"]);
    await inStore(async (hf) => {
      const { query } = played([INIT, ANSWER, RESULT]);
      for await (const _ of persistentQuery({ hf, query, prompt: "go", capture, captureEveryMs: 1e6 })) break;
    });
    expect(captured).toEqual(["exit"]);
  });

  test("CA14 are not asked for before the agent has said who it is", async () => {
    const captured: string[] = [];
    const capture = async (_: string, moment: CaptureMoment) => void captured.push(moment);
    await run([ANSWER, { type: "result", subtype: "error_during_execution" }], { capture });
    expect(captured).toEqual([]);
  });
});
