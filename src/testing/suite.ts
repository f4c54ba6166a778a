// A suite is a list of cases. A case's title begins with the rule it proves and names what it needs of a fixture, so
// that a backend that implements one contract can prove that one alone. No test framework is needed at run time:
// callers pass describe and test in (Vitest's, Jest's …); by default Node's own are used.
import assert from "node:assert/strict";
import * as nodeTest from "node:test";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { ArchiveVerbs, SessionBasics } from "../contracts/sessions.ts";

/** A clock that tests can move. simulatedEnvironment() and adjustableEnvironment() are such clocks. */
export interface Clock {
  now(): number;
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, in either direction, as people and NTP do. */
  jump(ms: number): void;
}

/** A store for one case, deleted after it. */
export interface Fixture {
  /** The nouns to prove, and other nouns that the cases may need. */
  readonly store: Partial<Omit<Holdfast, "sessions">> & { readonly sessions?: SessionBasics };
  /** The store's clock, if tests can move it. */
  readonly environment?: Clock;
  /** Opens another handle on the same store, as another process would. close() also closes it. */
  another?(options?: Pick<OpenOptions, "embedder" | "embeddings">): Promise<Holdfast>;
  close(): Promise<void>;
}

type LineageNouns = Pick<Holdfast, "sessions" | "heads" | "turns" | "calls" | "evals" | "snapshots" | "invocations">;

/** The needs of a case: nouns of the store, and other features of a fixture. */
export interface CaseContext {
  readonly agents: Holdfast["agents"];
  readonly sessions: SessionBasics;
  readonly history: Holdfast["history"];
  readonly state: Holdfast["state"];
  readonly tasks: Holdfast["tasks"];
  readonly memory: Holdfast["memory"];
  readonly blobs: Holdfast["blobs"];
  readonly captures: Holdfast["captures"];
  readonly log: Holdfast["log"];
  readonly vectors: Holdfast["vectors"];
  readonly embeddings: Holdfast["embeddings"];
  readonly stats: Holdfast["stats"];
  readonly query: Holdfast["query"];
  readonly explain: Holdfast["explain"];
  readonly search: Holdfast["search"];
  readonly check: Holdfast["check"];
  readonly trace: Holdfast["trace"];
  readonly causes: Holdfast["causes"];
  /** Sessions as a graph. */
  readonly lineage: LineageNouns;
  /** Archives and exports of sessions. */
  readonly archives: ArchiveVerbs;
  readonly runs: Holdfast["runs"];
  readonly info: Holdfast["info"];
  readonly close: Holdfast["close"];
  readonly clock: Clock;
  readonly another: NonNullable<Fixture["another"]>;
}

export type ContextName = keyof CaseContext;

export interface Case {
  readonly name: string;
  readonly needs: readonly ContextName[];
  run(offers: Partial<CaseContext>): Promise<void>;
}

export interface SuiteOptions {
  readonly skip?: readonly {
    readonly reason: string;
    /** Titles of cases to skip, or beginnings of titles. */
    readonly tests?: readonly string[];
    /** Skips every case that needs one of these. */
    readonly needs?: readonly (Extract<keyof Holdfast, string> | "lineage" | "archives" | "another")[];
  }[];
  /**
   * The part of a test framework that suites use. Vitest, Jest, Mocha have it; Node's own test runner when not given.
   */
  readonly harness?: {
    describe(name: string, body: () => void): unknown;
    readonly test: {
      (name: string, body: () => Promise<void>): unknown;
      skip(name: string, body: () => Promise<void>): unknown;
    };
  };
}

export type Skip = NonNullable<SuiteOptions["skip"]>[number];
export type Harness = NonNullable<SuiteOptions["harness"]>;

export type MakeFixture = () => Promise<Fixture>;

export function prove<N extends ContextName>(
  name: string,
  needs: readonly N[],
  body: (given: Pick<CaseContext, N>) => Promise<void>,
): Case {
  return {
    name,
    needs,
    run: (offers) => {
      const missing = needs.filter((need) => offers[need] === undefined);
      assert.deepEqual(missing, [], "the fixture does not offer what this case needs; skip it with a reason");
      return body(offers as Pick<CaseContext, N>);
    },
  };
}

export function runCases(
  title: string,
  cases: readonly Case[],
  make: MakeFixture,
  { skip = [], harness = nodeTest }: SuiteOptions = {},
): void {
  const stale = skip.flatMap(({ tests = [] }) =>
    tests.filter((test) => !cases.some(({ name }) => name.startsWith(test))),
  );
  const { describe, test } = harness;
  describe(title, () => {
    for (const one of cases) {
      const reason = skip.find((entry) => isSkipped(one, entry))?.reason;
      const body = () => runInFixture(one, make);
      if (reason === undefined) test(one.name, body);
      else test.skip(`${one.name} (skipped: ${reason})`, body);
    }
    if (stale.length > 0) {
      test("every skip names a case that exists", async () => assert.deepEqual(stale, []));
    }
  });
}

function isSkipped({ name, needs }: Case, { tests = [], needs: without = [] }: Skip): boolean {
  return tests.some((test) => name.startsWith(test)) || needs.some((need) => without.includes(need));
}

async function runInFixture(one: Case, make: MakeFixture): Promise<void> {
  const fixture = await make();
  try {
    await one.run(caseContextOf(fixture));
  } catch (error) {
    // A failure of the case matters more than a failure of its cleanup.
    await fixture.close().catch(() => undefined);
    throw error;
  }
  await fixture.close();
}

function caseContextOf({ store, environment, another }: Fixture): Partial<CaseContext> {
  const { agents, sessions, history, state, tasks, memory, blobs, captures, log, vectors, embeddings, info } = store;
  const offers: { [N in ContextName]: CaseContext[N] | undefined } = {
    agents,
    sessions,
    history,
    state,
    tasks,
    memory,
    blobs,
    captures,
    log,
    vectors,
    embeddings,
    info,
    stats: store.stats === undefined ? undefined : (options) => all(store).stats(options),
    query: store.query === undefined ? undefined : (...asked) => all(store).query(...asked),
    search: store.search === undefined ? undefined : (...asked) => all(store).search(...asked),
    explain: store.explain === undefined ? undefined : (...asked) => all(store).explain(...asked),
    check: store.check === undefined ? undefined : (options) => all(store).check(options),
    trace: store.trace === undefined ? undefined : (...asked) => all(store).trace(...asked),
    causes: store.causes === undefined ? undefined : (...asked) => all(store).causes(...asked),
    close: store.close === undefined ? undefined : () => all(store).close(),
    runs: store.runs,
    lineage: store.heads === undefined ? undefined : all(store),
    archives: sessions !== undefined && "export" in sessions ? all(store).sessions : undefined,
    clock: environment,
    another,
  };
  return offers as Partial<CaseContext>;
}

/** Methods are called on the store they belong to. */
function all(store: Fixture["store"]): Holdfast {
  return store as Holdfast;
}
