// How much memory a process needs that searches 100,000 messages and 100,000 embeddings.
import { DatabaseSync } from "node:sqlite";
import { percentile } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { measureResident } from "./resident-program.ts";
import { type FilledMessages, filledMessages, searchQueries } from "./searches.ts";

const ROUNDS = 3;

interface FilledVectors {
  readonly file: string;
  readonly queries: readonly Float32Array[];
}

export function searchMemory(filledVectors: (setting: Setting) => Promise<FilledVectors>): Bench {
  return {
    metrics: ["search.memory"],
    async run(setting): Promise<readonly Result[]> {
      const messages = await filledMessages(setting);
      const vectors = await filledVectors(setting);
      const queries = { texts: searchQueries(), embeddings: vectors.queries.map((query) => Array.from(query)) };
      const grown: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        grown.push(await measureResident({ messages: messages.file, vectors: vectors.file }, queries));
      }
      const value = percentile(grown, 0.5) / 1e6;
      const baseline = (await indexBytes(messages, vectors)) / 1e6;
      const note =
        "resident memory of a process that opens both stores and searches, above the same searches in small ones; baseline: bytes of " +
        "the text index and of the pages of codes";
      return [{ metric: "search.memory", unit: "MB", value, baseline, ratio: value / baseline, note }];
    },
  };
}

async function indexBytes({ hf }: FilledMessages, { file }: FilledVectors): Promise<number> {
  const { textIndex } = await hf.stats();
  const db = new DatabaseSync(file, { readOnly: true });
  const row = db.prepare("SELECT sum(length(codes)) AS bytes FROM vector_pages").get();
  db.close();
  return textIndex.bytes + Number(row?.bytes ?? 0);
}
