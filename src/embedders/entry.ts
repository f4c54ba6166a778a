// holdfast/embedders: embedders that are ready to use. Each speaks to an HTTP API, or uses a model that the caller passes. Nothing is
// loaded or sent before a text is embedded.
export type { Embedder, EmbedOptions } from "../contracts/embedders.ts";
export { type AiSdkEmbedderOptions, type AiSdkEmbeddingModel, aiSdkEmbedder } from "./ai-sdk.ts";
export { cohereEmbedder } from "./cohere.ts";
export type { EndpointOptions } from "./http.ts";
export { type OpenAIEmbedderOptions, openaiEmbedder } from "./openai.ts";
export type { EmbedderOptions } from "./settings.ts";
export { type FeatureExtractor, type TransformersOptions, transformersEmbedder } from "./transformers.ts";
export { voyageEmbedder } from "./voyage.ts";
