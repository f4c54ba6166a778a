// Changes of a session's state as commits: the old values end where the new ones begin, each change is one event.
import type { PreparedPayload } from "../contracts/payloads.ts";
import type { Commit, EventDraft, Guard, Write } from "../contracts/storage.ts";

/** A value as it was given, ready to be stored. */
export interface Given {
  readonly key: string;
  /** Its JSON. */
  readonly bytes: Uint8Array;
  readonly payload: PreparedPayload;
}

export interface Change {
  readonly session: string;
  readonly type: "state/set" | "state/patched" | "state/cleared";
  readonly at: number;
  readonly values: readonly Given[];
  /** Keys taken away; null stands for all. */
  readonly removed: readonly string[] | null;
  readonly expiresAt: number | null;
}

/** Changes of one session, one after the other. */
export function changeCommit(changes: readonly Change[], guards: readonly Guard[] = []): Commit {
  const payloads = changes.flatMap((change) => change.values.map(({ payload }) => payload));
  return {
    sessions: changes.slice(0, 1).map(({ session, at }) => ({ id: session, mode: "ensure", at })),
    blobs: payloads.flatMap((payload) => payload.blobs),
    writes: payloads.flatMap((payload) => payload.writes),
    uses: payloads.flatMap((payload) => payload.uses),
    events: changes.map(changeEvent),
    ...(guards.length === 0 ? {} : { guards }),
  };
}

function changeEvent({ session, type, at, values, removed, expiresAt }: Change): EventDraft {
  const keys = values.map(({ key }) => key);
  const here = [{ slot: "session" }, { slot: "branch" }] as const;
  const close = (key: string): Write => ({
    op: "run",
    statement: "state.close",
    params: [{ slot: "seq" }, ...here, key],
  });
  const hide = (key: string): Write => ({
    op: "run",
    statement: "state.hide",
    params: [key, { slot: "seq" }, ...here],
  });
  const closing: Write[] =
    removed === null
      ? [{ op: "run", statement: "state.closeAll", params: [{ slot: "seq" }, ...here] }, hide("")]
      : [...[...removed, ...keys].map(close), ...removed.filter((key) => !keys.includes(key)).map(hide)];
  const opening = values.map(
    ({ key, payload }, ord): Write => ({
      op: "insert",
      table: "state",
      row: { key, ord, value: payload.sha256, salt: payload.salt, expires_at: expiresAt },
    }),
  );
  return {
    session,
    type,
    at,
    data: { keys, ...(removed === null || removed.length === 0 ? {} : { removed }) },
    ...(values.length === 0
      ? {}
      : { payloads: Object.fromEntries(values.map(({ key, payload }) => [key, payload] as const)) }),
    state: true,
    writes: [...closing, ...opening],
  };
}
