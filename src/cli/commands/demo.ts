// holdfast demo: the main job on the embedded default, told step by step. It really checks what it claims: a claim that
// does not hold makes it exit with 1.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command, Context } from "../command.ts";
import { type Killed, killWriter, type Survivors, survivors } from "../demo/crash.ts";
import { isWhole, play, type Scene } from "../demo/scene.ts";
import { Story } from "../demo/story.ts";
import { fileOf, tamper } from "../demo/tamper.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { interruption } from "../io.ts";
import { chooseStore, openStore, type StoreChoice } from "../store.ts";
import { formatCount } from "../units.ts";

export const demo: Command = {
  name: "demo",
  summary: "watch a store survive kill -9, in a few seconds",
  usage: ["demo [--store URL] [--keep]"],
  description:
    "Makes a store in a temporary directory, keeps a small conversation in it, starts a process that writes as fast " +
    "as it can, kills that process with -9, and checks that everything acknowledged is there. Then it changes one " +
    "byte in a copy of the file and checks that verify names the place. No network, no model, nothing left behind. " +
    "With --store it uses that store of yours instead, under ids of its own, and leaves there what it wrote.",
  options: {
    keep: { type: "flag", summary: "keep the temporary directory, to look around in it" },
  },
  means: { store: "a store of yours instead of a temporary one; $HOLDFAST_STORE is not looked at" },
  operands: [],
  examples: [
    { command: "holdfast demo", does: "the whole story" },
    { command: "holdfast demo --keep", does: "and keep the store afterwards" },
    { command: "holdfast demo --json", does: "only what was checked, for a program" },
  ],
  next: "holdfast init creates a store of your own.",
  run: async (context) => {
    const started = performance.now();
    const directory = await mkdtemp(path.join(tmpdir(), "holdfast-demo-"));
    const stop = interruption(context.io);
    const keep = context.args.flag("keep");
    try {
      const stage = makeStage(context, directory, stop.signal);
      const told = await tell(stage);
      const ms = Math.round(performance.now() - started);
      const { claims, holds } = stage.story;
      const kept = stage.isTemporary && !keep ? null : stage.choice.name;
      await ending(stage, kept, ms);
      if (context.output.json) await context.output.document({ ok: holds, store: kept, ms, claims, ...told });
      return holds ? EXIT.ok : EXIT.error;
    } finally {
      stop.release();
      if (!keep) await rm(directory, { recursive: true, force: true });
    }
  },
};

interface Stage {
  readonly story: Story;
  readonly choice: StoreChoice;
  readonly directory: string;
  readonly isTemporary: boolean;
  /** Ids of a store that is not ours must not collide with what is there. */
  readonly suffix: string;
  readonly signal: AbortSignal;
}

function makeStage(context: Context, directory: string, signal: AbortSignal): Stage {
  const { args, io } = context;
  // $HOLDFAST_STORE is not meant: the demo writes to a store of yours only when you name it here.
  const named = args.text("store");
  if (named === ":memory:") throw new UsageError("the demo needs a store that outlives a process, not :memory:");
  const isTemporary = named === undefined;
  // Nor is $HOLDFAST_BLOB_DIR, unless the store is yours too.
  const env = isTemporary ? {} : io.env;
  const choice = chooseStore(named ?? path.join(directory, "agents.db"), args.text("blob-dir"), { ...io, env });
  const suffix = isTemporary ? "" : `-${path.basename(directory).slice(-6)}`;
  return { story: new Story(context, choice), choice, directory, isTemporary, suffix, signal };
}

async function tell(stage: Stage): Promise<Record<string, unknown>> {
  await stage.story.title("Holdfast demo: agent state that survives");
  const scene = await firstDay(stage);
  const { killed, after } = await crash(stage);
  await goOn(stage);
  const damage = await damageCopy(stage, scene);
  return {
    crash: { acknowledged: killed.acknowledged.size, signal: killed.signal, pid: killed.pid, ms: killed.ms, ...after },
    damage,
  };
}

async function firstDay({ story, choice, suffix, signal, isTemporary }: Stage): Promise<Scene> {
  const isServer = /^postgres/i.test(choice.url);
  const kind = isServer
    ? "This one lives in PostgreSQL."
    : "One file, with -wal and -shm beside it while it is open. There is no server to start.";
  await story.step("A store", kind);
  await story.shell(`export HOLDFAST_STORE=${choice.name}`);
  const made = await story.run("init");
  if (made.code !== EXIT.ok) throw new HoldfastError("StoreUnreachable", made.stderr.trim());
  proceed(signal);
  const scene = await use(choice, (holdfast) => play(holdfast, suffix));
  await story.step("A conversation", "An agent plans a trip. This is what its program stored, read back by the CLI:");
  await story.run("messages", scene.session);
  await story.say("Its tasks and its state are in the same store, and every change is in the same log:");
  await story.run("tasks", scene.session);
  await story.run("state", scene.session);
  const whole = await use(choice, (holdfast) => isWhole(holdfast, scene));
  await story.claim("messages, attachment, state and tasks read back exactly", whole);
  if (!isTemporary) await story.say(`(Its ids end in ${suffix}, because this store is yours.)`);
  proceed(signal);
  return scene;
}

async function crash({ story, choice, suffix, signal }: Stage): Promise<{ killed: Killed; after: Survivors }> {
  const session = `crash${suffix}`;
  await story.step(
    "A crash",
    "Now another process appends messages as fast as it can, and reports each one that the store has acknowledged. " +
      "In the middle of that, it is killed: kill -9, no warning, no clean-up.",
  );
  const killed = await killWriter(choice, session);
  proceed(signal);
  const promised = formatCount(killed.acknowledged.size);
  await story.say(`Process ${killed.pid} is dead (${killed.signal}). It had been promised ${promised} messages.`);
  const after = await use(choice, (holdfast) => survivors(holdfast, session, killed));
  const extra = after.stored - killed.acknowledged.size;
  await story.say(
    `Reopened, the store holds ${formatCount(after.stored)}: ` +
      (extra > 0 ? `those, and ${extra} it had finished but could no longer report.` : "exactly those."),
  );
  await story.claim(`all ${promised} acknowledged messages are there; ${after.lost} lost`, after.lost === 0);
  await story.claim(`none is half-written; ${after.broken} broken`, after.broken === 0);
  await story.claim("the log has no gap and no message twice", after.contiguous);
  return { killed, after };
}

async function goOn({ story, choice, suffix, signal }: Stage): Promise<void> {
  const session = `crash${suffix}`;
  await story.step(
    "Is it whole?",
    "Every event's hash covers the event and all before it. Verify computes them again:",
  );
  const verified = await story.run("verify", ...(suffix === "" ? [] : [session, `trip${suffix}`]));
  await story.claim("the hash chains verify after the crash", verified.code === EXIT.ok);
  const goesOn = await use(choice, async (holdfast) => {
    const before = (await holdfast.log.anchor(session)).seq;
    const message = { role: "user", content: "Are you still there?" } as const;
    return (await holdfast.history.append({ session, agent: "writer" }, message)).seq === before + 1;
  });
  await story.claim("the session goes on where it stopped", goesOn);
  proceed(signal);
}

async function damageCopy(stage: Stage, scene: Scene): Promise<Record<string, unknown> | null> {
  const { story, choice, directory } = stage;
  await story.step(
    "A changed byte",
    "Last, a copy of the file gets one byte of one event changed, below the database.",
  );
  const file = await fileOf(choice.url);
  if (file === undefined) {
    await story.say("(Left out: this store is not a file that can be copied.)");
    return null;
  }
  const damaged = path.join(directory, "damaged.db");
  const copy: StoreChoice = { ...choice, url: damaged, name: damaged };
  const offset = await tamper(file, copy, scene.run);
  if (offset === undefined) {
    await story.claim("the event to change was found in the file", false);
    return { changedSeq: scene.runSeq, offset: null, badSeq: null };
  }
  await story.say(`Byte ${formatCount(offset)}, in event ${scene.runSeq} of session ${scene.session}, is now another.`);
  const shown = await story.run("verify", scene.session, "--store", damaged);
  const badSeq = await use(copy, async (holdfast) => {
    const report = await holdfast.log.verify(scene.session);
    return report.ok ? null : report.badSeq;
  });
  const found = shown.code === EXIT.damage && badSeq === scene.runSeq;
  await story.claim(`verify names event ${scene.runSeq} and exits with ${EXIT.damage}`, found);
  const original = await use(choice, (holdfast) => holdfast.log.verify(scene.session));
  await story.claim("the original is untouched and verifies", original.ok);
  return { changedSeq: scene.runSeq, offset, badSeq };
}

async function ending({ story, isTemporary }: Stage, kept: string | null, ms: number): Promise<void> {
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
    ["init", "a store of your own"],
    ["messages add chat-1 --agent helper 'hi'", "write to it"],
    ["log chat-1 --follow", "watch it live"],
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

function proceed(signal: AbortSignal): void {
  if (signal.aborted) throw new HoldfastError("Aborted", "the demo was stopped");
}
