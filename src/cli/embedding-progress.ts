// Waiting for the embeddings of what a command has added.
import type { EmbeddedKind, EmbeddingStatus } from "../contracts/embeddings.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Output } from "./output.ts";
import { plural } from "./units.ts";

const LOOK_MS = 1000;

/** A command that adds texts waits for their embeddings: no other process may make them. Failures are told, and it goes on. */
export async function finishEmbedding({ embeddings }: Holdfast, kind: EmbeddedKind, output: Output): Promise<void> {
  const first = await embeddings.status();
  if (first.embedder === null) return;
  for (let status = first; ; status = await embeddings.wait({ timeoutMs: LOOK_MS })) {
    const { pending, parked } = status.kinds[kind];
    if (pending > 0 && status.failure === null) {
      await output.progress(`${plural(pending, "text")} to embed`);
      continue;
    }
    const left = leftText(status, pending, parked);
    if (left !== null) await output.note(left);
    return;
  }
}

function leftText({ failure }: EmbeddingStatus, pending: number, parked: number): string | null {
  const waits = `${plural(pending, "text")} without an embedding are found by words, and tried again with the next command`;
  if (pending > 0) return `${failure === null ? "" : `${failure.reason}; `}${waits}`;
  return parked === 0 ? null : `${plural(parked, "text")} could not be embedded; they are found by words`;
}
