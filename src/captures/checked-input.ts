// Checks the input of captures.save().
import type { CaptureOrigin, CodingAgent, NewCapturedFile } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { AGENTS, checkPath, isSessionIdOf, mainFileOf } from "../core/agent-sessions.ts";
import { isBytes } from "../core/bytes.ts";
import {
  checkArray,
  checkBoolean,
  checkId,
  checkInt,
  checkOneOf,
  checkRecord,
  checkRef,
  checkText,
  invalid,
} from "../core/check.ts";
import { ROLES } from "./rows.ts";

const MOST_TTL_MS = 1e15;

export interface CheckedCapture extends CaptureOrigin {
  readonly request: string;
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly files: readonly NewCapturedFile[];
  readonly basis: { readonly id: string; readonly generation: number } | null | undefined;
  readonly keepsBoth: boolean;
  /** undefined: the time of the earlier generation, or a week. */
  readonly ttlMs: number | null | undefined;
  readonly session: string | undefined;
}

const INPUT = [
  "request",
  "agent",
  "sessionId",
  "cwd",
  "configDir",
  "key",
  "agentVersion",
  "files",
  "basis",
  "onConflict",
  "ttlMs",
  "session",
];

const SESSION_IDS: Readonly<Record<CodingAgent, string>> = {
  "claude-code": "a UUID, as Claude Code names its sessions",
  opencode: "ses_… as OpenCode names its sessions",
};

const FILE = ["role", "path", "content", "grows", "owned"];

export function checkCapture(input: unknown): CheckedCapture {
  const given = checkRecord(input, "capture", INPUT);
  const optionalText = (name: string) =>
    given[name] === undefined || given[name] === null ? null : checkText(given[name], `capture.${name}`, "titleBytes");
  const { ttlMs, basis } = given;
  return {
    request: checkId(given.request, "capture.request"),
    ...checkSession(given),
    cwd: checkText(given.cwd, "capture.cwd", "titleBytes"),
    configDir: optionalText("configDir"),
    key: optionalText("key"),
    agentVersion: optionalText("agentVersion"),
    basis: basis === undefined || basis === null ? basis : checkBasis(basis),
    keepsBoth:
      given.onConflict !== undefined &&
      checkOneOf(given.onConflict, "capture.onConflict", ["refuse", "keep"]) === "keep",
    ttlMs: ttlMs === undefined || ttlMs === null ? ttlMs : checkInt(ttlMs, "capture.ttlMs", 0, MOST_TTL_MS),
    session: given.session === undefined ? undefined : checkId(given.session, "capture.session"),
  };
}

/** Refuses a capture that could not be restored, while the caller can still fix it. */
function checkSession(given: Readonly<Record<string, unknown>>): Pick<CheckedCapture, "agent" | "sessionId" | "files"> {
  const agent = checkOneOf(given.agent, "capture.agent", AGENTS);
  const sessionId = checkId(given.sessionId, "capture.sessionId");
  const files = checkFiles(given.files);
  if (!isSessionIdOf(agent, sessionId)) throw invalid("capture.sessionId", SESSION_IDS[agent], sessionId);
  const main = mainFileOf(agent, sessionId);
  if (files.some(({ role, path }) => role === main.role && path === main.path)) return { agent, sessionId, files };
  throw new HoldfastError(
    "InvalidArgument",
    `capture.files must have the ${main.role} ${JSON.stringify(main.path)}: without it the session cannot be restored`,
    {
      details: { what: "capture.files", ...main },
      hint: "captures.files(id) shows the files of an existing capture.",
    },
  );
}

function checkBasis(basis: unknown): CheckedCapture["basis"] {
  const { id, generation } = checkRecord(basis, "capture.basis");
  return {
    id: checkId(id, "capture.basis.id"),
    generation: checkInt(generation, "capture.basis.generation", 1, Number.MAX_SAFE_INTEGER),
  };
}

function checkFiles(files: unknown): readonly NewCapturedFile[] {
  const seen = new Set<string>();
  return checkArray(files, "capture.files", "captureFiles").map((one, i) => {
    const what = `capture.files[${i}]`;
    const { role, path, content, grows, owned } = checkRecord(one, what, FILE);
    const name = checkText(path, `${what}.path`, "titleBytes");
    checkPath(name);
    if (seen.has(name)) throw invalid(`${what}.path`, "a path that no other file of the capture has", name);
    seen.add(name);
    return {
      role: checkOneOf(role, `${what}.role`, ROLES),
      path: name,
      content: contentOf(content, what, owned !== undefined && checkBoolean(owned, `${what}.owned`)),
      grows: grows !== undefined && checkBoolean(grows, `${what}.grows`),
      owned: true,
    };
  });
}

/** Copies the bytes, because the caller may change its array before they are stored, unless the caller promises not to (`owned`). */
function contentOf(content: unknown, what: string, isOwned: boolean): NewCapturedFile["content"] {
  if (isBytes(content)) {
    if (content.byteLength <= LIMITS.blobInMemoryBytes) return isOwned ? content : new Uint8Array(content);
    throw invalid(`${what}.content`, `at most ${LIMITS.blobInMemoryBytes} bytes`, content.byteLength);
  }
  if (ArrayBuffer.isView(content)) throw invalid(`${what}.content`, "a Uint8Array that was not transferred", content);
  const { ref } = checkRecord(content, `${what}.content`, ["ref"]);
  checkRef(ref, `${what}.content.ref`);
  return { ref: ref as string };
}
