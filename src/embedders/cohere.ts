// Embeddings by version 2 of Cohere's API. It embeds questions in another way than the texts that answer them.
import type { Embedder } from "../contracts/embedders.ts";
import { isObject } from "../core/check.ts";
import { ModelError } from "../models/failure.ts";
import { createEndpoint, type EndpointOptions } from "./http.ts";
import { embedderOf } from "./settings.ts";

const DIMENSIONS: Readonly<Record<string, number>> = {
  "embed-v4.0": 1536,
  "embed-english-v3.0": 1024,
  "embed-multilingual-v3.0": 1024,
  "embed-english-light-v3.0": 384,
  "embed-multilingual-light-v3.0": 384,
};

/** A text that is too long for the model fails instead of being cut without notice: see `maxChars`. */
export function cohereEmbedder(options: EndpointOptions): Embedder {
  const endpoint = createEndpoint(options, {
    provider: "cohere",
    url: "https://api.cohere.com/v2",
    maxBatch: 96,
    dimensionsOf: (model) => (Object.hasOwn(DIMENSIONS, model) ? DIMENSIONS[model] : undefined),
  });
  const { provider, model, params, shortenedTo } = endpoint;
  return embedderOf(endpoint, async (texts, { kind, signal }) => {
    const shorten = shortenedTo === null ? {} : { output_dimension: shortenedTo };
    const fixed = { model, input_type: `search_${kind}`, embedding_types: ["float"], texts };
    const answer = await endpoint.post(
      "/embed",
      { truncate: "NONE", ...shorten, ...params, ...fixed },
      { kind, signal },
    );
    const embeddings: unknown = isObject(answer) ? answer.embeddings : undefined;
    const vectors: unknown = isObject(embeddings) ? embeddings.float : undefined;
    if (Array.isArray(vectors)) return vectors;
    throw new ModelError("InvalidAnswer", `${provider}: the answer has no list of embeddings`, { retryable: false });
  });
}
