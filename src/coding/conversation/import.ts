// Imports a conversation of a coding agent into a session: messages by their keys, requests to models as calls, prompts as turns, and
// sub-agents as sessions that it invoked. An import adds only what is missing, so it can be repeated when the conversation has grown. Every
// step is one commit, and the import first checks the log for it: after a crash, or after another import, the next one continues.
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Head } from "../../contracts/heads.ts";
import type { Invocation } from "../../contracts/invocations.ts";
import type { MessageInput } from "../../contracts/messages.ts";
import { isObject } from "../../core/check.ts";
import { textOf } from "./agent-content.ts";
import {
  type Conversation,
  type ConversationCall,
  type ConversationMessage,
  isAtRest,
  type Subagent,
} from "./conversation.ts";
import { type FencedStores, importExclusively } from "./exclusive-import.ts";
import { type ImportedBranch, isRefusal, noSharedHead, readImportedBranch } from "./imported-branch.ts";
import {
  callOutcome,
  describeConversation,
  ensureSession,
  estimateChars,
  type ImportTarget,
  metadataOf,
  responseRef,
  subagentSessionId,
} from "./session-metadata.ts";
import { findToolResult, titleOf } from "./short-text.ts";

export interface ImportOptions {
  /** The session to import into; created if it is missing. */
  readonly session: string;
  readonly request: string;
  /** The agent of its messages; default: the coding agent. */
  readonly agent?: string;
  /** The earlier session of the request of which the agent got a digest, if its first prompt does not contain the digest. */
  readonly follows?: string;
}

export interface Imported {
  readonly session: string;
  /** How many messages were added, without those of sub-agents. */
  readonly messages: number;
  readonly calls: number;
  /** The agent had gone back to an earlier message, and the session was rewound to it. */
  readonly rewound: boolean;
  readonly subagents: readonly Imported[];
}

/** Includes the messages of its sub-agents. */
export function countImportedMessages({ messages, subagents }: Imported): number {
  return subagents.reduce((sum, one) => sum + countImportedMessages(one), messages);
}

/** Concurrent imports have the result of consecutive ones. If the session cannot be continued, all is imported on a new branch. */
export async function importConversation(
  hf: FencedStores,
  conversation: Conversation,
  { session, request, agent, follows }: ImportOptions,
): Promise<Imported> {
  const to = { session, request, agent: agent ?? conversation.agent };
  const added: ImportCounts = { messages: 0, calls: 0, rewound: false };
  const before = () => ensureSession(hf, conversation, to, follows);
  const attempt = (fromStart: boolean) =>
    importExclusively(hf, session, before, (stores) =>
      new Importer(stores, hf, conversation, { to, added, fromStart }).run(),
    );
  try {
    return await attempt(false);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return attempt(true);
  }
}

/** At most so many characters, and so many messages, in one commit. */
const BATCH_CHARS = 4_000_000;
const BATCH = 500;
/** Calls that are recorded at the same time. */
const AT_ONCE = 64;

interface Pending {
  readonly inputs: MessageInput[];
  chars: number;
}

/** Counted over all attempts of an import. */
interface ImportCounts {
  messages: number;
  calls: number;
  rewound: boolean;
}

interface Attempt {
  readonly to: ImportTarget;
  readonly added: ImportCounts;
  /** Imports from the first message on, on a new branch, whatever the session has. */
  readonly fromStart: boolean;
}

class Importer {
  readonly #hf: FencedStores;
  /** For the sessions of sub-agents. */
  readonly #others: FencedStores;
  readonly #added: ImportCounts;
  readonly #fromStart: boolean;
  readonly #conversation: Conversation;
  readonly #to: ImportTarget;
  readonly #calls: ReadonlyMap<string, ConversationCall>;
  readonly #ids = new Map<string, string>();
  readonly #callIds = new Map<string, string>();
  /** Calls that are not stored yet and have answers in the session. */
  readonly #due = new Set<string>();
  readonly #pending: Pending = { inputs: [], chars: 0 };
  readonly #subagents = new Map<string, Imported>();
  #turn: string | null = null;
  #isAhead = false;

  constructor(hf: FencedStores, others: FencedStores, conversation: Conversation, { to, added, fromStart }: Attempt) {
    this.#hf = hf;
    this.#others = others;
    this.#added = added;
    this.#fromStart = fromStart;
    this.#conversation = conversation;
    this.#to = to;
    this.#calls = new Map(conversation.calls.map((call) => [call.key, call]));
  }

  async run(): Promise<Imported> {
    const { session } = this.#to;
    const { messages } = this.#conversation;
    let branch = await readImportedBranch(this.#hf, session);
    let shared = this.#fromStart ? 0 : this.#sharedMessages(branch);
    // Messages that only the store has may be newer. They are kept unless the conversation continues differently.
    const isOther = shared < branch.items.length || branch.isInEndedTurn;
    if (isOther && shared < messages.length) {
      await this.#rewind(branch, shared);
      this.#added.rewound = true;
      branch = await readImportedBranch(this.#hf, session);
      shared = this.#sharedMessages(branch);
    }
    await this.#continueFrom(branch);
    for (const [i, message] of messages.entries()) if (i >= shared) await this.#add(message, i === shared);
    await this.#flush();
    for (const subagent of this.#conversation.subagents) await this.#subagent(subagent);
    await this.#end();
    return { session, ...this.#added, subagents: [...this.#subagents.values()] };
  }

  /** How many messages the branch and the conversation share, from the first on. */
  #sharedMessages({ items }: ImportedBranch): number {
    const { messages } = this.#conversation;
    const other = items.findIndex(({ key }, i) => {
      const message = messages[i];
      return message === undefined || (key === null ? !message.isSummary : key !== message.key);
    });
    return other < 0 ? items.length : other;
  }

  /** Publishes a head for the messages of the abandoned branch, and continues from the last head that both share. */
  async #rewind(branch: ImportedBranch, shared: number): Promise<void> {
    const { session } = this.#to;
    if (branch.isAhead) await this.#hf.heads.publish(session);
    const seqs = new Set(
      branch.heads.filter((head) => head.before <= shared && !head.isInEndedTurn).map(({ seq }) => seq),
    );
    const target = (await this.#heads()).findLast(({ seq, status }) => seqs.has(seq) && status === "complete")?.id;
    if (target === undefined) throw noSharedHead(session);
    try {
      await this.#hf.sessions.rewind({ session, head: target });
    } catch (error) {
      // Another writer moved the current head meanwhile. The session can still be resumed from the target.
      if (!isHoldfastError(error) || error.code !== "Conflict") throw error;
      await this.#hf.sessions.resume({ session, head: target });
    }
  }

  /** Continues where the last import ended or was cut off. */
  async #continueFrom(branch: ImportedBranch): Promise<void> {
    const { session } = this.#to;
    const { messages } = this.#conversation;
    this.#turn = branch.openTurn === null ? null : `${session}#${branch.openTurn}`;
    this.#isAhead = branch.isAhead;
    for (const [i, { seq }] of branch.items.entries()) {
      const message = messages[i];
      if (message !== undefined) this.#ids.set(message.key, `${session}#${seq}`);
    }
    // A head before all messages lets an agent go back to the beginning.
    if (branch.items.length === 0 && branch.heads.length === 0 && messages.length > 0) {
      await this.#hf.heads.publish(session);
      this.#isAhead = false;
    }
    await this.#findCalls(branch);
    for (const { call } of messages.slice(0, branch.items.length)) if (call !== null) this.#due.add(call);
    await this.#addCalls();
  }

  /** Finds the calls of all branches: an answer that an abandoned branch has too was paid for once. */
  async #findCalls({ isBranched }: ImportedBranch): Promise<void> {
    const { session } = this.#to;
    const known = new Map(this.#conversation.calls.map((call) => [responseRef(call), call]));
    const tips = isBranched ? await this.#tips() : [];
    for (const at of [{ session }, ...tips.map((head) => ({ session, head }))]) {
      for (const { id, status, responseRef: ref, requestRef } of await (await this.#hf.sessions.at(at)).calls()) {
        const call = status === "started" ? await this.#findStartedCall(requestRef) : known.get(ref ?? "");
        if (call === undefined || this.#callIds.has(call.key)) continue;
        this.#callIds.set(call.key, id);
        if (status !== "started" || call.status === "started") continue;
        await this.#hf.calls.finish(id, callOutcome(call));
        this.#isAhead = true;
      }
    }
  }

  async #findStartedCall(requestRef: string | null): Promise<ConversationCall | undefined> {
    const request = requestRef === null ? null : await this.#hf.blobs.resolveJson(requestRef);
    const cache = isObject(request) && isObject(request.cache) ? request.cache : {};
    return this.#calls.get(textOf(cache.call) ?? "");
  }

  /** The last head of each branch. */
  async #tips(): Promise<readonly string[]> {
    const tips = new Map<number, string>();
    for (const { branch, id } of await this.#heads()) tips.set(branch, id);
    return [...tips.values()];
  }

  async #heads(): Promise<readonly Head[]> {
    const { session } = this.#to;
    const heads: Head[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await this.#hf.heads.list({ session }, { cursor, order: "oldest" });
      heads.push(...page.items);
      if (page.next === null) return heads;
      cursor = page.next;
    }
  }

  async #add(message: ConversationMessage, isFirst: boolean): Promise<void> {
    if (message.isPrompt) await this.#begin(isFirst);
    if (message.call !== null) this.#due.add(message.call);
    for (const block of message.content) {
      if (block.type === "tool_result") await this.#importLaunched(block.toolUseId);
    }
    const upTo = message.isSummary ? await this.#lastCovered(message.key) : null;
    if (upTo !== null) return this.#compact(message, upTo);
    const { key, role, content } = message;
    this.#pending.inputs.push({ key, role, content, metadata: metadataOf(message) });
    this.#pending.chars += estimateChars(content);
    if (this.#pending.inputs.length >= BATCH || this.#pending.chars >= BATCH_CHARS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const { inputs } = this.#pending;
    if (inputs.length === 0) return this.#addCalls();
    const { session, agent } = this.#to;
    const added = await this.#hf.history.appendMany({ session, agent }, inputs);
    for (const { id, key } of added) if (key !== undefined) this.#ids.set(key, id);
    this.#added.messages += inputs.length;
    this.#isAhead = true;
    inputs.length = 0;
    this.#pending.chars = 0;
    await this.#addCalls();
  }

  /** A prompt begins a turn and ends the previous one. If the last import was cut off after it began that turn, the turn is used. */
  async #begin(isFirst: boolean): Promise<void> {
    if (isFirst && this.#turn !== null && this.#isTurnEmpty()) return;
    await this.#flush();
    await this.#finish();
    const { id } = await this.#hf.turns.begin(this.#to.session, { agent: this.#to.agent });
    this.#turn = id;
    this.#isAhead = true;
  }

  /** Whether the open turn has no message of the conversation yet. */
  #isTurnEmpty(): boolean {
    const seq = Number(this.#turn?.slice(this.#turn.lastIndexOf("#") + 1));
    return [...this.#ids.values()].every((id) => Number(id.slice(id.lastIndexOf("#") + 1)) < seq);
  }

  async #finish(): Promise<void> {
    if (this.#turn === null) return;
    await this.#hf.turns.finish(this.#turn);
    this.#turn = null;
    this.#isAhead = false;
  }

  /** Adds calls after the messages of their answers. Calls that are added at the same time share commits. */
  async #addCalls(): Promise<void> {
    const missing = [...this.#due]
      .filter((key) => !this.#callIds.has(key))
      .flatMap((key) => this.#calls.get(key) ?? []);
    this.#due.clear();
    for (let i = 0; i < missing.length; i += AT_ONCE) {
      const added = await Promise.allSettled(missing.slice(i, i + AT_ONCE).map((call) => this.#addCall(call)));
      // All have ended by now, so that a retry finds no call that is still being added.
      const failed = added.find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    }
  }

  async #addCall(call: ConversationCall): Promise<void> {
    const { session } = this.#to;
    const input = {
      type: "root" as const,
      ...(call.model === null ? {} : { model: call.model }),
      ...(call.provider === null ? {} : { provider: call.provider }),
      ...(this.#turn === null ? {} : { turn: this.#turn }),
      descriptor: { messages: [], cache: { call: call.key } },
    };
    const { id } =
      call.status === "started"
        ? await this.#hf.calls.start(session, input)
        : await this.#hf.calls.add(session, { ...input, ...callOutcome(call) });
    this.#callIds.set(call.key, id);
    this.#added.calls++;
    this.#isAhead = true;
  }

  /** The last message that a summary covers; null when the session does not have it. */
  async #lastCovered(key: string): Promise<string | null> {
    await this.#flush();
    const compaction = this.#conversation.compactions.find((one) => one.key === key);
    return compaction?.upTo == null ? null : (this.#ids.get(compaction.upTo) ?? null);
  }

  async #compact({ key, content, role }: ConversationMessage, upTo: string): Promise<void> {
    const { session, agent } = this.#to;
    const summary = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
    if (summary.trim() === "") {
      this.#pending.inputs.push({ key, role, content });
      return;
    }
    const { compaction } = await this.#hf.heads.compact(session, { agent, summary, upTo });
    if (compaction !== null) this.#ids.set(key, compaction.summary);
    this.#added.messages++;
    this.#isAhead = false;
  }

  async #importLaunched(toolUseId: string): Promise<void> {
    for (const subagent of this.#conversation.subagents) {
      if (subagent.toolUseId !== toolUseId) continue;
      await this.#flush();
      await this.#subagent(subagent);
    }
  }

  /** Imports a sub-agent into its own session, which the main session invoked. */
  async #subagent(subagent: Subagent): Promise<void> {
    const { session, request, agent } = this.#to;
    const id = subagentSessionId(session, subagent.id);
    if (this.#subagents.has(id)) return;
    const agentName = titleOf(`${agent}/${subagent.type ?? "subagent"}`, 200);
    if ((await this.#hf.sessions.get({ session: id })) === null) {
      if (!(await this.#invoke(id, agentName, subagent))) return;
    }
    const imported = await importConversation(this.#others, subagent.conversation, {
      session: id,
      request,
      agent: agentName,
    });
    this.#subagents.set(id, imported);
    await this.#settle(id, subagent);
  }

  /** false: the session was deleted, and stays deleted. */
  async #invoke(id: string, agentName: string, subagent: Subagent): Promise<boolean> {
    const { session, request } = this.#to;
    const { conversation, description, type } = subagent;
    const label = titleOf(description ?? type ?? subagent.id);
    const call = this.#callIds.get(this.#callWith(subagent.toolUseId) ?? "");
    try {
      await this.#hf.invocations.start(session, {
        ...(label === "" ? {} : { label }),
        ...(call === undefined ? {} : { call }),
        session: { id, agent: agentName, request, origin: conversation.agent, ...describeConversation(conversation) },
      });
    } catch (error) {
      if (isHoldfastError(error) && error.code === "SessionDeleted") return false;
      throw error;
    }
    this.#isAhead = true;
    return true;
  }

  #callWith(toolUseId: string | null): string | null {
    const message = this.#conversation.messages.find(({ content }) =>
      content.some((block) => block.type === "tool_use" && block.id === toolUseId),
    );
    return message?.call ?? null;
  }

  /** Ends the invocation when the tool has a result and the sub-agent is at rest: a background sub-agent has a result at once. */
  async #settle(callee: string, { toolUseId, conversation }: Subagent): Promise<void> {
    const result = findToolResult(this.#conversation.messages, toolUseId);
    const isFailed = result?.isError === true;
    if (result === null || (!isFailed && !isAtRest(conversation))) return;
    const view = await this.#hf.sessions.at({ session: this.#to.session });
    const running = (await view.invocations()).find(
      (one: Invocation) => one.callee === callee && one.status === "running",
    );
    if (running === undefined) return;
    await this.#hf.invocations.finish(running.id, isFailed ? { status: "failed" } : {});
    this.#isAhead = true;
  }

  /**
   * Ends the turn when the agent is at rest, and publishes a head in any case. A turn without messages was begun by another import
   * for a prompt that this conversation does not have yet; that import ends it.
   */
  async #end(): Promise<void> {
    if (isAtRest(this.#conversation) && !this.#isTurnEmpty()) await this.#finish();
    if (this.#isAhead) await this.#hf.heads.publish(this.#to.session);
  }
}
