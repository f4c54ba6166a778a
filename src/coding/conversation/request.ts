// Which sessions of a request hold what a coding agent said and did, and in which order they follow each other: an agent that
// could not be given its session back begins a new one, and was told what came before.
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Session } from "../../contracts/sessions.ts";
import { isObject, textOf } from "./content.ts";
import { isMirror, mirroredId } from "./mirror.ts";
import { spokenIn } from "./spoken.ts";
import { contentBehind } from "./told.ts";

/** A session that holds a conversation, and whose. */
interface Held {
  readonly session: Session;
  readonly agent: CodingAgent;
  readonly sessionId: string | null;
}

type Stores = Pick<Holdfast, "sessions" | "history">;

const PAGE = 100;
/** How many sessions of a request are looked at, and how far back those go that were told of each other. */
const MOST = 1000;
const MOST_BEFORE = 20;

/** The id of the request's newest session in which that agent spoke, or any when none is named; null when there is none. */
export async function conversationOfRequest(
  hf: Pick<Holdfast, "sessions">,
  request: string,
  agent?: CodingAgent,
): Promise<string | null> {
  const [newest] = await heldOf(hf, request, agent);
  return newest?.session.id ?? null;
}

/** The session and those before it that it was told of, oldest first. */
export async function withEarlier(hf: Stores, session: Session): Promise<readonly Session[]> {
  const chain = [session];
  let all: readonly Held[] | undefined;
  for (let [first] = chain; first !== undefined && chain.length <= MOST_BEFORE; ) {
    const { request, metadata } = first;
    const own = heldIn(first);
    if (request === null || own === null || !(await wasTold(hf, first))) break;
    all ??= await heldOf(hf, request, own.agent);
    const earlier = all.slice(all.findIndex((one) => isSame(one, own)) + 1);
    const before = earlier.find((one) => one.session.id === metadata.follows) ?? earlier[0];
    if (before === undefined) break;
    first = before.session;
    chain.unshift(first);
  }
  return chain;
}

function isSame(a: Held, b: Held): boolean {
  return a.session.id === b.session.id || (a.sessionId !== null && a.sessionId === b.sessionId && a.agent === b.agent);
}

/** An import says it, or the session's own first prompt does. */
async function wasTold(hf: Stores, session: Session): Promise<boolean> {
  if (textOf(session.metadata.follows) !== null) return true;
  for await (const { metadata, content } of spokenIn(hf, session)) {
    if (metadata?.prompt === true) return contentBehind(content) !== null;
  }
  return false;
}

/** Newest first, each session of the agent once. */
async function heldOf(
  { sessions }: Pick<Holdfast, "sessions">,
  request: string,
  agent: CodingAgent | undefined,
): Promise<readonly Held[]> {
  const found: Held[] = [];
  for (let cursor: string | undefined; found.length < MOST; ) {
    const page = await sessions.list({ request, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const session of page.items) {
      const held = session.messages > 0 ? heldIn(session) : null;
      if (held !== null && (agent === undefined || held.agent === agent)) found.push(held);
    }
    if (page.next === null) break;
    cursor = page.next;
  }
  return found.filter((one) => bestOf(found, one) === one);
}

/** The imported one before the mirrored one, which holds the same; and the first of them, because forks say the same of themselves. */
function bestOf(all: readonly Held[], held: Held): Held | undefined {
  const same = all.filter((one) => isSame(one, held));
  return same.findLast(({ session }) => !isMirror(session)) ?? same.at(-1);
}

/** null: it holds no conversation of a coding agent, or a sub-agent's. */
function heldIn(session: Session): Held | null {
  const { kind, metadata } = session;
  if (kind !== "entry") return null;
  if (isMirror(session)) return { session, agent: "claude-code", sessionId: mirroredId(metadata) };
  const { agent, sessionId } = isObject(metadata.coding) ? metadata.coding : {};
  if (agent !== "claude-code" && agent !== "opencode") return null;
  return { session, agent, sessionId: textOf(sessionId) };
}
