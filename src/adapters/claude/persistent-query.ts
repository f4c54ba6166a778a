// query() of the Claude Agent SDK with a session that outlives its machine. From a SessionStore the SDK would resume without task list,
// tool results, sub-agents' files and user settings, so the files are restored before it starts and captured while it works. The store
// gets a copy of every entry, and the SDK never loads one from it.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { ProjectScope, SessionStore, SessionStoreOptions, SessionsOf } from "../../contracts/session-store.ts";
import { invalid } from "../../core/check.ts";
import { realEnvironment } from "../../core/environment.ts";
import { type CaptureMoment, CaptureScheduler } from "./capturing.ts";
import { claudeSessionStore } from "./session-store.ts";

export type { CaptureMoment } from "./capturing.ts";

/** The SDK's query(). */
export type QueryFunction = (input: never) => AsyncIterable<unknown>;

type InputOf<F extends QueryFunction> = F extends (input: infer I) => unknown ? I : never;
type PromptOf<F extends QueryFunction> = InputOf<F> extends { prompt: infer P } ? P : unknown;
type OptionsOf<F extends QueryFunction> = InputOf<F> extends { options?: infer O } ? O : unknown;
type MessageOf<F extends QueryFunction> = ReturnType<F> extends AsyncIterable<infer M> ? M : never;

/** A prompt is a text or a stream of messages, never a function. */
type MakePrompt = (start: QueryStart) => unknown;

export interface QueryStart {
  /** The session that is resumed from its files; null when a new one begins. */
  readonly resumed: string | null;
  /** False with enableFileCheckpointing, which the SDK refuses together with a SessionStore: captures are all there is. */
  readonly mirrored: boolean;
}

/** A failure of Holdfast; the agent continues. */
export interface QueryProblem {
  /** "mirror": a turn ended, and the SDK had passed no entry to the store. */
  readonly during: "restore" | "capture" | "mirror";
  readonly moment?: CaptureMoment;
  readonly sessionId?: string;
  readonly error: unknown;
}

/** A session with restored files. */
export interface RestoredSession {
  readonly sessionId: string;
  /** A problem with a part of the restore: onProblem gets it, and the session is resumed anyway. */
  readonly problem?: unknown;
}

export interface PersistentQueryInput<F extends QueryFunction>
  extends Pick<SessionStoreOptions, "request" | "agent" | "fold"> {
  readonly hf: SessionsOf;
  /** The SDK's query(). */
  readonly query: F;
  /** Or a function that makes it, once it is known whether a session is resumed: a new one may need a digest of the earlier one. */
  readonly prompt: PromptOf<F> | ((start: QueryStart) => PromptOf<F> | Promise<PromptOf<F>>);
  /** Options of the SDK. With `restore`, `resume` and `continue` are ignored: `restore` decides. */
  readonly options?: OptionsOf<F>;
  /** Restores a session's files, verified, and returns its id; null when there is none. If it fails, a new session begins. */
  readonly restore?: () => Promise<RestoredSession | null>;
  /** Saves a session's files. One call at a time, except for a call that took longer than capturePatienceMs. */
  readonly capture?: (sessionId: string, moment: CaptureMoment) => Promise<void>;
  /** Default "any": the session is resumed in whichever directory it was restored. */
  readonly projects?: ProjectScope;
  /** While the agent works it is captured at most this often; default 2 s. */
  readonly captureEveryMs?: number;
  /** How long persistentQuery() waits for a capture; default 60 s. */
  readonly capturePatienceMs?: number;
  readonly onStart?: (start: QueryStart) => void;
  /** Without it, problems are warnings of the process. */
  readonly onProblem?: (problem: QueryProblem) => void;
  readonly environment?: Environment;
}

/** Every message of the SDK's own query, unchanged. */
export type PersistentQuery<F extends QueryFunction> = AsyncGenerator<MessageOf<F>, void, undefined> & {
  /** The SDK's query, with its other verbs, once it has begun. */
  readonly query: Promise<ReturnType<F>>;
};

export function persistentQuery<F extends QueryFunction>(input: PersistentQueryInput<F>): PersistentQuery<F> {
  const tell = problems(input.onProblem);
  const capturing = capturingOf(input, tell);
  const mirroring: Mirroring = { isOn: false, appends: 0 };
  const begun = begin(input, capturing, mirroring, tell);
  // The caller that iterates gets the error.
  begun.catch(() => undefined);
  const onMessage = (message: unknown) => {
    if (capturing !== undefined) watch(message, capturing);
    if (isResult(message)) checkMirror(mirroring, tell);
  };
  return Object.assign(pass<F>(begun, onMessage, capturing), { query: begun });
}

interface Mirroring {
  isOn: boolean;
  appends: number;
}

async function* pass<F extends QueryFunction>(
  begun: Promise<ReturnType<F>>,
  onMessage: (message: unknown) => void,
  capturing: CaptureScheduler | undefined,
): AsyncGenerator<MessageOf<F>, void, undefined> {
  try {
    const messages: AsyncIterable<unknown> = await begun;
    for await (const message of messages) {
      onMessage(message);
      yield message as MessageOf<F>;
    }
  } finally {
    await capturing?.end();
  }
}

/** The transcript is complete when the result arrives; it is not when the answer arrives or a Stop hook runs. */
function watch(message: unknown, capturing: CaptureScheduler): void {
  const { type, subtype, session_id } = (message ?? {}) as Record<string, unknown>;
  const namesSession = isResult(message) || (type === "system" && subtype === "init");
  if (typeof session_id === "string" && namesSession) capturing.nameSession(session_id);
  capturing.request(isResult(message) ? "result" : "entry");
}

function isResult(message: unknown): boolean {
  return typeof message === "object" && message !== null && "type" in message && message.type === "result";
}

/** The SDK passes all entries of a turn before its result. It reports nothing if it looks for the transcript in the wrong place. */
function checkMirror(mirroring: Mirroring, tell: (problem: QueryProblem) => void): void {
  if (!mirroring.isOn || mirroring.appends > 0) return;
  mirroring.isOn = false;
  const error = new HoldfastError(
    "InvalidArgument",
    "the SDK ended a turn without passing an entry to the session store",
    {
      hint: "If options.env has another HOME than this process, set CLAUDE_CONFIG_DIR in it too: the SDK looks for transcripts there.",
    },
  );
  tell({ during: "mirror", error });
}

async function begin<F extends QueryFunction>(
  input: PersistentQueryInput<F>,
  capturing: CaptureScheduler | undefined,
  mirroring: Mirroring,
  tell: (problem: QueryProblem) => void,
): Promise<ReturnType<F>> {
  const given = (input.options ?? {}) as Readonly<Record<string, unknown>>;
  if (given.sessionStore !== undefined) {
    throw new HoldfastError("InvalidArgument", "persistentQuery() sets options.sessionStore itself", {
      hint: "Leave options.sessionStore out, or call the SDK's query() with claudeSessionStore().",
    });
  }
  const restored = await restoredBy(input, tell);
  const mirrored = given.enableFileCheckpointing !== true;
  const start: QueryStart = { resumed: restored?.sessionId ?? null, mirrored };
  const { resume, continue: continues, ...others } = given;
  const options = {
    ...(input.restore === undefined ? given : others),
    ...(restored === null ? {} : { resume: restored.sessionId }),
    ...(mirrored
      ? { sessionStoreFlush: given.sessionStoreFlush ?? "eager", sessionStore: mirror(input, capturing, mirroring) }
      : {}),
  };
  mirroring.isOn = mirrored;
  input.onStart?.(start);
  const prompt = typeof input.prompt === "function" ? await (input.prompt as MakePrompt)(start) : input.prompt;
  return input.query({ prompt, options } as never) as ReturnType<F>;
}

async function restoredBy<F extends QueryFunction>(
  { restore }: PersistentQueryInput<F>,
  tell: (problem: QueryProblem) => void,
): Promise<RestoredSession | null> {
  try {
    const restored = (await restore?.()) ?? null;
    if (restored?.problem !== undefined) {
      tell({ during: "restore", sessionId: restored.sessionId, error: restored.problem });
    }
    return restored;
  } catch (error) {
    tell({ during: "restore", error });
    return null;
  }
}

/** A session store from which the SDK loads nothing, because the restored files are more than a transcript. */
function mirror<F extends QueryFunction>(
  { hf, projects = "any", agent, fold, request }: PersistentQueryInput<F>,
  capturing: CaptureScheduler | undefined,
  mirroring: Mirroring,
): SessionStore {
  const store = claudeSessionStore(hf, {
    projects,
    ...(agent === undefined ? {} : { agent }),
    ...(fold === undefined ? {} : { fold }),
    ...(request === undefined ? {} : { request }),
  });
  return {
    ...store,
    load: async () => null,
    append: async (key, entries) => {
      mirroring.appends++;
      await store.append(key, entries);
      capturing?.request("entry");
    },
  };
}

function capturingOf<F extends QueryFunction>(
  {
    capture,
    environment = realEnvironment(),
    captureEveryMs = 2000,
    capturePatienceMs = 60_000,
  }: PersistentQueryInput<F>,
  tell: (problem: QueryProblem) => void,
): CaptureScheduler | undefined {
  if (capture === undefined) return undefined;
  for (const ms of [captureEveryMs, capturePatienceMs]) {
    if (!Number.isFinite(ms) || ms < 0) throw invalid("captureEveryMs and capturePatienceMs", "milliseconds", ms);
  }
  return new CaptureScheduler({
    capture,
    environment,
    everyMs: captureEveryMs,
    timeoutMs: capturePatienceMs,
    onFailed: (error, moment, sessionId) => tell({ during: "capture", moment, sessionId, error }),
  });
}

/** Reports problems to the callback, or as warnings. A callback that throws does not disturb the agent. */
function problems(onProblem: ((problem: QueryProblem) => void) | undefined): (problem: QueryProblem) => void {
  const warn = ({ during, error }: QueryProblem) =>
    process.emitWarning(
      `${during} failed: ${error instanceof Error ? error.message : String(error)}`,
      "HoldfastWarning",
    );
  return (problem) => {
    try {
      (onProblem ?? warn)(problem);
    } catch {
      warn(problem);
    }
  };
}
