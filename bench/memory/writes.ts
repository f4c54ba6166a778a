// What the index costs appends: the same appends to a store that is opened without it.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { messageSource, writeAtOnce } from "../foundation/messages.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare, median, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const ROUNDS = 7;
const WRITERS = 64;
/** Long enough for the index to be written beside the writers, and not only after them. */
const TURN_MS = 1000;

async function measureAppends(
  metric: string,
  indexedUrl: string,
  plainUrl: string,
  seconds: number,
): Promise<readonly Result[]> {
  const indexed = await open(indexedUrl);
  const plain = await open(plainUrl, { search: false });
  const next = messageSource();
  const turnMs = Math.max(TURN_MS, (seconds * 1000) / ROUNDS);
  const perAppend = async (hf: Holdfast) => 1000 / (await writeAtOnce(hf, WRITERS, turnMs, next));
  const pending: number[] = [];
  const searches: number[] = [];
  const [on = [], off = []] = await alternate(ROUNDS, [
    async () => {
      const ms = await perAppend(indexed);
      // What is left of the index is written now, and not while the other store is measured.
      pending.push((await indexed.stats()).textIndex.pending);
      searches.push(await timed(() => indexed.search("anything")));
      return ms;
    },
    () => perAppend(plain),
  ]);
  await indexed.close();
  await plain.close();
  return [
    {
      metric,
      unit: "ms",
      ...compare(on, off),
      targets: [{ of: "ratio", must: "atMost", limit: 1.25 }],
      note:
        `an append of ${WRITERS} concurrent writers, with the index; baseline: with search: false. After a turn of ` +
        `${(turnMs / 1000).toFixed(1)} s, ${median(pending)} messages wait for the index; a search that comes at once takes ` +
        `${median(searches).toFixed(0)} ms`,
    },
  ];
}

export const appendIndexed: Bench = {
  metrics: ["append.indexed"],
  run: ({ folder, seconds }) =>
    measureAppends("append.indexed", path.join(folder, "indexed.db"), path.join(folder, "plain.db"), seconds),
};

export function appendIndexedOn(server: SharedServer): Bench {
  return {
    metrics: ["append.indexed.postgres"],
    run: async ({ seconds, say }) => {
      const url = await server.url(say);
      return withSchema(url, (indexed) =>
        withSchema(url, (plain) => measureAppends("append.indexed.postgres", indexed, plain, seconds)),
      );
    },
  };
}
