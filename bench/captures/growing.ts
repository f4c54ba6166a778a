// The space that 50 captures of a session take while it grows to 12 MB. The store has had another session before: the session reuses the
// space that sealing and collecting have freed, and the initial size of a store counts for neither.
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { type ClaudeSession, claudeSession } from "../claude-session.ts";
import { median } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { versions } from "../transcripts.ts";
import { putOnDisk } from "./disk.ts";
import type { Engine, EngineKind } from "./engine.ts";
import { BYTES } from "./saving.ts";

const CAPTURES = 50;
const SESSIONS = 3;
/** A blob is condemned two epochs after its last put and deleted one later. */
const GC_ROUNDS = 5;

export function growing(kind: EngineKind, transcript: "ordinary" | "repetitive"): Bench {
  const metric = `${kind.prefix}captures.growing50${transcript === "ordinary" ? "" : ".repetitive"}`;
  return {
    metrics: [metric],
    async run(setting) {
      const folder = path.join(setting.folder, `growing-${kind.prefix}-${transcript}`);
      await mkdir(folder, { recursive: true });
      const session = (seed: number) => claudeSession({ cwd: folder, bytes: BYTES, kind: transcript, seed });
      return kind.with(setting)(async (engine) => [await measure(engine, folder, metric, session)]);
    },
  };
}

interface Grown {
  readonly bytes: number;
  readonly once: number;
  readonly rows: number;
}

async function measure(
  engine: Engine,
  folder: string,
  metric: string,
  session: (seed: number) => ClaudeSession,
): Promise<Result> {
  const first = await grow(engine, folder, session(1), true);
  const next: Grown[] = [];
  while (next.length < SESSIONS) next.push(await grow(engine, folder, session(next.length + 2)));
  const ratio = ({ bytes, once }: Grown) => bytes / once;
  return {
    metric,
    value: median(next.map(({ bytes }) => bytes)) / 1e6,
    unit: "MB",
    baseline: median(next.map(({ once }) => once)) / 1e6,
    ratio: median(next.map(ratio)),
    targets: [{ of: "ratio", must: "atMost", limit: 1.3 }],
    note:
      `growth of the store on disk by ${CAPTURES} captures, sealed and collected; baseline: zstd 3 of the final file; ` +
      `the first session of a new store ${ratio(first).toFixed(2)}; a gzipped row for each capture ` +
      `${(first.rows / 1e6).toFixed(0)} MB, ${(first.rows / first.once).toFixed(0)} times the baseline`,
  };
}

async function grow(
  engine: Engine,
  folder: string,
  { sessionId, bytes }: ClaudeSession,
  countsRows = false,
): Promise<Grown> {
  const before = await engine.bytes();
  const onDisk = await putOnDisk(engine, folder, { sessionId, bytes: new Uint8Array(0) });
  let [length, rows, last] = [0, 0, ""];
  for (const version of versions(bytes, CAPTURES)) {
    await onDisk.append(version.subarray(length));
    length = version.byteLength;
    last = (await onDisk.save()).id;
    if (countsRows) rows += gzipSync(version).byteLength;
  }
  const [file] = await engine.hf.captures.files(last);
  if (file?.size !== bytes.byteLength) throw new Error("the last capture is not the whole transcript");
  await engine.hf.blobs.seal(file.ref);
  for (let i = 0; i < GC_ROUNDS; i++) await engine.hf.blobs.gc();
  const once = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).byteLength;
  return { bytes: (await engine.bytes()) - before, once, rows };
}
