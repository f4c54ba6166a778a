// The consumer in the Worker: it has the database, through Hyperdrive, and keeps sessions there between two containers.
import { openEdge } from "holdfast/edge";

export interface Job {
  /** The id by which the job's answer is found. */
  readonly id: string;
  /** The request to which the conversation belongs. */
  readonly request: string;
  readonly prompt: string;
}

export interface Agent {
  fetch(request: Request): Promise<Response>;
}

interface Answer {
  /** The exit code of the agent; null if a signal ended it. */
  readonly code: number | null;
  readonly output: string;
  /** The session as a bundle, in base64. */
  readonly session: string | null;
}

const WEEK_MS = 7 * 24 * 3600 * 1000;

export interface Outcome extends Pick<Answer, "code" | "output"> {
  readonly generation: number | null;
}

/** "busy": the container works on another job of the request. */
export async function work(
  { request, prompt }: Pick<Job, "request" | "prompt">,
  agent: Agent,
  hyperdrive: { readonly connectionString: string },
): Promise<Outcome | "busy"> {
  const store = await openEdge(hyperdrive);
  try {
    const basis = await store.captures.latest(request);
    const bundle = basis === null ? null : await store.captures.getBundle(basis.id);
    const session = bundle === null ? null : Buffer.from(bundle).toString("base64");
    const body = JSON.stringify({ prompt, session });
    const response = await agent.fetch(new Request("http://container/", { method: "POST", body }));
    if (response.status === 409) return "busy";
    if (!response.ok) throw new Error(`the container answered ${response.status}: ${await response.text()}`);
    const answer = (await response.json()) as Answer;
    if (answer.session === null) return { code: answer.code, output: answer.output, generation: null };
    // Two containers may have continued from the same capture: the later one is kept beside the other.
    const saved = await store.captures.putBundle(Buffer.from(answer.session, "base64"), {
      ...{ request, basis, onConflict: "keep", ttlMs: WEEK_MS },
    });
    return { code: answer.code, output: answer.output, generation: saved.generation };
  } finally {
    await store.close();
  }
}

/** Deletes expired captures; call it from a cron trigger. */
export async function sweep(hyperdrive: { readonly connectionString: string }): Promise<number> {
  const store = await openEdge(hyperdrive);
  try {
    return (await store.captures.deleteExpired()).removed.length;
  } finally {
    await store.close();
  }
}
