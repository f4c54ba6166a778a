// Changes a capture: its expiry, and which of the diverged captures of a session counts as the newest.
import type { Capture } from "../contracts/captures.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import type { EventDraft, Guard } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import { STORE_LOCK } from "../core/session-guards.ts";
import { captureOf, existingCapture } from "./rows.ts";
import { unchangedGuard } from "./save.ts";

export function changeExpiry(storage: Storage, id: string, expiresAt: number | null): Promise<Capture> {
  return decide(storage, async () => {
    const row = await existingCapture(storage, id);
    const { session } = row;
    const at = storage.environment.now();
    const event: EventDraft = {
      session,
      type: "capture/changed",
      at,
      data: { capture: id, expires_at: expiresAt },
      writes: [{ op: "run", statement: "capture.expire", params: [expiresAt, { slot: "seq" }, id] }],
    };
    return {
      commit: {
        sessions: [{ id: session, mode: "existing", at }],
        guards: [unchangedGuard(row, session)],
        events: [event],
      },
      answer: () => captureOf({ ...row, expires_at: expiresAt }),
    };
  });
}

/** Makes a diverged capture the newest, and the newest a diverged one. */
export function prefer(storage: Storage, id: string): Promise<Capture> {
  return decide<Capture>(storage, async () => {
    const row = await existingCapture(storage, id);
    if (row.diverged === 0) return { answer: captureOf(row) };
    const [newest] = await storage.query("capture.newest", {
      request: row.request,
      agent: row.agent,
      agentSession: row.agent_session,
    });
    const at = storage.environment.now();
    const both = newest === undefined ? [] : [divergenceEvent(newest, 1, at)];
    const guard: Guard = {
      check: "capture.newest",
      key: [row.request, row.agent, row.agent_session, row.session],
      expect: newest?.id ?? null,
    };
    const used = [...new Set([row.session, ...(newest === undefined ? [] : [newest.session])])];
    return {
      commit: {
        sessions: used.map((session) => ({ id: session, mode: "existing", at })),
        guards: [
          STORE_LOCK,
          guard,
          unchangedGuard(row, row.session),
          ...(newest === undefined ? [] : [unchangedGuard(newest, newest.session)]),
        ],
        // The current newest comes first, because a session has at most one newest capture.
        events: [...both, divergenceEvent(row, 0, at)],
      },
      answer: () => captureOf({ ...row, diverged: 0 }),
    };
  });
}

function divergenceEvent({ id, session }: CaptureRow, diverged: 0 | 1, at: number): EventDraft {
  return {
    session,
    type: "capture/changed",
    at,
    data: { capture: id, diverged },
    writes: [{ op: "run", statement: "capture.diverge", params: [diverged, { slot: "seq" }, id] }],
  };
}
