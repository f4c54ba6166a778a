// Keeps the files of a Claude Code session in a store's captures, for persistentQuery(): restores them before the agent starts, saves them
// while it works, and imports the conversation into its session.
import { readFile } from "node:fs/promises";
import { readContent, sourceOfCapture } from "../../coding/capture-source.ts";
import { findIfPresent, type LocalAgent, localAgent } from "../../coding/local-agent.ts";
import { RecordedSession } from "../../coding/supervisor/recorder.ts";
import type { Capture, CaptureWithFiles } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import type { Environment } from "../../contracts/environment.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { mainFileOf } from "../../core/agent-sessions.ts";
import { decodeText } from "../../core/bytes.ts";
import { realEnvironment } from "../../core/environment.ts";
import type { CaptureMoment } from "./capturing.ts";
import {
  countMissing,
  findMirroredSession,
  type MirroredSession,
  restoredFromMirror,
  withMirrored,
} from "./from-mirror.ts";
import type { RestoredSession } from "./persistent-query.ts";

export interface ClaudeFilesOptions {
  readonly hf: Holdfast;
  readonly request: string;
  /** The agent's working directory: the SDK's options.cwd. Default: that of the process. */
  readonly cwd?: string;
  /** The agent's environment variables: the SDK's options.env. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** How long captures are kept. Default 7 days; null: for ever. */
  readonly ttlMs?: number | null;
  /** Changes the paths of the session's own files to where they are now, for a session that is resumed in another directory. */
  readonly rewritePaths?: boolean;
  readonly environment?: Environment;
}

export interface ClaudeFiles {
  /**
   * For persistentQuery(): restores the request's newest session; null when there is none. Entries that were mirrored and not captured
   * are restored from the mirror, if persistentQuery() has the same request; `problem` reports that.
   */
  readonly restore: () => Promise<RestoredSession | null>;
  /** For persistentQuery(): saves changed files; with "exit" it imports the conversation too. */
  readonly capture: (sessionId: string, moment: CaptureMoment) => Promise<void>;
  /** The capture that was saved last; null: none. */
  readonly last: () => Capture | null;
}

interface RestoreSources {
  readonly captured: (CaptureSource & CaptureWithFiles) | null;
  readonly mirrored: MirroredSession | null;
}

/** The newest capture and the mirrored entries of its session. A newer session that was never captured has precedence. */
async function findRestoreSources(hf: Holdfast, request: string): Promise<RestoreSources | null> {
  const capture = await hf.captures.latest(request, "claude-code");
  const newest = await findMirroredSession(hf, request);
  const isUncaptured = newest !== null && (capture === null || newest.createdAt > capture.savedAt);
  if (isUncaptured && newest.sessionId !== capture?.sessionId) return { captured: null, mirrored: newest };
  if (capture === null) return null;
  const isSame = newest?.sessionId === capture.sessionId;
  const mirrored = isSame ? newest : await findMirroredSession(hf, request, capture.sessionId);
  return { captured: await sourceOfCapture(hf.captures, capture.id), mirrored };
}

async function transcriptOf(captured: RestoreSources["captured"]): Promise<string> {
  if (captured === null) return "";
  return decodeText(await readContent(captured, mainFileOf("claude-code", captured.sessionId).path));
}

/** The transcript that this machine still has; "" when it has none. */
async function transcriptHere(agent: LocalAgent, { sessionId }: MirroredSession): Promise<string> {
  const found = await agent.find(sessionId).catch(() => null);
  const main = found?.files.find(({ role }) => role === "transcript");
  return main === undefined ? "" : readFile(main.file, "utf8");
}

export function claudeFiles(options: ClaudeFilesOptions): ClaudeFiles {
  const { hf, request, ttlMs, rewritePaths = false, environment = realEnvironment() } = options;
  const { cwd = process.cwd(), env = process.env } = options;
  const agent = localAgent("claude-code", { env, cwd, environment });
  const sessions = new Map<string, RecordedSession>();
  let basis: CaptureWithFiles | null = null;
  /** The session that was saved last. */
  let latest: RecordedSession | null = null;
  const recordedOf = (sessionId: string) => {
    const recorded =
      sessions.get(sessionId) ??
      new RecordedSession(hf, {
        clock: hf.clock,
        environment,
        request,
        basis: basis?.sessionId === sessionId ? basis : null,
        ...(ttlMs === undefined ? {} : { ttlMs }),
      });
    sessions.set(sessionId, recorded);
    return recorded;
  };
  return {
    last: () => latest?.last ?? null,
    async restore() {
      const found = await findRestoreSources(hf, request);
      if (found === null) return null;
      const { captured, mirrored } = found;
      const missing = mirrored === null ? 0 : countMissing(mirrored, await transcriptOf(captured));
      const isHere =
        mirrored !== null && missing > 0 && countMissing(mirrored, await transcriptHere(agent, mirrored)) === 0;
      const isFromMirror = mirrored !== null && missing > 0 && !isHere;
      const source = isFromMirror ? await withMirrored(captured, mirrored) : captured;
      if (source !== null) await agent.restore(source, { rewritePaths });
      basis = captured;
      const sessionId = captured?.sessionId ?? mirrored?.sessionId ?? "";
      return { sessionId, ...(isFromMirror ? { problem: restoredFromMirror(sessionId, missing, captured) } : {}) };
    },
    async capture(sessionId, moment) {
      // The agent writes nothing before the first message.
      const found = await (moment === "entry" ? findIfPresent(agent, sessionId) : agent.find(sessionId));
      if (found === null) return;
      const recorded = recordedOf(sessionId);
      if ((await recorded.save(found)) !== null) latest = recorded;
      if (moment === "exit") await latest?.importConversation();
    },
  };
}
