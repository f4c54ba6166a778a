// Every call of an embedder goes through here. An embedder is the caller's object: what it returns is checked before anything uses it, and
// what it throws becomes one typed error that says whether another try makes sense.
import type { ModelFailure } from "../contracts/chat.ts";
import type { Embedder, EmbedOptions } from "../contracts/embedders.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { checkId, checkInt, checkSome, invalid } from "./check.ts";
import { readRetryAfter } from "./retry-after.ts";

const DEFAULT_BATCH = 64;

/** An embedder whose properties are checked and do not change any more. */
export type CheckedEmbedder = Required<Embedder>;

export function checkEmbedder(value: unknown, what = "embedder"): CheckedEmbedder {
  const { id, dimensions, maxBatch, embed } = checkSome(value, what, ["id", "dimensions", "maxBatch", "embed"]);
  if (typeof embed !== "function") throw invalid(`${what}.embed`, "a function", embed);
  return {
    id: checkId(id, `${what}.id`),
    dimensions: checkInt(dimensions, `${what}.dimensions`, 1, LIMITS.embeddingDimensions),
    maxBatch: maxBatch === undefined ? DEFAULT_BATCH : checkInt(maxBatch, `${what}.maxBatch`, 1, 10_000),
    embed: (texts, options) => embed.call(value, texts, options),
  };
}

/** How long one call of an embedder may take. */
export interface CallLimit {
  readonly timeoutMs: number;
  readonly environment: Pick<Environment, "sleep">;
}

/** null: the embedder has a limit of its own. */
interface EmbedCall extends Required<EmbedOptions> {
  readonly limit: CallLimit | null;
}

/**
 * The vectors of the texts, in their order. EmbeddingFailed if the embedder throws, returns something else, or does not answer in time;
 * Aborted at once when the signal aborts, also if the embedder ignores it.
 */
export async function embedTexts(
  embedder: CheckedEmbedder,
  texts: readonly string[],
  call: EmbedCall,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < texts.length; start += embedder.maxBatch) {
    vectors.push(...(await embedBatch(embedder, texts.slice(start, start + embedder.maxBatch), call)));
  }
  return vectors;
}

/** The vector of the text of a search. */
export async function embedQuestion(
  embedder: CheckedEmbedder,
  text: string,
  signal: AbortSignal,
  limit: CallLimit,
): Promise<Float32Array> {
  const [vector] = await embedTexts(embedder, [text], { kind: "query", signal, limit });
  if (vector === undefined) throw new Error("bug: an embedder's answer was not checked");
  return vector;
}

async function embedBatch(
  embedder: CheckedEmbedder,
  texts: readonly string[],
  { kind, signal, limit }: EmbedCall,
): Promise<readonly Float32Array[]> {
  const answer = await withinLimit(limit, signal, async (limited) =>
    embedder.embed(texts, { kind, signal: limited }),
  ).catch((thrown: unknown) => {
    if (signal.aborted) throw aborted(signal);
    throw thrown instanceof CallExpired ? lateError(embedder, thrown.timeoutMs) : embeddingError(embedder, thrown);
  });
  return readVectors(embedder, answer, texts.length);
}

/** Why a call was ended. It never leaves this file. */
class CallExpired extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** The signal that the work gets also aborts when its time is over. */
async function withinLimit<T>(
  limit: CallLimit | null,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (limit === null) return untilAborted(signal, () => work(signal));
  const { timeoutMs, environment } = limit;
  const [done, expiry] = [new AbortController(), new AbortController()];
  const ended = AbortSignal.any([signal, done.signal]);
  const expired = environment.sleep(timeoutMs, ended).then(() => {
    if (!ended.aborted) expiry.abort(new CallExpired(timeoutMs));
  });
  try {
    const limited = AbortSignal.any([signal, expiry.signal]);
    return await untilAborted(limited, () => work(limited));
  } catch (error) {
    throw expiry.signal.aborted ? expiry.signal.reason : error;
  } finally {
    done.abort();
    await expired;
  }
}

async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw aborted(signal);
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work(), stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function aborted(signal: AbortSignal): HoldfastError {
  return new HoldfastError("Aborted", "the texts were not embedded, because the call was aborted", {
    cause: signal.reason,
  });
}

/** A JavaScript embedder may return anything. */
function readVectors(embedder: CheckedEmbedder, answer: unknown, count: number): readonly Float32Array[] {
  const unusable = (why: string) =>
    new HoldfastError("EmbeddingFailed", `embedder ${embedder.id}: ${why}`, {
      details: { embedder: embedder.id, problem: why },
      hint: "Check the embedder's model and its number of dimensions.",
    });
  if (!Array.isArray(answer)) throw unusable("its answer is not an array of vectors");
  if (answer.length !== count) throw unusable(`it returned ${answer.length} vectors for ${count} texts`);
  // By index, not by `map` or an iterator: `map` skips holes, and a subclass may have its own of both.
  return Array.from({ length: count }, (_, at) => {
    const vector: unknown = answer[at];
    const isVector = vector instanceof Float32Array || Array.isArray(vector);
    if (!isVector) throw unusable("it returned something that is no vector");
    if (vector.length !== embedder.dimensions) {
      throw unusable(`it returned a vector of ${vector.length} numbers instead of ${embedder.dimensions}`);
    }
    const copy = Float32Array.from({ length: vector.length }, (_, place) => {
      const one: unknown = vector[place];
      return typeof one === "number" ? one : Number.NaN;
    });
    if (!copy.every(Number.isFinite)) throw unusable("it returned a vector with a number that is not finite");
    return copy;
  });
}

/** Another try may be faster. */
function lateError({ id }: CheckedEmbedder, timeoutMs: number): HoldfastError {
  return new HoldfastError("EmbeddingFailed", `embedder ${id}: no answer within ${timeoutMs} ms`, {
    retryable: true,
    details: { embedder: id, code: "Timeout" },
    hint: "If the embedder needs longer, give it the time: open(url, { embedder, embeddings: { timeoutMs, queryTimeoutMs } }).",
  });
}

function embeddingError({ id }: CheckedEmbedder, thrown: unknown): HoldfastError {
  const { message, name, code, status, retryAfterMs, retryable } = readFailure(thrown);
  return new HoldfastError("EmbeddingFailed", `embedder ${id}: ${message}`, {
    retryable,
    details: {
      embedder: id,
      ...(name === undefined ? {} : { name }),
      ...(code === undefined ? {} : { code }),
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
    hint: retryable
      ? "Try again later. Texts that wait to be embedded are tried again by themselves."
      : "Another try would fail in the same way: mend the text, the model's name, the key or the address.",
    cause: thrown,
  });
}

interface FailureFields extends Required<Pick<ModelFailure, "retryable">> {
  readonly message: string;
  readonly name?: string;
  readonly code?: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/** An error may be anything; an unknown one may pass. */
function readFailure(thrown: unknown): FailureFields {
  try {
    const { message, name, code, status, retryAfterMs, retryable } = Object(thrown) as Readonly<
      Record<string, unknown>
    >;
    const waitMs = readRetryAfter(retryAfterMs);
    return {
      message: typeof message === "string" && message !== "" ? message : String(thrown),
      retryable: retryable !== false,
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof code === "string" ? { code } : {}),
      ...(Number.isSafeInteger(status) ? { status: Number(status) } : {}),
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    };
  } catch {
    return { message: "it threw a value that cannot be read", retryable: true };
  }
}
