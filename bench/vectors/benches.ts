// Searches among 100,000 embeddings of 384 numbers, against an exact scan over the same ones. Part of `npm run bench -- memory`.
import { mkdirSync } from "node:fs";
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { sampleVectors } from "../../test/vectors/samples.ts";
import { alternate, compare, percentile, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { runCold } from "./cold-program.ts";
import { type ExactPeer, openPeer } from "./peer.ts";
import { shareFound } from "./recall.ts";

const COUNT = 100_000;
const DIMENSION = 384;
const NEAREST = 10;
const GROUPS = 100;
const QUERIES = 40;
const ROUNDS = 5;
const WRITTEN = 5000;
const AT_ONCE = 1000;
const WARM_UPS = 10;

/** The store and the table of sqlite-vec with the same embeddings, made once for all benches. */
class FilledStores {
  readonly hf: Holdfast;
  readonly file: string;
  readonly peer: ExactPeer;
  readonly queries: readonly Float32Array[];
  readonly vectors: readonly Float32Array[];

  constructor(
    hf: Holdfast,
    file: string,
    peer: ExactPeer,
    vectors: readonly Float32Array[],
    queries: readonly Float32Array[],
  ) {
    this.hf = hf;
    this.file = file;
    this.peer = peer;
    this.vectors = vectors;
    this.queries = queries;
  }

  static async fill({ folder, say }: Setting): Promise<FilledStores> {
    const next = sampleVectors("spectrum", DIMENSION, 5);
    const vectors = Array.from({ length: COUNT }, next);
    const queries = Array.from({ length: QUERIES }, next);
    const place = path.join(folder, "vectors");
    mkdirSync(place);
    const file = path.join(place, "store.db");
    const hf = await open(file, { durability: "normal" });
    say(`adding ${COUNT} embeddings`);
    await addDocuments(hf, vectors, "default");
    while (((await hf.vectors.getCollection("default"))?.packed ?? 0) <= COUNT - 1024) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const peer = openPeer(path.join(place, "peer.db"), DIMENSION);
    peer.write(vectors, AT_ONCE);
    return new FilledStores(hf, file, peer, vectors, queries);
  }

  async close(): Promise<void> {
    await this.hf.close();
    this.peer.close();
  }
}

async function addDocuments(hf: Holdfast, vectors: readonly Float32Array[], collection: string): Promise<void> {
  for (let from = 0; from < vectors.length; from += AT_ONCE) {
    const documents = vectors.slice(from, from + AT_ONCE).map((embedding, i) => ({
      id: `d${from + i}`,
      content: `document ${from + i}`,
      embedding,
      metadata: { group: (from + i) % GROUPS },
    }));
    await hf.vectors.add(documents, { collection });
  }
}

/** The median of searches with every query. */
async function p50(queries: readonly Float32Array[], search: (query: Float32Array) => unknown): Promise<number> {
  const times: number[] = [];
  for (const query of queries) times.push(await timed(() => search(query)));
  return percentile(times, 0.5);
}

async function measureQuery(stores: FilledStores): Promise<Result> {
  const { hf, peer, queries } = stores;
  const [ours = [], theirs = []] = await alternate(ROUNDS, [
    () => p50(queries, (query) => hf.vectors.search(query, { limit: NEAREST })),
    () => p50(queries.slice(0, WARM_UPS), (query) => peer.scan(query)),
  ]);
  const share = await shareFound(hf, stores);
  const note = `p50 of a whole search, documents read, against ${peer.name}; ${(share * 100).toFixed(1)} % of the ten nearest found`;
  return {
    metric: "vectors.query",
    unit: "ms",
    ...compare(ours, theirs),
    targets: [{ of: "ratio", must: "atMost", limit: share >= 0.99 ? 0.12 : 0 }],
    note,
  };
}

async function measureFiltered({ hf, queries }: FilledStores): Promise<Result> {
  const filter = { group: 7 };
  const [ours = [], baseline = []] = await alternate(ROUNDS, [
    () => p50(queries, (query) => hf.vectors.search(query, { limit: NEAREST, filter })),
    () => p50(queries, (query) => hf.vectors.search(query, { limit: NEAREST })),
  ]);
  const targets = [{ of: "ratio", must: "atMost", limit: 1.5 }] as const;
  return {
    metric: "vectors.filtered",
    unit: "ms",
    ...compare(ours, baseline),
    targets,
    note: "1 % kept, against no filter",
  };
}

async function measureWrite({ hf, peer, vectors }: FilledStores): Promise<Result> {
  let round = 0;
  const some = vectors.slice(0, WRITTEN);
  const perDocument = (ms: number) => ms / WRITTEN;
  const [ours = [], theirs = []] = await alternate(3, [
    async () => perDocument(await timed(() => addDocuments(hf, some, `written-${round++}`))),
    async () => perDocument(await timed(() => peer.write(some, AT_ONCE))),
  ]);
  const note =
    "documents with metadata, checksums and packing, against embeddings alone; 1,000 a commit, ms a document";
  return { metric: "vectors.write", unit: "ms", ...compare(ours, theirs), note };
}

async function measureCold({ file, queries }: FilledStores): Promise<Result> {
  const [query = new Float32Array()] = queries;
  const [first = [], second = []] = [[], []] as [number[], number[]];
  for (let round = 0; round < ROUNDS; round++) {
    const { firstMs, secondMs } = await runCold(file, query);
    first.push(firstMs);
    second.push(secondMs);
  }
  const targets = [{ of: "value", must: "atMost", limit: 150 }] as const;
  const note = "a new process, from before it opens the store to its first result, against a second search in it";
  return { metric: "memory.cold", unit: "ms", ...compare(first, second), targets, note };
}

const BENCHES: readonly (readonly [metric: string, measure: (stores: FilledStores) => Promise<Result>])[] = [
  ["vectors.query", measureQuery],
  ["vectors.filtered", measureFiltered],
  ["vectors.write", measureWrite],
  ["memory.cold", measureCold],
];

interface VectorBenches {
  readonly benches: readonly Bench[];
  /** The store, made with the first call. */
  filled(setting: Setting): Promise<Pick<FilledStores, "file" | "queries">>;
  close(): Promise<void>;
}

/** The benches of vectors, which share one filled store. */
export function vectorBenches(): VectorBenches {
  let stores: Promise<FilledStores> | null = null;
  const filled = (setting: Setting) => {
    stores ??= FilledStores.fill(setting);
    return stores;
  };
  const benches = BENCHES.map(
    ([metric, measure]): Bench => ({
      metrics: [metric],
      run: async (setting) => [await measure(await filled(setting))],
    }),
  );
  return { benches, filled, close: async () => (await stores)?.close() };
}
