// When two facts are the same, and when one is another value of the same attribute. Both are decided by normalised texts, never by
// how similar texts are.
import { encodeText, sha256 } from "../core/bytes.ts";
import { normaliseText } from "../core/normalise-text.ts";

export interface FactIdentity {
  readonly content: string;
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: string | null;
  /** Of an event, if it was given: the same words may tell of two events. */
  readonly happenedAt: number | null;
}

/** Two facts with the same digest are the same. */
export function digestFact({ content, subject, attribute, value, happenedAt }: FactIdentity): Uint8Array {
  return digest([normaliseText(content), ...[subject, attribute, value].map(normalised), happenedAt]);
}

/** By which the memories about a subject are found. */
export function subjectKey(subject: string): Uint8Array {
  return digest([normaliseText(subject)]);
}

/** By which the values of an attribute of a subject are found. */
export function factKey(subject: string, attribute: string): Uint8Array {
  return digest([normaliseText(subject), normaliseText(attribute)]);
}

/** The value of a fact's attribute, to compare: the content itself if no value is known. */
export function comparedValue({ content, value }: Pick<FactIdentity, "content" | "value">): string {
  return normaliseText(value ?? content);
}

function normalised(text: string | null): string | null {
  return text === null ? null : normaliseText(text);
}

function digest(parts: readonly (string | number | null)[]): Uint8Array {
  return sha256(encodeText(JSON.stringify(parts)));
}
