// Sub-sessions: spawned and attached to, alone and in batches, and what stays of them when they fail or their process
// dies.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "history", "log"] as const;
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

const AGENT = "ada";

async function say({ history }: Nouns, session: string, ...words: readonly string[]): Promise<void> {
  await history.appendMany(
    { session, agent: AGENT },
    words.map((content) => ({ role: "user" as const, content })),
  );
}

async function shown({ history }: Nouns, session: string): Promise<readonly string[]> {
  const messages = await history.session(session);
  return messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?"));
}

async function verified(nouns: Nouns, ...sessions: readonly string[]): Promise<void> {
  for (const session of sessions) assert.equal((await nouns.log.verify(session)).ok, true);
}

/** Each of a ring of sessions continues the next, all at once; invocations on opposite sides share no session. */
async function closeCircle(
  nouns: Nouns,
  handles: readonly Pick<CaseContext["lineage"], "sessions">[],
  round: string,
  size: number,
): Promise<void> {
  const names = range(size).map((n) => `${round}.${n}`);
  for (const id of names) await nouns.sessions.create({ id });
  // Invocations that share no session go first in every other round.
  const order = range(size).toSorted((a, b) => (Number(round) % 2 === 0 ? 0 : (a % 2) - (b % 2)));
  const attached = await Promise.allSettled(
    order.map((n) =>
      present(handles[n % handles.length]).sessions.attach(present(names[(n + 1) % size]), {
        caller: present(names[n]),
        mode: "continue",
      }),
    ),
  );
  const refused = attached.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  assert.equal(refused.length, 1, `${refused.length} of ${size} were refused in round ${round}`);
  const error = await refuses("Conflict", () => Promise.reject(refused[0]));
  assert.equal(error.details.kind, "cycle");
}

const attachCases: readonly Case[] = [
  prove(
    "SE3 attach continues a session as it stands; a head that is not the current one is refused",
    NEEDS,
    async (nouns) => {
      const { sessions, heads, invocations } = nouns.lineage;
      await say(nouns, "caller", "do it");
      const before = await heads.publish("caller");
      await say(nouns, "helper", "one");
      const first = await heads.publish("helper");
      await say(nouns, "helper", "two");
      const second = await heads.publish("helper", { vars: { x: 1 }, fingerprint: "f" });
      const seq = (await nouns.sessions.get("helper"))?.seq;
      await refuses("Conflict", () =>
        sessions.attach(`helper@${first.id}`, { caller: "caller", mode: "continue" as const }),
      );
      const begun = await sessions.attach(`helper@${second.id}`, {
        caller: "caller",
        mode: "continue",
        label: "Ask the helper",
      });
      assert.deepEqual(
        [begun.session, begun.type, begun.mode, begun.status, begun.callee, begun.label],
        ["caller", "attach", "continue", "running", "helper", "Ask the helper"],
      );
      assert.deepEqual([begun.callerHeadBefore, begun.calleeHeadBefore], [before.id, second.id]);
      assert.deepEqual(begun.source, {
        session: "helper",
        head: second.id,
        fingerprint: "f",
        snapshot: second.snapshot,
      });
      assert.equal((await nouns.sessions.get("helper"))?.seq, seq, "it is in the caller's log alone");
      await say(nouns, "helper", "three");
      const third = await heads.publish("helper");
      const ended = await invocations.finish(begun.id);
      assert.deepEqual(
        [ended.status, ended.calleeHeadAfter, ended.callerHeadAfter, ended.source],
        ["done", third.id, before.id, begun.source],
      );
      assert.deepEqual(await invocations.get(begun.id), ended);
      assert.deepEqual(await (await sessions.at("caller")).invocations(), [ended]);
      await verified(nouns, "caller", "helper");
    },
  ),

  prove(
    "SE3 attach branches from a head into a session of its own and leaves the source as it is",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      await nouns.sessions.create({ id: "caller", request: "r1" });
      await say(nouns, "helper", "one", "two");
      const head = await heads.publish("helper");
      await say(nouns, "helper", "three");
      const source = present(await nouns.sessions.get("helper"));
      const begun = await sessions.attach(`helper@${head.id}`, {
        caller: "caller",
        mode: "branch",
        session: { id: "side", title: "Side" },
      });
      assert.deepEqual([begun.callee, begun.mode, begun.calleeHeadBefore], ["side", "branch", null]);
      assert.deepEqual([begun.source?.session, begun.source?.head], ["helper", head.id]);
      const side = present(await nouns.sessions.get("side"));
      assert.deepEqual([side.kind, side.title, side.cacheId, side.request], ["attached", "Side", "helper", "r1"]);
      await say(nouns, "side", "own");
      assert.deepEqual(await shown(nouns, "side"), ["one", "two", "own"]);
      assert.deepEqual(await nouns.sessions.get("helper"), source);
      assert.equal((await heads.publish("side")).counts.messages, 3);
      const types = (await nouns.log.read("side")).map(({ type }) => type);
      assert.deepEqual(types.slice(0, 2), ["session/created", "derivation/added"]);
      await verified(nouns, "caller", "side", "helper");
    },
  ),

  prove("SE3 how to attach is said by name; there is no default", NEEDS, async (nouns) => {
    const { sessions, invocations } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    await nouns.sessions.create({ id: "helper" });
    const before = await nouns.sessions.get("caller");
    await refuses("InvalidArgument", () => sessions.attach("helper", { caller: "caller" } as never));
    await refuses("InvalidArgument", () => sessions.attach("helper", { caller: "caller", mode: "both" } as never));
    await refuses("InvalidArgument", () => sessions.attach("helper", { mode: "continue" } as never));
    await refuses("InvalidArgument", () =>
      sessions.attach("helper", { caller: "caller", mode: "continue", session: { id: "new" } }),
    );
    await refuses("NotFound", () => sessions.attach("nobody", { caller: "caller", mode: "branch" }));
    await refuses("NotFound", () => sessions.attach("helper", { caller: "nobody", mode: "branch" }));
    await refuses("NotFound", () =>
      sessions.attach("helper", { caller: "caller", mode: "continue", call: "caller#1" }),
    );
    await refuses("InvalidArgument", () =>
      invocations.attach("caller", "helper", { mode: "continue" }, "work" as never),
    );
    await refuses("AlreadyExists", () =>
      sessions.attach("helper", { caller: "caller", mode: "branch", session: { id: "caller" } }),
    );
    assert.deepEqual(await nouns.sessions.get("caller"), before);
  }),

  prove("SE3 a session continues neither itself nor one that waits for it", NEEDS, async (nouns) => {
    const { sessions, invocations } = nouns.lineage;
    for (const id of ["a", "b", "c"]) await say(nouns, id, "hello");
    const go = (at: string, caller: string) => sessions.attach(at, { caller, mode: "continue" });
    await refuses("Conflict", () => go("a", "a"));
    const ab = await go("b", "a");
    await refuses("Conflict", () => go("a", "b"));
    await go("c", "b");
    const error = await refuses("Conflict", () => go("a", "c"));
    assert.equal(error.details.kind, "cycle");
    assert.equal(
      (await sessions.attach("a", { caller: "c", mode: "branch" })).status,
      "running",
      "a branch is no circle",
    );
    await invocations.finish(ab.id);
    assert.equal((await go("a", "c")).status, "running", "nobody waits any more");
  }),

  prove("SE11 a leaf call invokes nothing: it is refused for a spawn and an attachment", NEEDS, async (nouns) => {
    const { invocations, calls, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "boss" });
    await nouns.sessions.create({ id: "help" });
    const ended = await calls.add("boss", { type: "leaf" });
    const running = await calls.start("boss", { type: "leaf" });
    const before = await nouns.log.anchor("boss");
    const rest = await nouns.log.anchor("help");
    const work = () => assert.fail("the work began");
    for (const { id: call } of [ended, running]) {
      const asked = [
        () => invocations.start("boss", { call, session: { id: "child" } }),
        () => invocations.spawn("boss", { call, session: { id: "child" } }, work),
        () => invocations.attach("boss", "help", { mode: "continue", call }, work),
        () => sessions.attach("help", { caller: "boss", mode: "branch", call, session: { id: "child" } }),
        () => sessions.attach("help", { caller: "boss", mode: "continue", call }),
      ];
      for (const ask of asked) {
        const error = await refuses("InvalidArgument", ask);
        assert.equal(error.details.id, call);
      }
      const [slot] = await invocations.spawnAll("boss", [{ call }], work);
      assert.equal(slot?.status, "failed");
    }
    assert.deepEqual([await nouns.log.anchor("boss"), await nouns.log.anchor("help")], [before, rest]);
    assert.equal(await nouns.sessions.get("child"), null);
    const root = await calls.add("boss", { type: "root" });
    assert.equal((await invocations.start("boss", { call: root.id })).call, root.id);
  }),

  prove("SE3 of invocations that would close a circle together, one is refused", NEEDS, async (nouns) => {
    for (const round of range(scaled({ short: 3, long: 12 })))
      await closeCircle(nouns, [nouns.lineage], `${round}`, 3 + (round % 4));
  }),

  prove(
    "SE3 of invocations through their own handles that would close a circle together, one is refused",
    [...NEEDS, "check", "another"],
    async (nouns) => {
      const others = await Promise.all(range(5).map(() => nouns.another()));
      const handles = [nouns.lineage, ...others];
      for (const round of range(scaled({ short: 4, long: 30 })))
        await closeCircle(nouns, handles, `${round}`, 4 + (round % 3));
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove(
    "SE3 of invocations through several handles that would close a circle together, one is refused",
    [...NEEDS, "another"],
    async (nouns) => {
      const handles = [nouns.lineage, await nouns.another(), await nouns.another()];
      for (const round of range(6)) {
        // Of six in a row, every other one waits already: the racing invocations have no session in common.
        const names = range(6).map((n) => `${round}.${n}`);
        for (const id of names) await nouns.sessions.create({ id });
        const wait = (n: number) =>
          present(handles[(n >> 1) % 3]).sessions.attach(names[(n + 1) % 6] ?? "", {
            caller: names[n] ?? "",
            mode: "continue",
          });
        for (const n of [0, 2, 4]) await wait(n);
        const races = await Promise.allSettled([1, 3, 5].map(wait));
        assert.equal(races.filter(({ status }) => status === "rejected").length, 1);
      }
    },
  ),
];

const spawnCases: readonly Case[] = [
  prove(
    "SE3 spawn makes a child, does the work in it and answers with an envelope",
    [...NEEDS, "blobs"],
    async (nouns) => {
      const { invocations, heads, calls, sessions } = nouns.lineage;
      await nouns.sessions.create({ id: "caller", request: "r1" });
      const call = await calls.add("caller", { type: "root" });
      const envelope = await invocations.spawn(
        "caller",
        { label: "Look it up", call: call.id, session: { id: "child", agent: AGENT } },
        async ({ session, invocation }) => {
          assert.equal(invocation.status, "running");
          assert.equal((await invocations.get(invocation.id))?.status, "running", "visible while it runs");
          await say(nouns, session, "question", "answer");
          const head = await heads.publish(session, { final: 42 });
          return { answer: 42, head: head.id };
        },
      );
      const child = present(await nouns.sessions.get("child"));
      assert.deepEqual([child.kind, child.agent, child.request], ["spawned", AGENT, "r1"]);
      assert.deepEqual(envelope.value, { answer: 42, head: child.head });
      assert.deepEqual([envelope.session, envelope.head, envelope.status], ["child", child.head, "done"]);
      const [invocation] = await (await sessions.at("caller")).invocations();
      assert.deepEqual(envelope.meta, {
        invocation: invocation?.id,
        type: "spawn",
        mode: null,
        label: "Look it up",
        counts: { messages: 2, turns: 0, evals: 0, calls: 0, snapshots: 0, invocations: 0 },
      });
      assert.deepEqual(
        [invocation?.status, invocation?.call, invocation?.calleeHeadAfter, invocation?.source],
        ["done", call.id, child.head, null],
      );
      assert.equal(await invocations.error(present(invocation).id), null);
      await verified(nouns, "caller", "child");
    },
  ),

  prove("SE3 the meta of an envelope is read from the rows: no time, no chance", [...NEEDS, "clock"], async (nouns) => {
    const { invocations } = nouns.lineage;
    const metas: unknown[] = [];
    for (const caller of ["a", "b"]) {
      await nouns.sessions.create({ id: caller });
      const { meta } = await invocations.spawn(caller, { label: "same" }, async ({ session }) => {
        await nouns.clock.advance(1000);
        await say(nouns, session, "same");
      });
      metas.push({ ...present(meta), invocation: present(meta).invocation.slice(1) });
    }
    assert.deepEqual(metas[0], metas[1]);
  }),

  prove("SE3 work that throws fails its invocation, is recorded and is thrown on", NEEDS, async (nouns) => {
    const { invocations, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const boom = new TypeError("boom");
    const thrown = await invocations
      .spawn("caller", { session: { id: "child" } }, async ({ session }) => {
        await say(nouns, session, "half");
        throw boom;
      })
      .catch((error: unknown) => error);
    assert.equal(thrown, boom);
    const [failed] = await (await sessions.at("caller")).invocations();
    assert.deepEqual([failed?.status, failed?.callee], ["failed", "child"]);
    assert.deepEqual(await invocations.error(present(failed).id), { name: "TypeError", message: "boom" });
    assert.deepEqual(await shown(nouns, "child"), ["half"], "what it did is there");
    await verified(nouns, "caller", "child");
  }),

  prove("SE3 attach works like spawn in a session that is there already", NEEDS, async (nouns) => {
    const { invocations, heads } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    await say(nouns, "helper", "one");
    const head = await heads.publish("helper");
    const kept = await invocations.attach("caller", "helper", { mode: "continue" }, async ({ session }) => {
      await say(nouns, session, "two");
      return (await heads.publish(session)).id;
    });
    assert.deepEqual([kept.session, kept.head, kept.meta?.mode], ["helper", kept.value, "continue"]);
    const side = await invocations.attach("caller", `helper@${head.id}`, { mode: "branch" }, async ({ session }) => {
      await say(nouns, session, "other");
      return shown(nouns, session);
    });
    assert.deepEqual([side.value, side.head, side.meta?.counts.messages], [["one", "other"], null, 2]);
    assert.deepEqual(await shown(nouns, "helper"), ["one", "two"]);
  }),
];

const batchCases: readonly Case[] = [
  prove("SE3 a batch keeps its order, works on few at a time and marks failed slots", NEEDS, async (nouns) => {
    const { invocations, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    await nouns.sessions.create({ id: "taken" });
    let now = 0;
    let most = 0;
    const ids = range(7).map((n) => (n === 5 ? "taken" : `child ${n}`));
    const envelopes = await invocations.spawnAll(
      "caller",
      ids.map((id) => ({ session: { id } })),
      async ({ session }, index) => {
        most = Math.max(most, ++now);
        await say(nouns, session, `work ${index}`);
        if (index === 0) await say(nouns, session, "takes longer", "than the others");
        now--;
        if (index === 2) throw new Error("not this one");
        return index * 10;
      },
      { concurrency: 3 },
    );
    assert.deepEqual(
      envelopes.map(({ value }) => value),
      [0, 10, null, 30, 40, null, 60],
    );
    assert.deepEqual(
      envelopes.map(({ session }) => session),
      ids.map((id) => (id === "taken" ? null : id)),
    );
    assert.deepEqual(
      envelopes.flatMap(({ status }, n) => (status === "failed" ? [n] : [])),
      [2, 5],
    );
    assert.match(String(envelopes[2]?.error), /not this one/);
    assert.match(String(envelopes[5]?.error), /already/);
    assert.ok(most <= 3);
    const all = await (await sessions.at("caller")).invocations();
    assert.deepEqual([all.length, all.filter(({ status }) => status === "failed").length], [6, 1]);
    const again = await invocations.attachAll(
      "caller",
      [
        { at: "child 0", mode: "continue" },
        { at: "nobody", mode: "branch" },
        { at: "child 1", mode: "branch" },
      ],
      ({ session }) => shown(nouns, session),
    );
    assert.deepEqual(
      again.map(({ status, value }) => [status, value?.[0]]),
      [
        ["done", "work 0"],
        ["failed", undefined],
        ["done", "work 1"],
      ],
    );
    await verified(nouns, "caller", "child 0");
  }),

  prove("SE3 a batch with a slot that is no input begins none of them", NEEDS, async (nouns) => {
    const { invocations, calls } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const before = await nouns.sessions.get("caller");
    const work = () => assert.fail("it began");
    await refuses("InvalidArgument", () => invocations.spawnAll("caller", [{}, { label: 1 } as never], work));
    await refuses("InvalidArgument", () => invocations.spawnAll("caller", {} as never, work));
    await refuses("InvalidArgument", () => invocations.spawnAll("caller", [{}], work, { concurrency: 0 }));
    await refuses("InvalidArgument", () => invocations.attachAll("caller", [{ at: "caller" } as never], work));
    await refuses("InvalidArgument", () => calls.leafAll("caller", [{ type: "leaf" } as never], work));
    await refuses("NotFound", () => invocations.spawnAll("nobody", [{}], work));
    await refuses("NotFound", () => calls.leafAll("nobody", [{}], work));
    assert.deepEqual(await invocations.spawnAll("caller", [], work), []);
    assert.deepEqual(await nouns.sessions.get("caller"), before);
  }),
];

const endCases: readonly Case[] = [
  prove(
    "SE3 an invocation whose process died stays running, and any caller with its id can end it once",
    [...NEEDS, "another"],
    async (nouns) => {
      const { invocations } = nouns.lineage;
      await nouns.sessions.create({ id: "caller" });
      const begun = await invocations.start("caller", { session: { id: "child" }, label: "left behind" });
      const other = await nouns.another();
      assert.deepEqual(await other.invocations.get(begun.id), begun);
      const races = await Promise.allSettled([
        ...range(3).map(() => other.invocations.finish(begun.id, { error: "lost" })),
        ...range(3).map(() => invocations.finish(begun.id, { status: "done" })),
      ]);
      assert.equal(races.filter(({ status }) => status === "fulfilled").length, 1);
      await refuses("InvalidTransition", () => invocations.finish(begun.id));
      await refuses("NotFound", () => invocations.finish("caller#99"));
      await refuses("InvalidArgument", () => invocations.finish("child"));
      assert.equal((await other.log.verify("caller")).ok, true);
    },
  ),

  prove("SE2 an invocation shows at each head as it was there", NEEDS, async (nouns) => {
    const { invocations, heads, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const begun = await invocations.start("caller");
    const during = await heads.publish("caller");
    await invocations.finish(begun.id);
    const after = await heads.publish("caller");
    const statusAt = async (at: string) => (await (await sessions.at(at)).invocations()).map(({ status }) => status);
    assert.deepEqual(await statusAt(`caller@${during.id}`), ["running"]);
    assert.deepEqual(await statusAt(`caller@${after.id}`), ["done"]);
    assert.deepEqual([during.counts.invocations, after.counts.invocations], [1, 1]);
    assert.deepEqual([begun.callerHeadBefore, (await invocations.get(begun.id))?.callerHeadAfter], [null, during.id]);
  }),

  prove("SE3 an invocation of a line the caller has left ends on that line", NEEDS, async (nouns) => {
    const { invocations, turns, heads, sessions } = nouns.lineage;
    await say(nouns, "caller", "kept");
    await heads.publish("caller");
    const turn = await turns.begin("caller");
    const begun = await invocations.start("caller");
    await turns.abort(turn.id);
    const ended = await invocations.finish(begun.id, { error: { why: "aborted" } });
    assert.equal(ended.status, "failed");
    assert.deepEqual(await invocations.error(begun.id), { why: "aborted" });
    const view = await sessions.at("caller");
    assert.deepEqual([await view.invocations(), (await view.counts()).invocations], [[], 0]);
    await verified(nouns, "caller");
  }),

  prove("SE3 an invocation ends also when its child is gone", NEEDS, async (nouns) => {
    const { invocations } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const begun = await invocations.start("caller", { session: { id: "child" } });
    await nouns.sessions.delete("child");
    const ended = await invocations.finish(begun.id);
    assert.deepEqual([ended.status, ended.calleeHeadAfter], ["done", null]);
  }),
];

export const invocationCases: readonly Case[] = [...attachCases, ...spawnCases, ...batchCases, ...endCases];
