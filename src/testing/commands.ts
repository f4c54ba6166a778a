// Operations as data, for property tests. perform() applies an operation to anything that keeps the contracts,
// the real store or the naive model; observe() reads everything. Both leave out what the two may
// rightly differ in: generated ids, and how many events a change takes.
import { isHoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Message } from "../contracts/messages.ts";
import type { Session } from "../contracts/session.ts";
import type { Board, Task, TaskStatus } from "../contracts/tasks.ts";
import type { Model } from "./model.ts";

export const SESSIONS = ["s0", "s1", "s2"] as const;
export const AGENTS = ["a0", "a1"] as const;
export const RUNS = ["r0", "r1"] as const;
export const NAMES = ["n0", "n1"] as const;

export type Operation =
  | { op: "append"; session: string; agent: string; text: string; run?: string; key?: string; metadata?: JsonObject }
  | { op: "appendMany"; session: string; agent: string; texts: readonly string[]; run?: string }
  | { op: "clear"; session: string; agent: string }
  | { op: "clearRun"; session: string; agent: string; run: string }
  | { op: "stateSet"; session: string; value: JsonObject; ttlMs?: number }
  | { op: "statePatch"; session: string; value: JsonObject; remove: readonly string[]; ttlMs?: number }
  | { op: "stateCompareAndSet"; session: string; value: JsonObject; isStale: boolean }
  | { op: "stateClear"; session: string }
  | { op: "createBoard"; session: string; agent: string; titles: readonly string[]; maxRetries?: number }
  | { op: "addTasks"; session: string; agent: string; titles: readonly string[] }
  | {
      op: "updateStatus";
      session: string;
      agent: string;
      index: number;
      status: TaskStatus;
      note: string;
      from?: TaskStatus;
    }
  | { op: "incrementRetry" | "forceRetry" | "deleteTask"; session: string; agent: string; index: number }
  | { op: "retitle"; session: string; agent: string; index: number; title: string }
  | { op: "settle"; session: string; to: "failed" | "planned"; agent?: string }
  | { op: "createSession"; session: string; title?: string; tags: readonly string[]; request?: string }
  | { op: "updateSession"; session: string; title: string | null; tags: readonly string[]; isStale: boolean }
  | { op: "deleteSession"; session: string }
  | { op: "setAlias"; session: string; name: string; move: boolean }
  | { op: "removeAlias"; name: string }
  | { op: "advance"; ms: number }
  | { op: "reopen" };

/** The outcome of an operation, in a form that the model and the store share. */
export type Outcome = { readonly value: unknown } | { readonly refused: string };

export async function perform(target: Model, operation: Operation): Promise<Outcome> {
  try {
    return { value: await apply(target, operation) };
  } catch (error) {
    if (isHoldfastError(error)) return { refused: error.code };
    throw error;
  }
}

async function apply(target: Model, operation: Operation): Promise<unknown> {
  switch (operation.op) {
    case "append":
    case "appendMany":
    case "clear":
    case "clearRun":
      return applyToHistory(target, operation);
    case "stateSet":
    case "statePatch":
    case "stateCompareAndSet":
    case "stateClear":
      return applyToState(target, operation);
    case "createSession":
    case "updateSession":
    case "deleteSession":
    case "setAlias":
    case "removeAlias":
      return applyToSessions(target, operation);
    case "advance":
    case "reopen":
      return undefined;
    default:
      return applyToTasks(target, operation);
  }
}

type Of<O extends Operation["op"]> = Extract<Operation, { op: O }>;

async function applyToHistory({ history }: Model, operation: Of<"append" | "appendMany" | "clear" | "clearRun">) {
  const { session, agent } = operation;
  const scope = { session, agent };
  const options = "run" in operation && operation.run !== undefined ? { run: operation.run } : {};
  switch (operation.op) {
    case "append": {
      const { text: content, key, metadata } = operation;
      const extra = { ...(key === undefined ? {} : { key }), ...(metadata === undefined ? {} : { metadata }) };
      return shownMessage(await history.append(scope, { role: "user", content, ...extra }, options));
    }
    case "appendMany": {
      const messages = operation.texts.map((content) => ({ role: "assistant" as const, content }));
      return (await history.appendMany(scope, messages, options)).map(shownMessage);
    }
    case "clear":
      return (await history.clear(scope)).removed.messages ?? 0;
    case "clearRun":
      return (await history.clearRun(scope, operation.run)).removed.messages ?? 0;
  }
}

type StateOperation = Of<"stateSet" | "statePatch" | "stateCompareAndSet" | "stateClear">;

async function applyToState({ state }: Model, operation: StateOperation): Promise<unknown> {
  const { session } = operation;
  const ttl = "ttlMs" in operation && operation.ttlMs !== undefined ? { ttlMs: operation.ttlMs } : {};
  switch (operation.op) {
    case "stateSet":
      return (await state.set(session, operation.value, ttl)).value;
    case "statePatch":
      return (await state.patch(session, operation.value, { ...ttl, remove: operation.remove })).value;
    case "stateCompareAndSet": {
      const { version } = await state.getVersioned(session);
      const done = await state.compareAndSet(session, operation.isStale ? version + 1 : version, operation.value);
      return done === null ? null : done.value;
    }
    case "stateClear":
      return state.clear(session);
  }
}

type SessionOperation = Of<"createSession" | "updateSession" | "deleteSession" | "setAlias" | "removeAlias">;

async function applyToSessions({ sessions }: Model, operation: SessionOperation): Promise<unknown> {
  switch (operation.op) {
    case "createSession": {
      const { session: id, title, tags, request } = operation;
      const extra = { ...(title === undefined ? {} : { title }), ...(request === undefined ? {} : { request }) };
      return shownSession(await sessions.create({ id, tags, ...extra }));
    }
    case "updateSession": {
      const { session, title, tags, isStale } = operation;
      const version = (await sessions.get(session))?.version ?? 1;
      return shownSession(await sessions.update(session, { title, tags, version: isStale ? version + 1 : version }));
    }
    case "deleteSession":
      return (await sessions.delete(operation.session))?.removed.messages ?? null;
    case "setAlias":
      return sessions.setAlias(operation.session, operation.name, { move: operation.move });
    case "removeAlias":
      return sessions.removeAlias(operation.name);
  }
}

type TaskOperation = Exclude<
  Operation,
  StateOperation | SessionOperation | Of<"append" | "appendMany" | "clear" | "clearRun" | "advance" | "reopen">
>;

async function applyToTasks({ tasks }: Model, operation: TaskOperation): Promise<unknown> {
  if (operation.op === "createBoard") {
    const { session, agent, titles, maxRetries } = operation;
    return shownBoard(
      await tasks.create(session, titles, { agent, ...(maxRetries === undefined ? {} : { maxRetries }) }),
    );
  }
  if (operation.op === "settle") {
    const { session, to, agent } = operation;
    return tasks.settle(session, to, agent === undefined ? {} : { agent });
  }
  const boards = await tasks.boards(operation.session);
  const board = boards.find(({ agent }) => agent === operation.agent);
  if (operation.op === "addTasks") return (await tasks.add(board?.id ?? "none", operation.titles)).map(shownTask);
  const ids = [board?.id ?? "none", board?.tasks[operation.index]?.id ?? "none"] as const;
  switch (operation.op) {
    case "updateStatus": {
      const { status, note, from } = operation;
      return shownTask(await tasks.move(...ids, status, { note, ...(from === undefined ? {} : { from }) }));
    }
    case "incrementRetry":
      return shownTask(await tasks.retry(...ids));
    case "forceRetry":
      return shownTask(await tasks.forceRetry(...ids));
    case "retitle":
      return shownTask(await tasks.rename(...ids, operation.title));
    case "deleteTask":
      return tasks.delete(...ids);
  }
}

function shownMessage({ id: _, seq: __, ...message }: Message): unknown {
  return message;
}

function shownTask(task: Task | null): unknown {
  if (task === null) return null;
  const { id: _, ...rest } = task;
  return rest;
}

function shownBoard(board: Board | null): unknown {
  if (board === null) return null;
  const { id: _, createdAt: __, tasks, ...rest } = board;
  return { ...rest, tasks: tasks.map(shownTask) };
}

function shownSession({ seq: _, chain: __, version: ___, updatedAt: ____, aliases, ...session }: Session): unknown {
  return { ...session, aliases: aliases.toSorted() };
}

/** Reads everything about the sessions, agents and aliases that operations use. */
export async function observe({ sessions, history, state, tasks }: Model): Promise<unknown> {
  const bySession = SESSIONS.map(async (session) => ({
    session,
    facts: await sessions.get(session).then((one) => one && shownSession(one)),
    messages: (await history.session(session)).map(shownMessage),
    latest: (await history.session(session, { last: 2 })).map(shownMessage),
    state: await state.get(session),
    keys: await Promise.all(["k0", "k1", "__proto__"].map((key) => state.getKey(session, key))),
    hasState: (await state.getVersioned(session)).version > 0,
    board: shownBoard(await tasks.root(session)),
    boards: (await tasks.boards(session)).map(shownBoard),
    agents: await Promise.all(AGENTS.map((agent) => observeScope({ history }, session, agent))),
  }));
  return {
    sessions: await Promise.all(bySession),
    list: (await sessions.list()).items.map(shownSession),
    tagged: (await sessions.list({ tag: "t0" })).items.map(({ id }) => id),
    names: await Promise.all(NAMES.map(async (name) => (await sessions.get(name))?.id ?? null)),
    byAgent: await Promise.all(AGENTS.map(async (agent) => (await history.byAgent(agent)).map(shownMessage))),
  };
}

async function observeScope({ history }: Pick<Model, "history">, session: string, agent: string): Promise<unknown> {
  const scope = { session, agent };
  return {
    count: await history.count(scope),
    messages: (await history.get(scope)).map(shownMessage),
    middle: (await history.get(scope, { offset: 1, limit: 2 })).map(shownMessage),
    last: (await history.get(scope, { last: 1 })).map(shownMessage),
    run: (await history.get(scope, { run: "r0" })).map(shownMessage),
    runCount: await history.count(scope, { run: "r0" }),
  };
}
