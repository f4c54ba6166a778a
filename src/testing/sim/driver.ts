// Wraps a real driver with faults, for one process. Before every commit and every read the process waits for its
// slot, so that processes interleave there; then the faults decide what fails.
import type { Driver, Param, Plan, RoundTrip, Row, Statement, TransactOptions } from "../../storage/sql/driver.ts";
import { type Fault, type FaultKind, type Faults, full, unreachable } from "./faults.ts";
import { never, type Process } from "./scheduler.ts";
import { writtenTable } from "./touched-rows.ts";

const BEFORE: readonly FaultKind[] = [
  "writeFail",
  "diskFull",
  "crashBefore",
  "crashDuring",
  "crashAfter",
  "errorAfter",
];

/** A commit that the driver received, with the types of its events. */
export interface SeenCommit {
  readonly process: string;
  readonly events: readonly string[];
  /** The runs that the commit ended. */
  readonly ends: readonly string[];
}

const ENDS: readonly string[] = ["run/completed", "run/failed", "run/cancelled"];

export interface DriverNotes {
  /** Called after every successful commit. */
  readonly committed: (commit: SeenCommit) => void;
  /** Calls back when another process has committed; returns a function to stop. */
  readonly listen: (onCommit: () => void) => () => void;
}

/** Thrown inside a plan, so that the real driver rolls it back. */
class InterruptedPlan extends Error {}

/** A driver whose methods are bound, so that it can be spread. */
export function bound(driver: Driver): Driver {
  return {
    dialect: driver.dialect,
    answersAtOnce: driver.answersAtOnce,
    ...(driver.lanes === undefined ? {} : { lanes: driver.lanes }),
    transact: (plan, options) => driver.transact(plan, options),
    read: (sql, params) => driver.read(sql, params),
    lookup: (sql, keys) => driver.lookup(sql, keys),
    inspect: (sql, params, limits) => driver.inspect(sql, params, limits),
    migrate: (create, run) => driver.migrate(create, run),
    announce: (sessions) => driver.announce(sessions),
    watch: (onCommit) => driver.watch(onCommit),
    reclaim: () => driver.reclaim(),
    rewrite: () => driver.rewrite(),
    examine: () => driver.examine(),
    size: () => driver.size(),
    close: () => driver.close(),
  };
}

export function faultyDriver(driver: Driver, process: Process, faults: Faults, notes: DriverNotes): Driver {
  const late = async (what: string): Promise<void> => {
    await process.schedule(what);
    const delay = faults.strike(["latency"], { process: process.name, what, names: [] });
    if (delay !== null) await process.environment.sleep(faults.length(delay));
    const jump = faults.strike(["clockJump"], { process: process.name, what, names: [] });
    if (jump !== null) process.jump(faults.jump(jump));
  };
  const reading = async (read: () => Promise<readonly Row[]>): Promise<readonly Row[]> => {
    await late("read");
    const failed = faults.strike(["readFail"], { process: process.name, what: "read", names: [] });
    if (failed !== null) throw unreachable("a read failed");
    return read();
  };
  return {
    dialect: driver.dialect,
    // The scheduler orders each read among all ready operations.
    answersAtOnce: false,
    ...(driver.lanes === undefined ? {} : { lanes: driver.lanes }),
    transact: async (plan, options) => {
      await late("commit");
      const result = await transact(driver, plan, options, process, faults, notes);
      await late("acknowledge");
      return result;
    },
    read: (sql, params) => reading(() => driver.read(sql, params)),
    lookup: (sql, keys) => reading(() => driver.lookup(sql, keys)),
    inspect: (sql, params, limits) => driver.inspect(sql, params, limits),
    migrate: (create, run) => driver.migrate(create, run),
    announce: (sessions) => driver.announce(sessions),
    // The real engine polls every few milliseconds: here a commit notifies the listeners.
    watch: (onCommit) =>
      notes.listen(() => {
        const lost = faults.strike(["lostWakeup"], { process: process.name, what: "hint", names: [] });
        if (lost === null) process.schedule("hint").then(() => onCommit(null));
      }),
    // The duration depends on the free pages that earlier simulations left in the file.
    reclaim: () => process.schedule("reclaim"),
    rewrite: () => driver.rewrite(),
    // The real check runs in a thread, whose answer comes at a time that no seed decides; the simulation never damages
    // a page.
    examine: async () => ({ check: "integrity_check", notRun: "not in a simulation", damages: [] }),
    size: () => driver.size(),
    close: () => driver.close(),
  };
}

async function transact<T>(
  driver: Driver,
  plan: () => Plan<T>,
  options: TransactOptions | undefined,
  process: Process,
  faults: Faults,
  notes: DriverNotes,
): Promise<T> {
  let struck: Fault | null = null;
  let events: readonly string[] = [];
  let ends: readonly string[] = [];
  let writes = false;
  const watched = function* (): Plan<T> {
    const inner = plan();
    let next = inner.next();
    while (!next.done) {
      const trip: RoundTrip = next.value;
      if (trip.last) {
        const drafts = eventsOf(trip.statements);
        events = drafts.map(({ type }) => type);
        ends = drafts.flatMap(({ type, run }) => (ENDS.includes(type) ? [run] : []));
        writes = trip.statements.some(isWrite);
        if (writes) {
          struck = faults.strike(BEFORE, { process: process.name, what: "commit", names: events });
        }
        yield* interrupted(struck, trip.statements);
      }
      next = inner.next(yield trip);
    }
    return next.value;
  };
  let result: T;
  try {
    result = await driver.transact(watched, options);
  } catch (error) {
    if (!(error instanceof InterruptedPlan)) throw error;
    return failed(struck, process, events);
  }
  if (writes) notes.committed({ process: process.name, events, ends });
  return answered(struck, process, events, result);
}

/** A statement that fails a plan before its last statements, or among them. */
function* interrupted(
  struck: Fault | null,
  statements: readonly Statement[],
): Generator<RoundTrip, void, readonly (readonly Row[])[]> {
  if (struck === null || struck.kind === "crashAfter" || struck.kind === "errorAfter") return;
  if (struck.kind === "crashDuring")
    yield { statements: statements.slice(0, Math.ceil(statements.length / 2)), last: false };
  throw new InterruptedPlan();
}

function failed(struck: Fault | null, process: Process, events: readonly string[]): Promise<never> {
  if (struck?.kind === "writeFail") throw unreachable(`a write failed (${events.join(", ")})`);
  if (struck?.kind === "diskFull") throw full();
  process.kill(`${struck?.kind}: ${events.join(", ")}`);
  return never();
}

function answered<T>(struck: Fault | null, process: Process, events: readonly string[], result: T): Promise<T> | T {
  if (struck?.kind === "errorAfter") throw unreachable(`nobody knows whether it was written (${events.join(", ")})`);
  if (struck?.kind !== "crashAfter") return result;
  process.kill(`crashAfter: ${events.join(", ")}`);
  return never();
}

function isWrite(statement: Statement): boolean {
  return (
    (statement.kind === "bulk" && statement.rows.length > 0) ||
    (statement.kind === "query" && writtenTable(statement.sql) !== null)
  );
}

function eventsOf(statements: readonly Statement[]): readonly { readonly type: string; readonly run: string }[] {
  return statements.flatMap((statement) => {
    if (statement.kind !== "bulk" || statement.spec.table !== "events" || statement.spec.verb !== "insert") return [];
    const { columns } = statement.spec;
    const type = columns.find(({ name }) => name === "type");
    if (type === undefined) return [];
    // A constant takes no parameter.
    const taking = columns.filter(({ value }) => value.includes("?"));
    const [typeAt, runAt] = ["type", "run"].map((name) => taking.findIndex((one) => one.name === name));
    const at = (row: readonly Param[], index = -1) => (index < 0 ? "" : String(row[index]));
    const constant = type.value.replaceAll("'", "");
    return statement.rows.map((row) => ({
      type: taking.includes(type) ? at(row, typeAt) : constant,
      run: at(row, runAt),
    }));
  });
}
