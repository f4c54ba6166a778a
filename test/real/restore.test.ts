// A store restored from an older copy. On PostgreSQL that happens behind a live handle, as when a standby that was
// behind takes over: the handle has cached positions of sessions and agents that the server never had. A SQLite file is
// restored only while no process has it open: under an open handle it is not the same file any more, which no store
// survives.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Message } from "../../src/contracts/messages.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { examine, foundIn, textOf } from "./examine.ts";
import { schemaOn, TestStores, withPostgres } from "./stores.ts";

const stores = new TestStores();
const servers: PostgresServer[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await stores.remove();
});

const AGENTS = ["early", "late", "later"];
const SESSIONS = ["still", "moved", "made", "fresh"];
/** Messages between one thing that happens to the server and the next. */
const GROWTH = scaled({ short: 40, long: 100 });
let count = 0;

/** Again for as long as the server is away; any other error is a bug. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isHoldfastError(error) || !error.retryable) throw error;
      await sleep(20);
    }
  }
}

/** Contains its writer and session, in words that no other message has, and writes the same to the session's state. */
async function say(store: Holdfast, agent: string, session: string): Promise<void> {
  const content = textOf(`${agent}@${session}`, count++);
  await persist(() => store.history.append({ session, agent }, { role: "user", content }));
  await persist(() => store.state.patch(session, { [agent]: session, said: "the same everywhere" }));
}

/** Each session whole, each message where and whose it says, and each agent finds its own. */
async function expectNothingCrossed(store: Holdfast): Promise<void> {
  for (const session of SESSIONS) {
    const found = await store.sessions.get(session);
    if (found === null) continue;
    await examine(store, session);
    const messages = await store.history.session(session);
    expect(messages.map(ownerOf)).toEqual(messages.map(({ agent }) => `${agent}@${session}`));
    expect(found.messages).toBe(messages.length);
    for (const agent of AGENTS) {
      const own = messages.filter((message) => message.agent === agent);
      expect(await store.history.get({ session, agent })).toEqual(own);
    }
    const { said, ...rest } = await store.state.get(session);
    expect(said).toBe("the same everywhere");
    expect(new Set(Object.values(rest))).toEqual(new Set([session]));
  }
  for (const agent of AGENTS) {
    const owners = (await store.history.byAgent(agent)).map(ownerOf);
    expect(owners.filter((owner) => !owner.startsWith(`${agent}@`))).toEqual([]);
  }
}

function ownerOf(message: Message): string {
  return foundIn(message).writer;
}

/** A server whose data directory can be put back to what it was. */
async function restorable(): Promise<{ url: string; copy: () => Promise<void>; putBack: () => Promise<void> }> {
  // One for all tests: each has a schema of its own, and puts back what it copied.
  const [server = await startPostgres()] = servers;
  if (servers.length === 0) servers.push(server);
  const directory = await withPostgres(server.url, async (sql) => {
    const [row] = await sql`SELECT current_setting('data_directory') AS path`;
    return String(row?.path);
  });
  const replace = async (from: string, to: string) => {
    await server.shutDown();
    fs.rmSync(to, { recursive: true, force: true });
    // With the owner of every file, which is another user when we are root.
    execFileSync("cp", ["-a", from, to]);
    await server.restart();
  };
  const before = `${directory}-before`;
  return { url: server.url, copy: () => replace(directory, before), putBack: () => replace(before, directory) };
}

describe("put back to an older copy", () => {
  test("LG1 PostgreSQL, under a live handle that goes on: seqs and chains hold, and nothing crosses", async () => {
    const { url, copy, putBack } = await restorable();
    const store = await open(schemaOn(url));
    for (const session of ["still", "moved", "still"]) await say(store, "early", session);
    await copy();
    // From here on the copy knows nothing: a session it has moves on, another is made, an agent gets a number.
    for (const session of ["moved", "made", "made"]) await say(store, "late", session);
    await say(store, "early", "moved");
    await putBack();
    // What is remembered of "still" is right, but not the number of "late".
    await say(store, "late", "still");
    await say(store, "later", "fresh");
    await Promise.all(SESSIONS.flatMap((session) => AGENTS.map((agent) => say(store, agent, session))));
    for (const session of SESSIONS) await say(store, "late", session);
    await expectNothingCrossed(store);
    await store.close();
  });

  test("LG2 PostgreSQL, where another handle was there first: what it made is not taken for what was lost", async () => {
    const { url, copy, putBack } = await restorable();
    const at = schemaOn(url);
    const store = await open(at);
    for (const session of ["still", "moved"]) await say(store, "early", session);
    await copy();
    for (const session of ["moved", "made"]) await say(store, "late", session);
    await putBack();
    const other = await open(at);
    // The same numbers and the same seqs, reached another way.
    for (const session of ["moved", "fresh"]) await say(other, "later", session);
    await Promise.all(["late", "early"].map((agent) => say(store, agent, "still")));
    await Promise.all([store, other].flatMap((one) => SESSIONS.map((session) => say(one, "late", session))));
    await expectNothingCrossed(other);
    await expectNothingCrossed(store);
    await Promise.all([store.close(), other.close()]);
  });

  test("LG1 PostgreSQL, while everybody writes: whoever writes goes on, and all that is there is whole", async () => {
    const { url, copy, putBack } = await restorable();
    const store = await open(schemaOn(url));
    let going = true;
    const writers = SESSIONS.flatMap((session) =>
      AGENTS.map(async (agent) => {
        for (let n = 0; going; n++) {
          await say(store, agent, session);
          // Now and then a writer pauses long enough for the copy to have all of a session.
          if (n % 20 === 19) await sleep(100);
        }
      }),
    );
    const grown = async (more: number) => {
      for (const goal = count + more; count < goal; ) await sleep(5);
    };
    await grown(GROWTH);
    await copy();
    await grown(GROWTH);
    await putBack();
    await grown(2 * GROWTH);
    going = false;
    await Promise.all(writers);
    await expectNothingCrossed(store);
    await store.close();
  });

  test("LG1 SQLite, while nobody has the file open", async () => {
    const file = stores.file();
    const write = async (turns: readonly (readonly [agent: string, session: string])[]) => {
      const store = await open(file);
      for (const [agent, session] of turns) await say(store, agent, session);
      await expectNothingCrossed(store);
      await store.close();
    };
    await write([
      ["early", "still"],
      ["early", "moved"],
    ]);
    fs.copyFileSync(file, `${file}-before`);
    await write([
      ["late", "moved"],
      ["late", "made"],
    ]);
    expect(fs.existsSync(`${file}-wal`), "what is not in the file yet would be lost or mixed up").toBe(false);
    fs.copyFileSync(`${file}-before`, file);
    await write([
      ["late", "still"],
      ["later", "fresh"],
      ["late", "moved"],
    ]);
  });
});
