// holdfast import-local: imports the conversations of coding agents on this machine into sessions of the store.
import { countImportedMessages } from "../../coding/conversation/import.ts";
import { foreseeLocal, importLocalSession, type LocalSessionEntry, listLocal } from "../../coding/local-sessions.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { AGENT_NAMES, AGENTS } from "../../core/agent-sessions.ts";
import { AGENT_OPTION, agentGiven, hostAt, OPENCODE_HELP } from "../captures/agent.ts";
import type { Command, Context } from "../command-line.ts";
import type { EmbeddingLeft } from "../embedding-progress.ts";
import { EXIT } from "../exit.ts";
import { OutputClosed, OutputFailed } from "../failure.ts";
import { type Io, interruption } from "../io.ts";
import { EMBEDDER_OPTION } from "../option.ts";
import { createStore, openIfThere } from "../store.ts";
import { facts } from "../table.ts";
import { safe, safeLine } from "../terminal.ts";
import { formatAge, formatCount, parseDuration, plural } from "../units.ts";

export const importLocal: Command = {
  name: "import-local",
  summary: "import the conversations of this machine's coding agents",
  usage: ["import-local [--agent A] [--since TIME] [--request-prefix P] [--mask-secrets] [--dry-run] [--embedder E]"],
  description:
    "Imports the conversations of all your Claude Code and OpenCode sessions on this machine into the store, each as " +
    "a session of its own (claude-code/ID, opencode/ID), so that messages, trace, cost, diff and query work on them. Their files are " +
    "not captured. It skips sessions that did not change since the last import. A session that cannot be read does not stop the other " +
    "imports, and the exit code is then 1. A session that was erased in the store is not imported again. If there is no store, " +
    `import-local creates one. ${OPENCODE_HELP}`,
  options: {
    agent: { ...AGENT_OPTION, summary: "only sessions of this coding agent" },
    since: { type: "text", value: "TIME", summary: "only sessions that changed in the last 12h, 30d …" },
    "request-prefix": {
      type: "text",
      value: "P",
      summary: "give each session its own request, P followed by its id (default: all have the request local)",
    },
    "mask-secrets": { type: "flag", summary: "replace likely secrets in what is imported now" },
    ...EMBEDDER_OPTION,
    "dry-run": { type: "flag", short: "n", summary: "print what would be imported, write nothing" },
  },
  globalOptionHelp: { json: "print one JSON line for each session, and one at the end" },
  operands: [],
  examples: [
    { command: "holdfast import-local --dry-run", does: "list sessions that are not in the store yet" },
    { command: "holdfast import-local", does: "import all of them" },
    {
      command: "holdfast import-local --agent claude-code --since 30d",
      does: "import Claude Code's sessions of this month",
    },
    {
      command: "holdfast import-local --embedder openai:http://127.0.0.1:11434/v1#bge-m3",
      does: "and embed them, so that search finds them by meaning too",
    },
  ],
  next: "holdfast search WORD finds what they say; holdfast sessions --request local lists them; holdfast cost analyses them.",
  run: async (context) => {
    const { args, io } = context;
    const agent = agentGiven(context);
    const since = args.text("since");
    const after = since === undefined ? Number.NEGATIVE_INFINITY : Date.now() - parseDuration(since, "--since");
    const there = await openIfThere(context);
    const holdfast = there ?? (args.flag("dry-run") ? null : await createStore(context));
    const importing = new LocalImport(context, holdfast);
    const stop = interruption(io);
    let left: EmbeddingLeft | null = null;
    try {
      for (const one of agent === undefined ? AGENTS : [agent]) await importing.all(one, after, stop.signal);
      if (holdfast !== null) {
        const { finishEmbedding } = await import("../embedding-progress.ts");
        left = await finishEmbedding(holdfast, "messages", context.output, stop.signal);
      }
    } finally {
      stop.release();
    }
    return await importing.end(left);
  },
};

type Count = "imported" | "unchanged" | "empty" | "erased" | "failed" | "foreseen";

class LocalImport {
  readonly #context: Context;
  /** null: this is a dry run, and there is no store. */
  readonly #holdfast: Holdfast | null;
  readonly #counts: Record<Count, number> = {
    imported: 0,
    unchanged: 0,
    empty: 0,
    erased: 0,
    failed: 0,
    foreseen: 0,
  };
  #messages = 0;
  #isStopped = false;

  constructor(context: Context, holdfast: Holdfast | null) {
    this.#context = context;
    this.#holdfast = holdfast;
  }

  async all(agent: CodingAgent, after: number, signal: AbortSignal): Promise<void> {
    const { io, output } = this.#context;
    await output.progress(`${AGENT_NAMES[agent]}: looking for sessions …`);
    const found = await this.#list(agent, io);
    const locals = found.filter(({ changedAt }) => changedAt >= after).toSorted((a, b) => a.changedAt - b.changedAt);
    for (const [i, local] of locals.entries()) {
      if (signal.aborted) {
        this.#isStopped = true;
        return;
      }
      await output.progress(safe`${AGENT_NAMES[agent]}: ${i + 1} of ${locals.length}, ${local.sessionId}`);
      await this.#one(local);
    }
  }

  /** An agent or a folder whose sessions cannot be listed does not stop the rest. */
  async #list(agent: CodingAgent, io: Io): Promise<readonly LocalSessionEntry[]> {
    const broken: unknown[] = [];
    try {
      return await listLocal(agent, hostAt(io.cwd, io), (_, error) => broken.push(error));
    } catch (error) {
      broken.push(error);
      return [];
    } finally {
      for (const error of broken) await this.#failed({ agent, sessionId: null }, error);
    }
  }

  async #one(local: LocalSessionEntry): Promise<void> {
    const { args, output } = this.#context;
    const { agent, sessionId } = local;
    const prefix = args.text("request-prefix");
    const request = prefix === undefined ? "local" : `${prefix}${sessionId}`;
    try {
      const done =
        this.#holdfast === null || args.flag("dry-run")
          ? await foreseeLocal(this.#holdfast, local)
          : await importLocalSession(this.#holdfast, local, { request, mask: args.flag("mask-secrets") });
      this.#counts[done.outcome]++;
      const { session, outcome } = done;
      const messages = done.outcome === "imported" ? countImportedMessages(done.imported) : 0;
      this.#messages += messages;
      if (output.json) await output.record({ event: outcome, agent, sessionId, session, messages });
      else if (outcome === "foreseen") await output.line(safe`${session}  ${formatAge(local.changedAt, Date.now())}`);
    } catch (error) {
      await this.#failed({ agent, sessionId }, error);
    }
  }

  async #failed(of: { agent: CodingAgent; sessionId: string | null }, error: unknown): Promise<void> {
    if (error instanceof OutputClosed || error instanceof OutputFailed || isOfStore(error)) throw error;
    const { output } = this.#context;
    this.#counts.failed++;
    const code = isHoldfastError(error) ? error.code : "Internal";
    const why = error instanceof Error ? error.message : String(error);
    if (output.json) await output.record({ event: "failed", ...of, code, message: why });
    else await output.error(safe`${AGENT_NAMES[of.agent]} ${of.sessionId ?? ""}: not imported: ${safeLine(why)}`);
  }

  async end(left: EmbeddingLeft | null): Promise<number> {
    const { output } = this.#context;
    await output.clearProgress();
    const { imported, unchanged, empty, erased, failed, foreseen } = this.#counts;
    const isDry = this.#context.args.flag("dry-run");
    if (output.json) {
      const { foreseen: _, ...done } = this.#counts;
      const counts = isDry ? { dryRun: true, ...this.#counts } : done;
      const embedding = left === null ? {} : { embedding: left };
      await output.record({
        event: "end",
        ...counts,
        messages: this.#messages,
        stopped: this.#isStopped,
        ...embedding,
      });
    } else {
      const some = (count: number) => (count === 0 ? "" : formatCount(count));
      await output.lines([
        isDry
          ? `would read ${plural(foreseen, "session")}; nothing was written`
          : `imported ${plural(imported, "session")}, ${plural(this.#messages, "new message")}`,
        ...facts(
          [
            ["unchanged", some(unchanged)],
            ["empty", some(empty)],
            ["erased here", some(erased)],
            ["failed", some(failed)],
          ],
          { ...output.frame, indent: 2 },
        ),
      ]);
      if (this.#isStopped) await output.note("stopped; the next import continues from here");
    }
    return failed === 0 ? EXIT.ok : EXIT.error;
  }
}

/** Errors that would stop the import of every other session as well. */
const OF_STORE = ["StoreBusy", "StoreUnreachable", "StoreFull", "ReadOnly", "Closed"];

function isOfStore(error: unknown): boolean {
  return isHoldfastError(error) && OF_STORE.includes(error.code);
}
