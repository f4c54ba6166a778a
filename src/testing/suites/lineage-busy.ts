// Verbs in a session that others never stop appending to: each succeeds, and what it published is what was there when
// it happened.
import assert from "node:assert/strict";
import type { Counts } from "../../contracts/heads.ts";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "history", "check"] as const;
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;
type History = CaseContext["history"];

const TIMES = scaled({ short: 8, long: 50 });
/** Appends under way at any moment, through each handle. */
const SPEAKERS = 4;

/** There is no pause: each writer appends the next message as soon as it has an answer. */
async function amidAppends(speaking: readonly History[], session: string, work: () => Promise<void>): Promise<void> {
  let isOver = false;
  const speak = async (history: History, agent: string) => {
    while (!isOver) await history.append({ session, agent }, { role: "user", content: "and another thing" });
  };
  const speakers = speaking.flatMap((history, i) => range(SPEAKERS).map((n) => speak(history, `speaker ${i} ${n}`)));
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(speakers);
  }
}

/** Each in a session of its own, so that their lineages stay short. */
const VERBS: Readonly<Record<string, (nouns: Nouns, session: string) => Promise<void>>> = {
  publish: async ({ lineage: { heads } }, session) => {
    let last: string | null = null;
    for (const n of range(TIMES)) {
      const head = await heads.publish(session, { expect: last, ...(n % 2 === 0 ? {} : { final: n, vars: { n } }) });
      assert.equal(head.basis, last);
      last = head.id;
    }
  },
  "finish turns": async ({ lineage: { turns } }, session) => {
    for (const n of range(TIMES)) {
      const turn = await turns.begin(session, { agent: "ada" });
      const head = await turns.finish(turn.id, { final: n, finalSummary: `${n}` });
      assert.equal(head.turn, turn.id);
    }
  },
  "abort turns": async ({ lineage: { turns, heads, sessions } }, session) => {
    const kept = await heads.publish(session);
    for (const n of range(TIMES)) {
      // A turn's abort goes on from the one before it: without this, the last head stood on fifty lines.
      if (n % 10 === 9) await sessions.rewind(`${session}@${kept.id}`);
      const turn = await turns.begin(session);
      const head = await turns.abort(turn.id, n % 2 === 0 ? undefined : { vars: { n } });
      assert.equal(head.status, "aborted");
      assert.equal((await heads.current(session))?.id, kept.id);
    }
  },
  rewind: async ({ lineage: { sessions, heads } }, session) => {
    const first = await heads.publish(session);
    for (const n of range(TIMES)) {
      if (n % 5 === 0) await heads.publish(session);
      const moved = await sessions.rewind(`${session}@${first.id}`);
      assert.deepEqual([moved.head?.id, moved.branched], [first.id, true]);
    }
  },
  resume: async ({ lineage: { sessions, heads } }, session) => {
    const first = await heads.publish(session);
    for (const n of range(TIMES)) {
      const moved = await sessions.resume(n % 2 === 0 ? session : `${session}@${first.id}`);
      assert.equal(moved.head?.id, first.id);
    }
  },
  compact: async ({ lineage: { heads } }, session) => {
    for (const n of range(TIMES)) {
      const head = await heads.compact(session, { agent: "ada", summary: `in short ${n}` });
      assert.equal(head.compaction?.summary, `${session}#${head.seq - 1}`);
    }
  },
};

/** Every head shows as many rows of each kind as it counts. */
async function verifyHeads({ lineage: { heads, sessions } }: Nouns, session: string): Promise<void> {
  const { items, next } = await heads.list(session, { limit: 1000 });
  assert.equal(next, null);
  assert.notEqual(items.length, 0);
  for (const head of items) {
    const view = await sessions.at(`${session}@${head.id}`);
    const shown: Counts = {
      messages: (await view.messages()).length,
      turns: (await view.turns()).length,
      evals: (await view.evals()).length,
      calls: (await view.calls()).length,
      snapshots: (await view.snapshots()).length,
      invocations: (await view.invocations()).length,
    };
    assert.deepEqual(head.counts, shown, `what ${head.id} counts`);
  }
}

async function proveVerb(nouns: Nouns, speaking: readonly History[], verb: string): Promise<void> {
  const session = `busy ${verb}`;
  await nouns.history.append({ session, agent: "ada" }, { role: "user", content: "the first" });
  await amidAppends(speaking, session, () => present(VERBS[verb])(nouns, session));
  await verifyHeads(nouns, session);
  // Also that every head's id follows from what was there.
  const report = await nouns.check();
  assert.deepEqual(report.issues, []);
}

const ROUNDS = scaled({ short: 3, long: 20 });

/** Verbs that change the same thing at once, through two handles as through two processes. */
const raceCases: readonly Case[] = [
  prove("SE12 a turn that is ended at once through two handles ends once", [...NEEDS, "another"], async (nouns) => {
    const [mine, theirs] = [nouns.lineage, await nouns.another()];
    await nouns.sessions.create({ id: "chat" });
    for (const round of range(ROUNDS)) {
      const turn = await mine.turns.begin("chat");
      const ends = [
        mine.turns.finish(turn.id),
        round % 2 === 0 ? theirs.turns.abort(turn.id) : theirs.turns.finish(turn.id),
      ];
      const done = await Promise.allSettled(ends);
      assert.equal(done.filter(({ status }) => status === "fulfilled").length, 1, "it ended once");
      for (const one of ends) await one.catch((error) => refuses("InvalidTransition", () => Promise.reject(error)));
    }
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove(
    "SE5 what an aborted turn goes back to is the current head, also one published meanwhile",
    [...NEEDS, "another"],
    async (nouns) => {
      const [mine, theirs] = [nouns.lineage, await nouns.another()];
      await nouns.sessions.create({ id: "chat" });
      for (const _ of range(ROUNDS)) {
        const turn = await mine.turns.begin("chat");
        const [aborted, published] = await Promise.all([mine.turns.abort(turn.id), theirs.heads.publish("chat")]);
        assert.equal((await mine.heads.current("chat"))?.id, published.id);
        const isFirst = published.seq < aborted.seq;
        assert.equal(isFirst ? aborted.basis : published.branch > aborted.seq, isFirst ? published.id : true);
        const shown = await (await mine.sessions.at("chat")).heads();
        assert.equal(shown.at(-1)?.id, published.id, "the session goes on from the current head");
      }
      await verifyHeads(nouns, "chat");
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove(
    "SE3 rewinding and publishing at once through two handles happen one after the other",
    [...NEEDS, "another"],
    async (nouns) => {
      const [mine, theirs] = [nouns.lineage, await nouns.another()];
      await nouns.sessions.create({ id: "chat" });
      const first = await mine.heads.publish("chat");
      for (const _ of range(ROUNDS)) {
        const [moved, head] = await Promise.all([
          mine.sessions.rewind(`chat@${first.id}`),
          theirs.heads.publish("chat", { vars: {} }),
        ]);
        const isLast = head.seq > moved.branch;
        assert.equal((await mine.heads.current("chat"))?.id, isLast ? head.id : first.id);
        assert.equal(head.branch === moved.branch, isLast);
      }
      await verifyHeads(nouns, "chat");
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove(
    "SE5 aborting and resuming keep a head that is published while they decide, through one handle",
    NEEDS,
    async (nouns) => {
      const { heads, turns, sessions } = nouns.lineage;
      await nouns.sessions.create({ id: "chat" });
      await heads.publish("chat");
      for (const round of range(2 * ROUNDS)) {
        const turn = await turns.begin("chat");
        const move = () => (round % 2 === 0 ? turns.abort(turn.id) : sessions.resume("chat"));
        // Decisions are made in several reads: in each round one is overtaken behind another of them.
        const isFirst = round % 4 < 2;
        const first = isFirst ? heads.publish("chat") : move();
        for (const _ of range(round >> 2)) await Promise.resolve();
        const second = isFirst ? move() : heads.publish("chat");
        await Promise.all([first, second]);
        const head = await heads.current("chat");
        const shown = await (await sessions.at("chat")).heads();
        assert.equal(shown.at(-1)?.id, head?.id, `round ${round}`);
      }
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove("SE3 rewinds at once through two handles never go forward again", [...NEEDS, "another"], async (nouns) => {
    const [mine, theirs] = [nouns.lineage, await nouns.another()];
    await nouns.sessions.create({ id: "chat" });
    const first = await mine.heads.publish("chat");
    for (const _ of range(ROUNDS)) {
      const second = await mine.heads.publish("chat");
      const near = mine.sessions.rewind(`chat@${second.id}`);
      const far = theirs.sessions.rewind(`chat@${first.id}`);
      await Promise.allSettled([near, far]);
      assert.equal((await mine.heads.current("chat"))?.id, first.id);
      const lost = await near.then(
        async ({ branch }) => assert.ok(branch < (await far).branch),
        (error) => refuses("Conflict", () => Promise.reject(error)),
      );
      assert.equal(lost?.retryable ?? false, false);
    }
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove(
    "SE3 resuming and publishing at once never leaves the current head behind",
    [...NEEDS, "another"],
    async (nouns) => {
      const [mine, theirs] = [nouns.lineage, await nouns.another()];
      await nouns.sessions.create({ id: "chat" });
      await mine.heads.publish("chat");
      for (const _ of range(ROUNDS)) {
        await nouns.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "unpublished" });
        const [moved, head] = await Promise.all([mine.sessions.resume("chat"), theirs.heads.publish("chat")]);
        if (head.seq < moved.branch) assert.equal(moved.head?.id, head.id);
        const shown = await (await mine.sessions.at("chat")).heads();
        assert.equal(shown.at(-1)?.id, head.id);
      }
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),
];

const steadyCases = Object.keys(VERBS).flatMap((verb): readonly Case[] => [
  prove(`ST2 ${verb} never starves while others append through the same handle`, NEEDS, (nouns) =>
    proveVerb(nouns, [nouns.history], verb),
  ),
  prove(
    `ST2 ${verb} never starves while others append through this handle and another`,
    [...NEEDS, "another"],
    async (nouns) => proveVerb(nouns, [nouns.history, (await nouns.another()).history], verb),
  ),
]);

export const busyCases: readonly Case[] = [
  ...steadyCases,
  ...raceCases,

  prove(
    "SE6 of two compactions at once the later stands for the earlier, too",
    [...NEEDS, "another"],
    async (nouns) => {
      const both = [nouns.lineage.heads, (await nouns.another()).heads];
      for (const round of range(10)) {
        const session = `s${round}`;
        for (const n of range(4))
          await nouns.history.append({ session, agent: "a" }, { role: "user", content: `${n}` });
        const heads = await Promise.all(
          both.map((one, who) => one.compact(session, { agent: "a", summary: `sum ${who}` })),
        );
        const [first, last] = heads.toSorted((a, b) => a.seq - b.seq);
        assert.equal(last?.compaction?.upTo, first?.compaction?.summary);
        const { messages } = await nouns.lineage.sessions.context(session);
        assert.equal(messages.length, 1, "the summary alone");
      }
    },
  ),
];
