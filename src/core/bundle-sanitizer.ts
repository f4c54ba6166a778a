// Removes from an untrusted bundle what must not be restored or saved: scripts that the agent would run without being
// asked to, and permissions that its user did not give.
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

/** Returns the bundle without them, and a list of what was removed. Every other file stays as it was, byte for byte. */
export function sanitizeBundle<T extends UntrustedBundle>(bundle: T): T & { readonly left: readonly LeftOutFile[] } {
  const files: CapturedFile[] = [];
  const contents = new Map(bundle.contents);
  const left: LeftOutFile[] = [];
  for (const file of bundle.files) {
    const { path } = file;
    if (SCRIPTS.test(path)) {
      contents.delete(path);
      left.push({ path, why: "the agent would run this script without being asked to" });
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
 * Returns the export of an OpenCode session without the permissions that it grants; null if nothing has to be removed.
 * Permissions of a session override its user's settings, so only denials are kept: `opencode run` writes them for
 * questions that no person could answer.
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
      ...(allowsNothing ? [] : ["permissions that the session grants itself: this machine's settings apply instead"]),
      ...(share === undefined ? [] : ["the link under which the session was shared"]),
    ],
  };
}

function isDenial(rule: Json): boolean {
  return isObject(rule) && rule.action === "deny";
}

/** Parses as OpenCode's import does. OpenCode refuses what is not JSON. */
function parseExport(content: Uint8Array): Json | undefined {
  try {
    return JSON.parse(Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}
