// A compaction by a run: one commit with the summary and with the head from which on contexts begin with the summary.
// It happens once for its step.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { SessionSteps } from "../contracts/session-steps.ts";
import { checkRecord, checkText } from "../core/check.ts";
import { appendCommit, type PreparedMessage, prepareMessage } from "../history/append.ts";
import { coverageUpTo, readySummary } from "../sessions/compact.ts";
import type { IterationHost } from "./iteration-host.ts";
import { refuseStep } from "./refusals.ts";
import type { StepIdentity, StepRequest } from "./steps.ts";

export async function compactSession(
  host: IterationHost,
  request: StepRequest,
  input: Parameters<SessionSteps["compact"]>[0],
): Promise<void> {
  const { writer, payloads, steps } = host;
  const given = checkRecord(input, "compaction", ["summary", "upTo"]);
  const summary = readySummary(checkText(given.summary, "summary", "payloadBytes"));
  const identity = steps.identify(request);
  const { action, record } = await steps.decide(identity);
  if (action === "reuse") {
    if (record.status === "failed") throw steps.failure(record);
    return;
  }
  const attempt = (record?.attempt ?? 0) + 1;
  try {
    const cover = await coverageUpTo(writer.storage, writer.row.session, given.upTo);
    await payloads.preparing(async (prepare) =>
      commitSummary(host, identity, attempt, await prepareMessage(summary, prepare), cover),
    );
  } catch (error) {
    await refuseStep(host, identity, error, record);
  }
}

/** If a child in the same session publishes a head meanwhile, the range that the summary covers is computed again. */
async function commitSummary(
  { writer, steps, draftHead }: IterationHost,
  identity: StepIdentity,
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
    const step = steps.describe(identity, attempt);
    const drafts = events.map((event) => ({ ...event, data: { ...event.data, step } }));
    try {
      await writer.add([...drafts, ...draftHead(at, { append, compacts })], { ...rest, guards: [...own, ...guards] });
      return;
    } catch (error) {
      if (!isHeadConflict(error) || tries >= LIMITS.decideAttempts) throw error;
    }
  }
}

function isHeadConflict(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "Conflict" && error.details.check === "session.head";
}
