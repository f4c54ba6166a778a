// Computes the chain a second time, from the text of rule LG2, and compares.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalJson, commitment, envelope, genesis, nextHash } from "./hashing.ts";

const sha = (...parts: (string | Uint8Array)[]) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

describe("hash chain", () => {
  test("LG2 binds the session id as genesis and chains canonical envelopes", () => {
    const first = genesis("chat-42");
    expect(Buffer.from(first)).toEqual(sha("holdfast/1\nchat-42"));
    const body = envelope({ session: "chat-42", type: "message/added", at: 7, agent: "a", data: { role: "user" } }, 3);
    expect(Buffer.from(nextHash(first, body))).toEqual(sha(first, body));
  });

  test("LG2 chains envelopes of any length, and no hash changes when the next one is made", () => {
    let [chain, expected]: Uint8Array[] = [genesis("s"), sha("holdfast/1\ns")];
    const made: Uint8Array[] = [];
    for (const length of [0, 1, 4063, 4064, 4065, 100_000, 3]) {
      const body = new Uint8Array(length).fill(length);
      [chain, expected] = [nextHash(chain ?? body, body), sha(expected ?? body, body)];
      expect(Buffer.from(chain)).toEqual(Buffer.from(expected));
      made.push(chain);
    }
    expect(new Set(made.map((one) => Buffer.from(one).toString("hex"))).size).toBe(made.length);
  });

  test("LG2 the envelope written by hand is the canonical one, whatever fields there are", () => {
    const payload = { sha256: sha("x"), salt: new Uint8Array(16).fill(9) };
    const drafts = [
      { session: "s", type: "t", at: 1 },
      { session: "s", type: "t", at: 1, run: "r", agent: 'a"\\\u0000' },
      { session: "s", type: "t", at: 1, data: { z: 1, a: { y: [1], b: null } }, payloads: { b: payload, a: payload } },
      {
        session: "s",
        type: "t",
        at: 1,
        payloads: Object.fromEntries(
          ["\uffff", "😀", "b", '"\\', "__proto__", "B", "2", "10"].map((name) => [name, payload]),
        ),
      },
    ];
    for (const draft of drafts) {
      const text = Buffer.from(envelope(draft, 12)).toString();
      expect(text).toBe(canonicalJson(JSON.parse(text)));
      expect(JSON.parse(text)).toMatchObject({ seq: 12, type: "t", at: 1, v: 1 });
    }
  });

  test("LG2 a commitment is SHA-256 of salt and payload hash, so equal texts do not show as equal", () => {
    const digest = sha("secret");
    const salt = new Uint8Array(16).fill(1);
    expect(commitment(salt, digest)).toBe(sha(salt, digest).toString("base64url"));
    expect(commitment(new Uint8Array(16).fill(2), digest)).not.toBe(commitment(salt, digest));
  });
});
