// Races between two handles, as between two processes: both decide on what they saw, and what they saw was nothing yet.
// A row that is not there cannot be locked, so these are the places where a store is most easily wrong.
import assert from "node:assert/strict";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { isSameBytes, noise, present, range, refuses, texts } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";

const ROUNDS = scaled({ short: 4, long: 20 });

/** What two handles do at the same time; the refusals of the one that lost are given beside what held. */
async function both<T>(handles: readonly (() => Promise<T>)[]): Promise<{ held: T[]; lost: unknown[] }> {
  const done = await Promise.allSettled(handles.map((handle) => handle()));
  return {
    held: done.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    lost: done.flatMap((one) => (one.status === "rejected" ? [one.reason] : [])),
  };
}

async function oneHolds<T>(handles: readonly (() => Promise<T>)[], what: string): Promise<T> {
  const { held, lost } = await both(handles);
  assert.equal(held.length, 1, `${what} held ${held.length} times`);
  for (const reason of lost) await refuses(["AlreadyExists", "Conflict"], () => Promise.reject(reason), what);
  return present(held[0]);
}

export const sessionRaceCases: readonly Case[] = [
  prove("ST2 one id created at once by two handles is one session", ["sessions", "log", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const creations = stores.map(
        ({ sessions }, who) =>
          () =>
            sessions.create({ id: `s${round}`, title: `${who}` }),
      );
      const session = await oneHolds(creations, `creating s${round}`);
      assert.deepEqual(await nouns.sessions.get(`s${round}`), session);
      assert.deepEqual(
        (await nouns.log.read(`s${round}`)).map(({ type }) => type),
        ["session/created"],
      );
    }
  }),

  prove(
    "ST2 one alias wanted at once through two handles goes to one session",
    ["sessions", "another"],
    async (nouns) => {
      const stores = [nouns, await nouns.another()];
      for (const round of range(ROUNDS)) {
        await Promise.all(stores.map(({ sessions }, who) => sessions.create({ id: `s${round}-${who}` })));
        const wishes = stores.map(({ sessions }, who) => async () => {
          await sessions.setAlias(`s${round}-${who}`, `name${round}`);
          return who;
        });
        const owner = await oneHolds(wishes, `naming name${round}`);
        assert.equal(present(await nouns.sessions.get(`name${round}`)).id, `s${round}-${owner}`);
      }
    },
  ),

  prove(
    "ST5 a name given at once to an alias and to a new session is one of them",
    ["sessions", "history", "another"],
    async (nouns) => {
      const stores = [nouns, await nouns.another()];
      for (const round of range(2 * ROUNDS)) {
        const [home, name] = [`home${round}`, `name${round}`];
        await nouns.sessions.create({ id: home });
        // Both through one handle, so that they meet in one batch, and through two.
        const { sessions, history } = present(stores[round % 2]);
        const creation =
          round % 4 < 2
            ? () => history.append({ session: name, agent: "a" }, { role: "user", content: "hi" }).then(() => name)
            : () => sessions.create({ id: name }).then(() => name);
        const naming = () => nouns.sessions.setAlias(home, name).then(() => home);
        const owner = await oneHolds(round % 8 < 4 ? [naming, creation] : [creation, naming], `taking ${name}`);
        assert.equal(present(await nouns.sessions.get(name)).id, owner);
        assert.deepEqual(present(await nouns.sessions.get(home)).aliases, owner === home ? [name] : []);
      }
    },
  ),

  prove(
    "LG6 a delete and an append at once through two handles end in one order",
    ["sessions", "history", "another"],
    async (nouns) => {
      const other = await nouns.another();
      for (const round of range(ROUNDS)) {
        const scope = { session: `s${round}`, agent: "a" };
        await nouns.history.append(scope, { role: "user", content: "first" });
        const append = other.history.append(scope, { role: "user", content: "second" });
        const [deleted, appended] = await Promise.allSettled([nouns.sessions.delete(scope.session), append]);
        if (appended.status === "rejected") await refuses("SessionDeleted", () => append);
        assert.ok(deleted.status === "fulfilled");
        const expected = appended.status === "fulfilled" ? 2 : 1;
        assert.equal(deleted.value?.removed.messages, expected, "an erasure reports what it removed");
        assert.equal(await other.sessions.get(scope.session), null);
        assert.deepEqual(await other.history.session(scope.session), []);
        await refuses("SessionDeleted", () => other.history.append(scope, { role: "user", content: "third" }));
      }
    },
  ),
];

export const historyRaceCases: readonly Case[] = [
  prove(
    "HI1 the first messages of a session come from two handles at once",
    ["history", "log", "another"],
    async (nouns) => {
      const stores = [nouns, await nouns.another()];
      for (const round of range(ROUNDS)) {
        const scope = { session: `s${round}`, agent: `a${round}` };
        await Promise.all(stores.map(({ history }, who) => history.append(scope, { role: "user", content: `${who}` })));
        assert.deepEqual(texts(await nouns.history.get(scope)).toSorted(), ["0", "1"]);
        const events = await nouns.log.read(scope.session);
        assert.deepEqual(
          events.map(({ type }) => type),
          ["session/created", "message/added", "message/added"],
        );
        assert.equal((await nouns.log.verify(scope.session)).ok, true);
      }
    },
  ),

  prove("HI1 one key in a new session at once by two handles is one message", ["history", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const scope = { session: `s${round}`, agent: "a" };
      const input = { role: "user", content: "once", key: "k" } as const;
      const done = await Promise.all(stores.map(({ history }) => history.append(scope, input)));
      assert.equal(done[0]?.seq, done[1]?.seq);
      assert.equal(await nouns.history.count(scope), 1);
    }
  }),

  prove(
    "HI1 clears of two handles at once count every message once",
    ["history", "sessions", "another"],
    async (nouns) => {
      const stores = [nouns, await nouns.another()];
      for (const round of range(ROUNDS)) {
        const scope = { session: `s${round}`, agent: "a" };
        await nouns.history.appendMany(
          scope,
          range(5).map((n) => ({ role: "user", content: `${n}` })),
          { run: "r" },
        );
        const [first, second] = await Promise.all([
          present(stores[0]).history.clear(scope),
          present(stores[1]).history.clearRun(scope, "r"),
        ]);
        assert.equal((first.removed.messages ?? 0) + (second.removed.messages ?? 0), 5);
        assert.equal(present(await nouns.sessions.get(scope.session)).messages, 0);
      }
    },
  ),
];

export const stateRaceCases: readonly Case[] = [
  prove("ST2 compareAndSet from 0 through two handles holds once", ["state", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const done = await Promise.all(stores.map(({ state }, n) => state.compareAndSet(`s${round}`, 0, { n })));
      const held = done.filter((one) => one !== null);
      assert.equal(held.length, 1, `compareAndSet held ${held.length} times`);
      assert.deepEqual(await nouns.state.getVersioned(`s${round}`), held[0]);
    }
  }),

  prove("ME1 sets of two handles at once leave one of them whole", ["state", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const values = stores.map((_, who) => Object.fromEntries(range(5).map((n) => [`k${n + who}`, who])));
      await Promise.all(stores.map(({ state }, who) => state.set(`s${round}`, present(values[who]))));
      const read = JSON.stringify(await nouns.state.get(`s${round}`));
      assert.ok(
        values.some((value) => JSON.stringify(value) === read),
        `a mixture: ${read}`,
      );
    }
  }),
];

export const taskRaceCases: readonly Case[] = [
  prove("TA3 boards made at once stand one after the other", ["tasks", "check", "another"], async (nouns) => {
    const stores = [nouns, nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const made = stores.map(({ tasks }, who) => tasks.create(`s${round}`, [], { agent: `a${who}` }));
      const boards = await Promise.all(made);
      const listed = await nouns.tasks.boards(`s${round}`);
      assert.deepEqual(listed.map(({ id }) => id).toSorted(), boards.map(({ id }) => id).toSorted());
    }
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove("TA3 one board created at once by two handles is one board", ["tasks", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const made = await Promise.all(stores.map(({ tasks }, who) => tasks.create(`s${round}`, [`t${who}`])));
      assert.equal(made[0]?.id, made[1]?.id);
      const boards = await nouns.tasks.boards(`s${round}`);
      assert.equal(boards.length, 1);
      assert.equal(boards[0]?.tasks.length, 1);
    }
  }),

  prove("TA3 tasks added at once by two handles have places of their own", ["tasks", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    const board = await nouns.tasks.create("chat", []);
    for (const round of range(ROUNDS)) {
      await Promise.all(stores.map(({ tasks }, who) => tasks.add(board.id, [`${round} ${who}`])));
    }
    const { tasks } = present(await nouns.tasks.get(board.id));
    assert.equal(tasks.length, 2 * ROUNDS);
    assert.equal(new Set(tasks.map(({ order }) => order)).size, 2 * ROUNDS);
  }),

  prove("TA2 retries taken at once by two handles never pass the limit", ["tasks", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const board = await nouns.tasks.create(`s${round}`, ["t"], { maxRetries: 1 });
      const task = present(board.tasks[0]).id;
      const done = await Promise.all(stores.map(({ tasks }) => tasks.retry(board.id, task)));
      assert.equal(done.filter((one) => one !== null).length, 1);
    }
  }),

  prove("TA5 a task claimed at once through two handles goes to one of them", ["tasks", "another"], async (nouns) => {
    const stores = [nouns, await nouns.another()];
    const board = await nouns.tasks.create(
      "chat",
      range(ROUNDS).map((n) => `t${n}`),
    );
    for (const { id, title } of board.tasks) {
      const claims = stores.map(({ tasks }, who) => async () => {
        return present(await tasks.move(board.id, id, "in_progress", { note: `worker ${who}`, from: "planned" }));
      });
      const claimed = await oneHolds(claims, `claiming ${title}`);
      for (const { tasks } of stores) {
        const read = present(await tasks.get(board.id)).tasks.find((task) => task.id === id);
        assert.deepEqual(read, claimed);
      }
    }
  }),
];

type AgentsNoun = Pick<Holdfast, "agents">;

export const agentRaceCases: readonly Case[] = [
  prove("ST2 one agent created at once by two handles is one agent", ["agents", "another"], async (nouns) => {
    const stores: AgentsNoun[] = [nouns, await nouns.another()];
    for (const round of range(ROUNDS)) {
      const creations = stores.map(
        ({ agents }, who) =>
          () =>
            agents.create({ id: `a${round}`, name: `${who}` }),
      );
      const agent = await oneHolds(creations, `creating a${round}`);
      assert.deepEqual(await nouns.agents.get(`a${round}`), agent);
    }
  }),

  prove(
    "ME8 a block made at once by two handles is one block with both texts",
    ["agents", "another"],
    async (nouns) => {
      const stores: AgentsNoun[] = [nouns, await nouns.another()];
      for (const round of range(ROUNDS)) {
        await Promise.all(stores.map(({ agents }, who) => agents.appendBlock(`a${round}`, "notes", `<${who}>`)));
        const blocks = await nouns.agents.loadBlocks(`a${round}`);
        assert.equal(blocks.length, 1);
        for (const who of [0, 1]) assert.ok(blocks[0]?.value.includes(`<${who}>`), `<${who}> is lost`);
      }
    },
  ),

  prove(
    "ME8 sets saved at once by two handles are one of them, never a mixture",
    ["agents", "another"],
    async (nouns) => {
      const stores: AgentsNoun[] = [nouns, await nouns.another()];
      const set = (who: number) => ["x", "y", "z"].map((label) => ({ label, value: `${label} of ${who}` }));
      for (const round of range(ROUNDS)) {
        await Promise.all(stores.map(({ agents }, who) => agents.saveBlocks(`a${round}`, set(who))));
        const values = (await nouns.agents.loadBlocks(`a${round}`)).map(({ value }) => value);
        assert.equal(values.length, 3);
        assert.equal(new Set(values.map((value) => value.slice(-1))).size, 1, `a mixture: ${values.join(", ")}`);
      }
    },
  ),

  prove("ME8 sharing a block while its agent leaves it keeps or refuses it", ["agents", "another"], async (nouns) => {
    const other = await nouns.another();
    for (const round of range(ROUNDS)) {
      await nouns.agents.saveBlocks(`a${round}`, [{ label: "team", value: "we" }]);
      const { held, lost } = await both<unknown>([
        () => nouns.agents.saveBlocks(`a${round}`, []),
        () => other.agents.shareBlock(`a${round}`, "team", `b${round}`),
      ]);
      for (const reason of lost) await refuses("NotFound", () => Promise.reject(reason));
      const shared = await nouns.agents.getBlock(`b${round}`, "team");
      assert.equal(shared?.value, held.length === 2 ? "we" : undefined);
    }
  }),

  prove(
    "ME8 a block restored while its agent is deleted is restored or not there",
    ["agents", "another"],
    async (nouns) => {
      const other = await nouns.another();
      // Few: every deletion gives its space back, which takes a server its time.
      for (const round of range(5)) {
        await nouns.agents.saveBlocks(`a${round}`, [{ label: "notes", value: `one ${round}` }]);
        await nouns.agents.rethinkBlock(`a${round}`, "notes", "two");
        const { lost } = await both<unknown>([
          () => nouns.agents.delete(`a${round}`),
          () => other.agents.restoreBlock(`a${round}`, "notes", 1),
        ]);
        for (const reason of lost) await refuses("NotFound", () => Promise.reject(reason));
        assert.equal(await nouns.agents.getBlock(`a${round}`, "notes"), null);
      }
    },
  ),
];

const HOUR = 3_600_000;

export const blobRaceCases: readonly Case[] = [
  prove("BL4 one handle collects while another puts the same bytes", ["blobs", "clock", "another"], async (nouns) => {
    const { blobs, clock } = nouns;
    const collector = (await nouns.another()).blobs;
    for (const round of range(ROUNDS)) {
      // Whatever stage of its end the blob has reached, the put that is acknowledged now must hold.
      const bytes = noise(round % 2 === 0 ? 500 : 200_000, 500 + round);
      await blobs.store(bytes, { ttlMs: 1_000 });
      for (const _ of range(round % 5)) {
        await clock.advance(HOUR);
        await collector.gc();
      }
      await clock.advance(HOUR);
      const [ref] = await Promise.all([blobs.store(bytes, { ttlMs: null }), collector.gc(), collector.gc()]);
      for (const _ of range(4)) await collector.gc();
      isSameBytes(await collector.resolve(ref), bytes);
    }
  }),

  prove(
    "BL4 one handle collects while another's message names the blob",
    ["blobs", "history", "clock", "another"],
    async (nouns) => {
      const { blobs, history, clock } = nouns;
      const collector = (await nouns.another()).blobs;
      for (const round of range(ROUNDS)) {
        const bytes = noise(500, 700 + round);
        const ref = await blobs.store(bytes, { ttlMs: 1_000 });
        for (const _ of range(round % 5)) {
          await clock.advance(HOUR);
          await collector.gc();
        }
        const content = [{ type: "image", source: { ref } }] as const;
        const { held, lost } = await both<unknown>([
          () => history.append({ session: `s${round}`, agent: "a" }, { role: "user", content }),
          () => collector.gc(),
        ]);
        for (const reason of lost) await refuses(["BlobNotFound", "BlobExpired"], () => Promise.reject(reason));
        for (const _ of range(4)) await collector.gc();
        if (held.length === 2) isSameBytes(await collector.resolve(ref), bytes);
      }
    },
  ),

  prove("BL3 one blob grown at once by two handles keeps both", ["blobs", "another"], async (nouns) => {
    const stores = [nouns.blobs, (await nouns.another()).blobs];
    let base = noise(50_000, 1);
    let growsFrom = await nouns.blobs.store(base);
    for (const round of range(10)) {
      const bodies = stores.map((_, who) => Buffer.concat([base, noise(3_000, round * 2 + who + 10)]));
      const refs = await Promise.all(stores.map((blobs, who) => blobs.store(present(bodies[who]), { growsFrom })));
      for (const [who, blobs] of stores.entries()) {
        isSameBytes(await blobs.resolve(present(refs[1 - who])), present(bodies[1 - who]));
      }
      base = Uint8Array.from(present(bodies[round % 2]));
      growsFrom = present(refs[round % 2]);
      if (round % 3 === 0) await Promise.all(stores.map((blobs) => blobs.seal(growsFrom)));
    }
    isSameBytes(await nouns.blobs.resolve(growsFrom), base);
  }),
];
