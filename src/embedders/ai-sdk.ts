// Embeddings by an embedding model of the AI SDK: specification versions v2, v3 and v4, through doEmbed, which does not retry by itself.
import type { Embedder } from "../contracts/embedders.ts";
import { checkRecord, invalid } from "../core/check.ts";
import { failureOf, ModelError } from "../models/failure.ts";
import { withRetries } from "./retries.ts";
import {
  checkDimensions,
  checkParams,
  checkSettings,
  EMBEDDER_OPTIONS,
  type EmbedderOptions,
  embedderOf,
} from "./settings.ts";

/** What is used of a model. `openai.embedding("…")` and all other embedding models of the AI SDK have it. */
export interface AiSdkEmbeddingModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined;
  doEmbed(options: {
    readonly values: string[];
    readonly abortSignal?: AbortSignal;
    readonly providerOptions?: object;
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>;
}

export interface AiSdkEmbedderOptions extends EmbedderOptions {
  readonly dimensions: number;
  /** Options of the provider for each kind of text, if it embeds questions in another way: `{ query: { google: { taskType: … } } }`. */
  readonly providerOptions?: { readonly query?: object; readonly document?: object };
}

export function aiSdkEmbedder(model: AiSdkEmbeddingModel, options: AiSdkEmbedderOptions): Embedder {
  // A JavaScript caller may pass any value, such as the name of a model.
  if (typeof model !== "object" || model === null || typeof model.doEmbed !== "function") {
    throw invalid("model", "an embedding model of the AI SDK, such as openai.embedding(…)", model);
  }
  const given = checkRecord(options, "options", [...EMBEDDER_OPTIONS, "dimensions", "providerOptions"]);
  const { provider, modelId } = model;
  const perKind = checkRecord(given.providerOptions, "providerOptions", ["query", "document"]);
  const variant = {
    ...(perKind.query === undefined ? {} : { query: checkParams(perKind.query, "providerOptions.query") }),
    ...(perKind.document === undefined ? {} : { document: checkParams(perKind.document, "providerOptions.document") }),
  };
  const dimensions = checkDimensions(given.dimensions, modelId);
  const settings = checkSettings(given, { provider, model: modelId, dimensions, maxBatch: 128, variant });
  return embedderOf(settings, async (texts, { kind, signal }) => {
    const most = Math.max(1, (await model.maxEmbeddingsPerCall) ?? texts.length);
    const providerOptions = variant[kind];
    const vectors: (readonly number[])[] = [];
    for (let start = 0; start < texts.length; start += most) {
      const values = texts.slice(start, start + most);
      const { embeddings } = await withRetries(settings, { kind, signal }, async (limited) => {
        const call = { values, abortSignal: limited, ...(providerOptions === undefined ? {} : { providerOptions }) };
        try {
          return await model.doEmbed(call);
        } catch (thrown) {
          throw limited.aborted ? thrown : failureWithoutCause(provider, thrown);
        }
      });
      vectors.push(...embeddings);
    }
    return vectors;
  });
}

/** The SDK's errors contain the request with its texts. */
function failureWithoutCause(provider: string, thrown: unknown): ModelError {
  const { code, message, status, retryable, retryAfterMs } = failureOf(provider, thrown);
  return new ModelError(code, message, {
    retryable,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
