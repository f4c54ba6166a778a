// A conversation in Holdfast: two appends a turn; with `heads`, each turn also ends in a head, which can be forked and
// rewound to as a checkpoint can.
import { programSetting } from "./load.ts";
import { report, type TalkSetting, talk } from "./talk.ts";

export interface HoldfastTalkSetting extends TalkSetting {
  readonly entry: string;
  readonly store: string;
  readonly heads: boolean;
}

const { entry, store, heads, turns }: HoldfastTalkSetting = programSetting();
const { open }: typeof import("../../../src/index.ts") = await import(entry);
const hf = await open(store);
const scope = { session: "talk", agent: "bench" };
await hf.sessions.create({ id: scope.session });

const result = await talk(turns, async (question, answer) => {
  const turn = heads ? await hf.turns.begin(scope.session, { agent: scope.agent }) : null;
  await hf.history.append(scope, { role: "user", content: question });
  await hf.history.append(scope, { role: "assistant", content: answer });
  if (turn !== null) await hf.turns.finish(turn.id, { final: answer });
});
await hf.close();
report(result);
