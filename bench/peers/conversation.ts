// A conversation of 500 turns, beside LangGraph's checkpointers: its size on disk, and the time of a turn at its end.
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import * as path from "node:path";
import type { SharedServer } from "../foundation/postgres.ts";
import { percentile } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { newDatabase } from "./contenders.ts";
import { runProgram } from "./program.ts";
import type { Talk } from "./programs/talk.ts";

const TURNS = 500;
const LAST = 50;
const BYTES = "peers.conversation.bytes";
const TURN = "peers.conversation.turn";

interface ConversationCase {
  readonly engine: "sqlite" | "postgres";
  readonly program: "talk-holdfast" | "talk-langgraph";
  /** The contender on the same engine with which this one is compared. */
  readonly against: string | null;
  readonly options: Readonly<Record<string, boolean>>;
  readonly note: string;
}

function casesOn(engine: "sqlite" | "postgres"): Record<string, ConversationCase> {
  const ours = `holdfast-${engine}`;
  const holdfast = { engine, program: "talk-holdfast" } as const;
  const langgraph = { engine, program: "talk-langgraph", against: `${ours}-heads` } as const;
  const saver = engine === "sqlite" ? "SqliteSaver" : "PostgresSaver";
  return {
    [ours]: { ...holdfast, against: null, options: { heads: false }, note: "two appended messages a turn" },
    [`${ours}-heads`]: {
      ...holdfast,
      against: ours,
      options: { heads: true },
      note: "the same with a head a turn, which can be forked and rewound to as a checkpoint can",
    },
    [`langgraph-${engine}`]: {
      ...langgraph,
      options: { delta: false },
      note: `${saver}, a graph of one node, one invocation a turn; baseline: Holdfast with a head a turn`,
    },
  };
}

/** Only on SQLite: on PostgreSQL a turn reads all earlier writes, and the bench would take several times as long. */
const DELTA: ConversationCase = {
  engine: "sqlite",
  program: "talk-langgraph",
  against: "holdfast-sqlite-heads",
  options: { delta: true },
  note: "SqliteSaver with the messages in a delta channel, which LangGraph calls beta",
};

const CASES: Readonly<Record<string, ConversationCase>> = {
  ...casesOn("sqlite"),
  "langgraph-sqlite-delta": DELTA,
  ...casesOn("postgres"),
};
const NAMES = Object.keys(CASES);

interface ConversationFigures {
  readonly bytesPerByte: number;
  readonly turnMs: number;
}

async function measureConversation(
  name: string,
  one: ConversationCase,
  setting: Setting,
  entry: string,
  server: SharedServer,
): Promise<ConversationFigures> {
  const base = { turns: TURNS, entry, ...one.options };
  const { folder, say } = setting;
  const figures = (talked: Talk, bytes: number): ConversationFigures => ({
    bytesPerByte: bytes / talked.textBytes,
    turnMs: percentile(talked.turnMs.slice(-LAST), 0.5),
  });
  if (one.engine === "sqlite") {
    const store = path.join(folder, `${name}-${randomBytes(4).toString("hex")}.db`);
    const talked = await runProgram<Talk>(one.program, { ...base, store }, folder);
    return figures(talked, statSync(store).size);
  }
  const database = await newDatabase(await server.url(say));
  try {
    const talked = await runProgram<Talk>(one.program, { ...base, store: database.url }, folder);
    return figures(talked, await database.size());
  } finally {
    await database.drop();
  }
}

function toResult(metric: string, unit: string, name: string, value: (name: string) => number): Result {
  const { against, note } = CASES[name] ?? { against: null, note: "" };
  const baseline = against === null ? Number.NaN : value(against);
  return { metric: `${metric}.${name}`, value: value(name), unit, baseline, ratio: value(name) / baseline, note };
}

export function conversation(entry: () => string, server: SharedServer): Bench {
  return {
    metrics: [BYTES, TURN].flatMap((metric) => NAMES.map((name) => `${metric}.${name}`)),
    async run(setting) {
      const measured = new Map<string, ConversationFigures>();
      for (const [name, one] of Object.entries(CASES)) {
        if (!setting.isSelected(`${BYTES}.${name}`) && !setting.isSelected(`${TURN}.${name}`)) continue;
        try {
          const figures = await measureConversation(name, one, setting, entry(), server);
          measured.set(name, figures);
          setting.say(`  ${name}: ${figures.bytesPerByte.toFixed(2)} B/B, ${figures.turnMs.toFixed(1)} ms`);
        } catch (error) {
          setting.say(`  ${name} is left out: ${error instanceof Error ? error.message : error}`);
        }
      }
      const names = [...measured.keys()];
      return [
        ...names.map((name) => toResult(BYTES, "B/B", name, (one) => measured.get(one)?.bytesPerByte ?? Number.NaN)),
        ...names.map((name) => toResult(TURN, "ms", name, (one) => measured.get(one)?.turnMs ?? Number.NaN)),
      ];
    },
  };
}
