// The session that a conversation is imported into: there is one, and it says whose it is.
import { isHoldfastError } from "../../contracts/errors.ts";
import type { SessionBasics } from "../../contracts/sessions.ts";
import type { Conversation } from "./conversation.ts";
import { described, saysMore, withTags } from "./facts.ts";
import type { To } from "./import.ts";

export async function describe(
  hf: { readonly sessions: SessionBasics },
  conversation: Conversation,
  to: To,
  follows: string | undefined,
): Promise<void> {
  const { session, request, agent } = to;
  const { metadata, ...rest } = described(conversation);
  const known = { ...rest, metadata: { ...metadata, ...(follows && { follows }) } };
  const found = await hf.sessions.get({ session });
  if (found === null) {
    const input = { id: session, agent, request, origin: conversation.agent, ...known };
    await hf.sessions.create(input).catch((error: unknown) => {
      if (!isHoldfastError(error) || error.code !== "AlreadyExists") throw error;
    });
    return;
  }
  // A sub-agent's session belongs to the request of the session that it works for.
  const isMoved = found.kind !== "entry" && found.request !== request;
  if (isMoved || saysMore(found, known)) {
    await hf.sessions.update(session, {
      ...(isMoved ? { request } : {}),
      ...{ metadata: { ...found.metadata, ...known.metadata }, tags: withTags(found.tags, known.tags) },
      ...(found.title === null && known.title !== undefined ? { title: known.title } : {}),
    });
  }
}
