// holdfast demo: an agent is killed in the middle of a payment and another process goes on, told step by step. It really
// checks what it claims: a claim that does not hold makes it exit with 1.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command, Context } from "../command.ts";
import { type Act, perform } from "../demo/act.ts";
import { Keyboard } from "../demo/keyboard.ts";
import { asksSomebody } from "../demo/question.ts";
import type { Stage } from "../demo/stage.ts";
import { Story } from "../demo/story.ts";
import { fileOf, tamper } from "../demo/tamper.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { interruption } from "../io.ts";
import { chooseStore, openStore, type StoreChoice } from "../store.ts";
import { formatCount } from "../units.ts";

export const demo: Command = {
  name: "demo",
  summary: "watch an agent survive kill -9 in the middle of a payment",
  usage: ["demo [--store URL] [--yes] [--keep]"],
  description:
    "Makes a store in a temporary directory, starts a process in which an agent with a scripted model pays bills, kills it " +
    "with -9 in the middle of a payment, and lets a second process take over. That one does not guess whether the " +
    "payment happened: it asks, you answer, and it goes on. Then it shows what the store knows of all that, checks it, " +
    "and changes one byte in a copy of the file to see it noticed. No network, no model, no key, nothing left behind, less " +
    "than 20 seconds. With --store it uses that store of yours instead, under ids of its own, and leaves there what it wrote.",
  options: {
    keep: { type: "flag", summary: "keep the temporary directory, to look around in it" },
    yes: { type: "flag", short: "y", summary: "do not ask: answer that the payment happened, as the bank's book says" },
  },
  means: { store: "a store of yours instead of a temporary one; $HOLDFAST_STORE is not looked at" },
  operands: [],
  examples: [
    { command: "holdfast demo", does: "the whole story; it asks you one question" },
    { command: "holdfast demo --yes --keep", does: "without the question, and keep the store afterwards" },
    { command: "holdfast demo --json", does: "only what was checked, for a program" },
  ],
  next: "holdfast init creates a store of your own; holdfast worker --help tells how to run agents of yours.",
  run: async (context) => {
    const started = performance.now();
    const directory = await mkdtemp(path.join(tmpdir(), "holdfast-demo-"));
    const stop = interruption(context.io);
    const keep = context.args.flag("keep");
    const keyboard = new Keyboard(context.io.stdin);
    try {
      const stage = { ...makeStage(context, directory), keyboard, signal: stop.signal };
      if (asksSomebody(context)) keyboard.open();
      const told = await tell(stage, context);
      // What whoever was asked took to answer is not the demo's time.
      const ms = Math.round(performance.now() - started) - told.act.decision.thoughtMs;
      const { claims, holds } = stage.story;
      const kept = stage.isTemporary && !keep ? null : stage.choice.name;
      await ending(stage, told.act, kept, ms);
      if (context.output.json) {
        const { act, damage } = told;
        await context.output.document({ ok: holds, store: kept, ms, claims, ...act, damage });
      }
      return holds ? EXIT.ok : EXIT.error;
    } finally {
      keyboard.close();
      stop.release();
      if (!keep) await rm(directory, { recursive: true, force: true });
    }
  },
};

function makeStage(context: Context, directory: string): Omit<Stage, "keyboard" | "signal"> {
  const { args, io } = context;
  // $HOLDFAST_STORE is not meant: the demo writes to a store of yours only when you name it here.
  const named = args.text("store");
  if (named === ":memory:") throw new UsageError("the demo needs a store that outlives a process, not :memory:");
  const isTemporary = named === undefined;
  // Nor is $HOLDFAST_BLOB_DIR, unless the store is yours too.
  const env = isTemporary ? {} : io.env;
  const choice = chooseStore(named ?? path.join(directory, "agents.db"), args.text("blob-dir"), { ...io, env });
  const suffix = isTemporary ? "" : `-${path.basename(directory).slice(-6)}`;
  const book = path.join(directory, "bank.jsonl");
  return { story: new Story(context, choice), choice, directory, book, isTemporary, suffix };
}

interface Told {
  readonly act: Act;
  readonly damage: Readonly<Record<string, unknown>> | null;
}

async function tell(stage: Stage, context: Context): Promise<Told> {
  const { story, choice, suffix } = stage;
  const session = `bills${suffix}`;
  await story.title("Holdfast demo: an agent that survives");
  await makeStore(stage);
  const act = await use(choice, (holdfast) => perform(stage, context, holdfast, session));
  await lookBack(stage, act);
  return { act, damage: await damageCopy(stage, act) };
}

async function makeStore({ story, choice, isTemporary, suffix }: Stage): Promise<void> {
  const isServer = /^postgres/i.test(choice.url);
  await story.step("A store", isServer ? "This one lives in PostgreSQL." : "One file. There is no server to start.");
  await story.shell(`export HOLDFAST_STORE=${choice.name}`);
  const made = await story.run("init");
  if (made.code !== EXIT.ok) throw new HoldfastError("StoreUnreachable", made.stderr.trim());
  if (!isTemporary) await story.say(`(Ids of the demo end in ${suffix}, because this store is yours.)`);
}

async function lookBack({ story, choice, signal }: Stage, { session, decision }: Act): Promise<void> {
  await story.step("What the store knows", "Each iteration ended in a head, a place to go back to or to fork from:");
  await story.run("sessions", "tree", session);
  const ends = ["step/done", "step/again", "step/failed"];
  const why = await use(choice, async (holdfast) => {
    const events = await holdfast.log.read(session, { after: decision.seq, types: ends, limit: 100 });
    return events.find(({ data }) => `${session}#${data.step}` === decision.id)?.seq ?? decision.seq;
  });
  await story.say("Why was the payment taken for done, or not? Every event knows its causes:");
  await story.run("trace", "--causes", `${session}#${why}`);
  const { causes } = await use(choice, (holdfast) => holdfast.causes(`${session}#${why}`));
  const isTraced = causes.some(({ type, data }) => type === "run/answered" && data.by === decision.by);
  await story.claim("the trace leads to who decided it", isTraced);
  await story.say("What did it cost? Calls that were known were not made, or paid for, again:");
  await story.run("cost", session);
  await story.say("And is it whole? The checker compares all rows with the log, and every hash:");
  const checked = await story.run("check", session);
  await story.claim("the checker finds nothing wrong after the crash", checked.code === EXIT.ok);
  if (signal.aborted) throw new HoldfastError("Aborted", "the demo was stopped");
}

async function damageCopy(
  { story, choice, directory }: Stage,
  { session, decision }: Act,
): Promise<Readonly<Record<string, unknown>> | null> {
  const file = await fileOf(choice.url);
  // Nothing is shown of what cannot be: a server's files are not ours to copy.
  if (file === undefined) return null;
  const damaged = path.join(directory, "damaged.db");
  const copy: StoreChoice = { ...choice, url: damaged, name: damaged };
  const offset = await tamper(file, copy, "by", decision.by);
  if (offset === undefined) {
    await story.claim("the answer was found in the file", false);
    return { changedSeq: decision.seq, offset: null, badSeq: null };
  }
  await story.say(
    `Last, somebody wants another name under that decision: in a copy of the file, byte ${formatCount(offset)} is changed.`,
  );
  const shown = await story.run("verify", session, "--store", damaged);
  const badSeq = await use(copy, async (holdfast) => {
    const report = await holdfast.log.verify(session);
    return report.ok ? null : report.badSeq;
  });
  const found = shown.code === EXIT.damage && badSeq === decision.seq;
  await story.claim(`verify names event ${decision.seq} and exits with ${EXIT.damage}`, found);
  return { changedSeq: decision.seq, offset, badSeq };
}

async function ending({ story, isTemporary }: Stage, { run }: Act, kept: string | null, ms: number): Promise<void> {
  const time = `${(ms / 1000).toFixed(1)} s`;
  await story.step(
    story.holds ? "That is all" : "Something does not hold",
    story.holds
      ? `${story.claims.length} claims checked in ${time}; all of them hold.`
      : `${story.claims.filter(({ holds }) => !holds).length} claims do not hold. Please report this.`,
  );
  if (kept === null) await story.say("The temporary store is gone again; --keep keeps it.");
  else if (isTemporary) await story.say(`The store is kept at ${kept}`);
  await story.title("Try next");
  if (isTemporary && kept !== null) await story.shell(`export HOLDFAST_STORE=${kept}`);
  await story.commands([
    ...(kept === null ? [] : ([[`runs show ${run}`, "the timeline of it all"]] as const)),
    ["init", "a store of your own"],
    ["worker --help", "run agents of yours"],
    ["runs --help", "what people can do about runs"],
    ["--help", "everything else"],
  ]);
}

async function use<T>(choice: StoreChoice, work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
  const holdfast = await openStore(choice);
  try {
    return await work(holdfast);
  } finally {
    await holdfast.close();
  }
}
