// A call of a model as an iteration makes it, for tests of adapters.
import type { ModelCall } from "../../src/contracts/models.ts";

/** `said` collects the tokens; `blobs` has what messages refer to. */
export function modelCall(blobs: Readonly<Record<string, Uint8Array>> = {}): ModelCall & { readonly said: string[] } {
  const said: string[] = [];
  return {
    run: "r",
    session: "s",
    iteration: 1,
    path: "1",
    attempt: 1,
    idempotencyKey: "0123456789abcdef",
    again: false,
    signal: new AbortController().signal,
    said,
    token: (text: string) => void said.push(text),
    readBlob: async (ref) => blobs[ref] ?? Promise.reject(new Error(`no blob ${ref}`)),
  };
}
