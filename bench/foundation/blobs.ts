// Transcripts as blobs: the space a growing one takes, and the time to store and to read a whole one.
import { statSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { constants, gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { alternate, compare, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { ordinaryTranscript, repetitiveTranscript, versions } from "../transcripts.ts";

const BYTES = 12_000_000;
const VERSIONS = 50;
const ROUNDS = 5;
/** A blob is condemned two epochs after its last put and deleted one later. */
const GC_ROUNDS = 5;

const MEDIA = { mediaType: "application/jsonl" };

export const growing: Bench = {
  metrics: ["blobs.growing"],
  run: ({ folder }) => measureGrowing("blobs.growing", path.join(folder, "growing.db"), ordinaryTranscript(BYTES)),
};

export const growingRepetitive: Bench = {
  metrics: ["blobs.growing.repetitive"],
  run: ({ folder }) => {
    const file = path.join(folder, "repetitive.db");
    return measureGrowing("blobs.growing.repetitive", file, repetitiveTranscript(BYTES));
  },
};

async function measureGrowing(metric: string, file: string, full: Uint8Array): Promise<readonly Result[]> {
  const hf = await open(file);
  const before = filesSize(file);
  const storing = await timed(() => storeVersions(hf, full));
  const after = filesSize(file);
  await hf.close();
  const once = zstdCompressSync(full, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).length;
  const grown = after - before;
  return [
    {
      metric,
      value: grown / 1e6,
      unit: "MB",
      baseline: once / 1e6,
      ratio: grown / once,
      targets: [{ of: "ratio", must: "atMost", limit: 1.3 }],
      note:
        `growth of the files after ${VERSIONS} versions of a ${(full.length / 1e6).toFixed(1)} MB transcript, ` +
        `${storing.toFixed(0)} ms for all; baseline: zstd 3 of the last`,
    },
  ];
}

async function storeVersions(hf: Holdfast, full: Uint8Array): Promise<void> {
  let last: string | undefined;
  for (const version of versions(full, VERSIONS)) {
    const ref = await hf.blobs.store(version, { ...MEDIA, ...(last === undefined ? {} : { growsFrom: last }) });
    if (last !== undefined) await hf.blobs.delete(last);
    last = ref;
  }
  if (last === undefined) throw new Error("no version was stored");
  await hf.blobs.seal(last);
  for (let i = 0; i < GC_ROUNDS; i++) await hf.blobs.gc();
  const kept = await hf.blobs.resolve(last);
  if (Buffer.compare(kept, full) !== 0) throw new Error("the last version came back different");
}

/** The size of the database and the WAL after a checkpoint of the WAL. */
export function filesSize(file: string): number {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return [file, `${file}-wal`].reduce((sum, one) => sum + (statSync(one, { throwIfNoEntry: false })?.size ?? 0), 0);
}

export const wholes: Bench = {
  metrics: ["blobs.write12MB", "blobs.read12MB"],
  async run({ folder, say }) {
    const hf = await open(path.join(folder, "wholes.db"));
    // One transcript for each round and one for the warm-up, because bytes that are stored already would not be written.
    const transcripts = Array.from({ length: ROUNDS + 1 }, (_, i) => ordinaryTranscript(BYTES, i + 1));
    say(`  ${transcripts.length} transcripts made`);
    const refs: string[] = [];
    const zipped: Uint8Array[] = [];
    const pick = <T>(list: readonly T[], round: number): T => {
      const found = list.at(round + 1);
      if (found === undefined) throw new Error(`nothing for round ${round}`);
      return found;
    };
    const [write = [], gzip = []] = await alternate(ROUNDS, [
      (round) => timed(async () => refs.push(await hf.blobs.store(pick(transcripts, round), MEDIA))),
      (round) => timed(() => zipped.push(gzipSync(pick(transcripts, round)))),
    ]);
    const [read = [], gunzip = []] = await alternate(ROUNDS, [
      (round) => timed(() => hf.blobs.resolve(pick(refs, round))),
      (round) => timed(() => gunzipSync(pick(zipped, round))),
    ]);
    await hf.close();
    return [
      {
        metric: "blobs.write12MB",
        unit: "ms",
        ...compare(write, gzip),
        note: "durable; baseline: gzipSync of the whole",
      },
      { metric: "blobs.read12MB", unit: "ms", ...compare(read, gunzip), note: "hash verified; baseline: gunzipSync" },
    ];
  },
};
