// Restores from the mirror: if a process was killed between an entry and the next capture, the mirror has more than the capture, and the
// captured transcripts are completed with the mirrored entries.
import { readContent } from "../../coding/capture-source.ts";
import { entryIn, isMirror, MIRROR, mirroredId } from "../../coding/conversation/sdk-mirror.ts";
import type { Capture, CapturedFile } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { Session } from "../../contracts/session.ts";
import { isSessionIdOf, mainFileOf } from "../../core/agent-sessions.ts";
import { decodeText, encodeText, sha256Hex } from "../../core/bytes.ts";
import { isObject } from "../../core/check.ts";

type Stores = Pick<Holdfast, "sessions" | "history">;

/** The mirrored transcripts of one session of the agent, by their paths in a capture. */
export interface MirroredSession {
  readonly sessionId: string;
  readonly createdAt: number;
  readonly transcripts: ReadonlyMap<string, readonly JsonObject[]>;
}

const PAGE = 100;
/** The subpath of a sub-agent's transcript. Any other subpath is ignored. */
const SUBPATH = /^subagents\/agent-[A-Za-z0-9_-]{1,64}$/;
/** The type of an entry that the SDK mirrors for a sub-agent, and that is not a line of its transcript. */
const METADATA = "agent_metadata";

/** The session of the request that was mirrored last, or the one with this id; null when there is none. */
export async function findMirroredSession(
  hf: Stores,
  request: string,
  sessionId?: string,
): Promise<MirroredSession | null> {
  const all = await mirroredIn(hf, request);
  const mains = all.filter((one) => isMirror(one) && one.messages > 0 && isClaudeId(mirroredId(one.metadata)));
  const wanted = mains.filter(({ metadata }) => sessionId === undefined || mirroredId(metadata) === sessionId);
  const main = wanted.toSorted((a, b) => b.updatedAt - a.updatedAt)[0];
  const id = main === undefined ? null : mirroredId(main.metadata);
  if (main === undefined || id === null) return null;
  const transcripts = new Map([[mainFileOf("claude-code", id).path, await entriesOf(hf, main)]]);
  for (const one of all) {
    const { sessionId: of, subpath } = claudeOf(one);
    if (of !== id || typeof subpath !== "string" || !SUBPATH.test(subpath)) continue;
    transcripts.set(`project/${id}/${subpath}.jsonl`, await entriesOf(hf, one));
  }
  return { sessionId: id, createdAt: main.createdAt, transcripts };
}

async function mirroredIn({ sessions }: Stores, request: string): Promise<readonly Session[]> {
  const found: Session[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await sessions.list({ request, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items.filter(({ origin }) => origin === MIRROR));
    if (page.next === null) return found;
    cursor = page.next;
  }
}

function isClaudeId(id: string | null): boolean {
  return id !== null && isSessionIdOf("claude-code", id);
}

function claudeOf({ metadata: { claude } }: Session): JsonObject {
  return isObject(claude) ? claude : {};
}

async function entriesOf({ history }: Stores, { id }: Session): Promise<readonly JsonObject[]> {
  const entries = (await history.session(id)).map((message) => entryIn(message));
  return entries.filter((entry) => entry !== undefined);
}

/** How many mirrored entries of the main transcript this text does not have. */
export function countMissing({ sessionId, transcripts }: MirroredSession, text: string): number {
  const entries = transcripts.get(mainFileOf("claude-code", sessionId).path) ?? [];
  return missingEntries(entries, text).filter(hasUuid).length;
}

function hasUuid({ uuid }: JsonObject): boolean {
  return typeof uuid === "string";
}

/** The entries from the first one on that the text does not have. */
function missingEntries(entries: readonly JsonObject[], text: string): readonly JsonObject[] {
  const first = entries.findIndex(({ uuid }) => typeof uuid === "string" && !text.includes(JSON.stringify(uuid)));
  return first < 0 ? [] : entries.slice(first).filter(({ type }) => type !== METADATA);
}

/** The capture with the entries that only the mirror has; without a capture, all mirrored entries. */
export async function withMirrored(captured: CaptureSource | null, mirrored: MirroredSession): Promise<CaptureSource> {
  const contents = new Map<string, Uint8Array>();
  for (const [path, entries] of mirrored.transcripts) {
    const isCaptured = captured?.files.some((file) => file.path === path) === true;
    const text = captured !== null && isCaptured ? decodeText(await readContent(captured, path)) : "";
    const lines = missingEntries(entries, text).map((entry) => `${JSON.stringify(entry)}\n`);
    const end = text === "" || text.endsWith("\n") ? "" : "\n";
    if (lines.length > 0) contents.set(path, encodeText(`${text}${end}${lines.join("")}`));
    const meta = isCaptured ? undefined : entries.find(({ type }) => type === METADATA);
    const { type: _, ...facts } = meta ?? {};
    if (meta !== undefined) contents.set(path.replace(/\.jsonl$/, ".meta.json"), encodeText(JSON.stringify(facts)));
  }
  const kept = captured?.files.filter(({ path }) => !contents.has(path)) ?? [];
  const none = { agent: "claude-code", cwd: cwdOf(mirrored), configDir: null, key: null, agentVersion: null } as const;
  return {
    ...(captured ?? none),
    sessionId: mirrored.sessionId,
    files: [...kept, ...[...contents].map(([path, content]) => fileOf(path, content))],
    read: (path) => {
      const content = contents.get(path);
      return content === undefined && captured !== null ? captured.read(path) : once(content ?? new Uint8Array(0));
    },
  };
}

function cwdOf({ transcripts }: MirroredSession): string {
  for (const entries of transcripts.values()) for (const { cwd } of entries) if (typeof cwd === "string") return cwd;
  return "";
}

function fileOf(path: string, content: Uint8Array): CapturedFile {
  const size = content.byteLength;
  const role = path.includes("/subagents/") ? "subagent" : "transcript";
  return { role, path, size, ref: `sha256:${sha256Hex(content)}`, stored: size };
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/** The problem to report: the session is resumed, and some of its files are missing. */
export function restoredFromMirror(sessionId: string, missing: number, capture: Capture | null): HoldfastError {
  const what =
    capture === null
      ? `no file of session ${sessionId} was captured: the session was restored from its ${missing} mirrored entries`
      : `the last ${missing} entries of session ${sessionId} were not captured: they were restored from the mirror`;
  return new HoldfastError("NotFound", what, {
    details: { kind: "capture", sessionId, missing, capture: capture?.id ?? null },
    hint: "The task list, spilled tool output and file history of that time are lost. A shorter captureEveryMs loses less.",
  });
}
