// Assertions of the suites on node:assert: refusals by code, bytes, streams, and data made from a seed.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type ErrorCode, type HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Message } from "../contracts/messages.ts";

/** The codes of errors for caller mistakes, which are found before anything is written. */
export const CALLER_MISTAKES = [
  "InvalidArgument",
  "InvalidId",
  "InvalidText",
  "InvalidJson",
  "InvalidQuery",
  "LimitExceeded",
] as const;

/** Asserts that the call fails with a HoldfastError with this code, or one of these codes. */
export async function refuses(
  codes: ErrorCode | readonly ErrorCode[],
  call: () => unknown,
  what = "the call",
): Promise<HoldfastError> {
  const wanted: readonly ErrorCode[] = typeof codes === "string" ? [codes] : codes;
  const error = await caught(call);
  if (error === undefined) assert.fail(`${what} was accepted; ${wanted.join(" or ")} was expected`);
  if (!isHoldfastError(error.thrown)) {
    const cause = error.thrown;
    assert.fail(`${what} threw ${describeThrown(cause)}; a HoldfastError ${wanted.join(" or ")} was expected`);
  }
  const { code, message } = error.thrown;
  assert.ok(wanted.includes(code), `${what} was refused with ${code} (${message}), not ${wanted.join(" or ")}`);
  assert.notEqual(message, "", `${what} was refused without a message`);
  return error.thrown;
}

async function caught(call: () => unknown): Promise<{ thrown: unknown } | undefined> {
  try {
    await call();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}

function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}\n${thrown.stack}` : String(thrown);
}

/** Returns a value that its type allows to be absent and that the case knows to exist. */
export function present<T>(value: T | null | undefined, what = "the value"): T {
  if (value === null || value === undefined) assert.fail(`${what} is not there`);
  return value;
}

export function isSameBytes(actual: Uint8Array, expected: Uint8Array, what = "the bytes"): void {
  assert.ok(actual instanceof Uint8Array, `${what} are not a Uint8Array`);
  assert.equal(actual.byteLength, expected.byteLength, `${what} have another length`);
  if (Buffer.compare(actual, expected) === 0) return;
  const at = expected.findIndex((byte, index) => actual[index] !== byte);
  assert.fail(`${what} differ from byte ${at} on`);
}

export function refOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export async function collect<T>(source: AsyncIterable<T>, limit = Number.POSITIVE_INFINITY): Promise<T[]> {
  const items: T[] = [];
  if (limit === 0) return items;
  for await (const item of source) {
    items.push(item);
    if (items.length >= limit) break;
  }
  return items;
}

/** Bytes that do not compress, the same for the same seed. */
export function noise(bytes: number, seed: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state >>> 0;
  }
  return new Uint8Array(words.buffer, 0, bytes);
}

/** Text that compresses about as transcripts do, the same for the same seed. */
export function prose(bytes: number, seed: number): Uint8Array {
  const words = "the agent read a file wrote its answer then asked for more time and money".split(" ");
  const dice = noise(bytes, seed);
  let text = "";
  for (let i = 0; text.length < bytes; i++) text += `${words[(dice[i % bytes] ?? 0) % words.length]}${i % 11} `;
  return new TextEncoder().encode(text.slice(0, bytes));
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The text of messages that hold one text block each. */
export function texts(messages: readonly Message[]): string[] {
  return messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : `<${block?.type}>`));
}

/** A session as one file. */
export async function fileOf(
  { sessions }: { readonly sessions: Pick<Holdfast["sessions"], "export"> },
  ...asked: Parameters<Holdfast["sessions"]["export"]>
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of sessions.export(...asked)) pieces.push(piece);
  return Buffer.concat(pieces);
}
