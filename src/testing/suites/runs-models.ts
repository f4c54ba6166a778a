// Model calls of runs: models given with the request, what is tried again and when, and calls whose answer was lost.
import assert from "node:assert/strict";
import type { Model } from "../../contracts/models.ts";
import type { RetryPolicy } from "../../contracts/steps.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, endedOnce, gate, NEEDS, type Nouns } from "./runs-agents.ts";

const QUICK: RetryPolicy = { attempts: 3, backoffMs: 1 };

/** A model that throws these, one after the other, and answers then. */
function failing(errors: readonly object[], retry = QUICK): Model & { readonly asked: number[] } {
  const asked: number[] = [];
  const left = [...errors];
  return {
    provider: "fake",
    model: "fake-1",
    retry,
    asked,
    call: () => {
      asked.push(Date.now());
      const error = left.shift();
      if (error !== undefined) throw Object.assign(new Error("no answer"), error);
      return { output: "yes", inputTokens: 1, outputTokens: 1, costUsd: 0.25 };
    },
  };
}

/** `asked` is the test's, no field of a model. */
const asModel = ({ provider, model, retry, call }: Model): Model => ({
  call,
  ...(provider === undefined ? {} : { provider }),
  ...(model === undefined ? {} : { model }),
  ...(retry === undefined ? {} : { retry }),
});

async function callsOf({ lineage }: Pick<Nouns, "lineage">, session: string) {
  return (await lineage.sessions.at(session)).calls();
}

export const modelCases: readonly Case[] = [
  prove("RU17 a model may be given with the request; the request is what is recorded", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const sent: unknown[] = [];
    const model: Model = {
      provider: "fake",
      model: "fake-1",
      call: (request) => {
        sent.push(request);
        return { output: { text: "hello" }, inputTokens: 3, outputTokens: 2, costUsd: 0.5 };
      },
    };
    const asks = agent(async (it) => {
      const { output, call } = await it.model({ kind: "context", first: 1 }, model);
      return it.done({ output, call });
    });
    const { value, run } = await runs.execute(asks, { session: "s" });
    assert.deepEqual(sent, [{ kind: "context", first: 1 }]);
    assert.deepEqual([run.tokens, run.costUsd], [5, 0.5]);
    const [step] = await runs.steps(run.id);
    assert.deepEqual([step?.kind, step?.name, step?.status], ["model", "model", "done"]);
    const [call, ...others] = await callsOf(nouns, "s");
    assert.deepEqual(others, []);
    assert.deepEqual([call?.provider, call?.model, call?.costUsd], ["fake", "fake-1", 0.5]);
    assert.deepEqual(value, { output: { text: "hello" }, call: call?.id });
    const wrong = agent(async (it) => it.done((await it.model("q", { call: "no function" } as never)).output));
    assert.equal((await runs.execute(wrong, { session: "t" })).error?.code, "InvalidArgument");
    await endedOnce(nouns, run);
  }),
  prove("RU17 a model is asked again where its error may pass, and not where it cannot", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const [name, error, tries] of [
      ...([408, 409, 425, 429, 500, 503, 529] as const).map((status) => [`${status}`, { status }, 2] as const),
      ...([400, 401, 403, 404, 413, 422] as const).map((status) => [`${status}`, { status }, 1] as const),
      ["broken", { code: "ECONNRESET" }, 2],
      ["final", { retryable: false, status: 503 }, 1],
      ["sdk-408", { statusCode: 408, isRetryable: true }, 2],
      ["sdk-500", { statusCode: 500, isRetryable: false }, 1],
    ] as const) {
      const model = failing([error]);
      const asks = agent(async (it) => it.done((await it.model("q", asModel(model))).output));
      const { status } = await runs.execute(asks, { session: name });
      assert.deepEqual([name, model.asked.length, status], [name, tries, tries === 1 ? "failed" : "completed"]);
      const calls = await callsOf(nouns, name);
      assert.deepEqual(
        calls.map((one) => [one.status, one.costUsd]),
        tries === 1
          ? [["failed", null]]
          : [
              ["failed", null],
              ["done", 0.25],
            ],
      );
    }
  }),
  prove("RU17 a model is left alone for as long as its error asks", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const [name, error] of [
      ["own", { status: 429, retryAfterMs: 120 }],
      ["headers", { status: 429, headers: new Headers({ "retry-after-ms": "120" }) }],
      ["seconds", { status: 503, responseHeaders: { "retry-after": "0.12" } }],
    ] as const) {
      const model = failing([error]);
      const asks = agent(async (it) => it.done((await it.model("q", asModel(model))).output));
      assert.equal((await runs.execute(asks, { session: name })).value, "yes");
      const [first, second] = model.asked;
      assert.ok(present(second) - present(first) >= 115, `${name}: ${present(second) - present(first)} ms`);
    }
    const model = failing([{ status: 429, retryAfterMs: 86_400_000 }]);
    const asks = agent(async (it) => it.done((await it.model("q", asModel(model))).output));
    assert.equal((await runs.execute(asks, { session: "day" })).status, "failed", "no worker waits for a day");
  }),
  prove(
    "RU6 a model call whose answer was lost is asked again, and stays as a call of unknown cost",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const held = gate();
      const asked: boolean[] = [];
      const asks = agent(async (it) => it.done((await it.model("q", "m")).call), {
        models: {
          m: {
            call: async (_, { again }) => {
              asked.push(again);
              await held.pass();
              return { output: "yes", costUsd: 0.25 };
            },
          },
        },
      });
      const { id } = await runs.start(asks, { session: "s" });
      await cutOff(runs, asks, id, held.reached);
      held.open();
      const { value, run } = await runs.resume(asks, id);
      assert.deepEqual(asked, [false, true]);
      const calls = await callsOf(nouns, "s");
      assert.deepEqual(calls.map(({ status, costUsd, model }) => [status, costUsd, model]).toSorted(), [
        ["done", 0.25, "m"],
        ["failed", null, "m"],
      ]);
      assert.equal(value, calls.find(({ status }) => status === "done")?.id);
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU17 a message names the model call that wrote it, also after a replay",
    [...NEEDS, "causes", "query"],
    async (nouns) => {
      const { runs, lineage, causes: causesOf, query } = nouns;
      const held = gate();
      const asks = agent(
        async (it) => {
          await it.message({ role: "user", content: "hi" });
          const reply = await it.model("q");
          const first = await it.message({ role: "assistant", content: "one" }, { call: reply.call });
          await it.tool("wait");
          const second = await it.message({ role: "assistant", content: "two" }, { call: reply.call });
          return it.done([reply.call, first.call ?? null, second.call ?? null, first.id, second.id]);
        },
        {
          models: { m: { call: () => ({ output: "yes" }) } },
          tools: { wait: { effect: "idempotent", execute: () => held.pass().then(() => null) } },
        },
      );
      const { id } = await runs.start(asks, { session: "s" });
      await cutOff(runs, asks, id, held.reached);
      held.open();
      const { value, run } = await runs.resume(asks, id);
      const [call, byFirst, bySecond, first, second] = value as readonly string[];
      assert.deepEqual([byFirst, bySecond], [call, call]);
      const [recorded] = await callsOf(nouns, "s");
      assert.equal(recorded?.id, call);
      for (const message of [first, second]) {
        assert.deepEqual(await lineage.calls.findByMessage(present(message)), recorded);
        const { event, causes } = await causesOf(present(message));
        assert.deepEqual(
          event.causes.filter(({ kind }) => kind === "call"),
          [{ kind: "call", id: call }],
        );
        assert.ok(causes.some((cause) => cause.id === call));
      }
      const found = await query("[:find ?m ?c :where [?m :message/call ?c]]");
      assert.deepEqual(
        (found as readonly unknown[]).toSorted(),
        [
          [first, call],
          [second, call],
        ].toSorted(),
      );
      const user = present((await nouns.history.session("s"))[0]);
      assert.equal(await lineage.calls.findByMessage(user.id), null);
      await refuses("NotFound", () => lineage.calls.findByMessage("s#9999"));
      await endedOnce(nouns, run);
    },
  ),
  prove("RU17 a message can only name a call of its own session that is there", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const says = (call: string) =>
      agent(async (it) => {
        const refused = await it.message({ role: "assistant", content: "x" }, { call }).catch((error) => error.code);
        await it.message({ role: "assistant", content: "y" });
        return it.done(refused);
      });
    assert.equal((await runs.execute(says("s#9999"), { session: "s" })).value, "NotFound");
    assert.equal((await runs.execute(says("other#1"), { session: "s" })).value, "InvalidArgument");
    const { value, run } = await runs.execute(says("nonsense"), { session: "s" });
    assert.equal(value, "InvalidArgument");
    await endedOnce(nouns, run);
  }),
];
