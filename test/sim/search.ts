// Simulations of the text index: messages are added and erased, segments are written, merged and made anew by two processes at once,
// while disks and processes fail. At all times a search finds exactly what is committed and not erased. In the end the checker
// compares the words of every segment with the texts, as in every simulation: so erased words are in no row of the index.
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { SearchHit } from "../../src/contracts/search.ts";
import type { SimulationClient } from "../../src/testing/sim/client.ts";
import type { Fault } from "../../src/testing/sim/faults.ts";
import { rng } from "../../src/testing/sim/scheduler.ts";
import { onlyClientDies } from "./rates.ts";
import type { Scenario } from "./scenarios.ts";

const ROUNDS = 7;
const SESSIONS = 4;
const AGENT = "a";
/** In every message. */
const COMMON = "otter";

/** What is known of a message: while a call is under way, its outcome is not. */
type Presence = "adding" | "there" | "erasing" | "gone";

/** All lives of the client together: what one left behind in the store, the next one finds. */
class MessageBook {
  readonly #messages = new Map<string, Presence>();
  readonly #sessions = new Map<string, string[]>();
  #life = 0;
  #next = 0;

  begin(): number {
    this.#life += 1;
    return this.#life;
  }

  /** Deleted sessions are not used again. */
  name(slot: number): string {
    return `s${this.#life}-${slot}`;
  }

  /** A new message of the session: its word is in no other. */
  add(session: string): string {
    const word = `${letters(this.#next++)}word`;
    this.#messages.set(word, "adding");
    const words = this.#sessions.get(session) ?? [];
    words.push(word);
    this.#sessions.set(session, words);
    return word;
  }

  added(word: string): void {
    this.#messages.set(word, "there");
  }

  erase(session: string): void {
    for (const word of this.#sessions.get(session) ?? []) this.#messages.set(word, "erasing");
  }

  erased(session: string): void {
    for (const word of this.#sessions.get(session) ?? []) this.#messages.set(word, "gone");
    this.#sessions.delete(session);
  }

  all(state: Presence): readonly string[] {
    return [...this.#messages].filter(([, one]) => one === state).map(([word]) => word);
  }

  is(word: string, state: Presence): boolean {
    return this.#messages.get(word) === state;
  }
}

/** The beginnings differ, so that no word of the index hides in the prefix of another one. */
function letters(number: number): string {
  return [1, 26, 676].map((by) => String.fromCharCode(97 + (Math.floor(number / by) % 26))).join("");
}

/** What was there all the time is found, and what was gone before is not. */
async function search(client: SimulationClient, store: Holdfast, book: MessageBook): Promise<void> {
  const before = book.all("there");
  const gone = new Set(book.all("gone"));
  const { hits } = await client.patiently(() => store.search(COMMON, { limit: 1000, neighbours: 0 }));
  const found = new Set(hits.map(({ snippet }) => snippet.text.split(" ")[0] ?? ""));
  for (const word of before) {
    client.expect(found.has(word) || !book.is(word, "there"), `the search does not find ${word}, which is there`);
  }
  for (const word of found) client.expect(!gone.has(word), `the search finds ${word}, which was erased before`);
}

async function rank(client: SimulationClient, store: Holdfast, query: string): Promise<readonly SearchHit[]> {
  const found = await client.patiently(() => store.search(query, { limit: 20, neighbours: 0 }));
  return found.hits;
}

/** Each word finds its own message only, best first, on both processes alike. */
async function compare(client: SimulationClient, stores: readonly Holdfast[], book: MessageBook): Promise<void> {
  const there = book.all("there");
  const word = there[there.length >> 1];
  if (word === undefined) return;
  const rankings: string[] = [];
  for (const store of stores) {
    const hits = await rank(client, store, `${word} ${COMMON}`);
    const best = hits[0]?.snippet.text ?? "";
    client.expect(best.startsWith(word), `the best hit for ${word} is ${best}`);
    rankings.push(JSON.stringify(hits.map((hit) => [hit.session, hit.seq, hit.score])));
  }
  client.expect(new Set(rankings).size === 1, `two processes rank otherwise: ${rankings.join(" and ")}`);
}

async function append(client: SimulationClient, store: Holdfast, book: MessageBook, session: string): Promise<void> {
  const word = book.add(session);
  const message = { role: "user", content: `${word} ${COMMON} ${"and more ".repeat(20)}`, key: word } as const;
  await client.patiently(() => store.history.append({ session, agent: AGENT }, message));
  book.added(word);
}

async function erase(
  client: SimulationClient,
  store: Holdfast,
  book: MessageBook,
  session: string,
  isWhole: boolean,
): Promise<void> {
  book.erase(session);
  try {
    await client.patiently<unknown>(() =>
      isWhole ? store.sessions.delete(session, { everywhere: true }) : store.history.clear({ session, agent: AGENT }),
    );
  } catch (error) {
    // There was none yet, or the first try deleted it and was not heard of.
    if (!isHoldfastError(error) || error.code !== "NotFound") throw error;
  }
  book.erased(session);
}

async function reindex(client: SimulationClient, store: Holdfast): Promise<void> {
  // Another process, and erasures, may change the index again and again.
  await client.attempt(() => store.reindex());
}

/** A search of many messages reads much: not every one of its tries may fail. Time decides nothing here. */
function faultsOf(rate: number): readonly Fault[] {
  return onlyClientDies(rate)
    .filter(({ kind }) => kind !== "clockJump")
    .map((fault) => (fault.kind === "readFail" ? { ...fault, maxTriggers: 150 } : fault));
}

export const SEARCH: Scenario = {
  name: "search",
  rate: 0.15,
  make: (seed, rate) => {
    const book = new MessageBook();
    return {
      seed,
      faults: faultsOf(rate),
      // Writing the index is no event of a session, so it looks quiet.
      limits: { quietMs: 40_000_000, ms: 200 * 3_600_000 },
      async scenario(client) {
        const next = rng(seed, "search");
        const peer = await client.open(`peer-${book.begin()}`);
        const stores = [client.store, peer.store];
        const one = () => stores[Math.floor(next() * 2)] ?? client.store;
        const deleted = new Set<string>();
        for (let round = 0; round < ROUNDS; round++) {
          // One call for each session at a time: then what is in it is known.
          const slots = Array.from({ length: SESSIONS }, (_, slot) => slot).filter(() => next() < 0.7);
          const calls = slots.map((slot) => {
            const session = book.name(slot);
            if (deleted.has(session)) return Promise.resolve();
            if (next() < 0.75) return append(client, one(), book, session);
            const isWhole = next() < 0.3;
            if (isWhole) deleted.add(session);
            return erase(client, one(), book, session, isWhole);
          });
          const work: Promise<void>[] = [...calls, search(client, one(), book)];
          if (next() < 0.8) work.push(reindex(client, client.store));
          if (next() < 0.5) work.push(reindex(client, peer.store));
          if (next() < 0.5) work.push(search(client, one(), book));
          await Promise.all(work);
          if (next() < 0.3) await compare(client, stores, book);
        }
        for (const store of stores) await search(client, store, book);
        await compare(client, stores, book);
        await reindex(client, client.store);
        for (const store of stores) await search(client, store, book);
        peer.kill();
      },
    };
  },
};
