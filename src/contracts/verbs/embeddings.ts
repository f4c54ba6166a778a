// The verbs of embeddings.
import { BOOLEAN, limit, optional, options, orElse, param, read, SIGNAL, whole, write } from "./vocabulary.ts";

export const EMBEDDING_VERBS = {
  status: read(),
  failures: read(param("options", options({ limit: limit("page", 100) }))),
  retry: write(param("options", options({ parked: orElse(BOOLEAN, true) }))),
  wait: read(param("options", options({ timeoutMs: orElse(whole(0, 86_400_000), 60_000), signal: optional(SIGNAL) }))),
  adopt: write(),
};
