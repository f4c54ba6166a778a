// What a resumed session of rich.ts still has: the conversation, the task list, the memory of its sub-agent, the spilled
// output and the files before its edits. Asked of the real agent, by what it does.
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import type { Machine, Machines } from "./machine.ts";
import { call, promptOf, type RichSession, TASK } from "./rich.ts";
import { runTurn, type Sdk, type SdkMessage, sdkOptions } from "./sdk.ts";

export interface Fidelity {
  /** Markers of RICH_MARKERS that the model was sent. */
  readonly conversation: readonly string[];
  readonly tasks: boolean;
  /** The sub-agent answered from its own memory. */
  readonly subagent: boolean;
  /** The agent could read the end of the spilled output, in the default permission mode. */
  readonly toolResults: boolean;
  /** The edited file was put back, and the new one removed. */
  readonly rewind: boolean;
}

export const WHOLE: Fidelity = {
  conversation: ["RICH-1", "RICH-2", "RICH-3", "RICH-4"],
  tasks: true,
  subagent: true,
  toolResults: true,
  rewind: true,
};

/** Resumes on this machine, whose working directory holds the files as the session left them. */
export async function fidelityOf(
  sdk: Sdk,
  machines: Machines,
  machine: Machine,
  session: RichSession,
): Promise<Fidelity> {
  const ask = async (prompt: string, options: object = {}) => {
    const merged = { ...sdkOptions(machines, machine), resume: session.sessionId, ...options };
    return await runTurn(sdk.query({ prompt, options: merged }));
  };
  const recalled = textOf(await ask("And? [[recall RICH-\\d]]"));
  const tasks = await ask(`${call("ToolSearch", { query: "select:TaskList" })} ${call("TaskList", {})}`);
  const message = "What do you know? [[recall CHILD-\\d]]";
  const send = call("SendMessage", { to: session.subagent, summary: "a question", message });
  machines.api.clear();
  await ask(`${call("ToolSearch", { query: "select:SendMessage" })} ${send} [[say sent]]`);
  const childSaid = machines.api.log
    .map((request) => request.reply?.text ?? "")
    .find((text) => text.includes("CHILD-"));
  const spilled = call("Read", { file_path: session.spilled, offset: 30_000 });
  const read = await ask(spilled, { permissionMode: "default", allowDangerouslySkipPermissions: false });
  return {
    conversation: /found=(\[.*?\])/.test(recalled) ? JSON.parse(/found=(\[.*?\])/.exec(recalled)?.[1] ?? "[]") : [],
    tasks: JSON.stringify(tasks).includes(TASK),
    subagent: childSaid?.includes("CHILD-2") ?? false,
    toolResults: JSON.stringify(read).includes("RICH-2"),
    rewind: await canRewind(sdk, machines, machine, session),
  };
}

async function canRewind(sdk: Sdk, machines: Machines, machine: Machine, session: RichSession): Promise<boolean> {
  const options = { ...sdkOptions(machines, machine), resume: session.sessionId, enableFileCheckpointing: true };
  const rewound = Promise.withResolvers<void>();
  // The agent ends with its prompts, so they go on until it has done what is asked of it beside them.
  async function* prompts() {
    yield* promptOf("[[say rewinding]]", randomUUID());
    await rewound.promise;
  }
  const query = sdk.query({ prompt: prompts(), options });
  try {
    for await (const message of query) {
      if (message.type === "result") await query.rewindFiles(session.promptId).finally(rewound.resolve);
    }
  } finally {
    rewound.resolve();
    query.close();
  }
  return fs.readFileSync(session.edited, "utf8") === "before\n" && !fs.existsSync(session.created);
}

function textOf(messages: readonly SdkMessage[]): string {
  return messages.map((message) => message.result ?? "").join("\n");
}
