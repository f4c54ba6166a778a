// A compaction made by a run: its summary and the head from which on contexts begin with it are one commit, made once at
// their place in the iteration.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { RunCompaction } from "../contracts/session-steps.ts";
import type { EventDraft } from "../contracts/storage.ts";
import { checkRecord, checkText } from "../core/check.ts";
import { appendCommit, type PreparedMessage, prepareMessage } from "../history/append.ts";
import { coverageUpTo, readySummary } from "../sessions/compact.ts";
import type { HeadPlan } from "../sessions/publish.ts";
import { refusedBefore, refuseStep } from "./refusals.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Writer } from "./writer.ts";

interface Compacting {
  readonly writer: Writer;
  readonly payloads: Payloads;
  readonly steps: Steps;
  readonly leave: (error?: unknown) => Promise<never>;
  /** The head that follows the summary. */
  readonly head: (at: number, compaction: NonNullable<HeadPlan["compaction"]>) => readonly EventDraft[];
}

export async function compactSession(compacting: Compacting, asked: Asked, input: RunCompaction): Promise<void> {
  const { writer, payloads, steps, leave } = compacting;
  const given = checkRecord(input, "compaction", ["summary", "upTo"]);
  const summary = readySummary(checkText(given.summary, "summary", "payloadBytes"));
  const identity = steps.identify(asked);
  const found = await steps.recorded(identity);
  const refused = refusedBefore(identity, found, steps);
  if (refused !== null) throw refused;
  if (found?.status === "done") return;
  const attempt = (found?.attempt ?? 0) + 1;
  try {
    const cover = await coverageUpTo(writer.storage, writer.row.session, given.upTo);
    await payloads.preparing(async (prepare) =>
      commitSummary(compacting, identity, attempt, await prepareMessage(summary, prepare), cover),
    );
  } catch (error) {
    await refuseStep({ writer, steps, leave }, identity, error, found);
  }
}

/** A child in the same session may publish a head meanwhile: then it is decided anew what the summary stands for. */
async function commitSummary(
  { writer, steps, head }: Compacting,
  identity: Identity,
  attempt: number,
  message: PreparedMessage,
  cover: Awaited<ReturnType<typeof coverageUpTo>>,
): Promise<void> {
  const { session, agent, id } = writer.row;
  for (let tries = 1; ; tries++) {
    const { compacts, guards } = await cover();
    const at = writer.storage.environment.now();
    const append = appendCommit({ session, agent, run: id, at }, [message]);
    const { events = [], sessions: _sessions, guards: own = [], ...rest } = append;
    const step = steps.said(identity, attempt);
    const drafts = events.map((event) => ({ ...event, data: { ...event.data, step } }));
    try {
      await writer.add([...drafts, ...head(at, { append, compacts })], { ...rest, guards: [...own, ...guards] });
      return;
    } catch (error) {
      if (!isOfHead(error) || tries >= LIMITS.decideAttempts) throw error;
    }
  }
}

function isOfHead(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "Conflict" && error.details.check === "session.head";
}
