// Writes changes of a session's state: a new version of a value ends the old one, and each change is one event.
import type { JsonObject } from "../contracts/json.ts";
import type { Commit, EventDraft, Guard, Write } from "../contracts/storage/commit.ts";
import type { Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";

/** A given value, encoded. */
export interface EncodedValue {
  readonly key: string;
  /** Its JSON. */
  readonly bytes: Uint8Array;
}

/** An encoded value that is ready to be stored. */
export interface PreparedValue extends EncodedValue {
  readonly payload: PreparedPayload;
}

export interface Change {
  readonly session: string;
  readonly type: "state/set" | "state/patched" | "state/cleared";
  readonly at: number;
  readonly values: readonly PreparedValue[];
  /** Removed keys; null stands for all keys. */
  readonly removed: readonly string[] | null;
  readonly expiresAt: number | null;
}

const VALUE = { media: "application/json", utf8: true, owned: true } as const;

/** Synchronous if possible. Values that must be awaited are prepared one after the other. */
export function prepareValues(
  prepare: Prepare,
  encoded: readonly EncodedValue[],
): readonly PreparedValue[] | Promise<readonly PreparedValue[]> {
  const given: PreparedValue[] = [];
  for (const [i, one] of encoded.entries()) {
    const payload = prepare(one.bytes, VALUE);
    if (payload instanceof Promise) return prepareRest(prepare, given, payload, encoded.slice(i));
    given.push({ ...one, payload });
  }
  return given;
}

async function prepareRest(
  prepare: Prepare,
  given: PreparedValue[],
  first: Promise<PreparedPayload>,
  rest: readonly EncodedValue[],
): Promise<readonly PreparedValue[]> {
  for (const [i, one] of rest.entries()) {
    given.push({ ...one, payload: await (i === 0 ? first : prepare(one.bytes, VALUE)) });
  }
  return given;
}

/** A key and its value as text in the JSON of the whole state. */
export type Text = readonly [key: string, json: string];

export function textOf({ key, bytes }: EncodedValue): Text {
  return [key, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")];
}

/**
 * The whole state as a new object. It is parsed as one text, which is fastest for many keys and treats __proto__ as a
 * normal key.
 */
export function wholeState(texts: Iterable<Text>): JsonObject {
  const members: string[] = [];
  for (const [key, json] of texts) members.push(`${JSON.stringify(key)}:${json}`);
  return JSON.parse(`{${members.join(",")}}`);
}

/** One commit with several changes of a session, in order. */
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
    data: { keys, expires: expiresAt, ...(removed === null || removed.length === 0 ? {} : { removed }) },
    ...(values.length === 0
      ? {}
      : { payloads: Object.fromEntries(values.map(({ key, payload }) => [key, payload] as const)) }),
    state: true,
    writes: [...closing, ...opening],
  };
}
