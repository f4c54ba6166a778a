// A fact as a caller gives it: checked before anything is read or written.
import type { JsonObject } from "../contracts/json.ts";
import type { MemoryJudge, MemorySource } from "../contracts/memory.ts";
import type { MEMORY_VERBS } from "../contracts/verbs/memory.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { encodeJson, invalid } from "../core/check.ts";
import { jsonObject } from "../core/decode.ts";
import { fieldsOf } from "../core/metadata-fields.ts";
import { digestFact, factKey, subjectKey } from "./fact.ts";
import type { NamedScope } from "./scopes.ts";

type SaveOptions = ValuesOf<typeof MEMORY_VERBS.save>[1];

export interface NewFact extends NamedScope {
  readonly content: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: string | null;
  readonly importance: number | undefined;
  readonly metadata: JsonObject | undefined;
  readonly metadataBytes: Uint8Array | undefined;
  readonly ttlMs: number | undefined;
  readonly validFrom: number | undefined;
  readonly validTo: number | undefined;
  readonly source: MemorySource | undefined;
  /** null: it takes no place; undefined: its attribute decides. */
  readonly supersedes: string | null | undefined;
  readonly judge: MemoryJudge | undefined;
  readonly digest: Uint8Array;
  readonly subjectKey: Uint8Array | null;
  readonly factKey: Uint8Array | null;
}

export function checkFact(content: string, options: SaveOptions): NewFact {
  const { subject = null, attribute = null, value = null, validFrom, validTo, kind, metadata } = options;
  if (attribute !== null && subject === null) {
    throw invalid("attribute", "given with the subject that it is an attribute of", attribute, "Add a subject.");
  }
  if (value !== null && attribute === null) {
    throw invalid("value", "given with the attribute that it is a value of", value, "Add an attribute and a subject.");
  }
  if (validTo !== undefined && validFrom !== undefined && validTo <= validFrom) {
    throw invalid("validTo", "later than validFrom", validTo);
  }
  const metadataBytes = metadata === undefined ? undefined : encodeJson(metadata, "metadata", "metadataBytes");
  const encoded = metadataBytes === undefined ? undefined : jsonObject.read(metadataBytes);
  // Refuses more fields than the index of metadata takes.
  if (encoded !== undefined) fieldsOf(encoded);
  return {
    namespace: options.namespace,
    agent: options.agent,
    content,
    kind,
    subject,
    attribute,
    value,
    importance: options.importance,
    metadata: encoded,
    metadataBytes,
    ttlMs: options.ttlMs,
    validFrom,
    validTo,
    source: options.source,
    supersedes: options.supersedes,
    judge: options.judge,
    digest: digestFact({
      content,
      subject,
      attribute,
      value,
      happenedAt: kind === "event" ? (validFrom ?? null) : null,
    }),
    subjectKey: subject === null ? null : subjectKey(subject),
    factKey: subject === null || attribute === null ? null : factKey(subject, attribute),
  };
}

/** An end before the beginning that was not given: the fact held up to now at most. */
export function endAfter(validFrom: number, validTo: number | undefined): number | null {
  if (validTo === undefined) return null;
  if (validTo > validFrom) return validTo;
  throw invalid("validTo", "later than validFrom", validTo, "Give a validFrom: without one, the fact begins now.");
}

export function expiryOf({ ttlMs }: Pick<NewFact, "ttlMs">, now: number): number | null {
  return ttlMs === undefined ? null : Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER);
}
