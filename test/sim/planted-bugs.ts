// Bugs planted to see them found, outside the product's code: between the rules and storage, or around the driver. Each is
// one that an engineer could well make.
import type { Commit, Outcome } from "../../src/contracts/storage/commit.ts";
import type { Storage } from "../../src/contracts/storage/storage.ts";
import { overrideStorage } from "../../src/core/storage-overrides.ts";
import type { Plan, Statement } from "../../src/storage/sql/driver.ts";
import { StaleFence } from "../../src/storage/sql/driver.ts";
import { bound } from "../../src/testing/sim/driver.ts";
import type { PlantedBug } from "../../src/testing/sim/simulate.ts";
import type { Edit } from "./mutants.ts";

function committing(storage: Storage, commit: (commit: Commit) => Promise<Outcome>): Storage {
  return overrideStorage(storage, { commit });
}

/** Nothing that a run commits asks whether its lease still holds. */
export const withoutFencing: PlantedBug = {
  storage: (storage) =>
    committing(storage, (commit) =>
      storage.commit({ ...commit, guards: (commit.guards ?? []).filter(({ check }) => check !== "run.epoch") }),
    ),
};

/** Segments are written whatever was erased or written since their texts were read. */
export const withoutEpoch: PlantedBug = {
  storage: (storage) =>
    committing(storage, (commit) =>
      storage.commit({ ...commit, guards: (commit.guards ?? []).filter(({ check }) => check !== "index.epoch") }),
    ),
};

/** A promotion relies on nothing that it has read of the blocks. */
export const withoutBlockVersions: PlantedBug = {
  storage: (storage) =>
    committing(storage, (commit) =>
      storage.commit({ ...commit, guards: (commit.guards ?? []).filter(({ check }) => check !== "block.version") }),
    ),
};

const isIntent = ({ events = [] }: Commit) => events.length === 1 && events[0]?.type === "step/started";

/** An intent is said to be written, and is written only together with what came of it. */
export const intentAfterEffect: PlantedBug = {
  storage: (storage) => {
    const held = new Map<string, Commit>();
    return committing(storage, async (commit) => {
      const [first] = commit.events ?? [];
      const run = first?.run ?? "";
      const before = held.get(run);
      if (before !== undefined) {
        held.delete(run);
        await storage.commit(before);
      }
      if (first === undefined || !isIntent(commit)) return storage.commit(commit);
      const [session] = await storage.query("session.get", { id: first.session });
      held.set(run, commit);
      return { ok: true, events: [{ session: first.session, seq: (session?.seq ?? 0) + 1, hash: new Uint8Array() }] };
    });
  },
};

/** The events of a commit come first, where its sessions stand afterwards in a transaction of its own. */
export const chainApart: PlantedBug = {
  driver: (driver, process) => ({
    ...bound(driver),
    transact: async <T>(plan: () => Plan<T>) => {
      const later: Statement[] = [];
      const apart = function* (): Plan<T> {
        const inner = plan();
        let next = inner.next();
        while (!next.done) {
          const { statements, last } = next.value;
          if (statements.some((statement) => isAbout(statement, "sessions.fence"))) throw new StaleFence();
          later.push(...statements.filter((statement) => isAbout(statement, "sessions.advance")));
          const rows = yield {
            statements: statements.map((statement) => (later.includes(statement) ? NOTHING : statement)),
            last,
          };
          next = inner.next(rows);
        }
        return next.value;
      };
      const result = await driver.transact(apart);
      if (later.length === 0) return result;
      await process.schedule("between");
      await driver.transact(() => only(later));
      return result;
    },
  }),
};

const NOTHING: Statement = { kind: "query", sql: "SELECT 1 WHERE 1 = 0", params: [] };

function* only(statements: readonly Statement[]): Plan<void> {
  yield { statements, last: true };
}

function isAbout(statement: Statement, name: string): boolean {
  return statement.kind === "bulk" && statement.spec.name === name;
}

/** A run that goes to sleep does not check whether a signal came meanwhile. */
export const lostWakeup: PlantedBug = {
  storage: (storage) =>
    committing(storage, (commit) => {
      const sleeps = commit.events?.some(({ type }) => type === "run/waiting") ?? false;
      if (!sleeps) return storage.commit(commit);
      return storage.commit({
        ...commit,
        guards: (commit.guards ?? []).filter(({ check }) => check !== "run.version"),
      });
    }),
};

/** What is asked of an iteration that was left is done as if it had not been. */
export const goesOn: readonly Edit[] = [
  {
    file: "runs/life.ts",
    from: 'return this.#state === "suspended" || this.#state === "left";',
    to: "return false;",
  },
];

/** The same, and ending a run leaves its lease as it was: nothing refuses later writes. */
export const goesOnBehindEnd: readonly Edit[] = [
  ...goesOn,
  { file: "runs/execution.ts", from: "epoch: row.epoch + 1,", to: "" },
  { file: "runs/writer.ts", from: "this.#refuseEnded();", to: "" },
];

/** An answer begins the iteration a second time, beside what else of it is at work. */
export const answeredAnew: readonly Edit[] = [
  { file: "runs/waiting.ts", from: "resume(now);", to: "now.isAllowed;" },
  {
    file: "runs/execution.ts",
    from: "return now.findLast((one) => one.path === record.path);",
    to: "this.again();\n          return now.findLast((one) => one.path === record.path);",
  },
  {
    file: "runs/life.ts",
    from: "  drain(): void {",
    to: "  again() {\n    this.#end.resolve({ left: true, again: true });\n  }\n  drain(): void {",
  },
  {
    file: "runs/execution.ts",
    from: "this.#life = life;",
    to: "this.#life = life;\n    this.again = () => life.again();",
  },
  {
    file: "runs/execution.ts",
    from: "if (this.#stopReason() === null) return;",
    to: "if (!end.again && this.#stopReason() === null) return;",
  },
];

/** A retry of a run tries the last failure again, also one that the run had handled. */
export const livedWithAgain: readonly Edit[] = [
  {
    file: "runs/retry-chain.ts",
    from: 'return last?.status === "failed" ? last : undefined;',
    to: 'return last && records.findLast((one) => one.status === "failed" && (one.end?.seq ?? 0) <= end.seq);',
  },
];

/** A child that the worker beside took over meanwhile is worked on as if it had just been begun. */
export const workedOnTwice: readonly Edit[] = [
  { file: "runs/children.ts", from: "child.epoch === BORN", to: "true" },
  { file: "runs/children.ts", from: "now.epoch === BORN", to: "true" },
];

/** The new and the old owner of a lease in one batch: each judged by what was there before. */
export const takenBeside: readonly Edit[] = [
  { file: "storage/sql/commit-verdicts.ts", from: 'check === "run.version" ?', to: 'String(check) === "" ?' },
];

/** A run goes to sleep although somebody wants it cancelled. */
export const sleepsOnCancel: readonly Edit[] = [{ file: "runs/life.ts", from: "cancel === 1", to: "false" }];

/** What a run was permitted is permitted to the run that retries it. */
export const allowedForEver: readonly Edit[] = [
  {
    file: "runs/retry-chain.ts",
    from: 'type !== "step/asked" && type !== "run/answered"',
    to: "type !== undefined",
  },
];

/** The driver asks its server for no end of an idle transaction: the locks of a frozen peer last as long as it is frozen. */
export const idleForEver: PlantedBug = { timeouts: { idleInTransactionMs: null } };

/** The driver asks its server for no end of a wait: whatever shares a batch with a commit that is stuck is stuck with it. */
export const waitsForEver: PlantedBug = { timeouts: { lockMs: null } };

/** The queue goes on with the next batch only when the one before it has ended. */
export const oneBatch: readonly Edit[] = [
  {
    file: "storage/sql/queue.ts",
    from: "this.#lanes = lanes === undefined || lanes.most < 2 ? null : lanes;",
    to: "this.#lanes = lanes === undefined ? null : null;",
  },
];

/** A commit reads where its sessions stand, and does not lock them until it writes. */
export const withoutRowLocks: readonly Edit[] = [
  {
    file: "storage/sql/commit.ts",
    from: "keys: sessionIds(batch), lock: true",
    to: "keys: sessionIds(batch), lock: false",
  },
];
