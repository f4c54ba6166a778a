// The suite of the history contract: what every HistoryProvider must keep. Parts: order and append here, ranges,
// content and erasure in the files beside.
import assert from "node:assert/strict";
import type { History } from "../../contracts/history.ts";
import type { Message, MessageInput } from "../../contracts/messages.ts";
import { noise, present, range, refuses, texts } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { historyContentCases } from "./history-content.ts";
import { historyErasureCases } from "./history-erasure.ts";
import { historyRangeCases } from "./history-range.ts";
import { historyRefsCases } from "./history-refs.ts";
import { historyRaceCases } from "./races.ts";

export function runHistorySuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [
    ...orderCases,
    ...callOrderCases,
    ...keyCases,
    ...historyRangeCases,
    ...historyContentCases,
    ...historyErasureCases,
    ...historyRefsCases,
    ...historyRaceCases,
  ];
  runCases(`history: ${name}`, cases, make, options);
}

const scope = { session: "chat", agent: "helper" };

function isIncreasing(seqs: readonly number[]): void {
  for (const [index, seq] of seqs.entries()) {
    assert.ok(Number.isSafeInteger(seq) && seq >= 1, `seq ${seq} is not a whole number from 1 on`);
    assert.ok(index === 0 || seq > (seqs[index - 1] ?? seq), `seq ${seq} does not follow ${seqs[index - 1]}`);
  }
}

const orderCases: readonly Case[] = [
  prove("HI1 an appended message says what it is", ["history"], async ({ history }) => {
    const message = await history.append(scope, { role: "user", content: "hi" });
    assert.equal(message.id, `chat#${message.seq}`);
    assert.equal(message.session, "chat");
    assert.equal(message.agent, "helper");
    assert.equal(message.role, "user");
    assert.deepEqual(message.content, [{ type: "text", text: "hi" }]);
    assert.match(message.ref, /^sha256:[0-9a-f]{64}$/);
    assert.ok(Number.isSafeInteger(message.at));
    assert.ok(!("run" in message) && !("key" in message) && !("metadata" in message), "what was not given is absent");
    assert.deepEqual(await history.get(scope), [message]);
  }),

  prove("HI1 messages come back oldest first with all that was given", ["history"], async ({ history }) => {
    const metadata = { model: "m-1", nested: { list: [1, null, "x"] } };
    const first = await history.append(scope, { role: "system", content: "be kind" });
    const second = await history.append(scope, { role: "user", content: "q", key: "k", metadata }, { run: "r1" });
    const third = await history.append(scope, { role: "assistant", content: "a" }, { run: "r1" });
    const read = await history.get(scope);
    assert.deepEqual(read, [first, second, third]);
    assert.equal(read[1]?.run, "r1");
    assert.equal(read[1]?.key, "k");
    assert.deepEqual(read[1]?.metadata, metadata);
    isIncreasing(read.map(({ seq }) => seq));
  }),

  prove(
    "ST7 a scope's mistake is named by its path, with the key that was probably meant",
    ["history"],
    async (nouns) => {
      const { history } = nouns;
      const hi = { role: "user", content: "hi" } as const;
      const mistakes: readonly (readonly [scope: object, message: string, hint: string | undefined])[] = [
        [{ session: "s" }, "scope.agent must be a string, not undefined", undefined],
        [{ session: 5, agent: "a" }, "scope.session must be a string, not 5", undefined],
        [{ session: "", agent: "a" }, "scope.session is empty", undefined],
        [
          { sesion: "s", agent: "a" },
          "scope.session must be a string, not undefined",
          'Did you mean "session" by "sesion"?',
        ],
        [
          { session: "s", agentId: "a" },
          "scope.agent must be a string, not undefined",
          'Did you mean "agent" by "agentId"?',
        ],
      ];
      for (const [wrong, message, hint] of mistakes) {
        for (const call of [
          () => history.append(wrong as typeof scope, hi),
          () => history.get(wrong as typeof scope),
        ]) {
          const error = await refuses(["InvalidArgument", "InvalidId"], call, JSON.stringify(wrong));
          assert.deepEqual([error.message, error.hint], [message, hint]);
        }
      }
    },
  ),

  prove("HI1 every role is kept", ["history"], async ({ history }) => {
    const roles = ["user", "assistant", "system", "tool", "developer"] as const;
    for (const role of roles) await history.append(scope, { role, content: role });
    assert.deepEqual(
      (await history.get(scope)).map(({ role }) => role),
      roles,
    );
  }),

  prove("HI1 an unknown session or agent has no messages", ["history"], async ({ history }) => {
    assert.deepEqual(await history.get(scope), []);
    assert.equal(await history.count(scope), 0);
    assert.deepEqual(await history.session("chat"), []);
    assert.deepEqual(await history.byAgent("helper"), []);
    await history.append(scope, { role: "user", content: "hi" });
    assert.deepEqual(await history.get({ session: "chat", agent: "other" }), []);
    assert.equal(await history.count({ session: "chat", agent: "other" }), 0);
  }),

  prove("HI1 agents of one session, and sessions of one agent, are apart", ["history"], async ({ history }) => {
    const places = ["s1", "s2"].flatMap((session) => ["a1", "a2"].map((agent) => ({ session, agent })));
    for (const round of [1, 2]) {
      for (const place of places) {
        await history.append(place, { role: "user", content: `${place.session} ${place.agent} ${round}` });
      }
    }
    for (const place of places) {
      const mine = [1, 2].map((round) => `${place.session} ${place.agent} ${round}`);
      assert.deepEqual(texts(await history.get(place)), mine);
      assert.equal(await history.count(place), 2);
    }
    assert.deepEqual(texts(await history.session("s1")), ["s1 a1 1", "s1 a2 1", "s1 a1 2", "s1 a2 2"]);
  }),

  prove("HI1 appendMany keeps the order and gives contiguous seqs", ["history"], async ({ history }) => {
    const inputs = range(500).map((n) => ({ role: "user" as const, content: `m${n}` }));
    const many = await history.appendMany(scope, inputs, { run: "bulk" });
    assert.deepEqual(
      texts(many),
      inputs.map(({ content }) => content),
    );
    const first = present(many[0]).seq;
    assert.deepEqual(
      many.map(({ seq }) => seq),
      range(500).map((n) => first + n),
    );
    assert.ok(many.every(({ run }) => run === "bulk"));
    assert.deepEqual(await history.get(scope), many);
  }),

  prove("HI1 appendMany of nothing adds nothing", ["history"], async ({ history }) => {
    assert.deepEqual(await history.appendMany(scope, []), []);
    assert.equal(await history.count(scope), 0);
  }),

  prove("ST2 appendMany is all or nothing", ["history"], async ({ history }) => {
    const good = { role: "user", content: "good" } as const;
    const bad = { role: "robot" as "user", content: "bad" };
    await refuses("InvalidArgument", () => history.appendMany(scope, [good, good, bad]));
    assert.deepEqual(await history.get(scope), []);
    await history.append(scope, { ...good, key: "k" });
    await refuses("Conflict", () => history.appendMany(scope, [good, { ...good, content: "else", key: "k" }]));
    assert.equal(await history.count(scope), 1);
  }),

  prove("LG1 seqs of messages are positions in the session's log", ["history", "log", "state"], async (nouns) => {
    const { history, log, state } = nouns;
    await history.append(scope, { role: "user", content: "one" });
    await state.set("chat", { between: true });
    await history.append({ ...scope, agent: "other" }, { role: "user", content: "two" });
    await state.patch("chat", { again: 1 });
    await history.append(scope, { role: "user", content: "three" });
    const events = await log.read("chat");
    assert.deepEqual(
      events.map(({ seq }) => seq),
      range(events.length).map((n) => n + 1),
    );
    const added = events.filter(({ type }) => type === "message/added").map(({ seq }) => seq);
    assert.deepEqual(
      (await history.session("chat")).map(({ seq }) => seq),
      added,
    );
  }),

  prove("HI1 64 appends at once keep their caller's order", ["history"], async ({ history }) => {
    await history.append(scope, { role: "user", content: "first" });
    const done = await Promise.all(range(64).map((n) => history.append(scope, { role: "user", content: `${n}` })));
    const first = present(done[0]).seq;
    assert.deepEqual(
      done.map(({ seq }) => seq),
      range(64).map((n) => first + n),
    );
    assert.deepEqual(texts(await history.get(scope)), ["first", ...range(64).map(String)]);
  }),

  prove(
    "HI1 appends of two handles at once lose nothing and keep each caller's order",
    ["history", "another"],
    async (nouns) => {
      const handles = [nouns.history, (await nouns.another()).history];
      const done = await Promise.all(
        handles.map((history, who) =>
          Promise.all(range(64).map((n) => history.append(scope, { role: "user", content: `${who}:${n}` }))),
        ),
      );
      for (const mine of done) isIncreasing(mine.map(({ seq }) => seq));
      for (const history of handles) {
        const read = await history.get(scope);
        const first = present(read[0]).seq;
        assert.deepEqual(
          read.map(({ seq }) => seq),
          range(128).map((n) => first + n),
        );
        for (const who of [0, 1]) {
          const mine = texts(read).filter((text) => text.startsWith(`${who}:`));
          assert.deepEqual(
            mine,
            range(64).map((n) => `${who}:${n}`),
          );
        }
      }
    },
  ),

  prove("HI1 64 sessions at once do not mix", ["history"], async ({ history }) => {
    const places = range(64).map((n) => ({ session: `s${n}`, agent: "a" }));
    await Promise.all(
      places.flatMap((place) => range(4).map((n) => history.append(place, { role: "user", content: `${n}` }))),
    );
    for (const place of places) assert.deepEqual(texts(await history.get(place)), ["0", "1", "2", "3"]);
  }),

  prove(
    "ST11 an acknowledged message is seen by every later read, also of others",
    ["history", "another"],
    async (nouns) => {
      const other = await nouns.another();
      for (const n of range(20)) {
        const written = await nouns.history.append(scope, { role: "user", content: `${n}` });
        assert.deepEqual(await nouns.history.get(scope, { last: 1 }), [written]);
        assert.deepEqual(await other.history.get(scope, { last: 1 }), [written]);
      }
    },
  ),
];

type Append = (history: History) => Promise<readonly Message[]>;

/** Appends of every kind, some of which are refused, each named for what it is. */
const KINDS: readonly ((n: number) => Append)[] = [
  (n) => one({ role: "user", content: `small ${n}` }),
  (n) => one({ role: "user", content: `keyed ${n}`, key: `k${n}` }),
  (n) => one({ role: "user", content: `large ${n} ${"x".repeat(1_200_000)}` }),
  (n) => one({ role: "user", content: `small ${n}` }),
  (n) => one({ role: "user", content: "taken", key: n % 2 === 0 ? "taken" : `k${n}` }),
  (n) => one({ role: "robot" as "user", content: `refused ${n}` }),
  (n) => one({ role: "user", content: `after a refused one ${n}` }),
  (n) => one({ role: "user", content: `large and keyed ${n} ${"y".repeat(1_200_000)}`, key: `l${n}` }),
  (n) =>
    many([
      { role: "user", content: `many ${n}` },
      { role: "user", content: `keyed of many ${n}`, key: `m${n}` },
    ]),
  (n) =>
    many([
      { role: "user", content: `many ${n}` },
      { role: "user", content: "plain" },
    ]),
  (n) => one({ role: "user", content: [{ type: "image", source: { data: noise(2_000, n), mediaType: "image/png" } }] }),
];

const one =
  (input: MessageInput): Append =>
  async (history) => [await history.append(scope, input)];
const many =
  (inputs: readonly MessageInput[]): Append =>
  (history) =>
    history.appendMany(scope, inputs);

const callOrderCases: readonly Case[] = [
  prove("HI1 appends of one tick of every kind keep their caller's order", ["history"], async ({ history }) => {
    await history.append(scope, { role: "user", content: "first, and else", key: "taken" });
    for (const step of [1, 3, 7]) {
      // Walked in different steps, so that each kind comes to stand behind each other one.
      const appends = range(KINDS.length * 2).map((n) => present(KINDS[(n * step) % KINDS.length])(step * 1000 + n));
      const done = await Promise.allSettled(appends.map((append) => append(history)));
      const seqs = done.flatMap((call) => (call.status === "fulfilled" ? call.value.map(({ seq }) => seq) : []));
      isIncreasing(seqs);
      assert.ok(
        done.some(({ status }) => status === "rejected"),
        "some of them are to fail",
      );
      assert.ok(seqs.length > KINDS.length, "most of them are to hold");
    }
  }),

  prove("HI1 keyed and unkeyed appends of a new session keep their caller's order", ["history"], async (nouns) => {
    const inputs = range(40).map((n) => ({
      role: "user" as const,
      content: `${n}`,
      ...(n % 3 === 0 ? { key: `k${n}` } : {}),
    }));
    const done = await Promise.all(inputs.map((input) => nouns.history.append(scope, input)));
    isIncreasing(done.map(({ seq }) => seq));
    assert.deepEqual(texts(await nouns.history.get(scope)), range(40).map(String));
  }),

  prove(
    "HI1 what is left of many keyed ones keeps its place before later appends",
    ["history"],
    async ({ history }) => {
      const keyed = (key: string) => ({ role: "user", content: key, key }) as const;
      const [first, rest, last] = await Promise.all([
        history.append(scope, keyed("a")),
        history.appendMany(scope, [keyed("a"), keyed("b")]),
        history.append(scope, { role: "user", content: "last" }),
      ]);
      assert.deepEqual(rest[0], first);
      isIncreasing([first.seq, present(rest[1]).seq, last.seq]);
    },
  ),
];

const keyCases: readonly Case[] = [
  prove("HI1 a caller's key makes append idempotent", ["history"], async ({ history }) => {
    const input = { role: "user", content: "pay once", key: "order-7", metadata: { n: 1 } } as const;
    const first = await history.append(scope, input);
    const again = await history.append(scope, input);
    assert.deepEqual(again, first);
    assert.equal(await history.count(scope), 1);
  }),

  prove("HI1 the same key with other content is a Conflict", ["history"], async ({ history }) => {
    const first = await history.append(scope, { role: "user", content: "one", key: "k" });
    await refuses("Conflict", () => history.append(scope, { role: "user", content: "two", key: "k" }));
    await refuses("Conflict", () => history.append(scope, { role: "assistant", content: "one", key: "k" }));
    await refuses("Conflict", () =>
      history.append(scope, { role: "user", content: "one", key: "k", metadata: { added: true } }),
    );
    const another = { ...scope, agent: "another" };
    await refuses("Conflict", () => history.append(another, { role: "user", content: "one", key: "k" }));
    await refuses("Conflict", () => history.append(scope, { role: "user", content: "one", key: "k" }, { run: "r" }));
    assert.deepEqual(await history.get(scope), [first]);
  }),

  prove("HI1 keys of different sessions are apart", ["history"], async ({ history }) => {
    await history.append(scope, { role: "user", content: "one", key: "k" });
    const other = await history.append({ ...scope, session: "chat-2" }, { role: "user", content: "two", key: "k" });
    assert.deepEqual(await history.get({ ...scope, session: "chat-2" }), [other]);
  }),

  prove("HI1 appendMany adds only the messages whose key is new", ["history"], async ({ history }) => {
    const input = (n: number) => ({ role: "user" as const, content: `m${n}`, key: `k${n}` });
    const first = await history.appendMany(scope, [input(0), input(1)]);
    const again = await history.appendMany(scope, [input(0), input(1), input(2), input(3)]);
    assert.deepEqual(again.slice(0, 2), first);
    assert.deepEqual(texts(again), ["m0", "m1", "m2", "m3"]);
    assert.deepEqual(texts(await history.get(scope)), ["m0", "m1", "m2", "m3"]);
  }),

  prove("HI1 one key appended 16 times at once is one message", ["history"], async ({ history }) => {
    const input = { role: "user", content: "once", key: "k" } as const;
    const done = await Promise.all(range(16).map(() => history.append(scope, input)));
    assert.equal(new Set(done.map(({ seq }) => seq)).size, 1);
    assert.equal(await history.count(scope), 1);
  }),

  prove("HI1 one key appended at once by two handles is one message", ["history", "another"], async (nouns) => {
    const handles = [nouns.history, (await nouns.another()).history];
    for (const round of range(10)) {
      const input = { role: "user", content: "once", key: `k${round}` } as const;
      const done = await Promise.all(handles.map((history) => history.append(scope, input)));
      assert.equal(done[0]?.seq, done[1]?.seq);
    }
    assert.equal(await nouns.history.count(scope), 10);
  }),

  prove("LG1 an append answered from its key writes no event", ["history", "log"], async ({ history, log }) => {
    const input = { role: "user", content: "once", key: "k" } as const;
    await history.append(scope, input);
    const before = await log.anchor("chat");
    await history.append(scope, input);
    assert.deepEqual(await log.anchor("chat"), before);
  }),
];
