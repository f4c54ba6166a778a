// The verbs of captures.
import type { ClaimOwner, NewCapture } from "../captures.ts";
import {
  BOOLEAN,
  BYTES,
  callback,
  checked,
  choice,
  ID,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  read,
  readBytes,
  readPage,
  SIGNAL,
  streamBytes,
  text,
  whole,
  write,
  writeLive,
} from "./vocabulary.ts";

const CAPTURE = param("capture", ID);
const REQUEST = param("request", ID);
const AGENT = choice(["claude-code", "opencode"]);

export const CAPTURE_VERBS = {
  save: write(param("capture", checked<NewCapture>("capture"))),
  prefer: write(CAPTURE),
  latest: read(REQUEST, param("agent", orElse(AGENT, null))),
  bySession: read(param("sessionId", ID), param("agent", orElse(AGENT, null))),
  get: read(CAPTURE),
  list: readPage(
    param(
      "filter",
      options({
        ...PAGE,
        request: orElse(ID, null),
        agent: orElse(AGENT, null),
        sessionId: orElse(ID, null),
        diverged: orElse(BOOLEAN, false),
      }),
    ),
  ),
  files: read(CAPTURE),
  read: streamBytes(CAPTURE, param("path", text("titleBytes"))),
  getBundle: readBytes(CAPTURE),
  putBundle: write(
    param("bundle", BYTES),
    param(
      "capture",
      checked<Pick<NewCapture, "request" | "basis" | "onConflict" | "ttlMs" | "session">>("what is said of a bundle"),
    ),
  ),
  expire: write(CAPTURE, param("expiresAt", nullable(whole()))),
  delete: write(CAPTURE),
  deleteForRequest: write(REQUEST),
  deleteExpired: write(param("options", options({ dryRun: orElse(BOOLEAN, false) }))),
  claim: writeLive(
    REQUEST,
    param("agent", AGENT),
    param(
      "options",
      options({
        leaseMs: optional(whole(1, 3_600_000)),
        wait: orElse(BOOLEAN, false),
        signal: optional(SIGNAL),
        onWait: optional(callback<(owner: ClaimOwner) => void>()),
      }),
    ),
  ),
};
