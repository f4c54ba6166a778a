// holdfast runs start: starts a run of an agent that a module exports.
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { RunResult } from "../../contracts/run-results.ts";
import type { RunWait } from "../../contracts/run-waits.ts";
import type { RunInput } from "../../contracts/runs.ts";
import { RUN_INPUT } from "../../contracts/verbs/runs.ts";
import { didYouMean } from "../../core/distance.ts";
import { AGENTS_HELP, ERASED_OPTION, loadAgents, readErased } from "../agents.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { readJson, readObject, readTextOperand } from "../input.ts";
import { describeReason, NEXT_WORKER } from "../runs.ts";
import { quoted, safe, truncate, wrap } from "../terminal.ts";
import { formatSpan } from "../units.ts";

const LEASE_MS = RUN_INPUT.fields.leaseMs;

export const start: Command = {
  name: "start",
  summary: "start a run of an agent",
  usage: [
    "runs start AGENT --module FILE --session ID [--input JSON] [--id ID] [--priority N] [--limits JSON] " +
      "[--lease SECONDS] [--wait | --now] [--erased RULE]",
  ],
  description:
    `Starts a run for a worker to claim. AGENT is the id of an agent in FILE. ${AGENTS_HELP} A missing session ` +
    "is created; a session with an unfinished run is refused (exit 4). --wait executes the run here until it has ended, prints " +
    "what it waits for meanwhile, and then its result; it exits with 1 if the run fails. --now does the same but returns as soon as " +
    "the run waits. With --id the command can be repeated: it continues the run where it was, or prints the run's result; the " +
    "same id with another agent, session or input is refused.",
  options: {
    module: { type: "text", value: "FILE", summary: "the module that exports the agent" },
    session: { type: "text", value: "ID", summary: "the session it works in" },
    input: { type: "text", value: "JSON", summary: "the run's input (default null); - reads it from standard input" },
    id: { type: "text", value: "ID", summary: "the run's id (default: a generated id)" },
    priority: { type: "number", summary: "runs with a higher priority start first (default 0)" },
    limits: { type: "text", value: "JSON", summary: 'such as \'{"iterations": 100, "costUsd": 5}\'' },
    lease: {
      type: "number",
      value: "SECONDS",
      min: 1,
      max: LEASE_MS.max / 1000,
      summary: `another machine takes over if the worker sends no heartbeat for this time (default ${LEASE_MS.fallback / 1000})`,
    },
    wait: { type: "flag", summary: "execute the run here until it has ended" },
    now: { type: "flag", summary: "execute the run here until it ends or waits" },
    erased: ERASED_OPTION,
  },
  operands: [{ name: "AGENT", need: "required" }],
  examples: [
    { command: "holdfast runs start support --module agents.ts --session chat-1", does: "a worker claims it" },
    {
      command: `holdfast runs start support --module agents.ts --session chat-2 --id mail-7 --input '{"mail": 7}' --wait`,
      does: "execute it here; the same command continues it after a crash",
    },
  ],
  next: NEXT_WORKER,
  run: async (context) => {
    const { args, output } = context;
    const file = args.text("module");
    if (file === undefined) throw new UsageError("name the module that exports the agent: --module FILE");
    const input = await readInput(context);
    const erased = readErased(args);
    const agent = findAgent(await loadAgents([file], context), args.operand(0), file);
    const holdfast = await context.open();
    if (args.flag("wait") && args.flag("now")) throw new UsageError("give --wait or --now, not both");
    const isHere = args.flag("wait") || args.flag("now");
    if (erased.erased !== undefined && !isHere)
      throw new UsageError("--erased needs --wait or --now; for a worker, pass --erased to holdfast worker");
    if (isHere) {
      const onWait = (wait: RunWait) => void output.note(describeWait(wait));
      const result = await holdfast.runs.execute(agent, input, { wait: args.flag("wait"), onWait, ...erased });
      await output.answer(result, () => resultLines(result, context));
      return result.status === "failed" || result.status === "cancelled" ? EXIT.error : undefined;
    }
    const run = await holdfast.runs.start(agent, input);
    const state = run.version === 1 && run.owner === null ? "begins as soon as a worker claims it" : `is ${run.status}`;
    await output.answer(run, () => wrap(safe`run ${run.id} in session ${run.session} ${state}`, output.width));
    return undefined;
  },
};

async function readInput({ args, io }: Context): Promise<RunInput> {
  const session = args.text("session");
  if (session === undefined) throw new UsageError("name the session it works in: --session ID");
  const [given, id, limits] = [args.text("input"), args.text("id"), args.text("limits")];
  const [priority, lease] = [args.number("priority"), args.number("lease")];
  return {
    session,
    ...(given === undefined ? {} : { input: readJson(await readTextOperand(given, io), "--input") }),
    ...(id === undefined ? {} : { id }),
    ...(priority === undefined ? {} : { priority }),
    ...(limits === undefined ? {} : { limits: readObject(limits, "--limits") }),
    ...(lease === undefined ? {} : { leaseMs: lease * 1000 }),
  };
}

function findAgent(agents: readonly AgentDefinition[], id: string, file: string): AgentDefinition {
  const found = agents.find((one) => one.id === id);
  if (found !== undefined) return found;
  const ids = agents.map((one) => one.id);
  throw new HoldfastError("NotFound", `${file} exports no agent "${id}"${didYouMean(id, ids)}`, {
    hint: `it exports ${ids.slice(0, 20).join(", ")}`,
    details: { kind: "agent", id, file },
  });
}

/** A terminal cuts longer values; --json prints all of them. */
const VALUE_CHARS = 400;

/** Says what the run waits for, how long at most, and which command continues it. */
function describeWait({ run, reason, owner, waitsFor, atMostMs }: RunWait): string {
  const most = atMostMs === null ? "" : `, at most ${formatSpan(atMostMs)}`;
  if (reason === "owner") {
    const where = owner?.pid == null ? "" : ` (process ${owner.pid} on ${owner.host})`;
    return safe`run ${run} has a worker: ${owner?.worker ?? "?"}${where}; waiting until it ends or its heartbeat stops${most}`;
  }
  if (reason === "paused")
    return safe`run ${run} is paused${most}; \`holdfast runs unpause ${quoted(run)}\` continues it now`;
  const [wait] = waitsFor;
  if (wait?.kind === "signal") {
    return safe`run ${run} waits for the signal ${wait.name}${most}: \`holdfast runs signal ${quoted(run)} ${quoted(wait.name)} JSON\``;
  }
  if (wait?.kind === "decision") return safe`run ${run} waits for a person: \`holdfast runs pending\``;
  return safe`run ${run} waits for run ${wait?.run ?? "?"}`;
}

function resultLines({ run, status, value }: RunResult, { output }: Context): string[] {
  const why = describeReason(run);
  const text = JSON.stringify(value);
  const isRetryable = status === "failed" || status === "cancelled";
  return [
    ...wrap(safe`run ${run.id} is ${status}${why === "" ? "" : `: ${why}`}`, output.width),
    ...(isRetryable
      ? [safe`${output.commandLine(`runs retry ${quoted(run.id)}`)} continues it from the step it ended at`]
      : []),
    ...(status === "completed" ? [safe`${output.interactive ? truncate(text, VALUE_CHARS) : text}`] : []),
  ];
}
