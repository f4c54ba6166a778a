// What the index costs appends: the same appends to a store that is opened without it.
import * as path from "node:path";
import { open } from "../../src/open.ts";
import { messageSource, writeAtOnce } from "../foundation/messages.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const ROUNDS = 7;
const WRITERS = 64;

async function measureAppends(
  metric: string,
  indexedUrl: string,
  plainUrl: string,
  seconds: number,
): Promise<readonly Result[]> {
  const indexed = await open(indexedUrl);
  const plain = await open(plainUrl, { search: false });
  const next = messageSource();
  const turnMs = (seconds * 1000) / ROUNDS;
  // The index is written in the background meanwhile, so its cost is part of the figure.
  const [on = [], off = []] = await alternate(ROUNDS, [
    async () => 1000 / (await writeAtOnce(indexed, WRITERS, turnMs, next)),
    async () => 1000 / (await writeAtOnce(plain, WRITERS, turnMs, next)),
  ]);
  await indexed.close();
  await plain.close();
  return [
    {
      metric,
      unit: "ms",
      ...compare(on, off),
      targets: [{ of: "ratio", must: "atMost", limit: 1.25 }],
      note: `an append of ${WRITERS} concurrent writers, with the index; baseline: with search: false`,
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
