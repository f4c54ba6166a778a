// Files of a few kilobytes that become gigabytes when they are decompressed: bundles, transcripts and archives as an attacker would
// make them. They are put together from run-length blocks of zstd, so that making one takes no memory either.
import { createHash } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";

export const SESSION = "1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d";
const BLOCK_BYTES = 128 * 1024;

export interface Bomb {
  readonly name: string;
  readonly kind: "bundle" | "transcript" | "archive";
  readonly bytes: Uint8Array;
  readonly code: "LimitExceeded" | "ArchiveCorrupted";
}

/** Bytes as they are, and one byte so many times. */
export type Part = Uint8Array | { readonly byte: string; readonly times: number };

/** One frame of zstd (RFC 8878) that says nothing of its size. */
export function zstdFrame(parts: readonly Part[]): Buffer {
  const blocks: Buffer[] = [];
  const add = (type: 0 | 1, size: number, content: Uint8Array) => {
    const head = Buffer.alloc(3);
    head.writeUIntLE((size << 3) | (type << 1), 0, 3);
    blocks.push(head, Buffer.from(content));
  };
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      for (let at = 0; at < part.length; at += BLOCK_BYTES) {
        const piece = part.subarray(at, at + BLOCK_BYTES);
        add(0, piece.length, piece);
      }
      continue;
    }
    for (let left = part.times; left > 0; left -= BLOCK_BYTES)
      add(1, Math.min(left, BLOCK_BYTES), Buffer.from(part.byte));
  }
  // An empty last block.
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]), ...blocks, Buffer.from([1, 0, 0])]);
}

export interface ListedFile {
  readonly path: string;
  readonly size: unknown;
  readonly ref?: string;
}

export function listOf(files: readonly ListedFile[]): Buffer {
  const zeros = `sha256:${"0".repeat(64)}`;
  const listed = files.map(({ path, size, ref = zeros }) => ({ path, ref, role: "transcript", size, stored: size }));
  const origin = {
    agent: "claude-code",
    agentVersion: null,
    configDir: null,
    cwd: "/x",
    key: null,
    sessionId: SESSION,
    v: 1,
  };
  return Buffer.from(JSON.stringify({ ...origin, files: listed }));
}

export function lengthOf(size: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(size);
  return length;
}

export const bundle = (parts: readonly Part[]) => Buffer.concat([Buffer.from("hfcap\u0000\u0001\n"), zstdFrame(parts)]);

function withFiles(files: readonly ListedFile[], zeros: number): Buffer {
  const list = listOf(files);
  return bundle([lengthOf(list.length), list, { byte: "\0", times: zeros }]);
}

export const MAIN = `project/${SESSION}.jsonl`;
const GIGABYTES = 1_900_000_000;
const MEGABYTES = 30_000_000;

function bundles(): readonly Bomb[] {
  const many = Array.from({ length: 60 }, (_, i) => ({ path: `a/${String(i).padStart(3, "0")}`, size: MEGABYTES }));
  const kind = "bundle";
  const limit = "LimitExceeded";
  return [
    { name: "one large file", kind, code: limit, bytes: withFiles([{ path: MAIN, size: GIGABYTES }], GIGABYTES) },
    { name: "many files, each small enough", kind, code: limit, bytes: withFiles(many, GIGABYTES) },
    {
      name: "more than its list says",
      kind,
      code: "ArchiveCorrupted",
      bytes: withFiles([{ path: MAIN, size: 1 }], GIGABYTES),
    },
    {
      name: "a list of 4 GB",
      kind,
      code: limit,
      bytes: bundle([lengthOf(2 ** 32 - 1), { byte: "[", times: GIGABYTES }]),
    },
    {
      name: "a list that is too long",
      kind,
      code: limit,
      bytes: bundle([lengthOf(60_000_000), { byte: "[", times: 60_000_000 }]),
    },
    {
      name: "a list of nothing but levels",
      kind,
      code: "ArchiveCorrupted",
      bytes: bundle([lengthOf(MEGABYTES), { byte: "[", times: MEGABYTES }]),
    },
    {
      name: "a list with more than its fields",
      kind,
      code: "ArchiveCorrupted",
      bytes: bundle([lengthOf(MEGABYTES + 2), Buffer.from("[0"), { byte: ",", times: MEGABYTES }]),
    },
  ];
}

/** Members of 16 MB each, one after the other. */
function transcripts(): readonly Bomb[] {
  const member = gzipSync(Buffer.alloc(16 * 1024 * 1024));
  const bytes = Buffer.concat(Array.from({ length: 8 }, () => member));
  const levels = gzipSync(Buffer.alloc(32 * 1024 * 1024, "["));
  return [
    { name: "a transcript in gzip", kind: "transcript", code: "LimitExceeded", bytes },
    { name: "a transcript of nothing but levels", kind: "transcript", code: "ArchiveCorrupted", bytes: levels },
  ];
}

export type FramePart = readonly [letter: "M" | "B" | "D" | "R", packed: Uint8Array, size: number];

export function archive(frames: readonly FramePart[]): Buffer {
  const parts: Buffer[] = [Buffer.from("holdfast-archive 1\n")];
  const add = (letter: string, packed: Uint8Array, size: number) => {
    parts.push(Buffer.concat([Buffer.from(letter), lengthOf(packed.length), lengthOf(size), packed]));
  };
  for (const frame of frames) add(...frame);
  add("E", createHash("sha256").update(Buffer.concat(parts)).digest(), 32);
  return Buffer.concat(parts);
}

export const json = (letter: FramePart[0], value: unknown): FramePart => {
  const text = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  return [letter, zstdCompressSync(text), text.length];
};

function archives(): readonly Bomb[] {
  const chain = "0".repeat(64);
  const manifest = (blobs: number) =>
    json("M", { session: "s", sessions: [{ id: "s", seq: 1, chain, whole: true }], blobs, rows: 100_000_000 });
  const rows = json("R", '["session_tags",{"session":"s","tag":"t"}]\n'.repeat(300_000));
  const small = json("R", '["session_tags",{"session":"s","tag":"t"}]\n'.repeat(1000));
  const head = { size: 1, media: "text/plain", utf8: true, at: 1 };
  const names = Array.from({ length: 90_000 }, () => chain);
  const heads = Array.from({ length: 40 }, (_, i) => {
    const sha256 = createHash("sha256").update(String(i)).digest("hex");
    return json("B", { ...head, sha256, size: 0, names });
  });
  const kind = "archive";
  return [
    {
      name: "rows",
      kind,
      code: "LimitExceeded",
      bytes: archive([manifest(0), ...Array.from({ length: 39 }, () => rows)]),
    },
    {
      name: "rows in many small parts",
      kind,
      code: "LimitExceeded",
      bytes: archive([manifest(0), ...Array.from({ length: 12_000 }, () => small)]),
    },
    { name: "names of blobs", kind, code: "ArchiveCorrupted", bytes: archive([manifest(40), ...heads]) },
    {
      name: "a row of one long text",
      kind,
      code: "LimitExceeded",
      bytes: archive([manifest(0), ["R", zstdFrame([{ byte: "a", times: 64 * 1024 * 1024 }]), 64 * 1024 * 1024]]),
    },
    {
      name: "a part that says another size",
      kind,
      code: "ArchiveCorrupted",
      bytes: archive([manifest(0), ["R", zstdFrame([{ byte: "a", times: GIGABYTES }]), 1000]]),
    },
  ];
}

export function makeBombs(): readonly Bomb[] {
  return [...bundles(), ...transcripts(), ...archives()];
}
