// Embeddings on this machine, by a pipeline of transformers.js (@huggingface/transformers). The package is not imported: the caller makes
// the pipeline.
import type { Embedder } from "../contracts/embedders.ts";
import { checkRecord, invalid } from "../core/check.ts";
import { ModelError } from "../models/failure.ts";
import { withRetries } from "./retries.ts";
import {
  checkDimensions,
  checkModelName,
  checkSettings,
  EMBEDDER_OPTIONS,
  type EmbedderOptions,
  embedderOf,
} from "./settings.ts";

/** What is used of a pipeline for "feature-extraction". */
export type FeatureExtractor = (
  texts: string[],
  options: { pooling: "mean" | "cls"; normalize: boolean },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<unknown> }>;

export interface TransformersOptions extends EmbedderOptions {
  /** The name of the pipeline's model, for the id. */
  readonly model: string;
  readonly dimensions: number;
  /** How the vectors of a text's tokens become one: their mean (default), or that of the first token. */
  readonly pooling?: "mean" | "cls";
}

/**
 * `load` makes the pipeline when the first text is embedded:
 * `transformersEmbedder(() => pipeline("feature-extraction", model), { model, dimensions: 384 })`.
 */
export function transformersEmbedder(load: () => Promise<FeatureExtractor>, options: TransformersOptions): Embedder {
  if (typeof load !== "function") throw invalid("load", "a function that makes the pipeline", load);
  const given = checkRecord(options, "options", [...EMBEDDER_OPTIONS, "model", "dimensions", "pooling"]);
  const model = checkModelName(given.model);
  const dimensions = checkDimensions(given.dimensions, model);
  const { pooling = "mean" } = given;
  if (pooling !== "mean" && pooling !== "cls") throw invalid("pooling", '"mean" or "cls"', pooling);
  const provider = "transformers";
  const variant = pooling === "mean" ? {} : { pooling };
  const settings = checkSettings(given, { provider, model, dimensions, maxBatch: 16, variant });
  let loading: Promise<FeatureExtractor> | null = null;
  const extractor = () => {
    loading ??= load().catch((thrown: unknown) => {
      loading = null;
      throw thrown;
    });
    return loading;
  };
  return embedderOf(settings, async (texts, options) => {
    // Loading a model may take longer than embedding a batch may.
    const extract = await extractor();
    const { dims, data } = await withRetries(settings, options, () =>
      extract([...texts], { pooling, normalize: true }),
    );
    const [count, size = 0] = dims;
    if (dims.length !== 2 || count !== texts.length || data.length !== texts.length * size) {
      const message = `${provider}: ${texts.length} texts gave a tensor of ${dims.join(" × ")}`;
      throw new ModelError("InvalidAnswer", message, { retryable: false });
    }
    return texts.map((_, row) => Float32Array.from({ length: size }, (__, i) => Number(data[row * size + i])));
  });
}
