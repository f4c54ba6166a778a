// The takeover that the demo shows: a worker process is killed in the middle of a payment, and another one continues
// its run.
import type { Answer } from "../../contracts/decisions.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import bookkeeper, { BILLS, type Payment, readBook } from "./agent.ts";
import { LogDisplay } from "./log-display.ts";
import { askForVerdict } from "./question.ts";
import type { DemoSetup } from "./setup.ts";
import { type ProcessExit, type WorkerProcess, WorkerProcesses } from "./worker-processes.ts";

/** Short, so that the second process takes over soon. */
const LEASE_MS = 1000;
const INTERRUPTED_BILL = BILLS[1].bill;

export interface Takeover {
  readonly run: string;
  readonly session: string;
  readonly killed: { readonly pid: number; readonly signal: string | null };
  readonly decision: {
    readonly id: string;
    readonly seq: number;
    readonly verdict: Answer["verdict"];
    readonly by: string;
    /** How long the person took to answer. */
    readonly thoughtMs: number;
  };
  readonly payments: readonly Payment[];
}

export async function runTakeover(
  setup: DemoSetup,
  context: Context,
  holdfast: Holdfast,
  session: string,
): Promise<Takeover> {
  const workers = new WorkerProcesses(setup.choice, setup.book);
  const display = new LogDisplay(holdfast, session, context.output);
  try {
    const run = await holdfast.runs.start(bookkeeper, { session, leaseMs: LEASE_MS });
    display.start();
    const killed = await killFirstWorker(setup, workers, display);
    const second = await startSecondWorker(setup, workers, display);
    const decision = await askPerson(setup, context, holdfast, run, display);
    const end = await finishRun(setup, display, second);
    const payments = readBook(setup.book);
    await checkClaims(setup, holdfast, run, display, { killed, decision, payments, end });
    return { run: run.id, session, killed, decision, payments };
  } finally {
    await display.stop();
    await workers.killAll();
  }
}

async function killFirstWorker(
  { narrator, signal, book }: DemoSetup,
  workers: WorkerProcesses,
  display: LogDisplay,
): Promise<Takeover["killed"]> {
  await narrator.step(
    "An agent at work",
    "A bookkeeper with a scripted model pays three bills, one in each iteration, at a bank that is slow to answer. It runs " +
      "in its own process; this one only follows the log:",
  );
  const first = workers.start();
  await narrator.shell(`holdfast worker --agents bookkeeper.ts    # process ${first.pid}`);
  await display.resume();
  const isPaying = () => readBook(book).some(({ bill }) => bill === INTERRUPTED_BILL);
  await display.waitFor(
    ({ data }) => data.iteration === 2 && data.name === "pay" && isPaying(),
    "the payment",
    signal,
    first.lost,
  );
  const ended = await first.end("SIGKILL");
  await display.pause();
  await narrator.say(`✗ kill -9: process ${first.pid} is gone, in the middle of pay.`);
  return { pid: first.pid, signal: ended.signal };
}

async function startSecondWorker(
  { narrator, signal }: DemoSetup,
  workers: WorkerProcesses,
  display: LogDisplay,
): Promise<WorkerProcess> {
  const second = workers.start();
  await narrator.step(
    "Another process takes over",
    `Process ${second.pid} finds a run whose worker sends no heartbeat. After the lease (${LEASE_MS / 1000} s) it continues ` +
      "from the last checkpoint; it reads the finished steps of the interrupted iteration from the log and does not repeat them:",
  );
  await display.resume();
  await display.waitFor(({ type }) => type === "step/asked", "the question", signal, second.lost);
  await display.pause();
  return second;
}

async function askPerson(
  { narrator, signal, book, keyboard }: DemoSetup,
  context: Context,
  holdfast: Holdfast,
  run: Run,
  display: LogDisplay,
): Promise<Takeover["decision"]> {
  await narrator.step(
    "Only a person can know",
    "The log has the intent to pay, but no result: the payment may have happened, or not. pay is not declared safe to repeat, " +
      "so the run does not guess. It waits and asks a person:",
  );
  await narrator.run("runs", "pending", run.id, ...narrator.store);
  const [decision] = (await holdfast.runs.pending({ run: run.id })).items;
  const payment = readBook(book).find(({ bill }) => bill === INTERRUPTED_BILL);
  if (decision === undefined || payment === undefined) throw new Error("bug: the demo has nothing to decide");
  const { receipt, bill, eur } = payment;
  await narrator.say(
    `The bank's records, which are outside the store, say: ${receipt}, ${bill}, ${eur} EUR. So it did happen.`,
  );
  const askedAt = performance.now();
  const { verdict, isByPerson } = await askForVerdict(context, `Did the payment of ${bill} happen?`, keyboard, signal);
  const thoughtMs = isByPerson ? Math.round(performance.now() - askedAt) : 0;
  if (!isByPerson)
    await narrator.say("(There is no person at a terminal, so the demo answers what the bank's records say.)");
  const by = isByPerson ? context.io.env.USER || "you" : "demo";
  const answers = {
    result: ["approve", decision.id, "--result", JSON.stringify({ receipt })],
    retry: ["approve", decision.id, "--retry"],
    fail: ["deny", decision.id],
  } as const;
  const answer = await narrator.run("runs", ...answers[verdict], "--by", by);
  await narrator.claim("the store accepts the answer", answer.code === EXIT.ok);
  const answered = await display.waitFor(
    ({ type }) => type === "run/answered",
    "the answer",
    signal,
    new Promise(() => {}),
  );
  return { id: decision.id, seq: answered.seq, verdict, by, thoughtMs };
}

async function finishRun(
  { narrator, signal }: DemoSetup,
  display: LogDisplay,
  second: WorkerProcess,
): Promise<ProcessExit> {
  await narrator.step("The run continues", "The answer wakes the second process, which finishes the work:");
  await display.resume();
  await display.waitFor(
    ({ type }) => /^run\/(completed|failed)$/.test(type),
    "the end of the run",
    signal,
    second.lost,
  );
  await display.pause();
  return second.end("SIGTERM");
}

interface DemoFindings extends Pick<Takeover, "killed" | "decision" | "payments"> {
  readonly end: ProcessExit;
}

async function checkClaims(
  { narrator }: DemoSetup,
  holdfast: Holdfast,
  run: Run,
  display: LogDisplay,
  found: DemoFindings,
): Promise<void> {
  const { killed, decision, payments, end } = found;
  const count = (type: string) => display.events.filter((event) => event.type === type).length;
  const ends = count("run/completed") + count("run/failed") + count("run/cancelled");
  const result = await holdfast.runs.result(run.id);
  const twice = payments.filter(({ bill }) => bill === INTERRUPTED_BILL);
  const others = payments.length - twice.length;
  await narrator.claim(
    "SIGKILL ended the first process, and the second took the run over once",
    killed.signal === "SIGKILL" &&
      display.events.filter(({ type, data }) => type === "run/claimed" && data.status === "recovering").length === 1,
  );
  await narrator.claim("the run ended exactly once, completed", ends === 1 && result?.status === "completed");
  await narrator.claim(
    `the model was called once for each bill: ${BILLS.length} calls`,
    count("call/put") === BILLS.length,
  );
  if (decision.verdict === "retry") {
    const keys = new Set(twice.map(({ key }) => key)).size;
    const holds = others === BILLS.length - 1 && twice.length === 2 && keys === 1;
    await narrator.claim(`${INTERRUPTED_BILL} was paid twice because you said so, under one idempotency key`, holds);
  } else {
    await narrator.claim(
      `the bank's records have ${payments.length} payments: none twice`,
      others === BILLS.length - 1 && twice.length === 1,
    );
  }
  await narrator.claim("the second process drained on SIGTERM and exited with 0", end.code === EXIT.ok);
}
