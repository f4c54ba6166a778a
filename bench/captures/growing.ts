// The space that 50 captures of a session take while it grows to 12 MB.
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { claudeSession } from "../claude-session.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { versions } from "../transcripts.ts";
import { putOnDisk } from "./disk.ts";
import type { Engine, EngineKind } from "./engine.ts";
import { BYTES } from "./saving.ts";

const CAPTURES = 50;
/** A blob is condemned two epochs after its last put and deleted one later. */
const GC_ROUNDS = 5;

export function growing(kind: EngineKind, transcript: "ordinary" | "repetitive"): Bench {
  const metric = `${kind.prefix}captures.growing50${transcript === "ordinary" ? "" : ".repetitive"}`;
  return {
    metrics: [metric],
    async run(setting) {
      const folder = path.join(setting.folder, `growing-${kind.prefix}-${transcript}`);
      await mkdir(folder, { recursive: true });
      const session = claudeSession({ cwd: folder, bytes: BYTES, kind: transcript });
      return kind.with(setting)(async (engine) => [await measure(engine, folder, metric, session)]);
    },
  };
}

async function measure(
  engine: Engine,
  folder: string,
  metric: string,
  { sessionId, bytes }: { readonly sessionId: string; readonly bytes: Uint8Array },
): Promise<Result> {
  const before = await engine.bytes();
  const onDisk = await putOnDisk(engine, folder, { sessionId, bytes: new Uint8Array(0) });
  let [length, rows, last] = [0, 0, ""];
  for (const version of versions(bytes, CAPTURES)) {
    await onDisk.append(version.subarray(length));
    length = version.byteLength;
    last = (await onDisk.save()).id;
    rows += gzipSync(version).byteLength;
  }
  const [file] = await engine.hf.captures.files(last);
  if (file?.size !== bytes.byteLength) throw new Error("the last capture is not the whole transcript");
  await engine.hf.blobs.seal(file.ref);
  for (let i = 0; i < GC_ROUNDS; i++) await engine.hf.blobs.gc();
  const grown = (await engine.bytes()) - before;
  const once = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).byteLength;
  return {
    metric,
    value: grown / 1e6,
    unit: "MB",
    baseline: once / 1e6,
    ratio: grown / once,
    targets: [{ of: "ratio", must: "atMost", limit: 1.3 }],
    note:
      `growth of the store on disk by ${CAPTURES} captures, sealed and collected; baseline: zstd 3 of the final file; ` +
      `a gzipped row for each: ${(rows / 1e6).toFixed(0)} MB, ${(rows / once).toFixed(0)} times that`,
  };
}
