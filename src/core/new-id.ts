// Ids of everything that a store makes: agents, sessions, runs, tasks, captures.
import type { Environment } from "../contracts/environment.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** `<prefix>_` and 100 random bits in Crockford's letters: opaque, safe in a URL and in a file name. */
export function newId(environment: Environment, prefix: string): string {
  let text = `${prefix}_`;
  for (const byte of environment.random(20)) text += ALPHABET[byte & 31];
  return text;
}
