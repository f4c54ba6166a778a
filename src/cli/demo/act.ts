// The act of the demo: an agent at work in a process of its own, killed in the middle of a payment, gone on with by another.

import type { Answer } from "../../contracts/decisions.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Context } from "../command.ts";
import { EXIT } from "../exit.ts";
import bookkeeper, { BILLS, type Payment, readBook } from "./agent.ts";
import { Crew, type Ended, type Hand } from "./crew.ts";
import { Live } from "./live.ts";
import { askWhether } from "./question.ts";
import type { Stage } from "./stage.ts";

/** Short, so that nobody waits long for the second process. */
const LEASE_MS = 1000;
const DOOMED = BILLS[1].bill;

export interface Act {
  readonly run: string;
  readonly session: string;
  readonly killed: { readonly pid: number; readonly signal: string | null };
  readonly decision: {
    readonly id: string;
    readonly seq: number;
    readonly verdict: Answer["verdict"];
    readonly by: string;
    /** How long whoever was asked took to answer. */
    readonly thoughtMs: number;
  };
  readonly payments: readonly Payment[];
}

export async function perform(stage: Stage, context: Context, holdfast: Holdfast, session: string): Promise<Act> {
  const crew = new Crew(stage.choice, stage.book);
  const live = new Live(holdfast, session, context.output);
  try {
    const run = await holdfast.runs.start(bookkeeper, { session, leaseMs: LEASE_MS });
    live.start();
    const killed = await work(stage, crew, live);
    const second = await takeOver(stage, crew, live);
    const decision = await decide(stage, context, holdfast, run, live);
    const end = await finish(stage, live, second);
    const payments = readBook(stage.book);
    await claims(stage, holdfast, run, live, { killed, decision, payments, end });
    return { run: run.id, session, killed, decision, payments };
  } finally {
    await live.stop();
    await crew.dismiss();
  }
}

async function work({ story, signal, book }: Stage, crew: Crew, live: Live): Promise<Act["killed"]> {
  await story.step(
    "An agent at work",
    "A bookkeeper with a scripted model pays three bills, one in each iteration, at a bank that is slow to answer. It runs " +
      "in a process of its own; this one only reads along:",
  );
  const first = crew.hire();
  await story.shell(`holdfast worker --agents bookkeeper.ts    # process ${first.pid}`);
  await live.goOn();
  const isPaying = () => readBook(book).some(({ bill }) => bill === DOOMED);
  await live.until(
    ({ data }) => data.iteration === 2 && data.name === "pay" && isPaying(),
    "the payment",
    signal,
    first.lost,
  );
  const ended = await first.end("SIGKILL");
  await live.hold();
  await story.say(`✗ kill -9: process ${first.pid} is gone, in the middle of pay.`);
  return { pid: first.pid, signal: ended.signal };
}

async function takeOver({ story, signal }: Stage, crew: Crew, live: Live): Promise<Hand> {
  const second = crew.hire();
  await story.step(
    "Another process takes over",
    `Process ${second.pid} finds a run whose worker shows no sign of life. After its lease (${LEASE_MS / 1000} s) it goes on ` +
      "from the last checkpoint; what is known of the cut-off iteration is taken from the log, not done again:",
  );
  await live.goOn();
  await live.until(({ type }) => type === "step/asked", "the question", signal, second.lost);
  await live.hold();
  return second;
}

async function decide(
  { story, signal, book, keyboard }: Stage,
  context: Context,
  holdfast: Holdfast,
  run: Run,
  live: Live,
): Promise<Act["decision"]> {
  await story.step(
    "Only a person can know",
    "The log has the intent to pay, and no result: the money may have moved, or not. pay is not declared safe to do twice, " +
      "so the run does not guess. It waits, and asks:",
  );
  await story.run("runs", "pending", run.id, ...story.store);
  const [decision] = (await holdfast.runs.pending({ run: run.id })).items;
  const payment = readBook(book).find(({ bill }) => bill === DOOMED);
  if (decision === undefined || payment === undefined) throw new Error("bug: the demo has nothing to decide");
  const { receipt, bill, eur } = payment;
  await story.say(
    `The bank's book, which is outside the store, says: ${receipt}, ${bill}, ${eur} EUR. So it did happen.`,
  );
  const asked = performance.now();
  const { verdict, isAsked } = await askWhether(context, `Did the payment of ${bill} happen?`, keyboard, signal);
  const thoughtMs = isAsked ? Math.round(performance.now() - asked) : 0;
  if (!isAsked) await story.say("(Nobody is asked here, so the demo answers what the book says.)");
  const by = isAsked ? context.io.env.USER || "you" : "demo";
  const answers = {
    result: ["approve", decision.id, "--result", JSON.stringify({ receipt })],
    retry: ["approve", decision.id, "--retry"],
    fail: ["deny", decision.id],
  } as const;
  const told = await story.run("runs", ...answers[verdict], "--by", by);
  await story.claim("the answer is taken", told.code === EXIT.ok);
  const answered = await live.until(({ type }) => type === "run/answered", "the answer", signal, new Promise(() => {}));
  return { id: decision.id, seq: answered.seq, verdict, by, thoughtMs };
}

async function finish({ story, signal }: Stage, live: Live, second: Hand): Promise<Ended> {
  await story.step("And it goes on", "The second process is woken by the answer, and finishes the work:");
  await live.goOn();
  await live.until(({ type }) => /^run\/(completed|failed)$/.test(type), "the end of the run", signal, second.lost);
  await live.hold();
  return second.end("SIGTERM");
}

interface Found extends Pick<Act, "killed" | "decision" | "payments"> {
  readonly end: Ended;
}

async function claims({ story }: Stage, holdfast: Holdfast, run: Run, live: Live, found: Found): Promise<void> {
  const { killed, decision, payments, end } = found;
  const count = (type: string) => live.events.filter((event) => event.type === type).length;
  const ends = count("run/completed") + count("run/failed") + count("run/cancelled");
  const result = await holdfast.runs.result(run.id);
  const twice = payments.filter(({ bill }) => bill === DOOMED);
  const others = payments.length - twice.length;
  await story.claim(
    "the first process was killed by SIGKILL, and the run taken over once",
    killed.signal === "SIGKILL" &&
      live.events.filter(({ type, data }) => type === "run/claimed" && data.status === "recovering").length === 1,
  );
  await story.claim("the run ended exactly once, completed", ends === 1 && result?.status === "completed");
  await story.claim(
    `the model was asked once for each bill: ${BILLS.length} calls`,
    count("call/put") === BILLS.length,
  );
  if (decision.verdict === "retry") {
    const keys = new Set(twice.map(({ key }) => key)).size;
    const holds = others === BILLS.length - 1 && twice.length === 2 && keys === 1;
    await story.claim(`${DOOMED} was paid twice because you said so, under one idempotency key`, holds);
  } else {
    await story.claim(
      `the bank's book has ${payments.length} payments: none twice`,
      others === BILLS.length - 1 && twice.length === 1,
    );
  }
  await story.claim("the second process drained on SIGTERM and exited with 0", end.code === EXIT.ok);
}
