// Every method of the store with one full, valid list of arguments: the table that the hostile suite works through.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { collect, noise, present } from "../expect.ts";
import {
  binary,
  bytes,
  choice,
  Either,
  flag,
  id,
  int,
  json,
  limit,
  object,
  ref,
  signal,
  speech,
  text,
  word,
  work,
} from "./hostile-values.ts";

/** Things that are there already when the calls are made. */
export interface CallTargets {
  readonly store: Holdfast;
  readonly board: string;
  readonly task: string;
  readonly ref: string;
  readonly hash: string;
  readonly sessionCursor: string;
  readonly blobCursor: string;
  readonly agentCursor: string;
}

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  /** How many arguments must be given. */
  readonly required: number;
  run(...args: readonly unknown[]): unknown;
}

export async function makeCallTargets(store: Holdfast): Promise<CallTargets> {
  await store.agents.create({ id: "a" });
  await store.agents.saveBlocks("a", [{ label: "notes", value: "one two" }]);
  await store.sessions.create({ id: "chat" });
  await store.history.append({ session: "chat", agent: "a" }, { role: "user", content: "hi" }, { run: "r" });
  await store.state.set("chat", { k: 1 });
  const board = await store.tasks.create("chat", ["one"]);
  const { hash } = await store.log.anchor("chat");
  const stored = await store.blobs.store(noise(100, 1));
  await store.agents.create({ id: "second" });
  await store.sessions.create({ id: "second" });
  const sessionCursor = present((await store.sessions.list({ limit: 1 })).next);
  const agentCursor = present((await store.agents.list({ limit: 1 })).next);
  const blobCursor = present((await store.blobs.list({ limit: 1 })).next);
  const cursors = { sessionCursor, agentCursor, blobCursor };
  return { store, board: board.id, task: present(board.tasks[0]).id, ref: stored, hash, ...cursors };
}

/** A method as plain JavaScript sees it: anything may be handed in. */
type Loose = (...args: readonly unknown[]) => unknown;

/** Methods of one noun by name; lists of arguments beside the number of those that must be given. */
function callsOf<T extends object>(noun: string, methods: T, table: { [M in keyof T]?: Rows }): Call[] {
  return (Object.entries(table) as [keyof T & string, Rows][]).flatMap(([method, rows]) =>
    rows.map(([required, ...args]) => ({
      name: `${noun}.${method}`,
      required,
      args,
      run: (...nouns) => (methods[method] as Loose).apply(methods, [...nouns]),
    })),
  );
}

type Rows = readonly (readonly [required: number, ...args: readonly unknown[]])[];

/** Whatever knows its session and agent will do: a message, for example. */
const scope = new Either({ session: id("chat"), agent: id("a") }, "with a stray field");
const run = { run: id("r") };

function sessionCalls({ store, sessionCursor }: CallTargets): Call[] {
  const input = {
    id: id("new"),
    agent: id("a"),
    title: text("t"),
    tags: [id("x")],
    metadata: object({ m: 1 }),
    request: id("q"),
  };
  const filter = { agent: id("a"), tag: id("x"), status: choice("open"), request: id("q"), limit: limit(5) };
  const times = { createdAfter: int(0), createdBefore: int(9) };
  const patch = {
    title: text("t", "null"),
    status: choice("open"),
    tags: [id("x")],
    metadata: object({}),
    version: int(1),
  };
  return callsOf("sessions", store.sessions, {
    create: [[0, input]],
    get: [[1, id("chat")]],
    // A cursor goes with the filter it was returned for.
    list: [
      [0, { ...filter, ...times }],
      [0, { limit: limit(5), cursor: choice(sessionCursor, "null") }],
    ],
    update: [[2, id("chat"), patch]],
    setAlias: [[2, id("chat"), id("name"), { move: flag(true) }]],
    removeAlias: [[1, id("name")]],
    delete: [[1, id("other")]],
  });
}

function historyCalls({ store, ref: stored }: CallTargets): Call[] {
  const message = { role: choice("user"), content: speech("hi", "array"), key: id("k"), metadata: object({ m: 1 }) };
  const content = [
    { type: choice("text"), text: speech("t") },
    {
      type: choice("image"),
      source: { data: binary(noise(9, 9)), mediaType: word("image/png") },
      alt: speech("a"),
    },
    { type: choice("audio"), source: { ref: ref(stored), mediaType: word("audio/ogg") }, transcript: speech("t") },
    {
      type: choice("document"),
      source: { url: speech("https://example.com/a"), mediaType: word("text/plain") },
      title: speech("t"),
    },
    { type: choice("tool_use"), id: speech("c"), name: speech("n"), input: json({}) },
    { type: choice("tool_result"), toolUseId: speech("c"), content: speech("t", "array"), isError: flag(true) },
    { type: choice("thinking"), thinking: speech("t"), signature: speech("s") },
    { type: choice("opaque"), value: json(1) },
  ];
  const range = { limit: limit(5), offset: int(1), after: int(1), since: int(1), ...run };
  return callsOf("history", store.history, {
    append: [
      [2, scope, message, run],
      ...content.map((block): Rows[number] => [2, scope, { role: "user", content: new Either([block], "string") }]),
    ],
    appendMany: [[2, scope, [message], run]],
    get: [
      [1, scope, range],
      [1, scope, { last: limit(5) }],
    ],
    count: [[1, scope, run]],
    clear: [[1, scope]],
    clearRun: [[2, scope, id("r")]],
    session: [
      [1, id("chat"), range],
      [1, id("chat"), { last: limit(5) }],
    ],
    byAgent: [[1, id("a"), { limit: limit(5), since: int(1) }]],
  });
}

function stateCalls({ store }: CallTargets): Call[] {
  const ttl = { ttlMs: int(1_000) };
  const value = object({ k: 1 });
  return callsOf("state", store.state, {
    get: [[1, id("chat")]],
    getKey: [[2, id("chat"), id("k")]],
    getVersioned: [[1, id("chat")]],
    set: [[2, id("chat"), value, ttl]],
    patch: [[2, id("chat"), value, { ...ttl, remove: [id("gone")] }]],
    compareAndSet: [[3, id("chat"), int(0), value, ttl]],
    clear: [[1, id("chat")]],
  });
}

function taskCalls({ store, board, task }: CallTargets): Call[] {
  const options = {
    agent: id("sub", "empty"),
    label: text("Sub"),
    parent: id("a", "empty", "null"),
    maxRetries: int(3),
    ifAbsent: flag(false),
  };
  return callsOf("tasks", store.tasks, {
    create: [[2, id("chat"), [text("t")], options]],
    get: [[1, id(board)]],
    root: [[1, id("chat")]],
    boards: [[1, id("chat")]],
    move: [[3, id(board), id(task), choice("blocked"), { note: text("note"), from: choice("planned") }]],
    add: [[2, id(board), [text("t")]]],
    retry: [[2, id(board), id(task)]],
    forceRetry: [[2, id(board), id(task)]],
    rename: [[3, id(board), id(task), text("t")]],
    settle: [[2, id("chat"), choice("failed"), { agent: id("a", "empty") }]],
    delete: [[2, id(board), id(task)]],
  });
}

function agentCalls({ store, agentCursor }: CallTargets): Call[] {
  const fields = {
    name: text("n"),
    agentType: id("worker"),
    model: id("m", "null"),
    system: text("s", "null"),
    toolIds: [id("t")],
    tags: [id("x")],
    metadata: object({ m: 1 }),
  };
  const block = { label: id("notes"), value: text("v"), limit: int(9), description: text("d"), readOnly: flag(false) };
  const version = { version: int(1) };
  return callsOf("agents", store.agents, {
    create: [[0, { id: id("new"), ...fields }]],
    get: [[1, id("a")]],
    list: [
      [0, { tag: id("x"), agentType: id("worker"), limit: limit(5) }],
      [0, { limit: limit(5), cursor: choice(agentCursor, "null") }],
    ],
    update: [[2, id("a"), { ...fields, ...version }]],
    loadBlocks: [[1, id("a")]],
    getBlock: [[2, id("a"), id("notes")]],
    appendBlock: [[3, id("a"), id("notes"), text("t"), version]],
    replaceInBlock: [[4, id("a"), id("notes"), text("one"), text("two"), { version: int(2) }]],
    rethinkBlock: [[3, id("a"), id("notes"), text("t"), { version: int(3) }]],
    blockVersions: [[2, id("a"), id("notes"), { limit: limit(5) }]],
    restoreBlock: [[3, id("a"), id("notes"), int(1)]],
    shareBlock: [[3, id("a"), id("notes"), id("b")]],
    saveBlocks: [[2, id("a"), [block]]],
    delete: [[1, id("b")]],
  });
}

function blobCalls({ store, ref: stored, blobCursor }: CallTargets): Call[] {
  const options = { ttlMs: int(1_000, "null"), growsFrom: ref(stored) };
  const calls = callsOf("blobs", store.blobs, {
    store: [[1, bytes(noise(5, 5)), { ...options, mediaType: word("text/plain") }]],
    storeJson: [[1, json({ a: 1 }), { ttlMs: int(1_000, "null") }]],
    resolve: [[1, ref(stored)]],
    resolveText: [[1, ref(stored)]],
    resolveJson: [[1, ref(stored)]],
    stream: [[1, ref(stored)]],
    exists: [[1, ref(stored)]],
    stat: [[1, ref(stored)]],
    list: [[0, { limit: int(5), cursor: choice(blobCursor, "null") }]],
    pin: [[1, ref(stored)]],
    unpin: [[1, ref(stored)]],
    verify: [[1, ref(stored)]],
    seal: [[1, ref(stored)]],
    delete: [[1, ref(stored)]],
    gc: [[0, { dryRun: flag(true) }]],
  });
  return calls.map((call) => (call.name === "blobs.stream" ? pulled(call) : call));
}

function logCalls({ store, hash }: CallTargets): Call[] {
  const anchor = { session: id("chat"), seq: int(4), hash: word(hash) };
  const calls = callsOf("log", store.log, {
    read: [[1, id("chat"), { after: int(0), limit: limit(5), types: [word("annotation")] }]],
    tail: [[1, id("chat"), { after: int(0), types: [word("state/set")], signal: signal(AbortSignal.abort()) }]],
    verify: [[1, id("chat"), { from: anchor, anchor }]],
    anchor: [[1, id("chat")]],
    note: [[2, id("chat"), int(3)]],
    annotate: [[2, id("chat"), object({ why: 1 }), { agent: id("a"), ...run }]],
  });
  return calls.map((call) => (call.name === "log.tail" ? pulled(call) : call));
}

function invocationCalls({ store }: CallTargets): Call[] {
  const asked = { label: text("l"), call: word("chat#1") };
  const described = { title: text("t"), tags: [id("x")], metadata: object({ m: 1 }), request: id("q") };
  const session = { id: id("sub"), agent: id("a"), origin: id("o"), cacheId: id("c"), ...described };
  const branch = { ...asked, mode: choice("branch"), session };
  const leaf = { model: id("m"), provider: id("p"), turn: word("chat#1"), request: json({ q: 1 }) };
  const batch = { concurrency: int(2) };
  const done = work(() => 1);
  return [
    ...callsOf("invocations", store.invocations, {
      spawn: [[1, id("chat"), { ...asked, session }, done]],
      attach: [[3, id("chat"), id("second"), branch, done]],
      spawnAll: [[2, id("chat"), [{ ...asked, session }], done, batch]],
      attachAll: [[2, id("chat"), [{ at: id("second"), ...branch }], done, batch]],
      start: [[1, id("chat"), { ...asked, session }]],
      finish: [[1, word("chat#1"), { status: choice("failed"), error: json("lost") }]],
      get: [[1, word("chat#1")]],
      error: [[1, word("chat#1")]],
    }),
    ...callsOf("calls", store.calls, {
      leaf: [[1, id("chat"), leaf, done]],
      leafAll: [[2, id("chat"), [leaf], done, batch]],
    }),
    ...callsOf("sessions", store.sessions, {
      attach: [[2, id("second"), { caller: id("chat"), ...branch }]],
      context: [[1, id("chat"), { agent: id("a"), budget: int(9), tokenizer: done }]],
    }),
  ];
}

/** A stream shows its mistakes when it is read, at the latest. */
function pulled(call: Call): Call {
  return { ...call, run: async (...args) => collect(call.run(...args) as AsyncIterable<unknown>, 1) };
}

function storeCalls({ store }: CallTargets): Call[] {
  return callsOf("store", store, { stats: [[0, { sessions: limit(5) }]] });
}

export const CALLS = {
  sessions: sessionCalls,
  history: historyCalls,
  state: stateCalls,
  tasks: taskCalls,
  agents: agentCalls,
  blobs: blobCalls,
  log: logCalls,
  invocations: invocationCalls,
  store: storeCalls,
} as const;
