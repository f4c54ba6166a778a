// Waiting for embeddings: of what a command has added, or of everything that waits.
import type { EmbeddedKind, EmbeddingStatus } from "../contracts/embeddings.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Output } from "./output.ts";
import { plural } from "./units.ts";

const LOOK_MS = 1000;

interface EmbeddingWork {
  readonly kinds: readonly EmbeddedKind[];
  /** Tries parked texts again too. */
  readonly withParked?: boolean;
  readonly signal?: AbortSignal;
}

interface EmbeddingEnd {
  readonly status: EmbeddingStatus;
  /** The signal ended the wait. What is embedded stays. */
  readonly stopped: boolean;
}

/**
 * Waits until the texts of these kinds are embedded, or cannot be at the moment. Failures of earlier commands say nothing about this one:
 * it tries everything again first.
 */
export async function awaitEmbeddings(
  { embeddings }: Holdfast,
  { kinds, withParked = false, signal }: EmbeddingWork,
  output: Output,
): Promise<EmbeddingEnd> {
  if (signal?.aborted) return { status: await embeddings.status(), stopped: true };
  await embeddings.retry({ parked: withParked });
  for (let status = await embeddings.status(); ; ) {
    const { pending, failing } = countTexts(status, kinds);
    if (pending === 0 || status.failure !== null) return { status, stopped: false };
    if (pending <= failing && !(await isAnyDue({ embeddings }, kinds))) return { status, stopped: false };
    await output.progress(`${plural(pending, "text")} to embed`);
    try {
      status = await embeddings.wait({ timeoutMs: LOOK_MS, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      if (isHoldfastError(error) && error.code === "Aborted") {
        return { status: await embeddings.status(), stopped: true };
      }
      throw error;
    }
  }
}

/** Whether a text that failed is tried again now, and not later. */
async function isAnyDue({ embeddings }: Pick<Holdfast, "embeddings">, kinds: readonly EmbeddedKind[]) {
  const failures = await embeddings.failures({ limit: LIMITS.page });
  const now = Date.now();
  return failures.some(({ kind, nextTryAt }) => kinds.includes(kind) && nextTryAt !== null && nextTryAt <= now);
}

/** Texts that are still without an embedding, and what is said of them. */
export interface EmbeddingLeft {
  readonly waiting: number;
  readonly note: string | null;
}

/**
 * A command that adds texts waits for their embeddings: no other process may make them. It prints failures, and goes on. null: no
 * embedder.
 */
export async function finishEmbedding(
  holdfast: Holdfast,
  kind: EmbeddedKind,
  output: Output,
  signal?: AbortSignal,
): Promise<EmbeddingLeft | null> {
  if ((await holdfast.embeddings.status()).embedder === null) return null;
  const work = signal === undefined ? { kinds: [kind] } : { kinds: [kind], signal };
  const { status } = await awaitEmbeddings(holdfast, work, output);
  const left = describeLeft(status, [kind]);
  if (left !== null) await output.note(left);
  return { waiting: countTexts(status, [kind]).pending, note: left };
}

/** What a search by meaning did not have: all of it, or some embeddings. */
export async function noteMeaning(
  { waiting, warning }: { readonly waiting?: number | undefined; readonly warning?: string | null | undefined },
  [one, many]: readonly [one: string, many: string],
  output: Output,
): Promise<void> {
  if (warning) await output.note(warning);
  if (!waiting) return;
  const are = waiting === 1 ? "has no embedding yet and is" : "have no embedding yet and are";
  const embeds = "`holdfast embeddings run` embeds what waits";
  await output.note(`${plural(waiting, one, many)} ${are} found by words only; ${embeds}`);
}

function countTexts({ kinds }: EmbeddingStatus, of: readonly EmbeddedKind[]) {
  const sum = (field: "pending" | "failing" | "parked") => of.reduce((total, kind) => total + kinds[kind][field], 0);
  return { pending: sum("pending"), failing: sum("failing"), parked: sum("parked") };
}

/** null: nothing is left. */
export function describeLeft(status: EmbeddingStatus, of: readonly EmbeddedKind[]): string | null {
  const { pending, parked } = countTexts(status, of);
  const reason = status.failure === null ? "" : `${status.failure.reason}; `;
  if (pending > 0) {
    const are = pending === 1 ? "has no embedding and is" : "have no embedding and are";
    return `${reason}${plural(pending, "text")} ${are} found by words; \`holdfast embeddings run\` tries again`;
  }
  if (parked === 0) return null;
  const are = parked === 1 ? "it is" : "they are";
  return `${plural(parked, "text")} could not be embedded; ${are} found by words. \`holdfast embeddings\` says why`;
}
