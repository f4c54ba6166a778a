// LoCoMo: long conversations of two people over many sessions, with questions and the turns that answer them
// (github.com/snap-research/locomo, data/locomo10.zip or data/locomo10.json; CC BY-NC, so it is never part of the repository).
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { folderWith } from "./data.ts";
import { readZip } from "./zip.ts";

export const FILES = ["locomo10.zip", "locomo10.json"];
export const FOUND = 10;

interface Turn {
  readonly id: string;
  readonly speaker: string;
  readonly text: string;
}

export interface Conversation {
  /** Each is a session, in order. */
  readonly sessions: readonly (readonly Turn[])[];
  /** Questions that have an answer, with the ids of the turns that have it. */
  readonly questions: readonly { readonly text: string; readonly evidence: readonly string[] }[];
}

interface RawTurn {
  readonly dia_id: string;
  readonly speaker: string;
  readonly text: string;
  /** What a shared picture shows. */
  readonly blip_caption?: string;
}

interface RawQuestion {
  readonly question: string;
  readonly category: number;
  readonly evidence: readonly string[];
}

/** Questions of this category have no answer. */
const UNANSWERABLE = 5;

export function readConversations(folder: string): readonly Conversation[] {
  return rawConversations(folder).map(({ turns, questions }) => {
    const sessions: Turn[][] = [];
    for (let number = 1; Array.isArray(turns[`session_${number}`]); number++) {
      const session = turns[`session_${number}`] as readonly RawTurn[];
      sessions.push(
        session.map(({ dia_id: id, speaker, text, blip_caption: caption }) => ({
          id,
          speaker,
          text: caption === undefined ? text : `${text}\n\n${caption}`,
        })),
      );
    }
    const known = new Set(sessions.flat().map(({ id }) => id));
    return {
      sessions,
      questions: questions
        .filter(({ category }) => category !== UNANSWERABLE)
        .map(({ question, evidence }) => {
          const named = evidence.flatMap((text) => text.match(/D\d+:\d+/g) ?? []);
          return { text: question, evidence: [...new Set(named)].filter((id) => known.has(id)) };
        })
        .filter(({ evidence }) => evidence.length > 0),
    };
  });
}

interface RawConversation {
  readonly turns: Readonly<Record<string, unknown>>;
  readonly questions: readonly RawQuestion[];
}

/** The archive has a file for each conversation, the JSON file all of them; the latter keeps the turns by themselves. */
function rawConversations(folder: string): readonly RawConversation[] {
  const zip = path.join(folder, "locomo10.zip");
  const parsed: readonly Record<string, unknown>[] = existsSync(zip)
    ? [...readZip(readFileSync(zip))]
        .filter(([name]) => name.endsWith(".json") && !name.includes("__MACOSX"))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, bytes]) => JSON.parse(bytes.toString("utf8")))
    : JSON.parse(readFileSync(path.join(folder, "locomo10.json"), "utf8"));
  return parsed.map((one) => ({
    turns: (one.conversation ?? one) as Readonly<Record<string, unknown>>,
    questions: one.qa as readonly RawQuestion[],
  }));
}

const AGENT = "companion";

/** A store with the sessions of a conversation; the ids of turns by the ids of messages. */
export async function fillStore(hf: Holdfast, { sessions }: Conversation): Promise<ReadonlyMap<string, string>> {
  const turnOf = new Map<string, string>();
  for (const [index, turns] of sessions.entries()) {
    const messages = await hf.history.appendMany(
      { session: `session-${index + 1}`, agent: AGENT },
      turns.map(({ speaker, text }) => ({ role: "user", content: text, metadata: { name: speaker } })),
    );
    for (const [at, { id }] of messages.entries()) turnOf.set(id, turns[at]?.id ?? "");
  }
  return turnOf;
}

/** The share of the turns that answer a question that are among the first ten hits, over all questions. */
async function measureRecall(
  conversations: readonly Conversation[],
  openStore: () => Promise<Holdfast>,
): Promise<{ readonly recall: number; readonly questions: number }> {
  let sum = 0;
  let questions = 0;
  for (const conversation of conversations) {
    const hf = await openStore();
    const turnOf = await fillStore(hf, conversation);
    for (const { text, evidence } of conversation.questions) {
      const { hits } = await hf.search(text, { limit: FOUND });
      sum += recallOf(
        evidence,
        hits.map(({ id }) => turnOf.get(id) ?? ""),
      );
      questions += 1;
    }
    await hf.close();
  }
  return { recall: sum / questions, questions };
}

/** The share of the evidence that was found. */
export function recallOf(evidence: readonly string[], found: readonly string[]): number {
  return evidence.filter((id) => found.includes(id)).length / evidence.length;
}

const METRIC = "locomo.text.r10";
/** BM25 over stemmed turns alone, measured once with k1 .9 and b .4. */
const BM25_RECALL = 0.622;

export const locomoText: Bench = {
  metrics: [METRIC],
  async run({ data, say }): Promise<readonly Result[]> {
    const folder = folderWith(data, FILES);
    if (folder === undefined) {
      say(`  ${METRIC} needs --data DIR with ${FILES.join(" or ")}`);
      return [];
    }
    const { recall, questions } = await measureRecall(readConversations(folder), () => open(":memory:"));
    return [
      {
        metric: METRIC,
        unit: "recall",
        value: recall,
        baseline: BM25_RECALL,
        ratio: recall / BM25_RECALL,
        targets: [{ of: "value", must: "atLeast", limit: 0.72 }],
        note: `of the turns that answer ${questions} questions, among the first ten hits; baseline: BM25 of turns alone`,
      },
    ];
  },
};
