// SQLite's write-ahead log as bytes: a header of 32, then frames of 24 + a page. What a power cut leaves of it is made
// here, from what was on the disk when a write was acknowledged and what came behind it.
import * as fs from "node:fs";

const HEADER = 32;
const FRAME_HEADER = 24;

export interface Files {
  readonly db: Buffer;
  readonly wal: Buffer;
}

export function readFiles(path: string): Files {
  return { db: fs.readFileSync(path), wal: fs.readFileSync(`${path}-wal`) };
}

/** Without the -shm file, which is only memory that processes share. */
export function writeFiles(path: string, { db, wal }: Files): void {
  fs.writeFileSync(path, db);
  fs.writeFileSync(`${path}-wal`, wal);
  fs.rmSync(`${path}-shm`, { force: true });
}

export function frameSize(wal: Buffer): number {
  return FRAME_HEADER + wal.readUInt32BE(8);
}

/** Where frames end, from that length on, the end of the last one included. */
export function boundaries(wal: Buffer, from: number): number[] {
  const size = frameSize(wal);
  const ends: number[] = [];
  for (let end = HEADER; end <= wal.length; end += size) if (end >= from) ends.push(end);
  return ends;
}

/** Two random numbers that are new whenever the log starts again from its beginning. */
export function salts(wal: Buffer): string {
  return wal.subarray(16, 24).toString("hex");
}

/** Ways in which the disk may have kept the log up to `end` and not quite what follows. */
export const LOSSES: Readonly<Record<string, (wal: Buffer, end: number) => Buffer>> = {
  "nothing behind it": (wal, end) => wal.subarray(0, end),
  "half of the next frame": (wal, end) => wal.subarray(0, Math.min(wal.length, end + Math.floor(frameSize(wal) / 2))),
  "the next frame's header and no page": (wal, end) => wal.subarray(0, Math.min(wal.length, end + FRAME_HEADER)),
  "the next frame garbled, the rest whole": (wal, end) => spoil(wal, end, (byte, i) => byte ^ (1 + (i % 255))),
  "the next frame zeroed, the rest whole": (wal, end) => spoil(wal, end, () => 0),
};

function spoil(wal: Buffer, end: number, change: (byte: number, index: number) => number): Buffer {
  const spoiled = Buffer.from(wal);
  const stop = Math.min(wal.length, end + frameSize(wal));
  for (let i = end; i < stop; i++) spoiled[i] = change(spoiled[i] ?? 0, i);
  return spoiled;
}
