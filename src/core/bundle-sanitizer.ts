// Removes from an untrusted bundle what must not be restored or saved: scripts that the agent would run by itself, and
// permissions beyond its user's.

import type { CapturedFile, CodingAgent, LeftOutFile } from "../contracts/captures.ts";
import type { Json } from "../contracts/json.ts";
import { encodeText, sha256Hex } from "./bytes.ts";
import { isObject } from "./check.ts";

export interface UntrustedBundle {
  readonly agent: CodingAgent;
  readonly files: readonly CapturedFile[];
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

const SCRIPTS = /^session-env\//;
const EXPORT = /^export\//;

/** The same without those, and what they were. Every other file is as it was, byte for byte. */
export function sanitizeBundle<T extends UntrustedBundle>(bundle: T): T & { readonly left: readonly LeftOutFile[] } {
  const files: CapturedFile[] = [];
  const contents = new Map(bundle.contents);
  const left: LeftOutFile[] = [];
  for (const file of bundle.files) {
    const { path } = file;
    if (SCRIPTS.test(path)) {
      contents.delete(path);
      left.push({ path, why: "the agent would run it by itself" });
      continue;
    }
    const content = contents.get(path);
    const changed = bundle.agent === "opencode" && EXPORT.test(path) && content ? removePermissions(content) : null;
    if (changed === null) {
      files.push(file);
      continue;
    }
    const size = changed.content.byteLength;
    contents.set(path, changed.content);
    files.push({ ...file, size, stored: size, ref: `sha256:${sha256Hex(changed.content)}` });
    left.push(...changed.left.map((why) => ({ path, why })));
  }
  return { ...bundle, files, contents, left };
}

/**
 * The export of an OpenCode session as it may be imported; null when it needs no change. Permissions of a session
 * override its user's settings, so only denials are kept: `opencode run` denies itself questions that no person would
 * answer.
 */
function removePermissions(content: Uint8Array): { content: Uint8Array; left: readonly string[] } | null {
  const data = parseExport(content);
  if (!isObject(data) || !isObject(data.info)) return null;
  const { permission, share, ...info } = data.info;
  const rules = Array.isArray(permission) ? permission.filter(isDenial) : [];
  const allowsNothing = permission === undefined || (Array.isArray(permission) && rules.length === permission.length);
  if (allowsNothing && share === undefined) return null;
  const kept = { ...data, info: { ...info, ...(rules.length === 0 ? {} : { permission: rules }) } };
  return {
    content: encodeText(`${JSON.stringify(kept, null, 2)}\n`),
    left: [
      ...(allowsNothing ? [] : ["what it allows itself: this machine's settings count"]),
      ...(share === undefined ? [] : ["where it was shared"]),
    ],
  };
}

function isDenial(rule: Json): boolean {
  return isObject(rule) && rule.action === "deny";
}

/** Parsed as OpenCode's import parses it: what is not JSON here is refused there. */
function parseExport(content: Uint8Array): Json | undefined {
  try {
    return JSON.parse(Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}
