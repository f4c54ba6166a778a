// The property suite: any sequence of operations gives the same answers, refusals and reads on the real store as on the
// naive model, through any number of reopenings, and leaves every log contiguous and verified.
import assert from "node:assert/strict";
import * as nodeTest from "node:test";
import type { Holdfast } from "../contracts/holdfast.ts";
import { TASK_STATUSES } from "../contracts/tasks.ts";
import { AGENTS, NAMES, type Operation, observe, perform, RUNS, SESSIONS } from "./commands.ts";
import { range } from "./expect.ts";
import { naiveModel } from "./model.ts";
import type { Clock, SuiteOptions } from "./suite.ts";

/**
 * The part of fast-check that the suite uses. The caller passes the package in, because Holdfast does not depend on it.
 */
interface FastCheck {
  readonly nat: (max: number) => Arbitrary<number>;
  readonly boolean: () => Arbitrary<boolean>;
  readonly string: (options: { maxLength: number; unit: "grapheme" }) => Arbitrary<string>;
  readonly jsonValue: (options: { maxDepth: number }) => Arbitrary<unknown>;
  constantFrom<T>(...values: T[]): Arbitrary<T>;
  array<T>(of: Arbitrary<T>, options: { minLength?: number; maxLength: number; size?: "max" }): Arbitrary<T[]>;
  asyncProperty<T>(of: Arbitrary<T>, holds: (value: T) => Promise<void>): unknown;
  assert(
    property: unknown,
    options: {
      readonly numRuns: number;
      readonly seed?: number;
      readonly path?: string;
      /** Stops with the counterexample found so far, before the test times out. */
      readonly interruptAfterTimeLimit: number;
      readonly endOnFailure: boolean;
    },
  ): Promise<void> | void;
}

interface Arbitrary<T> {
  map<U>(how: (value: T) => U): Arbitrary<U>;
  chain<U>(how: (value: T) => Arbitrary<U>): Arbitrary<U>;
}

/** A store on a clock that stands still unless it is moved, so that times compare exactly. */
export interface PropertyFixture {
  readonly store: Holdfast;
  readonly environment: Clock;
  /** Closes the store and opens it again, if the store keeps its content then. */
  reopen?(): Promise<Holdfast>;
  close(): Promise<void>;
}

export interface PropertyOptions {
  readonly fc: FastCheck;
  readonly harness?: SuiteOptions["harness"];
  /** How many sequences to try (default 50). */
  readonly runs?: number;
  /** The most operations of one sequence (default 40). */
  readonly length?: number;
  /** The seed that a failure printed, to repeat it. */
  readonly seed?: number;
  readonly path?: string;
  /** false: report the first counterexample without shrinking it. */
  readonly shrink?: boolean;
}

export function runPropertySuite(name: string, make: () => Promise<PropertyFixture>, options: PropertyOptions): void {
  const { fc, harness = nodeTest, runs = 50, length = 40, seed, path, shrink = true } = options;
  const { describe, test } = harness;
  const settings = {
    numRuns: runs,
    interruptAfterTimeLimit: 40_000,
    endOnFailure: !shrink,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  };
  describe(`properties: ${name}`, () => {
    test("ST9 the store and the naive model agree on any sequence of operations", async () => {
      const sequences = fc.array(anyOperation(fc), { maxLength: length, size: "max" });
      await fc.assert(
        fc.asyncProperty(sequences, (operations) => agree(make, operations)),
        settings,
      );
    });
  });
}

/** Applies the same operations to both and compares every answer, and everything that can be read at the end. */
async function agree(make: () => Promise<PropertyFixture>, operations: readonly Operation[]): Promise<void> {
  const fixture = await make();
  try {
    const model = naiveModel(fixture.environment);
    let { store } = fixture;
    for (const [n, operation] of operations.entries()) {
      if (operation.op === "advance") await fixture.environment.advance(operation.ms);
      if (operation.op === "reopen") store = (await fixture.reopen?.()) ?? store;
      const [actual, expected] = [await perform(store, operation), await perform(model, operation)];
      assert.deepEqual(actual, expected, `operation ${n}: ${JSON.stringify(operation)}`);
      if (operation.op === "reopen") assert.deepEqual(await observe(store), await observe(model));
    }
    assert.deepEqual(await observe(store), await observe(model));
    for (const session of SESSIONS) await isSound(store, session);
  } finally {
    await fixture.close();
  }
}

/** Checks a session's log, which must be contiguous and verified after any operations. */
async function isSound(store: Holdfast, id: string): Promise<void> {
  const session = await store.sessions.get(id);
  if (session === null) return;
  const report = await store.log.verify(id);
  assert.ok(report.ok, JSON.stringify(report));
  const events = await store.log.read(id);
  assert.deepEqual(
    events.map(({ seq }) => seq),
    range(session.seq).map((n) => n + 1),
  );
  const added = new Set(events.filter(({ type }) => type === "message/added").map(({ seq }) => seq));
  const messages = await store.history.session(id);
  assert.ok(
    messages.every(({ seq }) => added.has(seq)),
    "every message has its event",
  );
  assert.equal(session.messages, messages.length);
  for (const { id: messageId, seq } of messages) assert.equal(messageId, `${id}#${seq}`);
}

function anyOperation(fc: FastCheck): Arbitrary<Operation> {
  const makers = { ...historyOperations(fc), ...stateOperations(fc), ...taskOperations(fc), ...sessionOperations(fc) };
  // History is what a store does most; clearing and deleting seldom, or nothing would be left to compare.
  const often = [
    "append",
    "append",
    "append",
    "appendMany",
    "appendMany",
    "stateSet",
    "statePatch",
    "statePatch",
  ] as const;
  const tasks = [
    "createBoard",
    "addTasks",
    "updateStatus",
    "updateStatus",
    "updateStatus",
    "claim",
    "incrementRetry",
    "forceRetry",
  ] as const;
  const seldom = ["clear", "clearRun", "stateCompareAndSet", "stateClear", "deleteTask", "retitle", "settle"] as const;
  const sessions = [
    "createSession",
    "updateSession",
    "deleteSession",
    "setAlias",
    "removeAlias",
    "advance",
    "reopen",
  ] as const;
  return fc
    .constantFrom(...often, ...tasks, ...seldom, ...sessions)
    .chain((name): Arbitrary<Operation> => makers[name]);
}

/** Builds a record of the parts' values; a part that returns undefined is left out. */
function record<T extends Operation>(
  fc: FastCheck,
  op: T["op"],
  parts: Readonly<Record<string, Arbitrary<unknown>>>,
): Arbitrary<T> {
  const start: Arbitrary<Record<string, unknown>> = fc.constantFrom({ op });
  const whole = Object.entries(parts).reduce(
    (made, [key, part]) =>
      made.chain((so) => part.map((value) => (value === undefined ? so : { ...so, [key]: value }))),
    start,
  );
  return whole as unknown as Arbitrary<T>;
}

/** Chooses the first item more often than the others, so that operations meet each other's results. */
const session = (fc: FastCheck) => fc.constantFrom(...SESSIONS, "s0", "s0");
const agent = (fc: FastCheck) => fc.constantFrom(...AGENTS);
/** The value as JSON serialises it: JSON has only one zero. */
const json = (fc: FastCheck, maxDepth: number) =>
  fc.jsonValue({ maxDepth }).map((value) => JSON.parse(JSON.stringify(value)));
const words = (fc: FastCheck) => fc.string({ maxLength: 8, unit: "grapheme" });
const maybe = <T>(fc: FastCheck, ...values: T[]) => fc.constantFrom<T | undefined>(undefined, ...values);

function historyOperations(fc: FastCheck) {
  const where = { session: session(fc), agent: agent(fc) };
  const run = maybe(fc, ...RUNS);
  const metadata = fc.nat(3).chain((n) => (n > 0 ? maybe<unknown>(fc) : json(fc, 2).map((value) => ({ value }))));
  return {
    append: record<Operation>(fc, "append", { ...where, text: words(fc), run, key: maybe(fc, "k0", "k1"), metadata }),
    appendMany: record<Operation>(fc, "appendMany", { ...where, texts: fc.array(words(fc), { maxLength: 4 }), run }),
    clear: record<Operation>(fc, "clear", where),
    clearRun: record<Operation>(fc, "clearRun", { ...where, run: fc.constantFrom(...RUNS) }),
  };
}

function stateOperations(fc: FastCheck) {
  const keys = fc.constantFrom("k0", "k1", "k2", "__proto__");
  const entry = keys.chain((key) => json(fc, 1).map((value): [string, unknown] => [key, value]));
  const value = fc.array(entry, { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
  // Never a multiple of a second, so that no key expires in the very moment it is looked at.
  const ttlMs = maybe(fc, 1_500, 60_500);
  return {
    stateSet: record<Operation>(fc, "stateSet", { session: session(fc), value, ttlMs }),
    statePatch: record<Operation>(fc, "statePatch", {
      session: session(fc),
      value,
      ttlMs,
      remove: fc.array(keys, { maxLength: 2 }),
    }),
    stateCompareAndSet: record<Operation>(fc, "stateCompareAndSet", {
      session: session(fc),
      value,
      isStale: fc.boolean(),
    }),
    stateClear: record<Operation>(fc, "stateClear", { session: session(fc) }),
  };
}

function taskOperations(fc: FastCheck) {
  const board = { session: session(fc), agent: fc.constantFrom("", "", AGENTS[0]) };
  const titles = fc.array(words(fc), { minLength: 1, maxLength: 3 });
  const index = fc.nat(1);
  const status = fc.constantFrom(...TASK_STATUSES, "succeeded");
  return {
    createBoard: record<Operation>(fc, "createBoard", { ...board, titles, maxRetries: maybe(fc, 0, 1, 2) }),
    addTasks: record<Operation>(fc, "addTasks", { ...board, titles }),
    updateStatus: record<Operation>(fc, "updateStatus", { ...board, index, status, note: words(fc) }),
    claim: record<Operation>(fc, "updateStatus", {
      ...board,
      index,
      status: fc.constantFrom("in_progress"),
      note: words(fc),
      from: fc.constantFrom("planned", "planned", "failed"),
    }),
    incrementRetry: record<Operation>(fc, "incrementRetry", { ...board, index }),
    forceRetry: record<Operation>(fc, "forceRetry", { ...board, index }),
    deleteTask: record<Operation>(fc, "deleteTask", { ...board, index }),
    retitle: record<Operation>(fc, "retitle", { ...board, index, title: words(fc).map((text) => `t${text}`) }),
    settle: record<Operation>(fc, "settle", {
      session: session(fc),
      to: fc.constantFrom("failed", "planned"),
      agent: maybe(fc, "", ...AGENTS),
    }),
  };
}

function sessionOperations(fc: FastCheck) {
  const tags = fc.constantFrom<readonly string[]>([], ["t0"], ["t1", "t0"]);
  const name = fc.constantFrom(...NAMES);
  return {
    createSession: record<Operation>(fc, "createSession", {
      session: session(fc),
      title: maybe(fc, "one", ""),
      tags,
      request: maybe(fc, "q"),
    }),
    updateSession: record<Operation>(fc, "updateSession", {
      session: session(fc),
      title: fc.constantFrom(null, "two"),
      tags,
      isStale: fc.boolean(),
    }),
    deleteSession: record<Operation>(fc, "deleteSession", { session: session(fc) }),
    setAlias: record<Operation>(fc, "setAlias", { session: session(fc), name, move: fc.boolean() }),
    removeAlias: record<Operation>(fc, "removeAlias", { name }),
    advance: record<Operation>(fc, "advance", { ms: fc.constantFrom(1_000, 30_000, 3_600_000) }),
    reopen: record<Operation>(fc, "reopen", {}),
  };
}
