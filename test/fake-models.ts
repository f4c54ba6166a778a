// A loopback server that speaks three interfaces of model providers as their SDKs expect them: Anthropic messages, OpenAI
// chat completions, OpenAI responses; streamed only. What it answers is a function of what it is asked.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type FakeApi = "anthropic" | "openai-chat" | "openai-responses";

interface FakeToolCall {
  readonly name: string;
  readonly input?: object;
  /** Instead of the input: what the model writes, JSON or not. */
  readonly json?: string;
}

interface FakeReply {
  readonly thinking?: string;
  readonly text?: string;
  readonly tools?: readonly FakeToolCall[];
  readonly finish?: "length" | "refusal";
}

export type FakeAnswer =
  | FakeReply
  /** An HTTP error. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly type?: string }
  /** The stream ends in the middle: with its connection, or as if all were well. */
  | { readonly cut: FakeReply; readonly how: "reset" | "end" }
  /** The stream stops in the middle, and the connection stays open. */
  | { readonly stall: FakeReply }
  /** An error inside the stream. */
  | { readonly streamError: string };

/** What any of the interfaces was asked, in one form. */
export interface FakeRequest {
  readonly api: FakeApi;
  /** How many requests came before it. */
  readonly count: number;
  readonly system: string;
  readonly tools: readonly string[];
  readonly turns: readonly FakeTurn[];
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: what was sent, whatever it is.
  readonly body: any;
}

interface FakeTurn {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
}

export interface FakeModels {
  /** Without a path. */
  readonly url: string;
  readonly requests: readonly FakeRequest[];
  close(): Promise<void>;
}

export type FakeScript = (request: FakeRequest) => FakeAnswer;

/** Answers one after the other; the last one again and again. */
export function answerInOrder(...answers: readonly FakeAnswer[]): FakeScript {
  let count = 0;
  return () => answers[Math.min(count++, answers.length - 1)] ?? { text: "" };
}

export const USAGE = { plain: 100, cached: 40, output: 20 } as const;

export async function startFakeModels(script: FakeScript): Promise<FakeModels> {
  const requests: FakeRequest[] = [];
  const server = createServer((request, response) => {
    answer(request, response, script, requests).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const PATHS: Readonly<Record<string, FakeApi>> = {
  "/v1/messages": "anthropic",
  "/v1/chat/completions": "openai-chat",
  "/v1/responses": "openai-responses",
};

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  script: FakeScript,
  requests: FakeRequest[],
): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const api = PATHS[(request.url ?? "").split("?")[0] ?? ""];
  if (api === undefined) return void response.writeHead(404).end();
  const body = JSON.parse(Buffer.concat(pieces).toString("utf8"));
  const asked = { api, count: requests.length, headers: request.headers, body, ...READ[api](body) };
  requests.push(asked);
  const given = script(asked);
  if ("status" in given) {
    const error = { type: given.type ?? "fake_error", message: `status ${given.status}`, code: null, param: null };
    response.writeHead(given.status, { "content-type": "application/json", ...given.headers });
    return void response.end(JSON.stringify(api === "anthropic" ? { type: "error", error } : { error }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  if ("streamError" in given) return void response.end(streamError(api, given.streamError));
  const reply = "cut" in given ? given.cut : "stall" in given ? given.stall : given;
  const turn = asked.turns.filter(({ role }) => role === "assistant").length;
  const events = [...WRITE[api](reply, turn)];
  if (!("cut" in given || "stall" in given)) return void response.end(events.join(""));
  response.write(events.slice(0, Math.ceil(events.length / 2)).join(""));
  if ("stall" in given) return;
  if (given.how === "end") return void response.end();
  setTimeout(() => response.socket?.resetAndDestroy(), 50);
}

function streamError(api: FakeApi, type: string): string {
  const error = { type, code: type, message: `an error of the stream: ${type}` };
  if (api === "anthropic") return event("error", { type: "error", error });
  return api === "openai-chat"
    ? data({ error })
    : event("error", { ...error, type: "error", param: null, sequence_number: 0 });
}

function event(name: string, value: object): string {
  return `event: ${name}\n${data(value)}`;
}

function data(value: object | string): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((part) => part !== "");
}

/** The same on every interface, so that transcripts can be compared. */
function idOf(turn: number, i: number): string {
  return `call_${turn}_${i}`;
}

function jsonOf({ input = {}, json }: FakeToolCall): string {
  return json ?? JSON.stringify(input);
}

const WRITE: Readonly<Record<FakeApi, (reply: FakeReply, turn: number) => Generator<string>>> = {
  anthropic: writeAnthropic,
  "openai-chat": writeChat,
  "openai-responses": writeResponses,
};

function* writeAnthropic(reply: FakeReply, turn: number): Generator<string> {
  const { thinking, text, tools = [], finish } = reply;
  const [plain, output] = [USAGE.plain - USAGE.cached, USAGE.output];
  const usage = { input_tokens: plain, cache_read_input_tokens: USAGE.cached, cache_creation_input_tokens: 0 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "fake", content: [], stop_reason: null };
  yield event("message_start", {
    type: "message_start",
    message: { ...message, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
  });
  yield event("ping", { type: "ping" });
  let index = 0;
  function* block(start: object, deltas: readonly object[]): Generator<string> {
    yield event("content_block_start", { type: "content_block_start", index, content_block: start });
    for (const delta of deltas) yield event("content_block_delta", { type: "content_block_delta", index, delta });
    yield event("content_block_stop", { type: "content_block_stop", index });
    index += 1;
  }
  if (thinking !== undefined) {
    yield* block({ type: "thinking", thinking: "", signature: "" }, [
      ...halves(thinking).map((part) => ({ type: "thinking_delta", thinking: part })),
      { type: "signature_delta", signature: `signed:${thinking}` },
    ]);
  }
  if (text !== undefined) {
    yield* block(
      { type: "text", text: "" },
      halves(text).map((part) => ({ type: "text_delta", text: part })),
    );
  }
  for (const [i, call] of tools.entries()) {
    yield* block(
      { type: "tool_use", id: idOf(turn, i), name: call.name, input: {}, caller: { type: "direct" } },
      ["", ...halves(jsonOf(call))].map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }
  const stop =
    finish === "length" ? "max_tokens" : finish === "refusal" ? "refusal" : tools.length > 0 ? "tool_use" : "end_turn";
  yield event("message_delta", {
    type: "message_delta",
    delta: { stop_reason: stop, stop_sequence: null },
    usage: { output_tokens: output },
  });
  yield event("message_stop", { type: "message_stop" });
}

function* writeChat({ text, tools = [], finish }: FakeReply, turn: number): Generator<string> {
  const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "fake" };
  const chunk = (delta: object, finish_reason: string | null = null) =>
    data({ ...base, choices: [{ index: 0, delta, finish_reason, logprobs: null }] });
  yield chunk({ role: "assistant", content: "" });
  for (const part of halves(text ?? "")) yield chunk({ content: part });
  for (const [index, call] of tools.entries()) {
    yield chunk({
      tool_calls: [{ index, id: idOf(turn, index), type: "function", function: { name: call.name, arguments: "" } }],
    });
    for (const part of halves(jsonOf(call))) yield chunk({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  yield chunk(
    {},
    finish === "length" ? "length" : finish === "refusal" ? "content_filter" : tools.length > 0 ? "tool_calls" : "stop",
  );
  const usage = {
    prompt_tokens: USAGE.plain,
    completion_tokens: USAGE.output,
    total_tokens: USAGE.plain + USAGE.output,
  };
  yield data({ ...base, choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: USAGE.cached } } });
  yield data("[DONE]");
}

function* writeResponses(reply: FakeReply, turn: number): Generator<string> {
  const { thinking, text, tools = [], finish } = reply;
  let [sequence_number, output_index] = [0, 0];
  const say = (type: string, fields: object) => event(type, { type, sequence_number: sequence_number++, ...fields });
  const base = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: "fake", output: [], error: null };
  const response = { ...base, status: "in_progress", incomplete_details: null, usage: null, service_tier: "default" };
  yield say("response.created", { response });
  function* item(done: object, added: object, between: () => Generator<string> = function* () {}): Generator<string> {
    yield say("response.output_item.added", { output_index, item: added });
    yield* between();
    yield say("response.output_item.done", { output_index, item: done });
    output_index += 1;
  }
  if (thinking !== undefined) {
    const reasoning = {
      type: "reasoning",
      id: `rs_${turn}`,
      summary: [{ type: "summary_text", text: thinking }],
      encrypted_content: `signed:${thinking}`,
    };
    yield* item(reasoning, { ...reasoning, summary: [], encrypted_content: null }, function* () {
      const place = { item_id: reasoning.id, output_index, summary_index: 0 };
      yield say("response.reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } });
      for (const delta of halves(thinking)) yield say("response.reasoning_summary_text.delta", { ...place, delta });
      yield say("response.reasoning_summary_part.done", { ...place, part: { type: "summary_text", text: thinking } });
    });
  }
  if (text !== undefined) {
    const message = { type: "message", id: `msg_${turn}`, role: "assistant", status: "completed" };
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    yield* item({ ...message, content: [part] }, { ...message, status: "in_progress", content: [] }, function* () {
      const place = { item_id: message.id, output_index, content_index: 0 };
      yield say("response.content_part.added", { ...place, part: { ...part, text: "" } });
      for (const delta of halves(text)) yield say("response.output_text.delta", { ...place, delta, logprobs: [] });
      yield say("response.output_text.done", { ...place, text, logprobs: [] });
    });
  }
  for (const [i, call] of tools.entries()) {
    const made = {
      type: "function_call",
      id: `fc_${turn}_${i}`,
      call_id: idOf(turn, i),
      name: call.name,
      status: "completed",
    };
    yield* item({ ...made, arguments: jsonOf(call) }, { ...made, status: "in_progress", arguments: "" }, function* () {
      const place = { item_id: made.id, output_index };
      for (const delta of halves(jsonOf(call)))
        yield say("response.function_call_arguments.delta", { ...place, delta });
      yield say("response.function_call_arguments.done", { ...place, arguments: jsonOf(call) });
    });
  }
  const usage = {
    input_tokens: USAGE.plain,
    input_tokens_details: { cached_tokens: USAGE.cached, cache_write_tokens: 0 },
    output_tokens: USAGE.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 120,
  };
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  if (finish === undefined) yield say("response.completed", { response: { ...response, status: "completed", usage } });
  else
    yield say("response.incomplete", {
      response: { ...response, status: "incomplete", usage, incomplete_details: { reason } },
    });
}

type RequestContent = Pick<FakeRequest, "system" | "tools" | "turns">;

// biome-ignore-start lint/suspicious/noExplicitAny: bodies of requests are looked at, not checked.
const READ: Readonly<Record<FakeApi, (body: any) => RequestContent>> = {
  anthropic: ({ system = "", tools = [], messages }) => ({
    system: textOf(system),
    tools: tools.map(({ name }: any) => name),
    turns: messages.map(({ role, content }: any) => {
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const of = (type: string) => blocks.filter((block: any) => block.type === type);
      return {
        role,
        text: textOf(of("text")),
        calls: of("tool_use").map(({ id, name }: any) => ({ id, name })),
        results: of("tool_result").map((one: any) => ({ id: one.tool_use_id, text: textOf(one.content ?? "") })),
      };
    }),
  }),
  "openai-chat": ({ tools = [], messages }) => ({
    system: textOf(messages.find(({ role }: any) => role === "system" || role === "developer")?.content ?? ""),
    tools: tools.map((one: any) => one.function.name),
    turns: messages.flatMap(({ role, content, tool_calls = [], tool_call_id }: any) => {
      if (role === "system" || role === "developer") return [];
      const text = textOf(content ?? "");
      if (role === "tool") return [{ role: "user", text: "", calls: [], results: [{ id: tool_call_id, text }] }];
      return [
        { role, text, calls: tool_calls.map((one: any) => ({ id: one.id, name: one.function.name })), results: [] },
      ];
    }),
  }),
  "openai-responses": ({ instructions = "", tools = [], input }) => ({
    system:
      instructions || textOf(input.find(({ role }: any) => role === "system" || role === "developer")?.content ?? ""),
    tools: tools.map(({ name }: any) => name),
    turns: joined(
      input.flatMap(({ type = "message", role, content, call_id, name, output }: any) => {
        const none = { text: "", calls: [], results: [] };
        if (type === "function_call") return [{ ...none, role: "assistant", calls: [{ id: call_id, name }] }];
        if (type === "function_call_output") {
          return [{ ...none, role: "user", results: [{ id: call_id, text: textOf(output) }] }];
        }
        if (type !== "message" || role === "system" || role === "developer") return [];
        return [{ ...none, role, text: textOf(content) }];
      }),
    ),
  }),
};

function textOf(content: any): string {
  return typeof content === "string" ? content : content.map(({ text = "" }: any) => text).join("\n");
}
// biome-ignore-end lint/suspicious/noExplicitAny: as above.

/** Items of one side that follow each other are one turn. */
function joined(items: readonly FakeTurn[]): readonly FakeTurn[] {
  const turns: FakeTurn[] = [];
  for (const one of items) {
    const last = turns.at(-1);
    if (last === undefined || last.role !== one.role) turns.push(one);
    else {
      const text = [last.text, one.text].filter((part) => part !== "").join("\n");
      turns[turns.length - 1] = {
        role: one.role,
        text,
        calls: [...last.calls, ...one.calls],
        results: [...last.results, ...one.results],
      };
    }
  }
  return turns;
}
