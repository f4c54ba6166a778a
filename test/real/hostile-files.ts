// Hostile bundles, transcripts and archives, generated from a seed: valid ones that are cut off or changed, forged lengths and
// headers, bombs of every size, and all of these inside one another.
import { createHash } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import {
  archive,
  bundle,
  type FramePart,
  json,
  lengthOf,
  listOf,
  MAIN,
  type Part,
  SESSION,
  zstdFrame,
} from "./bombs.ts";
import type { HostileFile } from "./hostile-batch.ts";

/** mulberry32. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  of<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  /** Any order of magnitude up to that limit. */
  size(limit: number): number {
    return this.below(2 ** (1 + this.below(Math.floor(Math.log2(limit)))));
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

type Generate = (random: Random) => Omit<HostileFile, "name">;

const LARGEST = 2 ** 31;

function lines(random: Random): Buffer {
  const line = (i: number) => ({
    type: "user",
    uuid: `u${i}`,
    sessionId: SESSION,
    message: { role: "user", content: "x" },
  });
  return Buffer.from(Array.from({ length: 1 + random.below(40) }, (_, i) => `${JSON.stringify(line(i))}\n`).join(""));
}

function validBundle(random: Random, content = lines(random)): Buffer {
  const ref = `sha256:${createHash("sha256").update(content).digest("hex")}`;
  const list = listOf([{ path: MAIN, size: content.length, ref }]);
  return bundle([lengthOf(list.length), list, content]);
}

function validArchive(random: Random): Buffer {
  const chain = "0".repeat(64);
  const rows = '["session_tags",{"session":"s","tag":"t"}]\n'.repeat(1 + random.below(50));
  const sessions = [{ id: "s", seq: 1, chain, whole: true }];
  return archive([json("M", { session: "s", sessions, blobs: 0, rows: 1 }), json("R", rows)]);
}

function truncated(random: Random, bytes: Buffer): Buffer {
  return bytes.subarray(0, random.below(bytes.length));
}

/** A few bytes are others. */
function changed(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let left = 1 + random.below(8); left > 0; left--) copy[random.below(copy.length)] = random.below(256);
  return copy;
}

function forgedList(random: Random): Buffer {
  const size = random.of<unknown>(random.size(LARGEST), -1, 1.5, 1e308, "1", null, [], 2 ** 53);
  const files = Array.from({ length: 1 + random.size(3000) }, (_, i) => ({ path: i === 0 ? MAIN : `a/${i}`, size }));
  const list = listOf(files);
  return bundle([lengthOf(random.of(list.length, random.size(2 ** 32))), list, zeros(random)]);
}

function zeros(random: Random): Part {
  return { byte: random.of("\0", "[", "{", '"', "a", "\n"), times: random.size(LARGEST) };
}

/** The header of a frame says how large its window and its content are. */
function forgedFrame(random: Random): Buffer {
  const frame = zstdFrame([lines(random), zeros(random)]);
  frame[4] = random.of(0x00, 0x20, 0xc0, 0xe0, 0x04, random.below(256));
  frame[5] = random.below(256);
  return frame;
}

/** Compressed again and again. */
function nested(random: Random, inner: Buffer): Buffer {
  let bytes = inner;
  for (let left = 1 + random.below(5); left > 0; left--)
    bytes = random.below(2) === 0 ? gzipSync(bytes) : zstdCompressSync(bytes);
  return bytes;
}

function gzipMembers(random: Random): Buffer {
  const member = gzipSync(Buffer.alloc(random.size(8 * 1024 * 1024), random.of("\0", "{", "\n")));
  return Buffer.concat(Array.from({ length: 1 + random.size(64) }, () => member));
}

function forgedArchive(random: Random): Buffer {
  const deep = "[".repeat(random.size(2 ** 20));
  const manifest = random.of<unknown>(
    { session: "s", sessions: [], blobs: random.size(2 ** 40), rows: random.size(2 ** 50) },
    {
      session: "s",
      sessions: [{ id: "s", seq: random.size(2 ** 53), chain: "0".repeat(64), whole: true }],
      blobs: 1,
      rows: 1,
    },
    ...[deep, null, [], { session: 1 }],
  );
  const letters = ["M", "B", "D", "R"] as const;
  const frames: FramePart[] = Array.from({ length: random.below(30) }, () => {
    const letter = random.of(...letters);
    const packed = random.of(
      random.bytes(20),
      zstdFrame([zeros(random)]),
      zstdCompressSync(lines(random)),
      forgedFrame(random),
    );
    return [letter, packed, random.size(2 ** 32)];
  });
  return archive([json("M", manifest), ...frames]);
}

/** Lengths in the middle of an archive that say more, or less, than there is. */
function forgedLengths(random: Random): Buffer {
  const bytes = Buffer.from(validArchive(random));
  bytes.writeUInt32BE(random.size(2 ** 32), "holdfast-archive 1\n".length + random.of(1, 5));
  return bytes;
}

const GENERATORS: Readonly<Record<string, Generate>> = {
  "a bundle cut off": (random) => ({ kind: "bundle", bytes: truncated(random, validBundle(random)) }),
  "a bundle with changed bytes": (random) => ({ kind: "bundle", bytes: changed(random, validBundle(random)) }),
  "a bundle with a forged list": (random) => ({ kind: "bundle", bytes: forgedList(random) }),
  "a bundle with a forged frame": (random) => ({
    kind: "bundle",
    bytes: Buffer.concat([validBundle(random).subarray(0, 8), forgedFrame(random)]),
  }),
  "a bundle of a bundle": (random) => ({ kind: "bundle", bytes: validBundle(random, forgedList(random)) }),
  "a bundle compressed again": (random) => ({ kind: "bundle", bytes: nested(random, validBundle(random)) }),
  "random bytes": (random) => ({
    kind: random.of("bundle", "transcript", "archive"),
    bytes: random.bytes(1 + random.size(2000)),
  }),
  "a transcript of gzip members": (random) => ({ kind: "transcript", bytes: gzipMembers(random) }),
  "a transcript cut off": (random) => ({ kind: "transcript", bytes: truncated(random, gzipSync(lines(random))) }),
  "a transcript compressed again": (random) => ({ kind: "transcript", bytes: nested(random, lines(random)) }),
  "a transcript in one line": (random) => ({
    kind: "transcript",
    bytes: gzipSync(Buffer.alloc(random.size(32 * 1024 * 1024), random.of("[", "{", "a"))),
  }),
  "an archive cut off": (random) => ({ kind: "archive", bytes: truncated(random, validArchive(random)) }),
  "an archive with changed bytes": (random) => ({ kind: "archive", bytes: changed(random, validArchive(random)) }),
  "an archive with forged parts": (random) => ({ kind: "archive", bytes: forgedArchive(random) }),
  "an archive with forged lengths": (random) => ({ kind: "archive", bytes: forgedLengths(random) }),
  "an archive compressed again": (random) => ({ kind: "archive", bytes: nested(random, validArchive(random)) }),
};

/** So many, in turn of every kind; the same for the same seed. */
export function hostileFiles(seed: number, count: number): readonly HostileFile[] {
  const random = new Random(seed);
  const generators = Object.entries(GENERATORS);
  return Array.from({ length: count }, (_, i) => {
    const [name, generate] = generators[i % generators.length] as (typeof generators)[number];
    return { name: `${name} (seed ${seed}, file ${i})`, ...generate(random) };
  });
}
