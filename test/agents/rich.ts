// A session of Claude Code that leaves a file of every kind behind: large output, an edit and a new file under file
// checkpoints, a sub-agent, a task list.
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import type { Machine, Machines } from "./machine.ts";
import { runTurn, type Sdk, type SdkMessage, sdkOptions } from "./sdk.ts";

export interface RichSession {
  readonly sessionId: string;
  /** The uuid of the prompt: `rewindFiles` goes back to before it. */
  readonly promptId: string;
  /** Was "before", is "after". */
  readonly edited: string;
  /** Made during the session. */
  readonly created: string;
  /** The sub-agent's id, as SendMessage wants it. */
  readonly subagent: string;
  /** The file with the large output. */
  readonly spilled: string;
  readonly messages: readonly SdkMessage[];
}

/** What a resumed session must still know: `[[recall RICH-\\d+]]` finds RICH-1 to RICH-4. */
export const RICH_MARKERS = ["RICH-1", "RICH-2", "RICH-3", "RICH-4"];
export const TASK = "Write the report";

export async function richSession(sdk: Sdk, machines: Machines, machine: Machine): Promise<RichSession> {
  const edited = path.join(machine.cwd, "edited.txt");
  const created = path.join(machine.cwd, "created.txt");
  fs.writeFileSync(edited, "before\n");
  const child = 'The child knows CHILD-1. [[tool Bash {"command":"echo CHILD-2"}]] [[say RICH-3 by the child]]';
  const steps = [
    call("Bash", { command: "seq 1 30000; echo RICH-2", description: "much output" }),
    call("Read", { file_path: edited }),
    call("Edit", { file_path: edited, old_string: "before", new_string: "after" }),
    call("Write", { file_path: created, content: "new\n" }),
    // In the background, its end would come at some moment of this turn or the next.
    call("Agent", { description: "child", subagent_type: "general-purpose", prompt: child, run_in_background: false }),
    call("ToolSearch", { query: "select:TaskCreate" }),
    call("TaskCreate", { subject: TASK, description: "in full" }),
    "[[think it over]] [[say RICH-4 is done]]",
  ];
  const promptId = randomUUID();
  const text = `The word is RICH-1. ${steps.join(" ")}`;
  const options = { ...sdkOptions(machines, machine), enableFileCheckpointing: true };
  const messages = await runTurn(sdk.query({ prompt: promptOf(text, promptId), options }));
  const result = messages.findLast((message) => message.type === "result");
  if (result?.subtype !== "success" || result.result !== "RICH-4 is done") {
    throw new Error(`the rich session ended with ${JSON.stringify(result)}`);
  }
  const sessionId = result.session_id ?? "";
  return { sessionId, promptId, edited, created, ...leftBy(machine, sessionId), messages };
}

/** A directive of the fake API. */
export function call(tool: string, input: object): string {
  return `[[tool ${tool} ${JSON.stringify(input)}]]`;
}

/** A prompt with an id of our own, as `rewindFiles` needs it. */
export async function* promptOf(text: string, uuid: string) {
  const message = { role: "user", content: text };
  yield { type: "user", uuid, session_id: "", parent_tool_use_id: null, message };
}

function leftBy(machine: Machine, sessionId: string): Pick<RichSession, "subagent" | "spilled"> {
  const projects = path.join(machine.home, ".claude", "projects");
  const names = fs.readdirSync(projects, { recursive: true, encoding: "utf8" });
  const ours = names.filter((name) => name.includes(sessionId));
  const subagent = ours.flatMap((name) => /\/agent-(\w+)\.jsonl$/.exec(name)?.[1] ?? []);
  const spilled = ours.filter((name) => name.includes("/tool-results/"));
  if (subagent[0] === undefined || spilled[0] === undefined)
    throw new Error(`the rich session left ${ours.join(", ")}`);
  return { subagent: subagent[0], spilled: path.join(projects, spilled[0]) };
}
