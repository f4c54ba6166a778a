// The Worker: it puts jobs into a queue and works on them in containers, which are Durable Objects, one for each request.
import { timingSafeEqual } from "node:crypto";
import { Container, getContainer } from "@cloudflare/containers";
import { sweep, work } from "./consumer.ts";

const WEEK_SECONDS = 7 * 24 * 3600;

export class AgentContainer extends Container {
  defaultPort = 8080;
  sleepAfter = "5m";
  // A container gets only the secrets of the Worker that are named here.
  envVars = { ANTHROPIC_API_KEY: this.env.ANTHROPIC_API_KEY };
}

export default {
  /** POST { request, prompt } gives the id of the job; GET /<id> gives its answer. Both need the token. */
  async fetch(call, env) {
    if (!hasToken(call, env.TOKEN)) return Response.json({ error: "the token is missing or wrong" }, { status: 401 });
    if (call.method === "POST") {
      const { request, prompt } = (await call.json().catch(() => null)) ?? {};
      if (![request, prompt].every((text) => typeof text === "string" && text !== "")) {
        return Response.json({ error: "a job is { request, prompt }, two texts" }, { status: 400 });
      }
      const id = crypto.randomUUID();
      await env.JOBS.send({ id, request, prompt });
      return Response.json({ id }, { status: 202 });
    }
    const [id] = /[\da-f-]{36}$/.exec(new URL(call.url).pathname) ?? [];
    const answer = id === undefined ? null : await env.ANSWERS.get(id);
    return answer === null ? Response.json({ error: "no answer yet" }, { status: 404 }) : new Response(answer);
  },

  async queue(batch, env) {
    for (const message of batch.messages) {
      const { id, request } = message.body;
      const container = getContainer(env.AGENT, request);
      const answer = await work(message.body, container, env.HYPERDRIVE).catch((error) => ({
        code: null,
        output: String(error),
      }));
      if (answer === "busy") {
        // Another job of the request is running: this job returns to the queue, which does not count as an attempt.
        await env.JOBS.send(message.body, { delaySeconds: env.BUSY_SECONDS });
        message.ack();
        continue;
      }
      const told = JSON.stringify({ request, attempt: message.attempts, ...answer });
      await env.ANSWERS.put(id, told, { expirationTtl: WEEK_SECONDS });
      // The queue delivers a failed job again, up to its max_retries.
      if (answer.code === 0) message.ack();
      else message.retry();
    }
  },

  async scheduled(_event, env) {
    await sweep(env.HYPERDRIVE);
  },
};

function hasToken(call, token) {
  if (!token) return false;
  const [given, right] = [call.headers.get("authorization") ?? "", `Bearer ${token}`].map((text) => Buffer.from(text));
  return given.length === right.length && timingSafeEqual(given, right);
}
