// Finds the capture that a caller names: the newest of a request or of an agent's session, or one by its id or the first characters
// of it. If there is none, it explains why and what to do.
import type { Capture, CodingAgent } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/session.ts";
import { AGENTS } from "../core/agent-sessions.ts";
import { formatSpan } from "../core/format-numbers.ts";
import { quoteArgument } from "../core/shell.ts";
import { conversationOfRequest, conversationOfSession } from "./conversation/request-conversations.ts";

/** At least one of the three is given. */
export interface CaptureSelector {
  readonly request: string | undefined;
  readonly sessionId: string | undefined;
  readonly capture: string | undefined;
}

/** null: there is none, or all have expired. A capture that is named by its id exists, or this throws NotFound. */
export async function findCapture(
  holdfast: Holdfast,
  { request, sessionId, capture }: CaptureSelector,
  agent: CodingAgent | undefined,
): Promise<Capture | null> {
  const { captures } = holdfast;
  if (capture !== undefined) return requireCapture(holdfast, capture);
  if (request !== undefined && sessionId !== undefined) {
    const filter = { request, sessionId, limit: 1, ...(agent === undefined ? {} : { agent }) };
    return (await captures.list(filter)).items[0] ?? null;
  }
  if (request !== undefined) return captures.latest(request, agent);
  return sessionId === undefined ? null : captures.bySession(sessionId, agent);
}

/** A shorter prefix would match too many captures. */
const ID_PREFIX = /^cap_[0-9a-z]{4,}…?$/;

/** Finds a capture by its id or the first characters of it. An expired capture is found until it is swept. */
export async function requireCapture(holdfast: Holdfast, named: string): Promise<Capture> {
  const whole = await holdfast.captures.get(named);
  if (whole !== null) return whole;
  const prefix = named.replace(/…$/, "");
  const found = ID_PREFIX.test(named) ? await capturesWithPrefix(holdfast, prefix) : [];
  const [one, ...others] = found;
  if (one === undefined) throw await unknownCapture(holdfast, named);
  if (others.length === 0) return one;
  throw new HoldfastError("InvalidArgument", `${found.length} captures begin with ${prefix}`, {
    hint: `give more of it: ${found
      .slice(0, 3)
      .map(({ id }) => id)
      .join(", ")}${found.length > 3 ? " …" : ""}`,
    details: { kind: "capture", captures: found.map(({ id }) => id) },
  });
}

async function capturesWithPrefix(holdfast: Holdfast, prefix: string): Promise<readonly Capture[]> {
  const found = (await expiredCaptures(holdfast)).filter(({ id }) => id.startsWith(prefix));
  for (let cursor: string | undefined; ; ) {
    const filter = { diverged: true, limit: LIMITS.page, ...(cursor === undefined ? {} : { cursor }) };
    const page = await holdfast.captures.list(filter);
    found.push(...page.items.filter(({ id }) => id.startsWith(prefix)));
    if (page.next === null) return found;
    cursor = page.next;
  }
}

async function unknownCapture({ captures }: Holdfast, named: string): Promise<HoldfastError> {
  const { items } = await captures.list({ request: named, diverged: true, limit: 1 });
  return new HoldfastError("NotFound", `no capture ${JSON.stringify(named)}`, {
    hint:
      items.length > 0
        ? `it is a request: \`holdfast captures --request ${quoteArgument(named)}\` lists its captures`
        : "`holdfast captures` lists those there are; what has expired may have been swept",
    details: { kind: "capture", id: named },
  });
}

export function matchesSelector(
  { request, sessionId }: Omit<CaptureSelector, "capture">,
  agent: CodingAgent | undefined,
): (capture: Capture) => boolean {
  return (capture) =>
    (request === undefined || capture.request === request) &&
    (sessionId === undefined || capture.sessionId === sessionId) &&
    (agent === undefined || capture.agent === agent);
}

/** The store's session that holds the conversation, also when its capture is gone; null: there is none. */
export async function findConversation(
  holdfast: Holdfast,
  { request, sessionId }: Omit<CaptureSelector, "capture">,
  agent: CodingAgent | undefined,
): Promise<Session | null> {
  const agents = agent === undefined ? AGENTS : [agent];
  if (sessionId !== undefined) {
    for (const one of agents) {
      const found = await conversationOfSession(holdfast, one, sessionId, request);
      if (found !== null) return found;
    }
    return null;
  }
  const id = request === undefined ? null : await conversationOfRequest(holdfast, request, agent);
  return id === null ? null : holdfast.sessions.get(id);
}

/** The error for a selector that matches no capture. It says whether one has expired or a conversation is left. */
export async function explainMissingCapture(
  holdfast: Holdfast,
  selector: CaptureSelector,
  agent: CodingAgent | undefined,
): Promise<HoldfastError> {
  const expired = (await expiredCaptures(holdfast)).find(matchesSelector(selector, agent));
  if (expired !== undefined) return captureExpired(holdfast, expired);
  const { request, sessionId } = selector;
  const option =
    request === undefined ? `--session-id ${quoteArgument(sessionId ?? "")}` : `--request ${quoteArgument(request)}`;
  const hasConversation = (await findConversation(holdfast, selector, agent)) !== null;
  return noCapture(
    selector,
    hasConversation
      ? `the conversation outlives a capture: \`holdfast handover ${option}\` tells what was done`
      : "`holdfast captures` lists those there are",
  );
}

export function noCapture({ request, sessionId }: CaptureSelector, hint: string): HoldfastError {
  const of = [
    ...(sessionId === undefined ? [] : [`session ${JSON.stringify(sessionId)}`]),
    ...(request === undefined ? [] : [`request ${JSON.stringify(request)}`]),
  ].join(" of ");
  return new HoldfastError("NotFound", `no capture of ${of}`, {
    hint,
    details: {
      kind: "capture",
      ...(request === undefined ? {} : { request }),
      ...(sessionId === undefined ? {} : { sessionId }),
    },
  });
}

/** Captures that have expired and were not swept yet; the one that expired last comes first. */
export async function expiredCaptures({ captures }: Holdfast): Promise<Capture[]> {
  const { removed } = await captures.deleteExpired({ dryRun: true });
  const found: Capture[] = [];
  for (const { id } of removed) {
    const one = await captures.get(id);
    if (one !== null) found.push(one);
  }
  return found.toSorted((a, b) => (b.expiresAt ?? 0) - (a.expiresAt ?? 0));
}

/** By the store's clock. */
export function isExpired({ clock }: Holdfast, { expiresAt }: Pick<Capture, "expiresAt">): boolean {
  return expiresAt !== null && expiresAt <= clock().now;
}

/** "cap_… expired 2 h ago and was not swept yet" */
export function describeExpiry({ clock }: Holdfast, { id, expiresAt }: Capture): string {
  return `${id} expired ${formatSpan(clock().now - (expiresAt ?? 0))} ago and was not swept yet`;
}

export function captureExpired(holdfast: Holdfast, capture: Capture): HoldfastError {
  return new HoldfastError("CaptureExpired", describeExpiry(holdfast, capture), {
    hint:
      `\`holdfast captures keep ${capture.id}\` keeps it, and then it can be restored; ` +
      `\`holdfast handover --request ${quoteArgument(capture.request)}\` tells what was done`,
    details: { kind: "capture", id: capture.id, expiresAt: capture.expiresAt },
  });
}
