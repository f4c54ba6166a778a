// The facts of runs: their status, what they wait for, their signals, decisions and checkpoints.
import {
  type Attribute,
  facts,
  identity,
  instant,
  int,
  keyword,
  maybe,
  maybeTo,
  type Source,
  text,
  to,
  usd,
} from "./facts.ts";

const ofSession = (table: string): Source => ({
  table,
  entity: ["session_no", "seq"],
  unique: ["session_no", "seq"],
});

export const runAttributes = (): readonly Attribute[] => [
  ...facts(
    "run",
    // A deleted run has no agent, so there is no fact.
    { table: "runs", entity: ["id"], unique: ["id"], where: (a) => `${a}.session_no > 0` },
    {
      id: identity("run", ["id"], "id"),
      session: to("session", "session_no"),
      agent: to("agent", "agent_no"),
      "agent-version": text("agent_version"),
      parent: maybeTo("run", "parent"),
      status: keyword("status"),
      iteration: int("iteration"),
      epoch: int("epoch"),
      version: int("version"),
      owner: maybe(text("owner"), "owner"),
      "stop-reason": maybe(text("stop"), "stop"),
      priority: int("priority"),
      tokens: int("tokens"),
      "cost-usd": maybe(usd("cost_usd"), "cost_usd"),
      event: to("event", "session_no", "first_seq"),
      "wakes-at": maybe(instant("wake_at"), "wake_at"),
      "created-at": instant("created_at"),
      "updated-at": instant("updated_at"),
      "ended-at": maybe(instant("ended_at"), "ended_at"),
    },
  ),
  ...facts("signal", ofSession("signals"), {
    id: identity("signal", ["session_no", "seq"]),
    session: to("session", "session_no"),
    run: to("run", "run"),
    name: text("name"),
    event: to("event", "session_no", "seq"),
    taken: maybeTo("event", "session_no", "taken_seq"),
  }),
  ...facts("decision", ofSession("decisions"), {
    id: identity("decision", ["session_no", "seq"]),
    session: to("session", "session_no"),
    run: to("run", "run"),
    step: to("event", "session_no", "step_seq"),
    event: to("event", "session_no", "seq"),
    answered: maybeTo("event", "session_no", "answered_seq"),
  }),
  ...facts("checkpoint", ofSession("checkpoints"), {
    id: identity("checkpoint", ["session_no", "seq"]),
    session: to("session", "session_no"),
    agent: to("agent", "agent_no"),
    run: { ...to("run", "run"), absent: (a) => [`nullif(${a}.run, '')`] },
    iteration: int("iteration"),
    event: to("event", "session_no", "seq"),
  }),
];
