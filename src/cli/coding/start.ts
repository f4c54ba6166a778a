// How an agent's session begins: put back natively when that is possible, told the earlier conversation when it is not, or
// new. Which of the three it was is always said.
import { digest } from "../../coding/conversation/digest.ts";
import type { AgentHere } from "../../coding/here.ts";
import { sourceOfCapture } from "../../coding/sources.ts";
import type { CaptureWithFiles } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Log } from "./follow.ts";

export type Start =
  | { readonly how: "resumed"; readonly restored: Restored; readonly basis: CaptureWithFiles | null }
  | { readonly how: "told"; readonly words: string; readonly session: string; readonly why: string }
  | { readonly how: "new"; readonly why: string | null };

export interface Beginning {
  readonly store: Holdfast | null;
  readonly agent: AgentHere;
  readonly request: string;
  /** What the container was handed instead of a store. */
  readonly handed: CaptureSource | null;
  readonly rewritePaths: boolean;
  readonly log: Log;
}

export async function begin(given: Beginning): Promise<Start> {
  const { store, agent, request, handed, log } = given;
  let why: string | null = null;
  const back = async (source: CaptureSource, basis: CaptureWithFiles | null): Promise<Start | null> => {
    try {
      const restored = await agent.restore(source, { rewritePaths: given.rewritePaths });
      const { sessionId, cwd, files, bytes, messages, left } = restored;
      log("info", "capture.restored", { sessionId, cwd, files, bytes, messages, left: left.length });
      return { how: "resumed", restored, basis };
    } catch (error) {
      why = error instanceof HoldfastError ? error.message : String(error);
      log("error", "capture.restore", { error: why, sessionId: source.sessionId });
      return null;
    }
  };
  if (handed !== null) {
    const done = await back(handed, null);
    if (done !== null) return done;
  }
  const capture = await store?.captures.latest(request, agent.agent);
  if (store !== null && capture !== null && capture !== undefined) {
    const source = await sourceOfCapture(store.captures, capture.id).catch((error: unknown) => {
      why = error instanceof HoldfastError ? error.message : String(error);
      log("error", "capture.restore", { error: why, capture: capture.id });
      return null;
    });
    const done = source === null ? null : await back(source, source);
    if (done !== null) return done;
  }
  const session = capture?.session ?? (await sessionOf(store, request, agent.agent));
  if (store === null || session === null) return { how: "new", why };
  const words = await digest(store, session);
  return words === ""
    ? { how: "new", why }
    : { how: "told", words, session, why: why ?? "there is no capture of it any more" };
}

/** The newest session of the request in which this agent spoke. */
async function sessionOf(store: Holdfast | null, request: string, agent: string): Promise<string | null> {
  if (store === null) return null;
  const { items } = await store.sessions.list({ request, limit: 100 });
  return items.find(({ id }) => id.startsWith(`${agent}/`) && !id.slice(agent.length + 1).includes("/"))?.id ?? null;
}
