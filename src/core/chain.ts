// The hash chain (rule LG2). hash_0 binds the session id; hash_n = SHA-256(hash_{n-1} + canonical JSON of the envelope).
// What is hashed is what is stored: the envelope's bytes stand in the event's row.
import { hash } from "node:crypto";
import type { JsonObject } from "../contracts/json.ts";
import { EVENT_SCHEMA_VERSION } from "../contracts/log.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import { encodeText, sha256 } from "./bytes.ts";
import { canonicalJson } from "./canonical.ts";

export function genesis(session: string): Uint8Array {
  return sha256(encodeText(`holdfast/1\n${session}`));
}

/** For envelopes of ordinary length, one after the other: nothing here waits. */
const desk = new Uint8Array(4096);

export function nextHash(previous: Uint8Array, envelope: Uint8Array): Uint8Array {
  const length = previous.byteLength + envelope.byteLength;
  const joined = length <= desk.byteLength ? desk.subarray(0, length) : new Uint8Array(length);
  joined.set(previous, 0);
  joined.set(envelope, previous.byteLength);
  return sha256(joined);
}

const pair = new Uint8Array(48);

/** SHA-256(salt + payload's sha256), base64url: without the salt it cannot be confirmed by guessing. */
export function commitment(salt: Uint8Array, digest: Uint8Array): string {
  pair.set(salt, 0);
  pair.set(digest, 16);
  return hash("sha256", pair, "base64url");
}

/** Canonical JSON of the envelope. The keys stand in canonical order here, so that the hot path sorts nothing. */
export function envelope({ agent, at, payloads, data, run, type }: EventDraft, seq: number): Uint8Array {
  const commitments = payloads === undefined ? undefined : commitmentsOf(payloads);
  return encodeText(canonicalJson({ agent, at, commitments, data, run, seq, type, v: EVENT_SCHEMA_VERSION }));
}

function commitmentsOf(payloads: NonNullable<EventDraft["payloads"]>): JsonObject {
  // A name may be "__proto__": it is defined, never assigned.
  const made = Object.entries(payloads).map(([name, { salt, sha256 }]) => [name, commitment(salt, sha256)] as const);
  return Object.fromEntries(made);
}
