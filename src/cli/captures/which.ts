// Which capture is meant: the newest of a request or of an agent's session, or one by its id.
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context, Options } from "../command.ts";
import { UsageError } from "../failure.ts";
import { quoted } from "../terminal.ts";
import { SESSION_ID_OPTION } from "./agent.ts";

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
  { captures }: Holdfast,
  { request, sessionId, capture }: Which,
  agent: CodingAgent | undefined,
): Promise<Capture | null> {
  if (capture !== undefined) {
    const found = await captures.get(capture);
    if (found !== null) return found;
    throw new HoldfastError("NotFound", `no capture ${JSON.stringify(capture)}`, {
      hint: "`holdfast captures` lists those there are; what has expired may have been swept",
      details: { kind: "capture", id: capture },
    });
  }
  if (request !== undefined && sessionId !== undefined) {
    const filter = { request, sessionId, limit: 1, ...(agent === undefined ? {} : { agent }) };
    return (await captures.list(filter)).items[0] ?? null;
  }
  if (request !== undefined) return captures.latest(request, agent);
  return sessionId === undefined ? null : captures.bySession(sessionId, agent);
}

export function noCapture({ request, sessionId }: Which): HoldfastError {
  const of = [
    ...(sessionId === undefined ? [] : [`session ${JSON.stringify(sessionId)}`]),
    ...(request === undefined ? [] : [`request ${JSON.stringify(request)}`]),
  ].join(" of ");
  const option = request === undefined ? `--session-id ${quoted(sessionId ?? "")}` : `--request ${quoted(request)}`;
  return new HoldfastError("NotFound", `no capture of ${of}, or none that has not expired`, {
    hint:
      `\`holdfast captures\` lists those there are. The conversation outlives a capture: ` +
      `\`holdfast handover ${option}\` tells what was done`,
    details: {
      kind: "capture",
      ...(request === undefined ? {} : { request }),
      ...(sessionId === undefined ? {} : { sessionId }),
    },
  });
}
