// Which capture is meant: the newest of a request or of an agent's session, or one by its id or the beginning of it.
import { conversationOfRequest, conversationOfSession } from "../../coding/conversation/request.ts";
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Session } from "../../contracts/session.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import type { Options } from "../option.ts";
import { quoted } from "../terminal.ts";
import { AGENTS, SESSION_ID_OPTION } from "./agent.ts";
import { captureExpired, expiredCaptures } from "./expired.ts";

export const WHICH_OPTIONS = {
  request: { type: "text", value: "ID", summary: "the newest capture of this request" },
  "session-id": SESSION_ID_OPTION,
  capture: { type: "text", value: "CAPTURE", summary: "this capture, by the id that holdfast captures shows" },
} as const satisfies Options;

/** How it was named; nothing given is a mistake. */
export interface Which {
  readonly request: string | undefined;
  readonly sessionId: string | undefined;
  readonly capture: string | undefined;
}

export function whichGiven({ args }: Context): Which {
  const which = { request: args.text("request"), sessionId: args.text("session-id"), capture: args.text("capture") };
  if (which.capture !== undefined && (which.request !== undefined || which.sessionId !== undefined)) {
    throw new UsageError("--capture names one by itself: leave out --request and --session-id");
  }
  return which;
}

/** null: there is none, or none that has not expired. A capture that is named by its id is there, or it is NotFound. */
export async function findCapture(
  holdfast: Holdfast,
  { request, sessionId, capture }: Which,
  agent: CodingAgent | undefined,
): Promise<Capture | null> {
  const { captures } = holdfast;
  if (capture !== undefined) return needCapture(holdfast, capture);
  if (request !== undefined && sessionId !== undefined) {
    const filter = { request, sessionId, limit: 1, ...(agent === undefined ? {} : { agent }) };
    return (await captures.list(filter)).items[0] ?? null;
  }
  if (request !== undefined) return captures.latest(request, agent);
  return sessionId === undefined ? null : captures.bySession(sessionId, agent);
}

/** Fewer characters name too much to be meant. */
const BEGINNING = /^cap_[0-9a-z]{4,}…?$/;

/** By its id, or the first characters of it; what has expired too, as long as it was not swept. */
export async function needCapture(holdfast: Holdfast, named: string): Promise<Capture> {
  const whole = await holdfast.captures.get(named);
  if (whole !== null) return whole;
  const digits = named.replace(/…$/, "");
  const found = BEGINNING.test(named) ? await beginningWith(holdfast, digits) : [];
  const [one, ...others] = found;
  if (one === undefined) throw await unknownCapture(holdfast, named);
  if (others.length === 0) return one;
  throw new HoldfastError("InvalidArgument", `${found.length} captures begin with ${digits}`, {
    hint: `give more of it: ${found
      .slice(0, 3)
      .map(({ id }) => id)
      .join(", ")}${found.length > 3 ? " …" : ""}`,
    details: { kind: "capture", captures: found.map(({ id }) => id) },
  });
}

async function beginningWith(holdfast: Holdfast, digits: string): Promise<readonly Capture[]> {
  const found = (await expiredCaptures(holdfast)).filter(({ id }) => id.startsWith(digits));
  for (let cursor: string | undefined; ; ) {
    const filter = { diverged: true, limit: LIMITS.page, ...(cursor === undefined ? {} : { cursor }) };
    const page = await holdfast.captures.list(filter);
    found.push(...page.items.filter(({ id }) => id.startsWith(digits)));
    if (page.next === null) return found;
    cursor = page.next;
  }
}

async function unknownCapture({ captures }: Holdfast, named: string): Promise<HoldfastError> {
  const { items } = await captures.list({ request: named, diverged: true, limit: 1 });
  return new HoldfastError("NotFound", `no capture ${JSON.stringify(named)}`, {
    hint:
      items.length > 0
        ? `it is a request: \`holdfast captures --request ${quoted(named)}\` lists its captures`
        : "`holdfast captures` lists those there are; what has expired may have been swept",
    details: { kind: "capture", id: named },
  });
}

export function isOfWhich(
  { request, sessionId }: Omit<Which, "capture">,
  agent: CodingAgent | undefined,
): (capture: Capture) => boolean {
  return (capture) =>
    (request === undefined || capture.request === request) &&
    (sessionId === undefined || capture.sessionId === sessionId) &&
    (agent === undefined || capture.agent === agent);
}

/** The conversation outlives its capture: a session of that request, or the one that is named after the agent's. */
export async function conversationOf(
  holdfast: Holdfast,
  { request, sessionId }: Omit<Which, "capture">,
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

/** Why there is none to put back, with what can be done about it. */
export async function whyNoCapture(
  holdfast: Holdfast,
  which: Which,
  agent: CodingAgent | undefined,
): Promise<HoldfastError> {
  const expired = (await expiredCaptures(holdfast)).find(isOfWhich(which, agent));
  if (expired !== undefined) return captureExpired(holdfast, expired);
  const { request, sessionId } = which;
  const option = request === undefined ? `--session-id ${quoted(sessionId ?? "")}` : `--request ${quoted(request)}`;
  const isTold = (await conversationOf(holdfast, which, agent)) !== null;
  return noCapture(
    which,
    isTold
      ? `the conversation outlives a capture: \`holdfast handover ${option}\` tells what was done`
      : "`holdfast captures` lists those there are",
  );
}

export function noCapture({ request, sessionId }: Which, hint: string): HoldfastError {
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
