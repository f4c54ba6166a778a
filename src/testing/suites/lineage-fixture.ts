// Messages to write into the sessions of the lineage suite, and what a session shows.
import type { MessageAt } from "../../contracts/lineage.ts";
import type { Message } from "../../contracts/messages.ts";
import type { CaseContext } from "../suite.ts";

export const NEEDS = ["lineage", "sessions", "history", "state", "log"] as const;
export type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

export const AGENT = "ada";
const textOf = (message: Message | MessageAt): string => {
  if ("erased" in message) return "(erased)";
  const [block] = message.content;
  return block?.type === "text" ? block.text : "?";
};
export const texts = (messages: readonly (Message | MessageAt)[]) => messages.map(textOf);

export async function say(
  { history }: Nouns,
  session: string,
  ...words: readonly string[]
): Promise<readonly Message[]> {
  const scope = { session, agent: AGENT };
  return history.appendMany(
    scope,
    words.map((content) => ({ role: "user" as const, content })),
  );
}

export async function shown({ history }: Nouns, session: string): Promise<readonly string[]> {
  return texts(await history.session(session));
}

export async function shownAt({ lineage }: Nouns, at: string): Promise<readonly string[]> {
  const view = await lineage.sessions.at(at);
  return texts(await view.messages());
}
