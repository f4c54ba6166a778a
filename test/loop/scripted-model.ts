// A store on each engine, and what the tests of the tool loop look at: transcripts, models that follow a script.
import type { ChatModel, ChatReply, ChatRequest } from "../../src/contracts/chat.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { ContentBlock } from "../../src/contracts/messages.ts";
import type { ModelCall } from "../../src/contracts/models.ts";
import { open } from "../../src/open.ts";
import type { Engine } from "../engines.ts";

export async function withStore(engine: Engine, work: (hf: Holdfast) => Promise<void>): Promise<void> {
  const ground = await engine.fresh();
  const hf = await open(ground.url);
  try {
    await work(hf);
  } finally {
    await hf.close();
    await ground.end();
  }
}

/** Every message as its role and blocks, in short, without what only its provider understands. */
export async function transcript(hf: Holdfast, session: string): Promise<readonly string[]> {
  const messages = await hf.history.session(session);
  return messages.map(({ role, content }) => {
    const shown = content.filter(({ type }) => type !== "opaque" && type !== "thinking");
    return `${role}: ${shown.map(short).join(" | ")}`;
  });
}

function short(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `${block.name}(${JSON.stringify(block.input)})`;
    case "tool_result": {
      const text = typeof block.content === "string" ? block.content : block.content.map(short).join(" + ");
      return `${block.isError === true ? "!" : "="} ${text}`;
    }
    default:
      return block.type;
  }
}

export interface ScriptedModel extends ChatModel {
  readonly requests: ChatRequest[];
}

export type Answer =
  | readonly ChatReply["content"][number][]
  | string
  | Error
  | ((request: ChatRequest, call: ModelCall) => ChatReply);

/** Answers one after the other; the last one again and again. */
export function scripted(...answers: readonly Answer[]): ScriptedModel {
  const requests: ChatRequest[] = [];
  return {
    provider: "scripted",
    model: "script",
    retry: { attempts: 3, backoffMs: 1 },
    requests,
    async generate(request, call) {
      const answer = answers[Math.min(requests.length, answers.length - 1)] ?? "";
      requests.push(request);
      if (answer instanceof Error) throw answer;
      if (typeof answer === "function") return answer(request, call);
      const content: readonly ChatReply["content"][number][] =
        typeof answer === "string" ? [{ type: "text", text: answer }] : answer;
      const finish = content.some(({ type }) => type === "tool_use") ? "tools" : "stop";
      return { content, finish, inputTokens: 10, outputTokens: 5, cachedTokens: 4, costUsd: 0.25 };
    },
  };
}

export function use(
  id: string,
  name: string,
  input: Extract<ContentBlock, { type: "tool_use" }>["input"] = {},
): ChatReply["content"][number] {
  return { type: "tool_use", id, name, input };
}

export function say(text: string): ChatReply["content"][number] {
  return { type: "text", text };
}
