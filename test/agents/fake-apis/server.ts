// A fake Anthropic Messages API and a fake OpenAI Chat Completions API on one loopback port, so that real coding agents
// run without a model, a key or the internet. It keeps no state but the log of what it received (script.ts says why).
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as anthropic from "./anthropic.ts";
import * as openai from "./openai.ts";
import { decide, type Reply, type Scripts } from "./script.ts";
import { promptTokens } from "./usage.ts";

export interface FakeApisOptions {
  readonly scripts?: Scripts;
  readonly models?: readonly string[];
  /** Every request as a line of JSON, for a look at it afterwards. */
  readonly logFile?: string;
}

/** One request. Headers that hold secrets are replaced. */
interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Parsed; null where there is none, or no JSON. */
  readonly body: RequestBody | null;
  readonly reply: Reply | null;
}

type RequestBody = anthropic.AnthropicRequest & openai.OpenAiRequest;

export interface FakeApis {
  /** Without a path: `http://127.0.0.1:port`. */
  readonly url: string;
  /** In the order of arrival; also at `GET /__log`. */
  readonly log: readonly ReceivedRequest[];
  /** Forgets the log; also `DELETE /__log`. */
  clear(): void;
  close(): Promise<void>;
}

const SECRET = ["authorization", "x-api-key", "cookie", "proxy-authorization"];

interface Context {
  readonly scripts: Scripts;
  readonly models: readonly string[];
  readonly log: ReceivedRequest[];
  record(received: ReceivedRequest): void;
}

export async function startFakeApis(options: FakeApisOptions = {}): Promise<FakeApis> {
  const { scripts = {}, models = ["fake-model"], logFile } = options;
  const log: ReceivedRequest[] = [];
  const record = (received: ReceivedRequest) => {
    log.push(received);
    if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(received)}\n`);
  };
  const server = createServer((request, response) => {
    handle(request, response, { scripts, models, log, record }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { type: "fake_server_error", message: String(error) } });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`bug: listens at ${address}`);
  return {
    url: `http://127.0.0.1:${address.port}`,
    log,
    clear: () => void log.splice(0),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { method = "", url = "" } = request;
  const { pathname } = new URL(url, "http://fake");
  const body = parsed(await textOf(request));
  const route = `${method} ${pathname}`;
  if (route === "GET /__log") return sendJson(response, 200, context.log);
  if (route === "DELETE /__log") {
    context.log.splice(0);
    return sendJson(response, 200, { cleared: true });
  }
  const received = { method, path: url, headers: withoutSecrets(request.headers), body, reply: null };
  if (body !== null && route === "POST /v1/messages") return await answerAnthropic(response, received, body, context);
  if (body !== null && /^POST (\/v1)?\/chat\/completions$/.test(route)) {
    return await answerOpenAi(response, received, body, context);
  }
  context.record(received);
  if (body !== null && route === "POST /v1/messages/count_tokens") {
    return sendJson(response, 200, { input_tokens: promptTokens(anthropic.conversationOf(body)) });
  }
  if (route === "GET /v1/models") return sendJson(response, 200, modelList(request.headers, context.models));
  if (method === "HEAD" || pathname === "/") return sendJson(response, 200, {});
  sendJson(response, 404, { type: "error", error: { type: "not_found_error", message: `fake: no route ${route}` } });
}

async function answerAnthropic(
  response: ServerResponse,
  received: ReceivedRequest,
  body: RequestBody,
  context: Context,
) {
  const conversation = anthropic.conversationOf(body);
  const reply = decide(conversation, context.scripts);
  context.record({ ...received, reply });
  await sleep(reply.delayMs ?? 0);
  if (reply.hang) return;
  if (reply.error) {
    return sendJson(response, reply.error.status, anthropic.errorOf(reply.error), { "x-should-retry": "false" });
  }
  const message = anthropic.messageOf(reply, conversation);
  const headers = { "request-id": `req_fake${conversation.fingerprint}` };
  if (body.stream) sendStream(response, anthropic.streamOf(message), reply.cut === true, headers);
  else sendJson(response, 200, message, headers);
}

async function answerOpenAi(response: ServerResponse, received: ReceivedRequest, body: RequestBody, context: Context) {
  const conversation = openai.conversationOf(body);
  const reply = decide(conversation, context.scripts);
  context.record({ ...received, reply });
  await sleep(reply.delayMs ?? 0);
  if (reply.hang) return;
  if (reply.error) return sendJson(response, reply.error.status, openai.errorOf(reply.error));
  if (body.stream) sendStream(response, openai.streamOf(reply, conversation), reply.cut === true);
  else sendJson(response, 200, openai.completionOf(reply, conversation));
}

/** In the form of the API that asks. */
function modelList(headers: IncomingHttpHeaders, models: readonly string[]): object {
  if (headers["anthropic-version"] === undefined) {
    const data = models.map((id) => ({ id, object: "model", created: 1_700_000_000, owned_by: "fake" }));
    return { object: "list", data };
  }
  const data = models.map((id) => ({ type: "model", id, display_name: id, created_at: "2025-01-01T00:00:00Z" }));
  return { data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function parsed(text: string): RequestBody | null {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the log shows it, and no route takes it
  }
}

function withoutSecrets(headers: IncomingHttpHeaders): Record<string, unknown> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, SECRET.includes(name) ? "[redacted]" : value]));
}

function sendJson(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** A cut stream loses its last three events and then its connection. */
function sendStream(response: ServerResponse, frames: string[], cut: boolean, headers: Record<string, string> = {}) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers });
  if (!cut) response.end(frames.join(""));
  else response.write(frames.slice(0, -3).join(""), () => setTimeout(() => response.destroy(), 10));
}
