// holdfast demo: kills an agent in the middle of a payment and lets another process continue, step by step. It checks
// what it claims: if a claim does not hold, it exits with 1.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command, Context } from "../command-line.ts";
import { Keyboard } from "../demo/keyboard.ts";
import { Narrator } from "../demo/narrator.ts";
import { canAsk } from "../demo/question.ts";
import type { DemoSetup } from "../demo/setup.ts";
import { runTakeover, type Takeover } from "../demo/takeover.ts";
import { changeOneByte, findStoreFile } from "../demo/tamper.ts";
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
    "Creates a store in a temporary directory, starts a process in which an agent with a scripted model pays bills, kills it " +
    "with -9 in the middle of a payment, and lets a second process take over. The second process does not guess whether the " +
    "payment happened: it asks you and continues with your answer. Then the demo shows what the store recorded, checks it, " +
    "and changes one byte in a copy of the file to show that the check finds it. It needs no network, model or key, leaves " +
    "nothing behind and takes less than 20 seconds. With --store it uses your store, under new ids, and leaves its sessions there.",
  options: {
    keep: { type: "flag", summary: "keep the temporary directory, so that you can inspect it" },
    yes: {
      type: "flag",
      short: "y",
      summary: "do not ask: answer that the payment happened, as the bank's records say",
    },
  },
  globalOptionHelp: { store: "your store instead of a temporary one; the demo ignores $HOLDFAST_STORE" },
  operands: [],
  examples: [
    { command: "holdfast demo", does: "the whole demo; it asks you one question" },
    { command: "holdfast demo --yes --keep", does: "without the question, and keep the store afterwards" },
    { command: "holdfast demo --json", does: "only the checked claims, for a program" },
  ],
  next: "holdfast init creates a store of your own; holdfast worker --help explains how to run your own agents.",
  run: async (context) => {
    const started = performance.now();
    const directory = await mkdtemp(path.join(tmpdir(), "holdfast-demo-"));
    const stop = interruption(context.io);
    const keep = context.args.flag("keep");
    const keyboard = new Keyboard(context.io.stdin);
    try {
      const setup = { ...makeSetup(context, directory), keyboard, signal: stop.signal };
      if (canAsk(context)) keyboard.open();
      const result = await runDemo(setup, context);
      // The person's time to answer does not count as the demo's.
      const ms = Math.round(performance.now() - started) - result.takeover.decision.thoughtMs;
      const { claims, allHold } = setup.narrator;
      const kept = setup.isTemporary && !keep ? null : setup.choice.name;
      await printEnding(setup, result.takeover, kept, ms);
      if (context.output.json) {
        const { takeover, damage } = result;
        await context.output.document({ ok: allHold, store: kept, ms, claims, ...takeover, damage });
      }
      return allHold ? EXIT.ok : EXIT.error;
    } finally {
      keyboard.close();
      stop.release();
      if (!keep) await rm(directory, { recursive: true, force: true });
    }
  },
};

function makeSetup(context: Context, directory: string): Omit<DemoSetup, "keyboard" | "signal"> {
  const { args, io } = context;
  // The demo ignores $HOLDFAST_STORE: it writes to the user's store only when --store names it.
  const named = args.text("store");
  if (named === ":memory:") throw new UsageError("the demo needs a store that outlives a process, not :memory:");
  const isTemporary = named === undefined;
  // It also ignores $HOLDFAST_BLOB_DIR, unless --store names a store.
  const env = isTemporary ? {} : io.env;
  const choice = chooseStore(named ?? path.join(directory, "agents.db"), args.text("blob-dir"), { ...io, env });
  const suffix = isTemporary ? "" : `-${path.basename(directory).slice(-6)}`;
  const book = path.join(directory, "bank.jsonl");
  return { narrator: new Narrator(context, choice), choice, directory, book, isTemporary, suffix };
}

interface DemoResult {
  readonly takeover: Takeover;
  readonly damage: Readonly<Record<string, unknown>> | null;
}

async function runDemo(setup: DemoSetup, context: Context): Promise<DemoResult> {
  const { narrator, choice, suffix } = setup;
  const session = `bills${suffix}`;
  await narrator.title("Holdfast demo: an agent that survives");
  await makeStore(setup);
  const takeover = await withStore(choice, (holdfast) => runTakeover(setup, context, holdfast, session));
  await showWhatIsStored(setup, takeover);
  return { takeover, damage: await verifyDamagedCopy(setup, takeover) };
}

async function makeStore({ narrator, choice, isTemporary, suffix }: DemoSetup): Promise<void> {
  const isServer = /^postgres/i.test(choice.url);
  await narrator.step("A store", isServer ? "This one lives in PostgreSQL." : "One file. There is no server to start.");
  await narrator.shell(`export HOLDFAST_STORE=${choice.name}`);
  const made = await narrator.run("init");
  if (made.code !== EXIT.ok) throw new HoldfastError("StoreUnreachable", made.stderr.trim());
  if (!isTemporary) await narrator.say(`(Ids of the demo end in ${suffix}, because it writes to your own store.)`);
}

async function showWhatIsStored(
  { narrator, choice, signal }: DemoSetup,
  { session, decision }: Takeover,
): Promise<void> {
  await narrator.step("What the store knows", "Each iteration ended in a head, a place to go back to or to fork from:");
  await narrator.run("sessions", "tree", session);
  const ends = ["step/done", "step/again", "step/failed"];
  const why = await withStore(choice, async (holdfast) => {
    const events = await holdfast.log.read(session, { after: decision.seq, types: ends, limit: 100 });
    return events.find(({ data }) => `${session}#${data.step}` === decision.id)?.seq ?? decision.seq;
  });
  await narrator.say("Why does the store record that the payment happened, or not? Every event names its causes:");
  await narrator.run("trace", "--causes", `${session}#${why}`);
  const { causes } = await withStore(choice, (holdfast) => holdfast.causes(`${session}#${why}`));
  const isTraced = causes.some(({ type, data }) => type === "run/answered" && data.by === decision.by);
  await narrator.claim("the trace leads to the person's decision", isTraced);
  await narrator.say(
    "What did it cost? The second process did not repeat, or pay for, calls that the log already had:",
  );
  await narrator.run("cost", session);
  await narrator.say("Is the store consistent? The checker compares all rows with the log, and every hash:");
  const checked = await narrator.run("check", session);
  await narrator.claim("the checker finds nothing wrong after the crash", checked.code === EXIT.ok);
  if (signal.aborted) throw new HoldfastError("Aborted", "the demo was stopped");
}

async function verifyDamagedCopy(
  { narrator, choice, directory }: DemoSetup,
  { session, decision }: Takeover,
): Promise<Readonly<Record<string, unknown>> | null> {
  const file = await findStoreFile(choice.url);
  // The demo cannot copy a server's files, so it skips this part.
  if (file === undefined) return null;
  const damaged = path.join(directory, "damaged.db");
  const copy: StoreChoice = { ...choice, url: damaged, name: damaged };
  const offset = await changeOneByte(file, copy, "by", decision.by);
  if (offset === undefined) {
    await narrator.claim("the answer was found in the file", false);
    return { changedSeq: decision.seq, offset: null, badSeq: null };
  }
  await narrator.say(
    `Last, the demo forges the name under that decision: in a copy of the file it changes byte ${formatCount(offset)}.`,
  );
  const verified = await narrator.run("verify", session, "--store", damaged);
  const badSeq = await withStore(copy, async (holdfast) => {
    const report = await holdfast.log.verify(session);
    return report.ok ? null : report.badSeq;
  });
  const found = verified.code === EXIT.damage && badSeq === decision.seq;
  await narrator.claim(`verify names event ${decision.seq} and exits with ${EXIT.damage}`, found);
  return { changedSeq: decision.seq, offset, badSeq };
}

async function printEnding(
  { narrator, isTemporary }: DemoSetup,
  { run }: Takeover,
  kept: string | null,
  ms: number,
): Promise<void> {
  const time = `${(ms / 1000).toFixed(1)} s`;
  await narrator.step(
    narrator.allHold ? "Summary" : "A claim does not hold",
    narrator.allHold
      ? `${narrator.claims.length} claims checked in ${time}; all of them hold.`
      : `${narrator.claims.filter(({ holds }) => !holds).length} claims do not hold. Please report this.`,
  );
  if (kept === null) await narrator.say("The demo deleted its temporary store; --keep keeps it.");
  else if (isTemporary) await narrator.say(`The store is kept at ${kept}`);
  await narrator.title("Try next");
  if (isTemporary && kept !== null) await narrator.shell(`export HOLDFAST_STORE=${kept}`);
  await narrator.commands([
    ...(kept === null ? [] : ([[`runs show ${run}`, "the timeline of the run"]] as const)),
    ["init", "a store of your own"],
    ["worker --help", "run your own agents"],
    ["runs --help", "what people can do about runs"],
    ["--help", "everything else"],
  ]);
}

async function withStore<T>(choice: StoreChoice, work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
  const holdfast = await openStore(choice);
  try {
    return await work(holdfast);
  } finally {
    await holdfast.close();
  }
}
