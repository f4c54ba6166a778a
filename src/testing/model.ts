// A naive model of the store: plain maps and arrays, no SQL, nothing shared with the implementation. It says what
// sessions, history, state and tasks mean in the simplest way there is; property tests compare the real store with it,
// and the contract suites prove the model itself. It trusts its callers: it checks no types and has no limits.
import type { Holdfast } from "../contracts/holdfast.ts";
import type { SessionBasics } from "../contracts/sessions.ts";
import { modelHistory } from "./model/history.ts";
import { modelSessions } from "./model/sessions.ts";
import { modelState } from "./model/state.ts";
import { ModelStore } from "./model/store.ts";
import { modelTasks } from "./model/tasks.ts";

export interface Model extends Pick<Holdfast, "history" | "state" | "tasks"> {
  readonly sessions: SessionBasics;
}

export function naiveModel(clock: { now(): number }): Model {
  const store = new ModelStore(() => clock.now());
  return {
    sessions: modelSessions(store),
    history: modelHistory(store),
    state: modelState(store),
    tasks: modelTasks(store),
  };
}
