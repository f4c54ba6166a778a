// The embedder that the user names with --embedder or HOLDFAST_EMBEDDER: PROVIDER:URL#MODEL or PROVIDER:URL#MODEL@DIMENSIONS. Its key
// comes from the environment only, and no message repeats the text that names it, because users put keys into URLs. A command
// never switches a store to another embedder: everything would be embedded again.
import type { Embedder } from "../contracts/embedders.ts";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { EndpointOptions } from "../embedders/http.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";

const EXAMPLE = "such as openai:http://127.0.0.1:11434/v1#nomic-embed-text";

interface NamedEmbedder {
  readonly provider: "openai" | "voyage" | "cohere";
  readonly options: EndpointOptions;
}

/** The first question may have to wait until a server on this machine has loaded its model. */
const QUERY_TIMEOUT_MS = 10_000;

/** A person waits for the answer. */
const PATIENCE = { retries: 1, timeoutMs: 30_000 } as const;

function parseEmbedder(text: string, { HOLDFAST_EMBEDDER_KEY: key }: Io["env"]): NamedEmbedder {
  const [, provider = "", url = "", model = "", dimensions] =
    /^(openai|voyage|cohere):([^#]*)#(.+?)(?:@([1-9]\d{0,4}))?$/.exec(text.trim()) ?? [];
  if (provider === "" || (provider === "openai" && url === "")) {
    throw new UsageError(`--embedder takes PROVIDER:URL#MODEL, ${EXAMPLE}; PROVIDER is openai, voyage or cohere`);
  }
  if (url !== "") checkUrl(url);
  if (/@\d+$/.test(model) || Number(dimensions) > LIMITS.embeddingDimensions) {
    throw new UsageError(
      `the number behind @ of --embedder is how many dimensions the vectors have: 1 to ${LIMITS.embeddingDimensions}`,
    );
  }
  const options = {
    ...PATIENCE,
    model,
    ...(url === "" ? {} : { url }),
    ...(dimensions === undefined ? {} : { dimensions: Number(dimensions) }),
    ...(key ? { apiKey: key } : {}),
  };
  return { provider: provider as NamedEmbedder["provider"], options };
}

function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`the URL of --embedder must be the address of an HTTP API, ${EXAMPLE}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new UsageError(
      "the URL of --embedder has a user name or a password; give the key in the environment variable HOLDFAST_EMBEDDER_KEY",
    );
  }
}

async function makeEmbedder({ provider, options }: NamedEmbedder): Promise<Embedder> {
  if (provider === "voyage") return (await import("../embedders/voyage.ts")).voyageEmbedder(options);
  if (provider === "cohere") return (await import("../embedders/cohere.ts")).cohereEmbedder(options);
  const { openaiEmbedder } = await import("../embedders/openai.ts");
  if (options.url === undefined) throw new Error("bug: an embedder without a URL was not refused");
  return openaiEmbedder({ ...options, url: options.url });
}

/** Without a number of dimensions: that of the store's embeddings, of a model that is known, or of a vector that the server makes. */
async function chooseEmbedder(named: NamedEmbedder, storeModel: string | null): Promise<Embedder> {
  const { provider, options } = named;
  const withSize = (dimensions: number) => makeEmbedder({ provider, options: { ...options, dimensions } });
  if (options.dimensions !== undefined) return makeEmbedder(named);
  const prefix = `${provider}/${options.model}@`;
  const size = storeModel?.startsWith(prefix) ? /^\d+$/.exec(storeModel.slice(prefix.length))?.[0] : undefined;
  if (size !== undefined) return withSize(Number(size));
  if (provider !== "openai" || (await isKnownModel(options.model))) return makeEmbedder(named);
  const { checkEmbedder, embedTexts } = await import("../core/embed-texts.ts");
  const probe = await withSize(1);
  let dimensions = 0;
  const measuring = checkEmbedder({
    id: probe.id,
    dimensions: 1,
    embed: async (texts: readonly string[], embedding: Parameters<Embedder["embed"]>[1]) => {
      const vectors = await probe.embed(texts, embedding);
      dimensions = vectors[0]?.length ?? 0;
      return [[0]];
    },
  });
  await embedTexts(measuring, ["dimensions"], { kind: "query", signal: new AbortController().signal, limit: null });
  return withSize(dimensions);
}

async function isKnownModel(model: string): Promise<boolean> {
  const { OPENAI_DIMENSIONS } = await import("../embedders/openai.ts");
  return Object.hasOwn(OPENAI_DIMENSIONS, model);
}

/** Opens the store with the embedder, unless the store's texts are embedded by another one. */
export async function openWithEmbedder(
  text: string,
  env: Io["env"],
  open: (options: OpenOptions) => Promise<Holdfast>,
  { switches }: { readonly switches: boolean },
): Promise<Holdfast> {
  const named = parseEmbedder(text, env);
  const before = await open({});
  const readModel = async () => (await before.embeddings.status()).model;
  // Another command may have given the store its embedder while the server was asked for the number of dimensions.
  const choose = async () => ({ embedder: await chooseEmbedder(named, await readModel()), model: await readModel() });
  const { embedder, model } = await choose().finally(() => before.close());
  if (model !== null && model !== embedder.id && !switches) {
    throw new UsageError(
      `the store's texts are embedded by ${model}, and --embedder is ${embedder.id}; name the store's embedder, or leave --embedder ` +
        "and HOLDFAST_EMBEDDER out to search by words. `holdfast embeddings adopt --embedder E` switches the store to E",
    );
  }
  return open({ embedder, embeddings: { queryTimeoutMs: QUERY_TIMEOUT_MS } });
}
