// The code writes the hashed JSON of a head field by field. It must be canonical JSON for every value.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeText, encodeText, sha256Hex, toHex } from "./bytes.ts";
import { canonicalJson } from "./hashing.ts";
import { encodeRoot, type HeadRoot, headId } from "./head.ts";

const count = fc.oneof(fc.constant(0), fc.nat());
const counts = fc.record({
  messages: count,
  turns: count,
  evals: count,
  calls: count,
  snapshots: count,
  invocations: count,
});
const said = fc.option(fc.string({ unit: "grapheme" }));
const compaction = fc.option(
  fc.oneof(
    fc.record({ upTo: fc.string(), summary: fc.string() }),
    fc.record({ upTo: fc.string(), summary: fc.string(), over: fc.array(fc.string()) }),
  ),
);
const root: fc.Arbitrary<HeadRoot> = fc.record({
  vars: said,
  summary: said,
  fingerprint: said,
  final: said,
  counts,
  compaction,
  cacheId: said,
});

/** The fields that are neither null nor zero. */
function facts(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, fact]) => fact !== null && fact !== 0));
}

describe("heads", () => {
  test("SE1 a root is the canonical JSON of its fields", () => {
    fc.assert(
      fc.property(root, ({ summary, cacheId, ...rest }) => {
        const inner = { ...facts(rest), counts: facts(rest.counts) };
        const all = { summary, cacheId, ...rest };
        expect(decodeText(encodeRoot(all, 1))).toBe(canonicalJson({ v: 1, ...inner }));
        expect(decodeText(encodeRoot(all))).toBe(canonicalJson({ v: 2, ...inner, ...facts({ summary, cacheId }) }));
      }),
    );
  });

  test("SE1 an id is the hash of canonical JSON of what it commits to", () => {
    const place = { session: fc.string(), branch: fc.nat(), seq: fc.nat() };
    const identity = fc.record({
      ...place,
      chain: fc.uint8Array({ minLength: 32, maxLength: 32 }),
      basis: said,
      source: fc.option(fc.record(place)),
      status: fc.constantFrom("complete" as const, "aborted" as const),
      root: fc.uint8Array({ maxLength: 200 }),
    });
    fc.assert(
      fc.property(identity, (given) => {
        const { chain, root: bytes, ...rest } = given;
        const text = canonicalJson({ ...rest, chain: toHex(chain), root: sha256Hex(bytes) });
        expect(headId(given)).toBe(`hd-${sha256Hex(encodeText(text))}`);
      }),
    );
  });
});
