// Looking for likely secrets in a file that grows: what was looked through before is not looked through again, unless it is not
// what it was.
import type { KnownSecrets } from "./known-secrets.ts";
import { type SecretFinding, SecretScanner } from "./secrets.ts";

/** Up to where a file was looked through, in whole lines, and what stood there. */
export interface Scanned {
  readonly end: number;
  readonly lines: number;
  readonly ino: bigint;
  readonly before: Uint8Array;
}

/** So much before the end must be what it was. */
const SEEN = 4096;
const NEWLINE = 0x0a;

export function scanFrom(
  { content, ino }: { readonly content: Uint8Array; readonly ino: bigint },
  last: Scanned | undefined,
  grows: boolean,
  known?: KnownSecrets,
): { readonly findings: readonly SecretFinding[]; readonly scanned: Scanned } {
  const goesOn = grows && last !== undefined && isThere(content, ino, last);
  const [begin, before] = goesOn ? [last.end, last.lines] : [0, 0];
  const scanner = new SecretScanner({ known });
  scanner.push(content.subarray(begin));
  const findings = scanner.end().map((finding) => ({ ...finding, line: finding.line + before }));
  // A line that is not whole yet is looked at again.
  const end = content.lastIndexOf(NEWLINE) + 1;
  let lines = before;
  for (let at = content.indexOf(NEWLINE, begin); at >= 0; at = content.indexOf(NEWLINE, at + 1)) lines++;
  const seen = new Uint8Array(content.subarray(Math.max(0, end - SEEN), end));
  return { findings, scanned: { end, lines, ino, before: seen } };
}

function isThere(content: Uint8Array, ino: bigint, { end, before, ino: was }: Scanned): boolean {
  if (ino !== was || content.byteLength < end) return false;
  return Buffer.compare(content.subarray(end - before.byteLength, end), before) === 0;
}
