// A chat server with streaming. Answers are runs, so a server that is killed and started again completes them. Events are
// sent from the session's log, so a client that reconnects misses nothing.
//
//   npm install holdfast @anthropic-ai/sdk
//   export ANTHROPIC_API_KEY=…
//   node chat-server/server.ts
//
//   POST /chats/CHAT/messages   { "id": "1", "text": "Hello" }: posting it again, with the same id, changes nothing
//   GET  /chats/CHAT/events     server-sent events: message, token, end; Last-Event-ID says where to continue
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";
import { anthropicModel, isHoldfastError, open, toolLoop } from "holdfast";

const chat = toolLoop({
  id: "chat",
  version: "1",
  model: anthropicModel(new Anthropic(), { model: "claude-sonnet-5-5", maxTokens: 1024 }),
  system: "You are a friendly assistant. Be brief.",
  contextTokens: 50_000, // the oldest messages are left out
});

const hf = await open("chat.db");

/** Tokens are not stored. The texts of incomplete answers are kept here, for clients that connect late. */
const partialAnswers = new Map<string, string>();
const listeners = new Set<(run: string, text: string) => void>();

async function watchTokens(): Promise<void> {
  for await (const { run, text } of hf.runs.tokens()) {
    partialAnswers.set(run, (partialAnswers.get(run) ?? "") + text);
    for (const listen of listeners) listen(run, text);
  }
}
watchTokens();

// The worker also continues the runs of a killed server.
const worker = hf.runs.createWorker({
  agents: [chat],
  watch: ({ kind, run }) => kind === "left" && partialAnswers.delete(run.id),
});
worker.start();

async function postMessage(session: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, text } = JSON.parse(await readText(request));
  const run = await hf.runs.start(chat, { id: `${session}/${id}`, session, input: text });
  response.writeHead(202, { "content-type": "application/json" }).end(JSON.stringify({ run: run.id }));
}

async function sendEvents(session: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const after = Number(request.headers["last-event-id"] ?? 0);
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  const send = (event: string, data: object, seq?: number) =>
    response.write(`event: ${event}\n${seq === undefined ? "" : `id: ${seq}\n`}data: ${JSON.stringify(data)}\n\n`);
  const listen = (run: string, text: string) => run.startsWith(`${session}/`) && send("token", { run, text });
  for (const [run, text] of partialAnswers) listen(run, text);
  listeners.add(listen);
  closed.signal.addEventListener("abort", () => listeners.delete(listen));
  await sendLog(session, after, send, closed.signal);
}

type Send = (event: string, data: object, seq?: number) => void;

/** Sends the events that are in the log, then new ones. */
async function sendLog(session: string, after: number, send: Send, signal: AbortSignal): Promise<void> {
  const types = ["message/added", "run/completed", "run/failed", "run/cancelled"];
  for await (const { seq, type, run } of hf.log.tail(session, { after, types, signal })) {
    if (type !== "message/added") {
      send("end", { run, status: type.slice("run/".length) }, seq);
      continue;
    }
    const [message] = await hf.history.session(session, { after: seq - 1, limit: 1 });
    const text = message?.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    if (message?.seq === seq) send("message", { run, role: message.role, text }, seq);
  }
}

function answerError(error: unknown, response: ServerResponse): void {
  if (response.headersSent) return void response.destroy();
  const code = isHoldfastError(error) ? error.code : "BadRequest";
  const status = code === "SessionBusy" ? 409 : code === "NotFound" ? 404 : 400; // 409: the last answer is not complete
  response.writeHead(status).end(JSON.stringify({ code, message: String(error) }));
}

const server = createServer((request, response) => {
  const [, session = "", what] = /^\/chats\/([\w-]+)\/(messages|events)$/.exec(request.url ?? "") ?? [];
  const handle = { messages: postMessage, events: sendEvents }[String(what)];
  if (handle === undefined) response.writeHead(404).end();
  else handle(session, request, response).catch((error) => answerError(error, response));
});
const port = Number(process.env.PORT ?? 3000);
server.listen(port, "127.0.0.1", () => console.log(`listening on port ${port}`));
