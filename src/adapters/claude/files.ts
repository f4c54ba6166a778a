// The files of a Claude Code session in a store's captures, as persistentQuery() asks for them: put back before the agent
// starts, saved while it works, and its conversation brought into its session.
import { importCaptured } from "../../coding/catch-up.ts";
import { agentHere } from "../../coding/here.ts";
import { Saver } from "../../coding/saver.ts";
import { sourceOfCapture } from "../../coding/sources.ts";
import type { Capture, CaptureWithFiles } from "../../contracts/captures.ts";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { realEnvironment } from "../../core/environment.ts";
import type { CaptureMoment } from "./capturing.ts";

export interface ClaudeFilesOptions {
  readonly hf: Holdfast;
  readonly request: string;
  /** Where the agent works; the SDK's options.cwd. Default: the process's. */
  readonly cwd?: string;
  /** The agent's; the SDK's options.env. Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default 7 days; null: never. */
  readonly ttlMs?: number | null;
  /** Paths of the session's own files lead to where they are now: for a session that goes on in another directory. */
  readonly rewritePaths?: boolean;
  readonly environment?: Environment;
}

export interface ClaudeFiles {
  /** For persistentQuery(): puts the request's newest session back; null when there is none. */
  readonly restore: () => Promise<{ readonly sessionId: string } | null>;
  /** For persistentQuery(): saves what changed; with "exit" the conversation as well. */
  readonly capture: (sessionId: string, moment: CaptureMoment) => Promise<void>;
  /** What was saved last. */
  readonly last: () => Capture | null;
}

export function claudeFiles(options: ClaudeFilesOptions): ClaudeFiles {
  const { hf, request, ttlMs, rewritePaths = false, environment = realEnvironment() } = options;
  const { cwd = process.cwd(), env = process.env } = options;
  const agent = agentHere("claude-code", { env, cwd, environment });
  const savers = new Map<string, Saver>();
  let basis: CaptureWithFiles | null = null;
  let last: Capture | null = null;
  const saverOf = (sessionId: string) => {
    const known = savers.get(sessionId);
    if (known !== undefined) return known;
    const made = new Saver({
      ...{
        captures: hf.captures,
        clock: hf.clock,
        environment,
        request,
        basis: basis?.sessionId === sessionId ? basis : null,
      },
      ...(ttlMs === undefined ? {} : { ttlMs }),
    });
    savers.set(sessionId, made);
    return made;
  };
  return {
    last: () => last,
    async restore() {
      const capture = await hf.captures.latest(request, "claude-code");
      if (capture === null) return null;
      const source = await sourceOfCapture(hf.captures, capture.id);
      const { sessionId } = await agent.restore(source, { rewritePaths });
      basis = source;
      return { sessionId };
    },
    async capture(sessionId, moment) {
      const found = await agent.find(sessionId).catch((error: unknown) => {
        // Nothing is written before the first message.
        if (moment === "entry" && error instanceof HoldfastError && error.code === "NotFound") return null;
        throw error;
      });
      if (found === null) return;
      last = (await saverOf(sessionId).save(found))?.capture ?? last;
      if (moment === "exit" && last !== null) await importCaptured(hf, last);
    },
  };
}
