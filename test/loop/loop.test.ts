// The tool loop on both engines: what it appends, records and tells the model, and how it goes on after what went wrong.
import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Json } from "../../src/contracts/json.ts";
import { tool, toolLoop } from "../../src/index.ts";
import { ModelError } from "../../src/models/failure.ts";
import { isLong } from "../../src/testing/scale.ts";
import { ENGINES } from "../engines.ts";
import { say, scripted, transcript, use, withStore } from "./scripted-model.ts";

const OBJECT = { type: "object" } as const;
/** A result that is stored whole. */
const LARGE = "x".repeat(40_000_000);
const base = { id: "support", version: "1", system: "Be brief." } as const;

function look(execute: (input: Json) => unknown = (input) => ({ seen: input })) {
  return tool({
    description: "looks",
    inputSchema: OBJECT,
    effect: "idempotent",
    execute: (input: Json) => execute(input) as Json,
  });
}

async function leafRequests(hf: Holdfast, session: string) {
  const view = await hf.sessions.at(session);
  const calls = await view.calls();
  return Promise.all(
    calls.map(async (call) => ({ ...call, request: await hf.blobs.resolveText(call.requestRef ?? "") })),
  );
}

describe.each(ENGINES)("tool loop on $name", (engine) => {
  const inStore = (work: (hf: Holdfast) => Promise<void>) => () => withStore(engine, work);

  test(
    "RU18 asks, calls tools, appends each message once, and ends with the model's last text",
    inStore(async (hf) => {
      const model = scripted([say("Looking."), use("t1", "look", { order: 7 })], "Order 7 is paid.");
      const loop = toolLoop({ ...base, model, tools: { look: look() } });
      const { value, status, run } = await hf.runs.execute(loop, { id: "r", session: "s", input: "Is order 7 paid?" });
      expect([status, value]).toEqual(["completed", { text: "Order 7 is paid.", finish: "stop" }]);
      expect(await transcript(hf, "s")).toEqual([
        "user: Is order 7 paid?",
        'assistant: Looking. | look({"order":7})',
        'tool: = {"seen":{"order":7}}',
        "assistant: Order 7 is paid.",
      ]);
      expect([run.iteration, run.tokens, run.costUsd]).toEqual([1, 30, 0.5]);
      expect(model.requests.map(({ system, messages, tools }) => [system, messages.length, tools])).toEqual(
        [1, 3].map((count) => ["Be brief.", count, [{ name: "look", description: "looks", inputSchema: OBJECT }]]),
      );
    }),
  );

  test(
    "RU18 records where the messages of a request are, not the messages",
    inStore(async (hf) => {
      const model = scripted(...Array.from({ length: 12 }, (_, i) => [use(`t${i}`, "look")]), "done");
      const loop = toolLoop({ ...base, model, tools: { look: look(() => "secret ".repeat(200)) } });
      await hf.runs.execute(loop, { id: "r", session: "s", input: "secret" });
      const calls = await leafRequests(hf, "s");
      expect(calls).toHaveLength(13);
      for (const [i, { request, provider, model: name, inputTokens, cachedTokens, costUsd }] of calls.entries()) {
        expect(JSON.parse(request)).toMatchObject({ kind: "context", rendered: false, count: 1 + 2 * i });
        expect(request.length).toBeLessThan(200);
        expect([provider, name, inputTokens, cachedTokens, costUsd]).toEqual(["scripted", "script", 10, 4, 0.25]);
      }
    }),
  );

  test(
    "RU18 a message says which model call wrote it",
    inStore(async (hf) => {
      const loop = toolLoop({ ...base, model: scripted("hello") });
      await hf.runs.execute(loop, { id: "r", session: "s", input: "hi" });
      const [call] = await leafRequests(hf, "s");
      const events = await hf.log.read("s");
      const written = events.filter(({ type, data }) => type.startsWith("message") && data.call !== undefined);
      expect(written.map(({ data }) => `s#${String(data.call)}`)).toEqual([call?.id]);
    }),
  );

  test(
    "RU18 what goes wrong with a tool call is told to the model, and the run goes on",
    inStore(async (hf) => {
      const calls = [
        use("t1", "lok"),
        use("t2", "look", { $invalid: '{"a' }),
        use("t3", "break"),
        use("t4", "look", { ok: 1 }),
        use("t5", "date"),
      ];
      const broken = tool({
        inputSchema: OBJECT,
        execute: (_: Json): Json => Promise.reject(new TypeError("out of paper")) as never,
      });
      const date = tool({ inputSchema: OBJECT, execute: (_: Json): Json => ({ at: new Date(0) }) as never });
      const model = scripted(calls, "sorry");
      const loop = toolLoop({ ...base, model, tools: { look: look(), break: broken, date } });
      const { value } = await hf.runs.execute(loop, { id: "r", session: "s", input: "go" });
      expect(value).toEqual({ text: "sorry", finish: "stop" });
      const [, , results] = await transcript(hf, "s");
      expect(results?.split(" | ")).toEqual([
        'tool: ! There is no tool "lok". The tools are: look, break, date.',
        '! The arguments are not a JSON object: {"a',
        "! TypeError: out of paper",
        '= {"seen":{"ok":1}}',
        expect.stringMatching(/^! The tool has done its work, but its result cannot be stored: .*JSON/),
      ]);
    }),
  );

  test(
    "RU18 results that the session cannot store are told to the model as errors, and a replay says the same",
    inStore(async (hf) => {
      const gone = `sha256:${"0".repeat(64)}`;
      const kept = await hf.blobs.store("a picture", { mediaType: "image/png" });
      const image = (ref: string) => [{ type: "image", source: { ref, mediaType: "image/png" } }];
      const results: Record<string, Json> = {
        gone: image(gone),
        kept: image(kept),
        small: "small",
        // Their sizes are judged above the engine.
        ...(isLong || engine.name === "sqlite" ? { large: LARGE, larger: "y".repeat(50_000_000) } : {}),
        many: Array.from({ length: 10_001 }, () => ({ type: "text", text: "z" })),
      };
      const give = tool({
        inputSchema: OBJECT,
        effect: "idempotent",
        execute: async ({ what }: { what: string }) => results[what] ?? null,
      });
      const uses = Object.keys(results).map((what) => use(what, "give", { what }));
      let asked = 0;
      const model = scripted(
        () => ({ content: uses, finish: "tools" }),
        () => {
          asked += 1;
          if (asked === 1) throw Object.assign(new Error("busy"), { status: 503 });
          return { content: [say("done")], finish: "stop" };
        },
      );
      const loop = toolLoop({ ...base, model: { ...model, retry: { attempts: 1 } }, tools: { give } });
      const run = { id: "r", session: "s", input: "go" };
      const TOO_LARGE = expect.stringMatching(
        /^! The tool has done its work, but its result cannot be stored: it has 500000\d\d bytes, /,
      );
      const expectTranscript = async () => {
        const [, , told] = await transcript(hf, "s");
        const shown = told?.replace(LARGE, "(large)").split(" | ") ?? [];
        expect(shown.map((line) => line.slice(0, 130))).toEqual([
          `tool: ! The tool has done its work, but its result cannot be stored: there is no blob ${gone}`.slice(0, 130),
          "= image",
          "= small",
          ...("large" in results ? ["= (large)", TOO_LARGE] : []),
          expect.stringMatching(/^! The tool has done its work, but its result cannot be stored: .*10001/),
        ]);
      };
      expect((await hf.runs.execute(loop, run)).status).toBe("failed");
      await expectTranscript();
      await hf.runs.retry("r");
      const { status } = await hf.runs.execute(loop, run);
      expect(status).toBe("completed");
      await expectTranscript();
    }),
  );

  test(
    "RU18 tools of one reply run together, no more at a time than allowed, results in order",
    inStore(async (hf) => {
      for (const [most, highest] of [
        [undefined, 5],
        [2, 2],
        [1, 1],
      ] as const) {
        let [now, peak] = [0, 0];
        const slow = tool({
          inputSchema: OBJECT,
          effect: "idempotent",
          execute: async ({ n }: { n: number }) => {
            peak = Math.max(peak, ++now);
            await new Promise((later) => setTimeout(later, 60 - 10 * n));
            now -= 1;
            return n;
          },
        });
        const calls = [0, 1, 2, 3, 4].map((n) => use(`t${n}`, "slow", { n }));
        const limit = most === undefined ? {} : { maxParallelTools: most };
        const loop = toolLoop({ ...base, model: scripted(calls, "ok"), tools: { slow }, ...limit });
        await hf.runs.execute(loop, { id: `r${most}`, session: `s${most}`, input: "go" });
        expect(peak).toBe(highest);
        expect((await transcript(hf, `s${most}`))[2]).toBe("tool: = 0 | = 1 | = 2 | = 3 | = 4");
      }
    }),
  );

  test(
    "RU18 a tool that needs a person waits for one; a refusal is told to the model",
    inStore(async (hf) => {
      const done: Json[] = [];
      const refund = tool({
        inputSchema: OBJECT,
        approve: true,
        execute: (input: Json) => {
          done.push(input);
          return "refunded";
        },
      });
      for (const [verdict, result] of [
        ["retry", "= refunded"],
        ["fail", "! Not done: a person refused it: too much"],
      ] as const) {
        const model = scripted([use("t1", "refund", { order: 7 }), use("t2", "look")], "ok");
        const loop = toolLoop({ ...base, model, tools: { refund, look: look(() => "seen") } });
        await hf.runs.start(loop, { id: verdict, session: verdict, input: "Refund order 7" });
        expect((await hf.runs.resume(loop, verdict)).status).toBe("waiting");
        expect(done).toHaveLength(verdict === "retry" ? 0 : 1);
        const [decision] = (await hf.runs.pending({ run: verdict })).items;
        expect(decision).toMatchObject({ reason: "approval", input: { order: 7 } });
        await hf.runs.answer(decision?.id ?? "", { verdict, note: "too much" });
        expect(await hf.runs.resume(loop, verdict)).toMatchObject({ status: "completed", value: { text: "ok" } });
        expect((await transcript(hf, verdict))[2]).toBe(`tool: ${result} | = seen`);
      }
      expect(done).toEqual([{ order: 7 }]);
    }),
  );

  test(
    "RU18 a failed request is tried again and counted; what remains fails the run, and retry continues it",
    inStore(async (hf) => {
      const busy = new ModelError("rate_limit_error", "busy", { status: 429, retryAfterMs: 5 });
      const bad = new ModelError("invalid_request_error", "bad", { status: 400, retryable: false });
      const model = scripted(busy, [use("t1", "look")], bad, "fine");
      const loop = toolLoop({ ...base, model, tools: { look: look(() => "seen") } });
      const failed = await hf.runs
        .execute(loop, { id: "r", session: "s", input: "go" })
        .catch((error: unknown) => error);
      expect(failed).toMatchObject({ status: "failed", error: { code: "invalid_request_error" } });
      const steps = await hf.runs.steps("r");
      expect(steps.filter(({ kind }) => kind === "model").map(({ attempt, status }) => [attempt, status])).toEqual([
        [1, "failed"],
        [2, "done"],
        [1, "failed"],
      ]);
      const { id } = await hf.runs.retry("r");
      expect(await hf.runs.resume(loop, id)).toMatchObject({ status: "completed", value: { text: "fine" } });
      expect(await transcript(hf, "s")).toEqual(["user: go", "assistant: look({})", "tool: = seen", "assistant: fine"]);
    }),
  );

  test(
    "RU18 limits end it: iterations, 100 when none are given, and tokens",
    inStore(async (hf) => {
      const model = scripted([use("t", "look")]);
      const loop = toolLoop({ ...base, model, tools: { look: look() } });
      expect(loop.limits).toEqual({ iterations: 100 });
      for (const [name, limits] of [
        ["iterations", { iterations: 3 }],
        ["tokens", { tokens: 40 }],
      ] as const) {
        const { run } = await hf.runs.execute(loop, { id: name, session: name, input: "go", limits });
        expect(run.stopReason).toBe(`limit:${name}`);
      }
    }),
  );

  test(
    "RU18 a watcher gets text as the model writes it",
    inStore(async (hf) => {
      const model = scripted((_, call) => {
        for (const text of ["Hel", "lo"]) call.token(text);
        return { content: [say("Hello")], finish: "stop" };
      });
      const heard: string[] = [];
      const stop = new AbortController();
      const listening = (async () => {
        for await (const { text } of hf.runs.tokens({ run: "r", signal: stop.signal })) heard.push(text);
      })();
      await hf.runs.execute(toolLoop({ ...base, model }), { id: "r", session: "s", input: "hi" });
      stop.abort();
      await listening;
      expect(heard).toEqual(["Hel", "lo"]);
    }),
  );

  test(
    "RU18 a turn that the provider paused goes on; an answer that was cut short says so",
    inStore(async (hf) => {
      const model = scripted(
        () => ({ content: [say("searching")], finish: "continue" }),
        () => ({ content: [say("found, but")], finish: "length" }),
      );
      const { value, run } = await hf.runs.execute(toolLoop({ ...base, model }), {
        id: "r",
        session: "s",
        input: "go",
      });
      expect([value, run.costUsd]).toEqual([{ text: "found, but", finish: "length" }, null]);
      expect(await transcript(hf, "s")).toEqual(["user: go", "assistant: searching", "assistant: found, but"]);
    }),
  );

  test(
    "RU18 input is a text, a message or several; the system prompt may be made of it",
    inStore(async (hf) => {
      const model = scripted("ok");
      const loop = toolLoop({ ...base, model, system: (input) => `asked: ${JSON.stringify(input)}` });
      const ref = await hf.blobs.store(new Uint8Array([1, 2, 3]), { mediaType: "image/png" });
      const image = { type: "image", source: { ref, mediaType: "image/png" } } as const;
      const several = [
        { role: "user", content: [image] },
        { role: "user", content: "what is it?" },
      ] as const;
      await hf.runs.execute(loop, { id: "r", session: "s", input: several });
      expect(await transcript(hf, "s")).toEqual(["user: image", "user: what is it?", "assistant: ok"]);
      expect(model.requests[0]?.system).toBe(`asked: ${JSON.stringify(several)}`);
      await hf.runs.execute(loop, { id: "r2", session: "s", input: { role: "developer", content: "Be kind." } });
      expect((await transcript(hf, "s")).slice(-2)).toEqual(["developer: Be kind.", "assistant: ok"]);
    }),
  );

  test(
    "RU18 a model reads the bytes that messages refer to",
    inStore(async (hf) => {
      const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
      const content = [{ type: "image", source: { data: bytes, mediaType: "image/png" } }] as const;
      await hf.history.append({ session: "s", agent: "eve" }, { role: "user", content });
      const read: Uint8Array[] = [];
      const loop = toolLoop({
        ...base,
        async model({ messages: [first] }, call) {
          const block = first?.content[0];
          if (block?.type === "image" && block.source.ref !== undefined)
            read.push(await call.readBlob(block.source.ref));
          return "a cat";
        },
      });
      await hf.runs.execute(loop, { id: "r", session: "s", input: "What is it?" });
      expect(read.map((one) => Buffer.compare(one, bytes))).toEqual([0]);
    }),
  );

  test(
    "RU18 SE8 the whole conversation is the context, with what was cut off repaired; or its own messages only",
    inStore(async (hf) => {
      await hf.history.appendMany({ session: "s", agent: "eve" }, [
        { role: "user", content: "before" },
        { role: "assistant", content: [use("t9", "look")] },
      ]);
      const [all, own] = [scripted("ok"), scripted("ok")];
      await hf.runs.execute(toolLoop({ ...base, model: all }), { id: "r1", session: "s", input: "go" });
      expect(all.requests[0]?.messages.map(({ role, repaired }) => [role, repaired])).toEqual([
        ["user", false],
        ["assistant", false],
        ["tool", true],
        ["user", false],
      ]);
      await hf.runs.execute(toolLoop({ ...base, model: own, ownMessagesOnly: true }), {
        id: "r2",
        session: "s",
        input: "on",
      });
      expect(
        own.requests[0]?.messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?")),
      ).toEqual(["go", "ok", "on"]);
    }),
  );
});
