// Embeddings by any server with OpenAI's API: OpenAI, Ollama, vLLM, LM Studio, llama.cpp and others.
import type { Embedder } from "../contracts/embedders.ts";
import { createEndpoint, type EndpointOptions } from "./http.ts";
import { vectorsByIndex } from "./indexed-vectors.ts";
import { embedderOf } from "./settings.ts";

export interface OpenAIEmbedderOptions extends EndpointOptions {
  /** There is no default: a store's texts go only where its owner sends them. */
  readonly url: string;
  /** The first part of the id; default "openai". */
  readonly provider?: string;
}

/** How many numbers the vectors of OpenAI's own models have by default. */
export const OPENAI_DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
};

/**
 * `dimensions` is sent only to models that are known to shorten their vectors. For other models it says how long the vectors are; if
 * the server can shorten them, ask it with `params: { dimensions }`.
 */
export function openaiEmbedder({ provider = "openai", ...options }: OpenAIEmbedderOptions): Embedder {
  const endpoint = createEndpoint(options, {
    provider,
    url: null,
    maxBatch: 128,
    dimensionsOf: (model) => (Object.hasOwn(OPENAI_DIMENSIONS, model) ? OPENAI_DIMENSIONS[model] : undefined),
  });
  const { model, params, shortenedTo } = endpoint;
  return embedderOf(endpoint, async (texts, options) => {
    const shorten = shortenedTo === null ? {} : { dimensions: shortenedTo };
    const body = { encoding_format: "float", ...shorten, ...params, model, input: texts };
    return vectorsByIndex(endpoint.provider, await endpoint.post("/embeddings", body, options), texts.length);
  });
}
