// holdfast handover: writes what a coding agent was asked, did and left open, for the person or agent that continues.
import { handover as writeHandover } from "../../coding/conversation/handover.ts";
import {
  type CaptureSelector,
  findCapture,
  findConversation,
  isExpired,
  noCapture,
} from "../../coding/find-capture.ts";
import type { Capture } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Session } from "../../contracts/session.ts";
import { FORCE_OPTION, fileOut, refuseOverwrite } from "../bytes.ts";
import { AGENT_OPTION, agentGiven, CAPTURE_OPTIONS, parseCaptureSelector } from "../captures/agent.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { needSession } from "../sessions.ts";
import { safe, safeText } from "../terminal.ts";

export const handover: Command = {
  name: "handover",
  summary: "summarise a coding agent's session as Markdown",
  usage: ["handover --request ID | --session-id ID | --capture CAPTURE | SESSION [--agent A] [--out FILE [--force]]"],
  description:
    "Writes a summary of a coding agent's session for people: the requests, the last answer, changed files, commands, " +
    "sub-agents, open work, tokens and cost, and how to continue. It uses the conversation in the store, so it also works " +
    "after the capture has expired. Quotes are code blocks, so that no viewer renders them as Markdown or HTML.",
  options: {
    ...CAPTURE_OPTIONS,
    agent: AGENT_OPTION,
    out: { type: "text", short: "o", value: "FILE", summary: "write the summary to this file" },
    force: FORCE_OPTION,
  },
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast handover --request issue-7", does: "summarise the newest session of a request" },
    { command: 'holdfast handover "$ID" -o HANDOVER.md', does: "write a file, by the id that the agent printed" },
  ],
  next: "holdfast run --request ID -- AGENT continues the session; holdfast messages SESSION prints all of its messages.",
  run: async (context) => {
    const { output, args } = context;
    await refuseOverwrite(context);
    const { holdfast, session, capture } = await subject(context);
    const markdown = await writeHandover(holdfast, session, {
      capture: capture?.id ?? null,
      storeOptions: output.storeOptions,
    });
    const out = args.text("out");
    if (out !== undefined) await write(markdown, out, context);
    const answer = { session, capture: capture?.id ?? null, ...(out === undefined ? { markdown } : { file: out }) };
    if (output.json) await output.document(answer);
    else if (out !== undefined) await output.line(safe`wrote the handover of session ${session} to ${out}`);
    else await output.bytes(output.interactive ? safeText(markdown) : markdown);
    return undefined;
  },
};

interface Subject {
  readonly holdfast: Holdfast;
  readonly session: string;
  /** The capture to restore the session from; null if there is none any more. */
  readonly capture: Capture | null;
}

async function subject(context: Context): Promise<Subject> {
  const { args } = context;
  const selector = parseCaptureSelector(context);
  const agent = agentGiven(context);
  const [named] = args.operands;
  const isNamed = selector.request !== undefined || selector.sessionId !== undefined || selector.capture !== undefined;
  if ((named === undefined) !== isNamed) {
    throw new UsageError("give exactly one of SESSION, --request ID, --session-id ID and --capture CAPTURE");
  }
  const holdfast = await context.open();
  if (named !== undefined) {
    const session = await needSession(holdfast, named);
    return { holdfast, session: session.id, capture: await captureOf(holdfast, session) };
  }
  const capture = await findCapture(holdfast, selector, agent);
  if (capture !== null)
    return { holdfast, session: capture.session, capture: isExpired(holdfast, capture) ? null : capture };
  const session = await findConversation(holdfast, selector, agent);
  if (session !== null) return { holdfast, session: session.id, capture: null };
  throw nothing(selector);
}

async function captureOf({ captures }: Holdfast, { id, metadata }: Session): Promise<Capture | null> {
  const { coding } = metadata;
  const sessionId = typeof coding === "object" && coding !== null && "sessionId" in coding ? coding.sessionId : null;
  const capture = typeof sessionId === "string" ? await captures.bySession(sessionId) : null;
  return capture?.session === id ? capture : null;
}

function nothing(selector: CaptureSelector): HoldfastError {
  const hint = "`holdfast captures` and `holdfast sessions` list the existing ones";
  const { message, details } = noCapture(selector, hint);
  return new HoldfastError("NotFound", `${message}, and no conversation either`, { hint, details });
}

async function write(text: string, file: string, { io }: Context): Promise<void> {
  const out = await fileOut(file, io);
  try {
    await out.write(Buffer.from(text, "utf8"));
  } catch (error) {
    await out.discard();
    throw error;
  }
  await out.finish();
}
