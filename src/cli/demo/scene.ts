// The conversation the demo keeps: an agent with a persona, a request, a tool call, an attachment, state and tasks.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { MessageInput } from "../../contracts/messages.ts";

export interface Scene {
  readonly session: string;
  readonly agent: string;
  /** The run of exactly one event, by which its bytes can be found in the file. */
  readonly run: string;
  /** That event's seq. */
  readonly runSeq: number;
  readonly messages: readonly string[];
}

const PLAN = `# Lisbon, three days

1. Alfama on foot, tram 28, fado in the evening.
2. Belém: the tower, the monastery, and the custard tarts.
3. Train to Sintra; back for dinner at the river.
`;

const REQUEST = "Plan three days in Lisbon for two, in May. Keep it under 900 euros.";
const ANSWER = "Flights are 212 euros. Here is the plan for the three days; shall I book the hotel?";

export async function play(holdfast: Holdfast, suffix: string): Promise<Scene> {
  const [session, agent, run] = [`trip${suffix}`, `planner${suffix}`, `find-flights${suffix}`];
  await holdfast.agents.create({ id: agent, name: "Trip planner" });
  await holdfast.agents.saveBlocks(agent, [
    { label: "persona", value: "You plan short trips. You ask before you spend money." },
  ]);
  const scope = { session, agent };
  await holdfast.history.append(scope, { role: "user", content: REQUEST });
  await holdfast.history.append(scope, {
    role: "assistant",
    content: [
      { type: "text", text: "Let me look for flights first." },
      { type: "tool_use", id: "call-1", name: "find_flights", input: { to: "LIS", month: "May", people: 2 } },
    ],
  });
  const result: MessageInput = {
    role: "tool",
    content: [{ type: "tool_result", toolUseId: "call-1", content: "cheapest: 212 EUR, 14 to 17 May" }],
  };
  const { seq: runSeq } = await holdfast.history.append(scope, result, { run });
  await holdfast.history.append(scope, {
    role: "assistant",
    content: [
      { type: "text", text: ANSWER },
      { type: "document", title: "lisbon.md", source: { data: Buffer.from(PLAN), mediaType: "text/markdown" } },
    ],
  });
  await holdfast.state.patch(session, { city: "Lisbon", budget: 900, spent: 212 });
  await planTasks(holdfast, session);
  return { session, agent, run, runSeq, messages: [REQUEST, ANSWER] };
}

async function planTasks(holdfast: Holdfast, session: string): Promise<void> {
  const board = await holdfast.tasks.createTaskList(session, ["find flights", "book the hotel", "plan the days"]);
  const [flights, hotel, days] = board.tasks;
  if (flights !== undefined) await finish(holdfast, board.id, flights.id, "212 euros");
  if (days !== undefined) await finish(holdfast, board.id, days.id, "see lisbon.md");
  if (hotel !== undefined) await holdfast.tasks.updateStatus(board.id, hotel.id, "blocked", "waits for a yes");
}

async function finish(holdfast: Holdfast, board: string, task: string, note: string): Promise<void> {
  await holdfast.tasks.updateStatus(board, task, "in_progress");
  await holdfast.tasks.updateStatus(board, task, "succeeded", note);
}

/** Whether what was said, attached and noted is there, exactly. */
export async function isWhole(holdfast: Holdfast, scene: Scene): Promise<boolean> {
  const messages = await holdfast.history.session(scene.session);
  const texts = messages.flatMap(({ content }) => content.flatMap((one) => (one.type === "text" ? [one.text] : [])));
  const attached = messages.flatMap(({ content }) =>
    content.flatMap((one) => (one.type === "document" ? [one.source] : [])),
  );
  const ref = attached[0]?.ref;
  if (ref === undefined || (await holdfast.blobs.resolveText(ref)) !== PLAN) return false;
  const state = await holdfast.state.get(scene.session);
  const board = await holdfast.tasks.getByConversation(scene.session);
  const isSaid = messages.length === 4 && scene.messages.every((text) => texts.includes(text));
  return isSaid && state.spent === 212 && board?.tasks.length === 3;
}
