// Every verb of the catalogue under hostile arguments (rule ST7): each is refused with a typed error, as a rejected
// promise, and nothing is written; arguments that fit the declaration are not refused for what they are.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { type ErrorCode, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { CATALOGUE } from "../../contracts/verbs/catalogue.ts";
import type { Verb } from "../../contracts/verbs/vocabulary.ts";
import { CALLER_MISTAKES, collect, present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { plain } from "./hostile-values.ts";
import { type Examples, exampleArguments, hostileCalls } from "./hostile-verbs.ts";

export type NounName = keyof typeof CATALOGUE;
type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Verbs of the store itself are its own members. */
const OF_STORE: readonly NounName[] = ["stats", "query", "search", "trace", "check", "reindex", "handle"];

export async function makeExamples(store: Holdfast): Promise<Examples> {
  await store.sessions.create({ id: "chat" });
  await store.sessions.create({ id: "other" });
  await store.agents.create({ id: "a" });
  await store.agents.saveBlocks("a", [{ label: "notes", value: "one two" }]);
  await store.agents.create({ id: "b" });
  await store.history.append({ session: "chat", agent: "a" }, { role: "user", content: "hi" });
  const board = await store.tasks.create("chat", ["one"]);
  const head = await store.heads.publish("chat");
  await store.blobs.store("another");
  const stored = await store.blobs.storeJson({ a: 1 });
  const session = "chat";
  return {
    named: {
      agent: "a",
      session,
      label: "notes",
      withAgent: "b",
      find: "one",
      put: "two",
      b: "other",
      board: board.id,
      task: present(board.tasks[0]).id,
      prefix: "hd-",
      sort: "size",
      path: "a/b",
      model: "m",
      verdict: "result",
      validTo: 2e15,
      to: 2e15,
    },
    agent: { id: "worker", version: "1", iterate: () => ({ verdict: "done", value: null }) },
    formed: {
      ref: stored,
      head: head.id,
      digest: head.id.slice(3),
      rowId: "chat#1",
      // A cursor fits only the list that returned it.
      cursor: null,
    },
    checked: {
      message: { role: "user", content: "hi" },
      "seq or message id": 1,
      call: { type: "leaf", request: 1 },
      "call outcome": {},
      "leaf call": { request: 1 },
      locator: session,
      "bytes, a text, or pieces of bytes": "text",
      "an archive, whole or in pieces": new Uint8Array(9),
      query: "[:find ?s :where [?s :session/id]]",
      "inputs of a query": [],
      capture: CAPTURE,
      document: { content: "a" },
      "a text or an embedding": [1, 2],
      "metadata filter": { a: 1 },
      "true, false, or an agent and labels of blocks": { agent: "a", labels: ["b"] },
      "a query, or an object with a query": { query: "a" },
      "what is said of a bundle": { request: "r" },
      "a metadata filter": { a: 1 },
    },
    absent: [
      "filter.order",
      "range.last",
      "compaction.keep",
      "attach.session",
      "options.vacuum",
      "options.rerank",
      "attach.call",
      "spawn.call",
      "inputs.session",
      "inputs.call",
    ],
  };
}

const CAPTURE = {
  request: "r",
  agent: "claude-code",
  sessionId: "00000000-0000-4000-8000-000000000000",
  cwd: "/",
  files: [
    {
      role: "transcript",
      path: "project/00000000-0000-4000-8000-000000000000.jsonl",
      content: new Uint8Array(0),
    },
  ],
};

export function memberOf(store: Holdfast, noun: NounName, verb: string): AnyFunction {
  const holder = (OF_STORE.includes(noun) ? store : store[noun as keyof Holdfast]) as unknown as Record<
    string,
    AnyFunction
  >;
  return (...args) => (holder[verb] as AnyFunction).apply(holder, [...args]);
}

/** What was written, as far as it can be counted. */
async function counts(store: Holdfast): Promise<unknown> {
  const { nouns, blobs, sessions } = await store.stats();
  return { nouns, blobs, sessions };
}

/** A stream shows its mistakes when it is read. */
export function callVerb(verb: Verb, member: AnyFunction, args: readonly unknown[]): unknown {
  const answer = member(...args);
  return verb.kind === "stream" ? collect(answer as AsyncIterable<unknown>, 1) : answer;
}

async function refusedCalls(store: Holdfast, noun: NounName, name: string, verb: Verb, examples: Examples) {
  const failures: string[] = [];
  const member = memberOf(store, noun, name);
  for (const { name: what, args, codes } of hostileCalls(verb, examples)) {
    let isThrown = true;
    const attempt = () => {
      const answer = callVerb(verb, member, args);
      isThrown = false;
      return answer;
    };
    await refuses(codes, attempt, `${noun}.${name}: ${what}`).catch((error) => failures.push(error.message));
    // What answers at once has no promise to reject.
    if (isThrown && verb.kind !== "local")
      failures.push(`${noun}.${name}: ${what}: it threw, where its promise should have been rejected`);
  }
  return failures;
}

/** Arguments that fit may find nothing, or be late: they are no mistake. */
async function acceptedCall(store: Holdfast, noun: NounName, name: string, verb: Verb, examples: Examples) {
  const mistakes: readonly ErrorCode[] = CALLER_MISTAKES;
  try {
    const { head } = examples.formed;
    // A rewind goes back to a head.
    const named = name === "rewind" ? { ...examples.named, at: `chat@${head}` } : examples.named;
    await callVerb(verb, memberOf(store, noun, name), exampleArguments(verb, { ...examples, named }).map(plain));
    return [];
  } catch (error) {
    if (isHoldfastError(error) && !mistakes.includes(error.code)) return [];
    return [`${noun}.${name}: arguments that fit were refused: ${error}`];
  }
}

async function everyVerb(store: Holdfast, noun: NounName): Promise<void> {
  const examples = await makeExamples(store);
  const verbs = Object.entries<Verb>(CATALOGUE[noun]).filter(([name]) => name !== "close");
  const before = await counts(store);
  const failures: string[] = [];
  for (const [name, verb] of verbs) failures.push(...(await refusedCalls(store, noun, name, verb, examples)));
  if (!isDeepStrictEqual(await counts(store), before)) failures.push(`${noun}: something was written that was refused`);
  for (const [name, verb] of verbs) failures.push(...(await acceptedCall(store, noun, name, verb, examples)));
  if (failures.length > 0) assert.fail(`${failures.length} failures:\n${failures.join("\n")}`);
}

export const catalogueCases: readonly Case[] = (Object.keys(CATALOGUE) as NounName[]).map((noun) =>
  prove(
    `ST7 every verb of the catalogue, ${noun}: what its declaration does not allow is refused`,
    ["lineage"],
    (given) =>
      // A store that offers the lineage offers every noun.
      everyVerb(given.lineage as Holdfast, noun),
  ),
);
