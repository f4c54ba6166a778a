// Embeddings by Voyage AI's API. It embeds questions in another way than the texts that answer them.
import type { Embedder } from "../contracts/embedders.ts";
import { createEndpoint, type EndpointOptions } from "./http.ts";
import { vectorsByIndex } from "./indexed-vectors.ts";
import { embedderOf } from "./settings.ts";

/** A text that is too long for the model fails instead of being cut without notice: see `maxChars`. */
export function voyageEmbedder(options: EndpointOptions): Embedder {
  const endpoint = createEndpoint(options, {
    provider: "voyage",
    url: "https://api.voyageai.com/v1",
    maxBatch: 128,
    dimensionsOf: (model) => (/^voyage-(3|3\.5|code-3|context-3)(-lite|-large)?$/.test(model) ? 1024 : undefined),
  });
  const { provider, model, params, shortenedTo } = endpoint;
  return embedderOf(endpoint, async (texts, { kind, signal }) => {
    const shorten = shortenedTo === null ? {} : { output_dimension: shortenedTo };
    const body = { truncation: false, ...shorten, ...params, model, input_type: kind, input: texts };
    return vectorsByIndex(provider, await endpoint.post("/embeddings", body, { kind, signal }), texts.length);
  });
}
