// What all shipped embedders share: how long they wait and how often they try, how texts are prepared for the model, and the id that
// names both the model and the preparation.
import type { Embedder, EmbedOptions } from "../contracts/embedders.ts";
import type { Environment } from "../contracts/environment.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkId, checkInt, checkRecord, copyJson, invalid, isObject } from "../core/check.ts";
import { orderedJson } from "../core/hashing.ts";
import { platformEnvironment } from "../core/platform-environment.ts";

export interface EmbedderOptions {
  /** Replaces the id that is made from provider, model, dimensions and preparation. */
  readonly id?: string;
  /** How many texts one request has at most. */
  readonly maxBatch?: number;
  /**
   * Put before every text, because some models want to know what a text is for: `{ query: "query: ", document: "passage: " }`
   * for E5.
   */
  readonly prefixes?: { readonly query?: string; readonly document?: string };
  /** Longer texts are cut to this many characters. By default they are not, and a text that is too long for the model fails. */
  readonly maxChars?: number;
  /** How long one request may take; default 60 seconds. */
  readonly timeoutMs?: number;
  /** How often a request is tried again after a failure that may pass; default 3. The text of a search is tried again once at most. */
  readonly retries?: number;
  /** Clock, randomness and timers; the platform's by default. */
  readonly environment?: Environment;
}

export const EMBEDDER_OPTIONS = [
  "id",
  "maxBatch",
  "prefixes",
  "maxChars",
  "timeoutMs",
  "retries",
  "environment",
] as const satisfies readonly (keyof EmbedderOptions)[];

export interface CallSettings {
  readonly provider: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly environment: Environment;
}

export interface EmbedderSettings extends CallSettings {
  readonly id: string;
  readonly dimensions: number;
  readonly maxBatch: number;
  /** The text as the model gets it. */
  prepare(text: string, kind: EmbedOptions["kind"]): string;
}

export interface EmbedderModel {
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  readonly maxBatch: number;
  /** Further parts of a request that change its vectors. */
  readonly variant?: JsonObject;
}

/** `options` are checked already for names that are unknown. */
export function checkSettings(options: Readonly<Record<string, unknown>>, of: EmbedderModel): EmbedderSettings {
  const prefixes = checkRecord(options.prefixes, "prefixes", ["query", "document"]);
  const prefix = {
    query: textOption(prefixes.query, "prefixes.query") ?? "",
    document: textOption(prefixes.document, "prefixes.document") ?? "",
  };
  const maxChars = options.maxChars === undefined ? null : checkInt(options.maxChars, "maxChars", 1, 1e9);
  const preparation = {
    ...(of.variant === undefined || Object.keys(of.variant).length === 0 ? {} : { variant: of.variant }),
    ...(prefix.query === "" && prefix.document === "" ? {} : { prefix }),
    ...(maxChars === null ? {} : { maxChars }),
  };
  return {
    provider: of.provider,
    id: options.id === undefined ? idOf(of, preparation) : checkId(options.id, "id"),
    dimensions: of.dimensions,
    maxBatch: options.maxBatch === undefined ? of.maxBatch : checkInt(options.maxBatch, "maxBatch", 1, 10_000),
    timeoutMs: options.timeoutMs === undefined ? 60_000 : checkInt(options.timeoutMs, "timeoutMs", 1, 3_600_000),
    retries: options.retries === undefined ? 3 : checkInt(options.retries, "retries", 0, 100),
    environment: environmentOption(options.environment) ?? platformEnvironment(),
    prepare: (text, kind) => prefix[kind] + (maxChars === null ? text : cutText(text, maxChars)),
  };
}

export function checkModelName(value: unknown): string {
  if (typeof value !== "string" || value === "") throw invalid("model", "the name of a model", value);
  return value;
}

/** `fallback` is what the model is known to give. */
export function checkDimensions(value: unknown, model: string, fallback?: number): number {
  if (value === undefined && fallback !== undefined) return fallback;
  if (value !== undefined) return checkInt(value, "dimensions", 1, LIMITS.embeddingDimensions);
  throw invalid("dimensions", `how many numbers a vector of ${model} has`, value);
}

/** Options of a provider, which are sent as they are. */
export function checkParams(value: unknown, what: string): JsonObject {
  const params = value === undefined ? {} : copyJson(value, what);
  if (!isObject(params)) throw invalid(what, "an object", value);
  return params;
}

/** "openai/text-embedding-3-small@512", with a digest of the preparation if there is any: "…@512+1f3a90bc". */
function idOf({ provider, model, dimensions }: EmbedderModel, preparation: object): string {
  const suffix = Object.keys(preparation).length === 0 ? "" : `+${sha256Hex(orderedJson(preparation)).slice(0, 8)}`;
  return checkId(`${provider}/${model}@${dimensions}${suffix}`, "id");
}

/** Half of a surrogate pair would be no Unicode. */
function cutText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "");
}

function textOption(value: unknown, what: string): string | undefined {
  if (value !== undefined && typeof value !== "string") throw invalid(what, "a text", value);
  return value;
}

function environmentOption(value: unknown): Environment | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null) throw invalid("environment", "an environment", value);
  return value as Environment;
}

/** APIs also limit the tokens of a request; OpenAI's has the highest limit, 300,000. */
const BATCH_CHARS = 250_000;

/** An embedder that sends each batch as one request. */
export function embedderOf(
  settings: EmbedderSettings,
  embed: (texts: readonly string[], options: Required<EmbedOptions>) => ReturnType<Embedder["embed"]>,
): Embedder {
  const { id, dimensions, maxBatch, prepare } = settings;
  return {
    id,
    dimensions,
    maxBatch,
    embed: async (texts, { kind, signal = new AbortController().signal }) => {
      const vectors: (Float32Array | readonly number[])[] = [];
      const prepared = texts.map((text) => prepare(text, kind));
      for (const batch of batchesOf(prepared, maxBatch)) vectors.push(...(await embed(batch, { kind, signal })));
      return vectors;
    },
  };
}

/** A text that is longer than a batch may be is alone in its batch. */
function* batchesOf(texts: readonly string[], maxBatch: number): Generator<readonly string[]> {
  let batch: string[] = [];
  let chars = 0;
  for (const text of texts) {
    if (batch.length > 0 && (batch.length === maxBatch || chars + text.length > BATCH_CHARS)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(text);
    chars += text.length;
  }
  if (batch.length > 0) yield batch;
}
