// What only the AI SDK has: tools that the provider itself executes.
import { expect, test } from "vitest";
import { modelCall } from "../../test/models/model-call.ts";
import { type AiSdkStreamPart, aiSdkModel } from "./ai-sdk.ts";

const CALL = modelCall();

test("RU19 a tool call that the provider executed is kept, and is no call for us", async () => {
  const call = (toolCallId: string) => ({ type: "tool-call", toolCallId, toolName: "search", input: '{"q":"x"}' });
  const parts: readonly AiSdkStreamPart[] = [
    ...([{ ...call("theirs"), providerExecuted: true }, call("ours")] as readonly AiSdkStreamPart[]),
    { type: "finish", finishReason: "tool-calls", usage: { inputTokens: 1, outputTokens: 1 } } as AiSdkStreamPart,
  ];
  const stream = new ReadableStream<AiSdkStreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const model = aiSdkModel({
    specificationVersion: "v2",
    provider: "p",
    modelId: "m",
    supportedUrls: {},
    doStream: async () => ({ stream: stream as never }),
  });
  const { content } = await model.generate({ system: "", messages: [], tools: [] }, CALL);
  expect(content.map(({ type }) => type)).toEqual(["opaque", "tool_use"]);
  expect(content[0]).toMatchObject({ value: { from: "ai-sdk:p", block: { toolCallId: "theirs" } } });
  expect(content[1]).toMatchObject({ id: "ours", name: "search", input: { q: "x" } });
});
