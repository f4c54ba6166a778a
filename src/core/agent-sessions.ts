// The coding agents, how they name their sessions, the one file that every restore needs, and the paths of captured files. The store
// checks them when it saves a capture, so that it keeps no capture that a restore would refuse. A restore checks them again:
// the store or bundle that they come from is untrusted.
import type { CapturedFile, CodingAgent } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";

export const AGENTS: readonly CodingAgent[] = ["claude-code", "opencode"];
export const AGENT_NAMES: Readonly<Record<CodingAgent, string>> = {
  "claude-code": "Claude Code",
  opencode: "OpenCode",
};

const IDS: Readonly<Record<CodingAgent, RegExp>> = {
  "claude-code": /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  opencode: /^ses_[A-Za-z0-9]{1,100}$/,
};

export function isSessionIdOf(agent: CodingAgent, id: string): boolean {
  return IDS[agent].test(id);
}

/**
 * The tag of the main transcripts that the Claude Agent SDK mirrored. With a colon and the agent's own session id after
 * it, it is the tag of that session.
 */
export const MIRROR_TAG = "claude-session";

/** Claude Code: the transcript. OpenCode: the export. */
export function mainFileOf(agent: CodingAgent, sessionId: string): Pick<CapturedFile, "role" | "path"> {
  if (agent === "claude-code") return { role: "transcript", path: `project/${sessionId}.jsonl` };
  return { role: "export", path: `export/${sessionId}.json` };
}

/** The lengths that file systems allow for a name, and for a path below a directory of ours. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 1024;
const MOST_PARTS = 16;
/** Names that are devices on some systems, also with an extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f\\:<>"|?*]/;

/** Returns the parts of the path. Throws UnsafePath if a part could lead outside of the target directory. */
export function checkPath(path: string): readonly string[] {
  const parts = path.split("/");
  if (path.length > LONGEST_PATH || parts.length > MOST_PARTS) throw unsafe(path, "it is too long");
  if (!path.isWellFormed()) throw unsafe(path, "it is not Unicode");
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") throw unsafe(path, "a part of it is not a file name");
    if (UNSAFE.test(part)) throw unsafe(path, "it contains a character that names may not have");
    if (DEVICE.test(part)) throw unsafe(path, "it names a device");
    if (/[ .]$/.test(part)) throw unsafe(path, "a name ends in a dot or a space");
    if (Buffer.byteLength(part) > LONGEST_NAME) throw unsafe(path, "a name is too long");
  }
  return parts;
}

export function unsafe(path: string, why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the path ${JSON.stringify(path.slice(0, 200))} is refused: ${why}`, {
    details: { path: path.slice(0, 200) },
    hint: "Nothing was written. This capture or bundle was not made by Holdfast.",
  });
}
