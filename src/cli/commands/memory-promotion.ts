// holdfast memory promote, pin, unpin: which memories of an agent are lines of its core blocks.
import type { Memories } from "../../contracts/memory.ts";
import type { PromotionReport, PromotionScope } from "../../contracts/promotion.ts";
import type { Arguments, Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { needMemory, readScope, SCOPE_OPTIONS } from "../memories.ts";
import type { Output } from "../output.ts";
import { type Column, table } from "../table.ts";
import { safe } from "../terminal.ts";
import { plural } from "../units.ts";

const AGENT_OPTIONS = { ...SCOPE_OPTIONS, agent: { ...SCOPE_OPTIONS.agent, summary: "the agent" } } as const;

const AGENT_USAGE = "--agent A [--namespace N]";

function readAgent(args: Arguments): PromotionScope {
  const { agent, ...scope } = readScope(args);
  if (agent !== undefined) return { ...scope, agent };
  throw new UsageError("core blocks belong to an agent; give --agent ID");
}

interface Move {
  readonly change: string;
  readonly block: string;
  readonly memory: string;
  readonly reason: string;
}

const COLUMNS: readonly Column<Move>[] = [
  { title: "CHANGE", cell: ({ change }) => change },
  { title: "BLOCK", cell: ({ block }) => block },
  {
    title: "MEMORY",
    cell: ({ memory }) => memory,
    shrink: 1,
    keep: true,
    colour: (text, _, style) => style.name(text),
  },
  { title: "WHY", cell: ({ reason }) => reason, shrink: 2 },
];

const REASONS = {
  score: "others have a better score, or its own is too low",
  room: "the block is full",
  ended: "it does not hold any more",
  undone: "its promotion was taken back",
  edited: "its line was changed or removed",
} as const;

export const promote: Command = {
  name: "promote",
  summary: "put an agent's best memories into its core blocks",
  usage: [`memory promote ${AGENT_USAGE} [--dry-run | --undo]`],
  description:
    "Makes lines in the blocks facts, goals and scratch, if the agent has them, of its memories that are important, recent and " +
    "confirmed, as many as fit, and removes the lines of those that do not belong there any more. Lines of the agent stay. --undo " +
    "takes the last promotion back.",
  options: {
    ...AGENT_OPTIONS,
    "dry-run": { type: "flag", short: "n", summary: "show what would change, change nothing" },
    undo: { type: "flag", summary: "take the last promotion back" },
  },
  operands: [],
  examples: [
    { command: "holdfast memory promote --agent helper --dry-run", does: "what would change?" },
    { command: "holdfast memory promote --agent helper --undo", does: "as it was before the last promotion" },
  ],
  next: "holdfast agents blocks ID prints the blocks; holdfast memory why ID --agent A explains one memory.",
  run: async (context) => {
    const { args, output } = context;
    const scope = readAgent(args);
    const [dryRun, undo] = [args.flag("dry-run"), args.flag("undo")];
    if (dryRun && undo) throw new UsageError("--undo has no dry run");
    const { memory } = await context.open();
    const report = await (undo ? memory.undoPromotion(scope) : memory.promote({ ...scope, dryRun }));
    await output.answer({ ...report, dryRun }, () => reportLines(report, dryRun, context));
    const { promoted, demoted, kept } = report;
    if (!undo && promoted.length + demoted.length + kept === 0) await noteReason(memory, scope, output);
    return undefined;
  },
};

/** Why none of the memories is in a block: what is said of the newest one. */
async function noteReason(memory: Memories, scope: PromotionScope, output: Output): Promise<void> {
  const { items } = await memory.list({ ...scope, limit: 1 });
  const [newest] = items;
  if (newest === undefined) {
    await output.note("the agent has no memories in this scope; `holdfast memory add TEXT --agent A` saves one");
    return;
  }
  const { reason } = await memory.explainPromotion(newest.id, scope);
  const isWithoutBlock = reason.startsWith("The agent has no block");
  const advice = isWithoutBlock
    ? 'Programs make blocks: `hf.agents.saveBlocks(agent, [{ label: "facts", value: "" }])`'
    : "`holdfast memory why ID --agent A` explains each memory";
  await output.note(safe`${newest.id}: ${reason} ${advice}`);
}

function reportLines(report: PromotionReport, dryRun: boolean, { output }: Context): string[] {
  const { promoted, demoted, kept, blocks } = report;
  const moves: readonly Move[] = [
    ...promoted.map((one) => ({ ...one, change: "promoted", reason: `score ${one.score.toFixed(2)}` })),
    ...demoted.map((one) => ({ ...one, change: "demoted", reason: REASONS[one.reason] })),
  ];
  const changed = blocks.map(({ label, version }) => `${label} (version ${version})`).join(", ");
  return [
    ...(dryRun ? ["dry run: nothing was changed"] : []),
    ...(moves.length === 0 ? ["nothing to promote or demote"] : table(COLUMNS, moves, output.frame)),
    ...(dryRun || changed === "" ? [] : [`changed ${changed}`]),
    `${plural(kept, "memory", "memories")} in the blocks`,
  ];
}

/** pin and unpin differ in one call. */
function pinCommand(name: "pin" | "unpin", help: Pick<Command, "summary" | "description"> & { does: string }): Command {
  const { does, ...texts } = help;
  return {
    name,
    ...texts,
    usage: [`memory ${name} ID ${AGENT_USAGE}`],
    options: AGENT_OPTIONS,
    operands: [{ name: "ID", need: "required" }],
    examples: [{ command: `holdfast memory ${name} mem_x7 --agent helper`, does }],
    next: "holdfast memory promote --agent A changes the blocks.",
    run: async ({ args, output, open }) => {
      const scope = readAgent(args);
      const holdfast = await open();
      const { id } = await needMemory(holdfast, args.operand(0), scope);
      const changed = await holdfast.memory[name](id, scope);
      await output.answer({ memory: id, pinned: name === "pin", changed }, () => [
        changed
          ? safe`${name === "pin" ? "pinned" : "unpinned"} ${id}`
          : safe`${id} is ${name === "pin" ? "" : "not "}pinned${name === "pin" ? " already" : ""}`,
      ]);
      return undefined;
    },
  };
}

export const pin: Command = pinCommand("pin", {
  summary: "keep a memory in its core block",
  description:
    "Pins a memory: the next promotion puts it into its block before all others, and it stays there as long as it holds.",
  does: "before all others",
});

export const unpin: Command = pinCommand("unpin", {
  summary: "let the score decide again about a memory",
  description: "Unpins a memory: the next promotion keeps it in its block only if its score is high enough.",
  does: "its score decides again",
});
