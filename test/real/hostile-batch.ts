// A batch of hostile files read by a process of its own (bomb-reader.ts): every outcome is a typed error or a success that is
// allowed, and the process stays small.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import type { Bomb } from "./bombs.ts";

const READER = fileURLToPath(new URL("bomb-reader.ts", import.meta.url));
/** Several times what the reader needs, and a fraction of what the bombs would become. */
export const MOST_MB = 700;
/** The codes that an untrusted file may cause. Any other would be a bug, or blame the store. */
const CODES = [
  "LimitExceeded",
  "ArchiveCorrupted",
  "InvalidArgument",
  "InvalidId",
  "UnsupportedSchemaVersion",
  "Conflict",
];
const SUCCESSES = ["done", "taken", "refused"];

export type HostileFile = Pick<Bomb, "name" | "kind" | "bytes">;

export interface BatchReport {
  /** By file: how each way of reading it ended. */
  readonly outcomes: Readonly<Record<string, readonly string[]>>;
  readonly left: { readonly home: readonly string[]; readonly sessions: number; readonly captures: number };
  readonly maxRssMb: number;
}

export const fileOf = ({ kind }: HostileFile, i: number): string => `${i}.${kind}`;

export function readHostile(files: readonly HostileFile[], scratch: string): BatchReport {
  const folder = mkdtempSync(path.join(scratch, "hostile-"));
  const input = path.join(folder, "files");
  const place = path.join(folder, "store.db");
  mkdirSync(input);
  for (const [i, file] of files.entries()) writeFileSync(path.join(input, fileOf(file, i)), file.bytes);
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [READER, place, input], {
    encoding: "utf8",
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(status, 0, `the reader ended with ${status ?? signal}: ${stderr.slice(-2000)}`);
  const report = JSON.parse(stdout) as BatchReport;
  for (const [i, file] of files.entries()) {
    const outcomes = report.outcomes[fileOf(file, i)] ?? [];
    const strange = outcomes.filter((one) => !CODES.includes(one) && !SUCCESSES.includes(one));
    assert.ok(outcomes.length > 0 && strange.length === 0, `${file.name}: ${outcomes.join(", ")}`);
  }
  assert.ok(report.maxRssMb < MOST_MB, `the reader took ${Math.round(report.maxRssMb)} MB, ${MOST_MB} are allowed`);
  rmSync(folder, { recursive: true, force: true });
  return report;
}
